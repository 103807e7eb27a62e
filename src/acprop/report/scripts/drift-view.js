// The first view: a problem, its numbers, and where each optimizer goes.

import { METHODS, conventionOf, withDelay } from "./rules.js";
import { problemOf } from "./problems.js";
import { moments, rates, trajectory } from "./simulate.js";
import { crossings } from "./borders.js";
import { explain } from "./explain.js";
import { makeChart, rangeOf } from "./chart.js";
import { borderOf, makePlane, Z } from "./plane.js";
import { makeThresholds } from "./thresholds-view.js";
import { decay, number, percent, whole } from "./format.js";
import { html, swatch, tableRow } from "./svg.js";

const PERIODS = 4; // of the close-up
const MARKS = 12; // more would be a curtain

export function makeDriftView(root, change) {
  const find = (name) => root.querySelector(`[data-part=${name}]`);
  const drawPlane = makePlane(find("plane"), (P, beta2) => change({ P, beta2 }, []));
  const drawThresholds = makeThresholds(find("thresholds"));
  const charts = {
    x: makeChart(find("x"), 400),
    m: makeChart(find("m"), 210),
    s: makeChart(find("s"), 210),
    size: makeChart(find("size"), 210),
  };
  return function draw(state) {
    const found = compute(state);
    const sentence = find("sentence");
    const { towards, text } = found.explained[state.focus];
    sentence.textContent = text;
    sentence.className = `sentence ${towards === null ? "none" : towards ? "towards" : "off"}`;
    find("ways").replaceChildren(...ways(state.show, found.explained));
    drawPlane({
      name: state.problem,
      P: state.P,
      beta2: state.beta2,
      layers: found.layers,
      focus: state.focus,
    });
    find("plane-focus").textContent = METHODS[state.focus].label;
    legend(find("legend"), state.show);
    drawRun(charts, state, found);
    find("own-s").hidden = !state.show.includes("acprop");
    drawThresholds(state);
    fillTable(find("table"), state, found);
  };
}

function compute(state) {
  const problem = problemOf(state.problem, state.P);
  const h = { beta1: state.beta1, beta2: state.beta2, eps: state.eps };
  const alpha = rates(state.lr, state.eta, state.steps);
  const runs = {};
  const explained = {};
  const border = {};
  const layers = state.show.map((key) => {
    const method = withDelay(METHODS[key], state.delay);
    const convention = conventionOf(method, state.convention);
    runs[key] = trajectory(problem, method, convention, h, alpha);
    explained[key] = explain(problem, method, convention, h, state.steps);
    border[key] = crossings(problem, method, convention, h, Z);
    return { key, border: borderOf(state.problem, method, key, convention, h) };
  });
  const paper = conventionOf(METHODS["acprop-paper"], state.convention);
  const seen = moments(problem, paper, h, state.steps);
  return { problem, runs, explained, border, layers, seen };
}

function spanOf({ span, steps, P }) {
  const n = Math.min(steps, Math.max(PERIODS * P, 24));
  if (span === "all") return { lo: 1, hi: steps };
  return span === "first" ? { lo: 1, hi: n } : { lo: steps - n + 1, hi: steps };
}

// The steps at which the large gradient comes, where there are few.
function marksOf({ P }, { lo, hi }) {
  const first = lo + ((((1 - lo) % P) + P) % P);
  const marks = [];
  for (let t = first; t <= hi; t += P) marks.push(t);
  return marks.length <= MARKS ? marks : [];
}

function drawRun(charts, state, { problem, runs, seen }) {
  const name = (key) => METHODS[key].label;
  const of = (what) =>
    state.show.map((key) => ({ key, label: name(key), values: runs[key][what], first: 1 }));
  const ends = (lines) =>
    lines.map((line) => `${line.label} ${number(line.values.at(-1))}`).join(", ");
  const margin = 0.04 * (problem.hi - problem.lo);
  charts.x({
    lines: of("x"),
    t: { lo: 1, hi: state.steps },
    y: { lo: problem.lo - margin, hi: problem.hi + margin },
    yLabel: "x",
    summary: `x over ${whole(state.steps)} steps; x* is ${number(problem.xStar)}; at the end ${ends(of("x"))}`,
  });
  const t = spanOf(state);
  const marks = marksOf(state, t);
  const closeUp = (chart, lines, log, yLabel, what) =>
    chart({
      lines,
      t,
      y: rangeOf(lines, t, log),
      yLabel,
      marks,
      summary: `${what}; at the end ${ends(lines)}`,
    });
  const single = (key, label, values) => ({ key, label, values, first: 1 });
  const gm = [single("g", "g", seen.g), single("m", "m", seen.m)];
  const vs = [single("v", "v", seen.v), single("s", "s", seen.s)];
  if ("acprop" in runs) vs.push(single("acprop", "s of the default", runs.acprop.s));
  closeUp(charts.m, gm, false, "g and m", "The gradient g and its running mean m");
  closeUp(charts.s, vs, true, "v and s", "The second moments v and s");
  closeUp(charts.size, of("size"), true, "step size", "Step sizes");
}

// Who goes where, by name: all that are drawn.
function ways(show, explained) {
  const groups = [
    ["To x*: ", (way) => way === true],
    ["Away from it: ", (way) => way === false],
    ["Neither: ", (way) => way === null],
  ];
  return groups.flatMap(([title, belongs]) => {
    const names = show.filter((key) => belongs(explained[key].towards)).map((key) => METHODS[key].label);
    return names.length ? [html("span", {}, html("b", {}, title), `${names.join("; ")}.`)] : [];
  });
}

function legend(list, show) {
  list.replaceChildren(
    ...show.map((key) => html("li", {}, swatch(key), METHODS[key].label)),
  );
}

function fillTable(body, state, { problem, runs, explained, border }) {
  const tail = Math.max(1, state.steps / 10);
  body.replaceChildren(
    ...state.show.map((key) => {
      const { net, towards, isSettled } = explained[key];
      const { x } = runs[key];
      let far = 0;
      for (let i = x.length - tail; i < x.length; i++) far += Math.abs(x[i] - problem.xStar);
      const { beta2, converges } = border[key];
      const where = beta2.length
        ? beta2.map(decay).join(", ")
        : `none: it ${converges ? "converges" : "drifts away"} for every β2`;
      const cells = {
        drift: `${net > 0 ? "+" : ""}${percent(net)}${isSettled ? "" : ", on average"}`,
        "in the limit": towards === null ? "stays" : towards ? "to x*" : "away from x*",
        "border in β2": where,
        "x at the end": number(x.at(-1)),
        "mean distance": number(far / tail),
      };
      return tableRow(key, METHODS[key].label, cells);
    }),
  );
}
