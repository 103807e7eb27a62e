// Elements, scales and ticks: what every picture on the page is made of.

import { number, power, whole } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes))
    if (value !== null && value !== undefined) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

export const svg = (name, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, name), attributes, children);

export const html = (name, attributes = {}, ...children) =>
  fill(document.createElement(name), attributes, children);

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
