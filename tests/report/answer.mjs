// Answers questions about the explorer's modules: JSON on stdin, JSON on stdout.
// Numbers that JSON cannot say come as text.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const folder = pathToFileURL(`${process.argv[2]}/`);
const load = (name) => import(new URL(name, folder));
const { METHODS, CONVENTIONS, withDelay } = await load("rules.js");
const { begin, advance, hyper } = await load("step.js");
const { problemOf } = await load("problems.js");
const { mean, logSecondMoment, secondMoment, segments } = await load("limits.js");
const { doesSettle, drift, driftOfBeta2 } = await load("drift.js");
const { crossings } = await load("borders.js");
const { explain } = await load("explain.js");
const { CRITICAL, threshold } = await load("thresholds.js");
const { trajectory, moments, rates, feed } = await load("simulate.js");

// A golden case: x after every step, and m, s and M after the last.
function walk({ rule, convention, settings, x0, grads, schedule }) {
  const method = { rule, amsgrad: settings.amsgrad };
  const how = CONVENTIONS[convention];
  const [beta1, beta2] = settings.betas;
  const h = hyper(method, how, { beta1, beta2, eps: settings.eps, clip: settings.clip });
  const state = begin(x0.length);
  let x = [...x0];
  const path = grads.map((row, i) => {
    const lr = schedule === "lr/sqrt(t)" ? settings.lr / Math.sqrt(i + 1) : settings.lr;
    const decay = settings.weight_decay;
    let g = row.map((value) => (settings.maximize ? -value : value));
    if (settings.decoupled_weight_decay) x = x.map((value) => value * (1 - lr * decay));
    else g = g.map((value, k) => value + decay * x[k]);
    advance(method, how, state, g, h);
    x = x.map((value, k) => value - lr * state.d[k]);
    return x;
  });
  const s = rule.reduction === null ? [...state.s] : [state.s[0]];
  return { x: path, m: [...state.m], s, M: [...state.M] };
}

const methodOf = ({ method, delay }) => withDelay(METHODS[method], delay);

const ANSWERS = {
  tables: () => ({ methods: METHODS, conventions: CONVENTIONS }),
  walks: (cases) => cases.map(walk),
  drifts: (cases) =>
    cases.map((c) => {
      const problem = problemOf(c.problem, c.P);
      return drift(problem, methodOf(c), CONVENTIONS[c.convention], c, c.t ?? Infinity);
    }),
  settled: (cases) =>
    cases.map((c) => {
      const given = [problemOf(c.problem, c.P), methodOf(c), CONVENTIONS[c.convention], c];
      return {
        drift: drift(...given, c.t ?? Infinity),
        rough: driftOfBeta2(...given, c.t ?? Infinity)(c.beta2),
        isSettled: doesSettle(...given),
      };
    }),
  sentences: (cases) =>
    cases.map((c) =>
      explain(problemOf(c.problem, c.P), methodOf(c), CONVENTIONS[c.convention], c, 10000).text,
    ),
  thresholds: (cases) => ({
    critical: CRITICAL,
    values: cases.map(({ key, beta1 }) => threshold(key, beta1)),
  }),
  limits: (cases) =>
    cases.map(({ problem, P, beta1, beta2 }) => {
      const at = problemOf(problem, P);
      const plain = (centered) => {
        const found = new Float64Array(P);
        const isWhole = secondMoment(segments(at, beta1, centered), beta2, found);
        return isWhole ? [...found] : null;
      };
      return {
        m: [...mean(at, beta1)],
        log_v: [...logSecondMoment(segments(at, beta1, false), beta2)],
        log_s: [...logSecondMoment(segments(at, beta1, true), beta2)],
        v: plain(false),
        s: plain(true),
      };
    }),
  borders: (cases) =>
    cases.map((c) =>
      crossings(problemOf(c.problem, c.P), methodOf(c), CONVENTIONS[c.convention], c, c.z),
    ),
  runs: (cases) =>
    cases.map((c) => {
      const problem = problemOf(c.problem, c.P);
      const how = CONVENTIONS[c.convention];
      const alpha = rates(c.lr, c.eta, c.steps);
      const { x } = trajectory(problem, methodOf(c), how, c, alpha);
      const { m, v, s } = moments(problem, how, c, c.steps);
      return { x: [...x], m: [...m], v: [...v], s: [...s] };
    }),
  feeds: (cases) =>
    cases.map((c) => [...feed(methodOf(c), CONVENTIONS[c.convention], c, c.gradients)]),
};

const sayable = (_, value) =>
  typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
const { what, cases } = JSON.parse(readFileSync(0, "utf-8"));
process.stdout.write(JSON.stringify(ANSWERS[what](cases), sayable));
