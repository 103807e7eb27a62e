// Lines over steps: one picture in a figure of the page.

import { dots, makePlot, set, svg } from "./svg.js";
import { number } from "./format.js";

const FEW = 50; // points that are drawn as dots too

// Returns draw(spec). Of spec: lines of {key, label, values}, values[i] being that of step
// i + 1; t: {lo, hi}; y: {lo, hi, log, label}; marks: steps to point at; isDotted: a dot
// for every point; summary: what the picture says to a reader who does not see it.
export function makeChart(host, height) {
  const readout = host.querySelector(".readout");
  const { image, content, frame } = makePlot(host, height, { role: "img" });
  const cursor = svg("line", { class: "cursor", visibility: "hidden" });
  let shown = null;

  image.addEventListener("pointermove", (event) => {
    const { lines, x } = shown;
    const at = x.back(event.clientX - image.getBoundingClientRect().left);
    const t = Math.round(Math.min(Math.max(at, x.lo), x.hi));
    set(cursor, { x1: x.at(t), x2: x.at(t), visibility: "visible" });
    const values = lines.map(({ label, values }) => `${label} ${number(values[t - 1])}`);
    readout.textContent = `t = ${t}: ${values.join(", ")}`;
  });
  image.addEventListener("pointerleave", () => {
    readout.textContent = "";
    set(cursor, { visibility: "hidden" });
  });

  return function draw({ lines, t, y: yAxis, marks = [], isDotted = false, summary }) {
    const { box, x, y } = frame(summary, { ...t, label: "step t", least: 1 }, yAxis);
    const upright = { y1: box.top, y2: box.bottom };
    content.append(
      ...marks.map((t) => svg("line", { class: "mark", x1: x.at(t), x2: x.at(t), ...upright })),
      ...lines.map((line) => drawLine(line, x, y, box, isDotted)),
      set(cursor, upright),
    );
    shown = { lines, x };
  };
}

function drawLine({ key, values }, x, y, box, isDotted) {
  const from = Math.max(0, Math.ceil(x.lo) - 1);
  const to = Math.min(values.length, Math.floor(x.hi));
  const place = (value) => Math.min(Math.max(y.at(value), box.top - 2), box.bottom + 2).toFixed(1);
  const isDrawn = (value) => (y.log ? value > 0 : !Number.isNaN(value));
  const group = svg("g", { class: `line c-${key}` });
  group.append(svg("path", { d: pathOf(values, from, to, x, place, isDrawn) }));
  if (to - from > FEW && !isDotted) return group;
  const places = [];
  for (let i = from; i < to; i++)
    if (isDrawn(values[i])) places.push(`${x.at(i + 1).toFixed(1)} ${place(values[i])}`);
  group.append(dots(places));
  return group;
}

// Where there are more points than columns of pixels, the lowest and the highest of each
// column, so that no oscillation is lost.
function pathOf(values, from, to, x, place, isDrawn) {
  const n = to - from;
  const columns = Math.min(n, Math.round(x.at(x.hi) - x.at(x.lo)));
  let path = "";
  let pen = "M";
  for (let column = 0; column < columns; column++) {
    const start = from + Math.floor((column * n) / columns);
    const end = from + Math.floor(((column + 1) * n) / columns);
    let [low, high] = [Infinity, -Infinity];
    for (let i = start; i < end; i++) {
      if (!isDrawn(values[i])) continue;
      if (values[i] < low) low = values[i];
      if (values[i] > high) high = values[i];
    }
    if (low > high) {
      pen = "M";
      continue;
    }
    const at = x.at((start + end + 1) / 2).toFixed(1);
    path += `${pen}${at} ${place(low)}`;
    if (high > low) path += `L${at} ${place(high)}`;
    pen = "L";
  }
  return path;
}

// Room for all values of some lines; on a log axis for the positive ones, and no more
// decades below the largest than can be told apart.
export function rangeOf(lines, t, log) {
  let [lo, hi] = [Infinity, -Infinity];
  for (const { values } of lines)
    for (let i = t.lo - 1; i < Math.min(values.length, t.hi); i++) {
      const value = values[i];
      if (!Number.isFinite(value) || (log && value <= 0)) continue;
      if (value < lo) lo = value;
      if (value > hi) hi = value;
    }
  if (lo > hi) return log ? { lo: 0.1, hi: 10, log } : { lo: -1, hi: 1 };
  if (log) {
    lo = Math.max(lo, hi / 1e12);
    if (hi / lo < 4) [lo, hi] = [lo / 2, hi * 2];
    return { lo: lo / 1.3, hi: hi * 1.3, log };
  }
  const margin = (hi - lo || Math.abs(hi) || 1) * 0.06;
  return { lo: lo - margin, hi: hi + margin };
}
