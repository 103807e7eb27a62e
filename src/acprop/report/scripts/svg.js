// Elements, scales and axes: what every picture on the page is made of.

import { number } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";

export function set(node, attributes, ...children) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

export const svg = (name, attributes = {}, ...children) =>
  set(document.createElementNS(SVG, name), attributes, ...children);

export const html = (name, attributes = {}, ...children) =>
  set(document.createElement(name), attributes, ...children);

// How wide each place of a picture is. To look it up between two changes of the page would
// lay the page out anew for every picture: measure() does it once, before the changes.
const widths = new Map();

export function measure() {
  for (const plot of widths.keys()) widths.set(plot, plot.clientWidth);
}

// A picture in a <figure> with an empty .plot. frame() makes it as wide as its place, with
// nothing in `content`, and returns the scales of its axes. Axes that are as they were stay.
export function makePlot(host, height, attributes, left = 52) {
  const plot = host.querySelector(".plot");
  const [scales, content] = [svg("g", { class: "axes" }), svg("g")];
  const image = svg("svg", { preserveAspectRatio: "xMinYMin", ...attributes }, scales, content);
  plot.append(image);
  widths.set(plot, 0);
  let drawn = "";
  function frame(label, xAxis, yAxis) {
    // 0: it was hidden when it was measured
    const width = Math.max(widths.get(plot) || plot.clientWidth, 240);
    set(image, { viewBox: `0 0 ${width} ${height}`, height, "aria-label": label });
    const box = { left, right: width - 12, top: 22, bottom: height - 40 };
    const x = scale(xAxis, box.left, box.right);
    const y = scale(yAxis, box.bottom, box.top);
    const room = Math.max(2, Math.floor((box.right - box.left) / 62));
    const xTicks = ticksOf(xAxis, room);
    const every = Math.ceil(xTicks.length / Math.max(room, 3)); // of ticks that were given
    const few = xTicks.filter((_, i) => i % every === 0);
    const yTicks = ticksOf(yAxis, 4);
    const id = JSON.stringify([width, xAxis, yAxis]);
    if (id !== drawn) scales.replaceChildren(...axes(box, x, y, few, yTicks, xAxis.label, yAxis.label));
    drawn = id;
    content.replaceChildren();
    return { box, x, y };
  }
  return { image, content, frame };
}

// From data to pixels and back; `log` axes take positive values only.
function scale({ lo, hi, log = false }, from, to) {
  const f = log ? Math.log10 : (value) => value;
  const [a, b] = [f(lo), f(hi)];
  const at = (value) => from + ((f(value) - a) / (b - a)) * (to - from);
  const back = (pixel) => {
    const value = a + ((pixel - from) / (to - from)) * (b - a);
    return log ? 10 ** value : value;
  };
  return { at, back, lo, hi, log };
}

// Pairs of a value and its label: those given, or about `n` round numbers.
function ticksOf({ lo, hi, log, ticks, least = 0 }, n) {
  if (ticks !== undefined) return ticks;
  const values = log ? logTicks(lo, hi, n) : linearTicks(lo, hi, n, least);
  return values.map((value) => [value, number(value)]);
}

function linearTicks(lo, hi, n, least) {
  const raw = Math.max((hi - lo) / n, least);
  const base = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((k) => k * base >= raw) * base;
  const first = Math.ceil(lo / step - 1e-9);
  const length = Math.floor(hi / step + 1e-9) - first + 1;
  return Array.from({ length }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

// Powers of ten; 1, 2 and 5 times them where there are few.
function logTicks(lo, hi, n) {
  const decades = Math.log10(hi / lo);
  const every = Math.ceil(decades / n);
  const found = [];
  for (let k = every * Math.floor(Math.log10(lo) / every); 10 ** k <= hi; k += every)
    for (const factor of decades < 2 ? [1, 2, 5] : [1]) found.push(Number(`${factor}e${k}`));
  return found.filter((value) => value >= lo && value <= hi);
}

function axes({ left, right, top, bottom }, x, y, xTicks, yTicks, xLabel, yLabel) {
  const drawn = [];
  const text = (name, label, at) => svg("text", { class: name, ...at }, label);
  for (const [value, label] of xTicks) {
    const at = x.at(value);
    drawn.push(
      svg("line", { class: "grid", x1: at, x2: at, y1: top, y2: bottom }),
      text("tick", label, { x: at, y: bottom + 16, "text-anchor": "middle" }),
    );
  }
  for (const [value, label] of yTicks) {
    const at = y.at(value);
    drawn.push(
      svg("line", { class: "grid", x1: left, x2: right, y1: at, y2: at }),
      text("tick", label, { x: left - 7, y: at + 4, "text-anchor": "end" }),
    );
  }
  drawn.push(
    svg("rect", { class: "frame", x: left, y: top, width: right - left, height: bottom - top }),
    text("axis", xLabel, { x: (left + right) / 2, y: bottom + 34, "text-anchor": "middle" }),
    text("axis", yLabel, { x: 2, y: 12 }),
  );
  return drawn;
}

// Dots at such places ("x y"): one path, however many they are.
export const dots = (places) => svg("path", { class: "dots", d: places.map((at) => `M${at}h0`).join("") });

// From the button's going down, when `begin` is called, until it goes up.
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

// The colour and the dash of a line, beside its name.
export const swatch = (key) =>
  svg(
    "svg",
    { class: `swatch c-${key}`, viewBox: "0 0 28 4", "aria-hidden": "true" },
    svg("line", { x1: 0, x2: 28, y1: 2, y2: 2 }),
  );

// A row of a table about one method; cells by the label that a narrow page shows.
export const tableRow = (key, label, cells) =>
  html(
    "tr",
    { "data-method": key },
    html("th", { scope: "row" }, swatch(key), label),
    ...Object.entries(cells).map(([name, text]) => html("td", { "data-label": name }, text)),
  );
