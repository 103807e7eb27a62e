// How near 1 must β2 be? On Eq. 1, for large P, a method that averages before it divides
// drifts to x* iff (1 - β2)·P² is below a number that depends on β1 alone.
//
// β2 = 1 - c/P²: s is almost constant, but for a sawtooth. After the large gradient m
// carries P·(1 - β1)·β1^j, j = 0, 1 …, and divides by an s in which the share f_j of the
// leap has arrived. What the leap costs is c·Σ_j (1 - β1)·β1^j·(f_j - ½)/2, what the
// gradients of a period leave is 1; where the sum is not positive, nothing is lost.

import { METHODS, CONVENTIONS } from "./rules.js";
import { crossings } from "./borders.js";
import { problemOf } from "./problems.js";
import { number } from "./format.js";
import { dots, makePlot, svg, tableRow } from "./svg.js";

const { adam, adabelief } = METHODS;
const uncentered = { ...adam, label: "the same, uncentered", rule: { ...adam.rule, delay: 1 } };

// Up to the critical β1 a large P drifts to x* for every c: the zero of the denominator.
export const THRESHOLDS = {
  "acprop-before": {
    method: METHODS["acprop-before"],
    formula: "4(1 + β1 + β1²)/(2β1³ + 2β1² − 1)",
    at: (b) => (4 * (1 + b + b ** 2)) / (2 * b ** 3 + 2 * b ** 2 - 1),
    critical: criticalCentered(),
  },
  uncentered: { method: uncentered, formula: "4/(2β1 − 1)", at: (b) => 4 / (2 * b - 1), critical: 0.5 },
  adabelief: {
    method: adabelief,
    formula: "4/(1 − (1 − β1)/(1 + β1 + β1²))",
    at: (b) => 4 / (1 - (1 - b) / (1 + b + b ** 2)),
    critical: 0,
  },
  adam: { method: adam, formula: "4", at: () => 4, critical: 0 },
};

// 2·β1³ + 2·β1² = 1, by Newton's method.
function criticalCentered() {
  let b = 0.6;
  for (let i = 0; i < 8; i++) b -= (2 * b ** 3 + 2 * b ** 2 - 1) / (6 * b ** 2 + 4 * b);
  return b;
}

// The threshold, ∞ where there is none.
export const threshold = ({ at, critical }, beta1) => (beta1 <= critical ? Infinity : at(beta1));

const RANGE = { lo: 3, hi: 100, log: true };
const TICKS = [3, 4, 5, 10, 20, 50, 100].map((c) => [c, String(c)]);
const LARGEST = 200; // the P of the dots
// Where the dots are: not too near 1, as there P = 200 is not large.
const BETA1 = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9];

// [β1, (1 - β2)·P²] of the last exact border before 1, where that is in the picture.
function exactThresholds(method) {
  const z = { lo: Math.log(LARGEST ** 2 / 200), hi: Math.log(LARGEST ** 2 / 2), step: 0.2 };
  return BETA1.flatMap((beta1) => {
    const { beta2 } = crossings(problemOf("dense", LARGEST), method, CONVENTIONS.paper, { beta1 }, z);
    const c = (1 - beta2.at(-1)) * LARGEST ** 2;
    return c < RANGE.hi ? [[beta1, c]] : [];
  });
}

// The picture: the thresholds against β1, exact borders as dots, and where the settings are.
export function makeThresholds(host) {
  const { content, frame } = makePlot(host, 330, { role: "img" });
  const all = Object.entries(THRESHOLDS);
  const exact = all.map(([key, { method }]) => [key, exactThresholds(method)]);
  return function draw({ beta1, beta2, P, problem }) {
    const values = all.map(([, rule]) => `${rule.method.label} ${number(threshold(rule, beta1))}`);
    const { box, x, y } = frame(
      `The largest (1 − β2)·P² with a drift to x*, by β1; at β1 = ${number(beta1)}: ${values.join(", ")}`,
      { lo: 0, hi: 1, label: "β1" },
      { ...RANGE, label: "(1 − β2)·P²", ticks: TICKS },
    );
    const { critical } = THRESHOLDS["acprop-before"];
    const at = x.at(critical);
    content.append(
      svg("line", { class: "critical", x1: at, x2: at, y1: box.top, y2: box.bottom }),
      svg("text", { x: at - 6, y: y.at(14), "text-anchor": "end" }, `β1 = ${number(critical, 4)}`),
      ...all.map(([key, rule]) => curve(key, rule, x, y)),
      ...exact.map(([key, found]) =>
        svg("g", { class: `line c-${key}` }, dots(found.map(([b, c]) => `${x.at(b).toFixed(1)} ${y.at(c).toFixed(1)}`))),
      ),
    );
    // The settings' own place, at the edge where it lies outside.
    const c = Math.min(Math.max((1 - beta2) * P ** 2, RANGE.lo), RANGE.hi);
    if (problem === "dense")
      content.append(svg("circle", { class: "point still", cx: x.at(beta1), cy: y.at(c), r: 7 }));
    host.querySelector("tbody").replaceChildren(
      ...all.map(([key, rule]) => {
        const cells = { threshold: rule.formula, "at this β1": number(threshold(rule, beta1)) };
        return tableRow(key, rule.method.label, cells);
      }),
    );
  };
}

function curve(key, rule, x, y) {
  const points = [];
  for (let b = rule.critical + 1e-3; b <= 1; b += 1 / 400) {
    const c = Math.min(threshold(rule, b), RANGE.hi);
    points.push(`${x.at(b).toFixed(1)} ${y.at(c).toFixed(1)}`);
  }
  return svg("g", { class: `line border c-${key}` }, svg("path", { d: `M${points.join("L")}` }));
}
