// The picture of thresholds.js: (1 - β2)·P² against β1, the exact borders at the largest
// P of the page as dots, and where the settings are.

import { METHODS, CONVENTIONS } from "./rules.js";
import { CRITICAL, THRESHOLDS, threshold } from "./thresholds.js";
import { crossings } from "./borders.js";
import { problemOf } from "./problems.js";
import { number } from "./format.js";
import { axes, labelled, linearTicks, scale, svg } from "./svg.js";

const HEIGHT = 330;
const RANGE = { lo: 3, hi: 100, log: true };
const P = 200;
const TICKS = [3, 4, 5, 10, 20, 50, 100];
// As many as can be told apart, beside the critical ones and not too near 1: there P = 200
// is not large.
const BETA1 = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9];

const { adam } = METHODS;
const RULES = {
  "acprop-before": METHODS["acprop-before"],
  uncentered: { ...adam, label: "the same, uncentered", rule: { ...adam.rule, delay: 1 } },
  adabelief: METHODS.adabelief,
  adam,
};

// (1 - β2)·P² at the last border before 1, or ∞ where there is none in the picture.
export function exactThreshold(key, beta1, period = P) {
  const z = { lo: Math.log(period ** 2 / 200), hi: Math.log(period ** 2 / 2), step: 0.2 };
  const convention = CONVENTIONS.paper;
  const { beta2 } = crossings(problemOf("dense", period), RULES[key], convention, { beta1, eps: null }, z);
  return beta2.length ? (1 - beta2.at(-1)) * period ** 2 : Infinity;
}

let dots = null; // they depend on no setting

function allDots() {
  dots ??= Object.keys(RULES).map((key) => [
    key,
    BETA1.map((beta1) => [beta1, exactThreshold(key, beta1)]).filter(([, c]) => c < RANGE.hi),
  ]);
  return dots;
}

export function makeThresholds(host) {
  const plot = host.querySelector(".plot");
  const image = svg("svg", { role: "img", preserveAspectRatio: "xMinYMin" });
  const values = host.querySelectorAll("[data-threshold]");
  plot.append(image);
  return function draw({ beta1, beta2, P: period, problem }) {
    const width = Math.max(plot.clientWidth, 240);
    const box = { left: 52, right: width - 12, top: 22, bottom: HEIGHT - 40 };
    const x = scale({ lo: 0, hi: 1 }, box.left, box.right);
    const y = scale(RANGE, box.bottom, box.top);
    image.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    image.setAttribute("height", HEIGHT);
    const all = Object.keys(THRESHOLDS).map((key) => [key, threshold(key, beta1)]);
    image.setAttribute(
      "aria-label",
      `The largest (1 − β2)·P² with a drift to x*, by β1; at β1 = ${number(beta1)}: ` +
        all.map(([key, c]) => `${RULES[key].label} ${number(c)}`).join(", "),
    );
    image.replaceChildren(
      axes({
        box,
        x,
        y,
        xTicks: labelled(linearTicks(0, 1, 5), false),
        yTicks: labelled(TICKS, false),
        xLabel: "β1",
        yLabel: "(1 − β2)·P²",
      }),
      asymptote(x.at(CRITICAL["acprop-before"]), y.at(14), box),
      ...Object.keys(THRESHOLDS).map((key) => curve(key, x, y, box)),
      ...allDots().map(([key, found]) =>
        svg(
          "g",
          { class: `line c-${key}` },
          ...found.map(([b, c]) => svg("circle", { cx: x.at(b), cy: y.at(c), r: 2.6 })),
        ),
      ),
      ...(problem === "dense" ? [here(x.at(beta1), (1 - beta2) * period ** 2, y)] : []),
    );
    for (const cell of values) cell.textContent = number(threshold(cell.dataset.threshold, beta1));
  };
}

function asymptote(at, height, box) {
  const group = svg("g");
  const label = `β1 = ${number(CRITICAL["acprop-before"], 4)}`;
  group.append(
    svg("line", { class: "critical", x1: at, x2: at, y1: box.top, y2: box.bottom }),
    svg("text", { x: at - 6, y: height, "text-anchor": "end" }, label),
  );
  return group;
}

function curve(key, x, y, box) {
  const points = [];
  for (let i = 0; i <= 400; i++) {
    const c = threshold(key, i / 400);
    if (c <= RANGE.hi) points.push(`${x.at(i / 400).toFixed(1)} ${y.at(c).toFixed(1)}`);
  }
  const first = CRITICAL[key] === undefined ? "" : `${points[0].split(" ")[0]} ${box.top}L`;
  return svg("g", { class: `line border c-${key}` }, svg("path", { d: `M${first}${points.join("L")}` }));
}

// The settings' own place, at the edge where it lies outside.
function here(at, c, y) {
  const within = Math.min(Math.max(c, RANGE.lo), RANGE.hi);
  return svg("circle", { class: "point still", cx: at, cy: y.at(within), r: 7 });
}
