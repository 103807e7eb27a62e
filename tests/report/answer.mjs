// Answers questions about the explorer's modules: JSON on stdin, JSON on stdout.
// Numbers that JSON cannot say come as text.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const folder = pathToFileURL(`${process.argv[2]}/`);
const load = (name) => import(new URL(name, folder));
const { METHODS, CONVENTIONS, settingsOf, withDelay } = await load("rules.js");
const { begin, advance } = await load("step.js");
const { problemOf } = await load("problems.js");
const { mean, settled } = await load("limits.js");
const { driftOf } = await load("drift.js");
const { COARSE } = await load("settled.js");
const { crossings } = await load("borders.js");
const { formulaOf } = await load("formula.js");
const { TOUR } = await load("tour.js");
const { FIELDS, read } = await load("state.js");
const { explain } = await load("explain.js");
const { THRESHOLDS, threshold } = await load("thresholds.js");
const { run, walk, rates, gradientsOf } = await load("simulate.js");

// One element of a golden case: x after every step, and m, s and M after the last.
function follow({ rule, convention, settings, x0, grads, schedule }, k) {
  const method = { rule, amsgrad: settings.amsgrad };
  const how = CONVENTIONS[convention];
  const [beta1, beta2] = settings.betas;
  const h = settingsOf(method, how, { beta1, beta2, eps: settings.eps, clip: settings.clip });
  const state = begin();
  let x = x0[k];
  const path = grads.map((row, i) => {
    const lr = schedule === "lr/sqrt(t)" ? settings.lr / Math.sqrt(i + 1) : settings.lr;
    const decay = settings.weight_decay;
    let g = settings.maximize ? -row[k] : row[k];
    if (settings.decoupled_weight_decay) x *= 1 - lr * decay;
    else g += decay * x;
    advance(method, how, state, g, h);
    x -= lr * state.d;
    return x;
  });
  return { x: path, m: state.m, s: state.s, M: state.M };
}

function followAll(given) {
  const elements = given.x0.map((_, k) => follow(given, k));
  const all = (name) => elements.map((element) => element[name]);
  const x = given.grads.map((_, i) => elements.map((element) => element.x[i]));
  return { x, m: all("m"), s: all("s"), M: all("M") };
}

const given = (c) => [
  problemOf(c.problem, c.P),
  withDelay(METHODS[c.method], c.delay),
  CONVENTIONS[c.convention],
  c,
];

const ANSWERS = {
  tables: () => ({ methods: METHODS, conventions: CONVENTIONS }),
  walks: (cases) => cases.map(followAll),
  drifts: (cases) =>
    cases.map((c) => {
      const { net, isSettled } = driftOf(...given(c), { t: c.t ?? Infinity })(c.beta2);
      return { drift: net, isSettled };
    }),
  rough: (cases) => cases.map((c) => driftOf(...given(c), { effort: COARSE })(c.beta2).net),
  sentences: (cases) => cases.map((c) => explain(...given(c), 10000).text),
  thresholds: (cases) => ({
    critical: THRESHOLDS["acprop-before"].critical,
    values: cases.map(({ key, beta1 }) => threshold(THRESHOLDS[key], beta1)),
  }),
  limits: (cases) =>
    cases.map(({ problem, P, beta1, beta2 }) => {
      const at = problemOf(problem, P);
      const { m, r } = mean(at, beta1);
      const moment = (of) => {
        let y = settled(of.map((r) => r * r), beta2);
        return [...of].map((r) => (y = beta2 * y + (1 - beta2) * r * r));
      };
      return { m: [...m], v: moment(at.cycle), s: moment(r) };
    }),
  borders: (cases) => cases.map((c) => crossings(...given(c), c.z)),
  runs: (cases) =>
    cases.map((c) => {
      const [problem, ...how] = given(c);
      const { d, m, s } = run(...how, gradientsOf(problem, c.steps));
      return { x: [...walk(problem, d, rates(c.lr, c.eta, c.steps))], m: [...m], s: [...s] };
    }),
  feeds: (cases) =>
    cases.map((c) => {
      const method = withDelay(METHODS[c.method], c.delay ?? 1);
      return [...run(method, CONVENTIONS[c.convention], c, c.gradients).d];
    }),
  formulas: (cases) =>
    cases.map((c) => formulaOf(withDelay(METHODS[c.method], c.delay), CONVENTIONS[c.convention])),
  tour: () => TOUR.map(({ set }) => ({ ...read(set), fields: Object.keys(FIELDS) })),
};

const sayable = (_, value) =>
  typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
const { what, cases } = JSON.parse(readFileSync(0, "utf-8"));
process.stdout.write(JSON.stringify(ANSWERS[what](cases), sayable));
