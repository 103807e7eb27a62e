// Lines over steps: one picture in a figure of the page.

import { axes, labelled, linearTicks, logTicks, makePlot, scale, svg } from "./svg.js";
import { number, whole } from "./format.js";

const FEW = 50; // points that are drawn as dots too

// `host` is a <figure> with an empty .plot; returns draw(spec), which fills it.
//
// spec: lines of {key, label, values, first, dots}, values[i] being that of step first + i;
// t: {lo, hi}; y: {lo, hi, log}; yLabel; marks: steps to point at; summary: what a
// reader who does not see the picture is told.
export function makeChart(host, height) {
  const readout = host.querySelector(".readout");
  const { image, fit } = makePlot(host, height, { role: "img" });
  let shown = null;

  function draw(spec) {
    const box = fit({ "aria-label": spec.summary });
    const x = scale(spec.t, box.left, box.right);
    const y = scale(spec.y, box.bottom, box.top);
    const room = Math.max(2, Math.floor((box.right - box.left) / 62));
    const xTicks = linearTicks(spec.t.lo, spec.t.hi, room).filter(Number.isInteger);
    const yTicks = (spec.y.log ? logTicks : linearTicks)(spec.y.lo, spec.y.hi, 4);
    image.replaceChildren(
      axes({
        box,
        x,
        y,
        xTicks: labelled(xTicks, false),
        yTicks: labelled(yTicks, spec.y.log),
        xLabel: "step t",
        yLabel: spec.yLabel,
      }),
      ...(spec.marks ?? []).map((t) =>
        svg("line", { class: "mark", x1: x.at(t), x2: x.at(t), y1: box.top, y2: box.bottom }),
      ),
      ...spec.lines.map((line) => drawLine(line, x, y, box)),
      svg("line", { class: "cursor", y1: box.top, y2: box.bottom, visibility: "hidden" }),
    );
    shown = { spec, x, box };
  }

  image.addEventListener("pointermove", (event) => {
    if (shown === null) return;
    const { spec, x, box } = shown;
    const at = event.clientX - image.getBoundingClientRect().left;
    const t = Math.round(Math.min(Math.max(x.back(at), spec.t.lo), spec.t.hi));
    const cursor = image.querySelector(".cursor");
    cursor.setAttribute("x1", x.at(t));
    cursor.setAttribute("x2", x.at(t));
    cursor.setAttribute("visibility", at < box.left ? "hidden" : "visible");
    const values = spec.lines.map(
      (line) => `${line.label} ${number(line.values[t - line.first] ?? NaN)}`,
    );
    readout.textContent = `t = ${whole(t)}: ${values.join(", ")}`;
  });
  image.addEventListener("pointerleave", () => {
    readout.textContent = "";
    image.querySelector(".cursor")?.setAttribute("visibility", "hidden");
  });
  return draw;
}

function drawLine({ key, values, first, dots = false }, x, y, box) {
  const group = svg("g", { class: `line c-${key}` });
  const from = Math.max(0, Math.ceil(x.lo) - first);
  const to = Math.min(values.length - 1, Math.floor(x.hi) - first);
  const place = (value) => {
    if (!(y.log ? value > 0 : !Number.isNaN(value))) return null;
    const at = y.at(value);
    return Math.min(Math.max(at, box.top - 2), box.bottom + 2).toFixed(1);
  };
  const n = to - from + 1;
  const path = n <= 2 * (box.right - box.left) ? each : envelope;
  group.append(svg("path", { d: path(values, from, to, first, x, place) }));
  if (n <= FEW || dots) {
    for (let i = from; i <= to; i++) {
      const at = place(values[i]);
      if (at !== null) group.append(svg("circle", { cx: x.at(first + i), cy: at, r: 2.2 }));
    }
  }
  return group;
}

function each(values, from, to, first, x, place) {
  let path = "";
  let pen = "M";
  for (let i = from; i <= to; i++) {
    const at = place(values[i]);
    if (at === null) {
      pen = "M";
      continue;
    }
    path += `${pen}${x.at(first + i).toFixed(1)} ${at}`;
    pen = "L";
  }
  return path;
}

// More points than pixels: the lowest and the highest of each column, so that no
// oscillation is lost.
function envelope(values, from, to, first, x, place) {
  const width = Math.round(x.at(x.hi) - x.at(x.lo));
  const perColumn = (to - from + 1) / width;
  let path = "";
  let pen = "M";
  for (let column = 0; column < width; column++) {
    const start = from + Math.floor(column * perColumn);
    const end = Math.min(to + 1, from + Math.floor((column + 1) * perColumn));
    let [low, high] = [Infinity, -Infinity];
    for (let i = start; i < end; i++) {
      if (values[i] < low) low = values[i];
      if (values[i] > high) high = values[i];
    }
    const [bottom, top] = [place(low), place(high)];
    if (top === null || high < low) continue;
    const at = (x.at(first + (start + end - 1) / 2)).toFixed(1);
    path += `${pen}${at} ${bottom ?? top}`;
    if (bottom !== null && bottom !== top) path += `L${at} ${top}`;
    pen = "L";
  }
  return path;
}

// Room for all values of some lines; on a log axis for the positive ones, and no more
// decades below the largest than can be told apart.
export function rangeOf(lines, { lo: t0, hi: t1 }, log, decades = 12) {
  let [lo, hi] = [Infinity, -Infinity];
  for (const { values, first } of lines) {
    const end = Math.min(values.length, t1 - first + 1);
    for (let i = Math.max(0, t0 - first); i < end; i++) {
      const value = values[i];
      if (!Number.isFinite(value) || (log && value <= 0)) continue;
      if (value < lo) lo = value;
      if (value > hi) hi = value;
    }
  }
  if (lo > hi) return log ? { lo: 0.1, hi: 10, log } : { lo: -1, hi: 1 };
  if (log) {
    lo = Math.max(lo, hi / 10 ** decades);
    if (hi / lo < 4) [lo, hi] = [lo / 2, hi * 2];
    return { lo: lo / 1.3, hi: hi * 1.3, log };
  }
  const margin = (hi - lo || Math.abs(hi) || 1) * 0.06;
  return { lo: lo - margin, hi: hi + margin };
}
