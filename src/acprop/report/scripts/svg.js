// Elements, scales and ticks: what every picture on the page is made of.

import { number, power, whole } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";

export function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

function fill(node, attributes, children) {
  set(node, attributes).append(...children);
  return node;
}

export const svg = (name, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, name), attributes, children);

export const html = (name, attributes = {}, ...children) =>
  fill(document.createElement(name), attributes, children);

// A picture in a <figure> with an empty .plot; fit() makes it as wide as its place, and
// says where its axes are.
export function makePlot(host, height, attributes, left = 52) {
  const plot = host.querySelector(".plot");
  const image = svg("svg", { preserveAspectRatio: "xMinYMin", ...attributes });
  plot.append(image);
  function fit(more) {
    const width = Math.max(plot.clientWidth, 240);
    set(image, { viewBox: `0 0 ${width} ${height}`, height, ...more });
    return { left, right: width - 12, top: 22, bottom: height - 40 };
  }
  return { image, fit };
}

// From the button's going down until it goes up; `begin` is called once for each.
export function onDrag(image, begin, follow) {
  const at = (event) => {
    const { left, top } = image.getBoundingClientRect();
    follow(event.clientX - left, event.clientY - top);
  };
  image.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    image.setPointerCapture(event.pointerId);
    begin();
    at(event);
    event.preventDefault();
  });
  image.addEventListener("pointermove", (event) => {
    if (image.hasPointerCapture(event.pointerId)) at(event);
  });
}

// A row of a table about one method; cells by the label that a narrow page shows.
export const tableRow = (key, label, cells) =>
  html(
    "tr",
    { "data-method": key },
    html("th", { scope: "row" }, swatch(key), label),
    ...Object.entries(cells).map(([name, text]) => html("td", { "data-label": name }, text)),
  );

// From data to pixels; `log` axes take positive values only.
export function scale({ lo, hi, log = false }, from, to) {
  const f = log ? Math.log10 : (x) => x;
  const [a, b] = [f(lo), f(hi)];
  const at = (value) => from + ((f(value) - a) / (b - a)) * (to - from);
  const back = (pixel) => {
    const y = a + ((pixel - from) / (to - from)) * (b - a);
    return log ? 10 ** y : y;
  };
  return { at, back, lo, hi, log };
}

// The colour and the dash of a line, beside its name.
export const swatch = (key) =>
  svg(
    "svg",
    { class: `swatch c-${key}`, viewBox: "0 0 28 4", "aria-hidden": "true" },
    svg("line", { x1: 0, x2: 28, y1: 2, y2: 2 }),
  );

// Round numbers between lo and hi, about `n` of them.
export function linearTicks(lo, hi, n) {
  const raw = (hi - lo) / n;
  const base = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((k) => k * base >= raw) * base;
  const out = [];
  for (let k = Math.ceil(lo / step - 1e-9); k * step <= hi + 1e-9 * step; k++)
    out.push(Number((k * step).toPrecision(12)));
  return out;
}

// Powers of ten; 1, 2 and 5 times them where there are few.
export function logTicks(lo, hi, n) {
  const [first, last] = [Math.ceil(Math.log10(lo) - 1e-9), Math.floor(Math.log10(hi) + 1e-9)];
  const decades = last - first + 1;
  const out = [];
  if (decades <= 2) {
    for (let k = first - 1; k <= last; k++)
      for (const factor of [1, 2, 5]) out.push(Number((factor * 10 ** k).toPrecision(3)));
    return out.filter((x) => x >= lo * (1 - 1e-9) && x <= hi * (1 + 1e-9));
  }
  const every = Math.ceil(decades / n);
  for (let k = first; k <= last; k += every) out.push(10 ** k);
  return out;
}

const plain = (value) =>
  Number.isInteger(value) && value >= 1e4 && value < 1e7 ? whole(value) : number(value);

// Each value with its label. Where a log axis has only powers of ten, and long ones,
// all are written as powers.
export function labelled(values, log) {
  const exponents = values.map((value) => Math.round(Math.log10(value)));
  const areLong = values.some((value) => value >= 1e4 || value < 1e-2);
  const areTens = values.every((value, i) => Math.abs(value / 10 ** exponents[i] - 1) < 1e-9);
  if (!(log && areLong && areTens)) return values.map((value) => [value, plain(value)]);
  return values.map((value, i) => [value, value === 1 ? "1" : power(exponents[i])]);
}

// The frame, grid and labels of a plot with these scales; `ticks` are pairs of a value
// and its label.
export function axes({ box, x, y, xTicks, yTicks, xLabel, yLabel }) {
  const { left, right, top, bottom } = box;
  const group = svg("g", { class: "axes" });
  for (const [value, label] of xTicks) {
    const at = x.at(value);
    group.append(
      svg("line", { class: "grid", x1: at, x2: at, y1: top, y2: bottom }),
      svg("text", { class: "tick", x: at, y: bottom + 16, "text-anchor": "middle" }, label),
    );
  }
  for (const [value, label] of yTicks) {
    const at = y.at(value);
    group.append(
      svg("line", { class: "grid", x1: left, x2: right, y1: at, y2: at }),
      svg("text", { class: "tick", x: left - 7, y: at + 4, "text-anchor": "end" }, label),
    );
  }
  group.append(
    svg("rect", { class: "frame", x: left, y: top, width: right - left, height: bottom - top }),
    svg("text", { class: "axis", x: (left + right) / 2, y: bottom + 34, "text-anchor": "middle" }, xLabel),
    svg("text", { class: "axis", x: 2, y: 12 }, yLabel),
  );
  return group;
}
