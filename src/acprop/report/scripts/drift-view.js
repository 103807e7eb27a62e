// The first view: a problem, its numbers, and where each optimizer goes.

import { METHODS, conventionOf, withDelay } from "./rules.js";
import { problemOf } from "./problems.js";
import { gradientsOf, rates, roomFor, run, walk } from "./simulate.js";
import { crossings } from "./borders.js";
import { explain } from "./explain.js";
import { formulaOf, typeset } from "./formula.js";
import { makeChart, rangeOf } from "./chart.js";
import { borderOf, makePlane, Z } from "./plane.js";
import { makeThresholds } from "./thresholds.js";
import { decay, number, percent } from "./format.js";
import { html, swatch, tableRow } from "./svg.js";

const PERIODS = 4; // of the close-up
const MARKS = 12; // more would be a curtain

export function makeDriftView(root, change) {
  const find = (name) => root.querySelector(`[data-part=${name}]`);
  const drawPlane = makePlane(find("plane"), (P, beta2) => change({ P, beta2 }));
  const drawThresholds = makeThresholds(find("thresholds"));
  const charts = {
    x: makeChart(find("x"), 400),
    m: makeChart(find("m"), 210),
    s: makeChart(find("s"), 210),
    size: makeChart(find("size"), 210),
  };
  return function draw(state) {
    const problem = problemOf(state.problem, state.P);
    const gradients = gradientsOf(problem, state.steps);
    const alpha = rates(state.lr, state.eta, state.steps);
    const found = state.show.map((key) => compute(state, problem, gradients, alpha, key));
    const { towards, text } = found.find(({ key }) => key === state.focus);
    find("sentence").textContent = text;
    find("sentence").className = `sentence ${towards === null ? "none" : towards ? "towards" : "off"}`;
    find("ways").replaceChildren(...ways(found));
    find("plane-focus").textContent = METHODS[state.focus].label;
    find("formula").replaceChildren(...formula(state));
    find("legend").replaceChildren(
      ...found.map(({ key, label }) => html("li", {}, swatch(key), label)),
    );
    drawPlane(state, found);
    drawRuns(charts, state, problem, gradients, found);
    find("own-s").hidden = !state.show.includes("acprop");
    find("table").replaceChildren(...found.map((one) => row(one, problem, state.steps)));
    drawThresholds(state);
  };
}

const rooms = new Map();

function roomOf(name, steps) {
  if (rooms.get(name)?.d.length !== steps) rooms.set(name, roomFor(steps));
  return rooms.get(name);
}

// All that is shown about one method.
function compute(state, problem, gradients, alpha, key) {
  const method = withDelay(METHODS[key], state.delay);
  const convention = conventionOf(method, state.convention);
  const { d, m, s, size, x } = run(method, convention, state, gradients, roomOf(key, state.steps));
  for (let i = 0; i < size.length; i++) size[i] *= alpha[i];
  return {
    key,
    label: method.label,
    x: walk(problem, d, alpha, x),
    m,
    s,
    size,
    ...explain(problem, method, convention, state, state.steps),
    crossings: crossings(problem, method, convention, state, Z),
    border: borderOf(state.problem, method, convention, state),
  };
}

// The rule that is explained, a line for each formula.
function formula({ focus, delay, convention }) {
  const method = withDelay(METHODS[focus], delay);
  const lines = formulaOf(method, conventionOf(method, convention));
  return lines.map((line) => html("span", {}, ...typeset(line)));
}

function spanOf({ span, steps, P }) {
  const n = Math.min(steps, Math.max(PERIODS * P, 24));
  if (span === "all") return { lo: 1, hi: steps };
  return span === "first" ? { lo: 1, hi: n } : { lo: steps - n + 1, hi: steps };
}

// The steps at which the large gradient comes, where there are few.
function marksOf({ P }, { lo, hi }) {
  const marks = [];
  for (let t = 1 + P * Math.ceil((lo - 1) / P); t <= hi; t += P) marks.push(t);
  return marks.length <= MARKS ? marks : [];
}

function drawRuns(charts, state, problem, gradients, found) {
  const of = (name) => found.map((one) => ({ ...one, values: one[name] }));
  const ends = (lines) =>
    lines.map(({ label, values }) => `${label} ${number(values.at(-1))}`).join(", ");
  const margin = 0.04 * (problem.hi - problem.lo);
  charts.x({
    lines: of("x"),
    t: { lo: 1, hi: state.steps },
    y: { lo: problem.lo - margin, hi: problem.hi + margin, label: "x" },
    summary: `x over ${number(state.steps)} steps; x* is ${number(problem.xStar)}; at the end ${ends(of("x"))}`,
  });
  const t = spanOf(state);
  const marks = marksOf(state, t);
  const closeUp = (chart, lines, log, label, what) => {
    const y = { ...rangeOf(lines, t, log), label };
    chart({ lines, t, y, marks, summary: `${what}; at the end ${ends(lines)}` });
  };
  // m, v and s are the same for all methods that have them.
  const moments = (key) => {
    const method = METHODS[key];
    const known = state.delay === 1 && found.find((one) => one.key === key);
    const room = roomOf(`moments of ${key}`, state.steps);
    return known || run(method, conventionOf(method, state.convention), state, gradients, room);
  };
  const [centered, plain] = [moments("acprop-paper"), moments("adam")];
  const line = (key, values, label = key) => ({ key, label, values });
  const own = found.filter(({ key }) => key === "acprop");
  const gm = [line("g", gradients), line("m", centered.m)];
  const vs = [line("v", plain.s), line("s", centered.s)];
  vs.push(...own.map(({ s }) => line("acprop", s, "s of the default")));
  closeUp(charts.m, gm, false, "g and m", "The gradient g and its running mean m");
  closeUp(charts.s, vs, true, "v and s", "The second moments v and s");
  closeUp(charts.size, of("size"), true, "step size", "Step sizes");
}

// Which go where, by name.
function ways(found) {
  const groups = [["To x*: ", true], ["Away from it: ", false], ["Neither: ", null]];
  return groups.flatMap(([title, way]) => {
    const names = found.filter(({ towards }) => towards === way).map(({ label }) => label);
    return names.length ? [html("span", {}, html("b", {}, title), `${names.join("; ")}.`)] : [];
  });
}

function row({ key, label, x, net, towards, isSettled, crossings }, problem, steps) {
  const last = x.slice(-steps / 10);
  const far = last.reduce((sum, value) => sum + Math.abs(value - problem.xStar), 0);
  const { beta2, converges } = crossings;
  const none = `none: it ${converges ? "converges" : "drifts away"} for every β2`;
  return tableRow(key, label, {
    drift: `${net > 0 ? "+" : ""}${percent(net)}${isSettled ? "" : ", on average"}`,
    "in the limit": towards === null ? "stays" : towards ? "to x*" : "away from x*",
    "border in β2": beta2.map(decay).join(", ") || none,
    "x at the end": number(x.at(-1)),
    "mean distance": number(far / last.length),
  });
}
