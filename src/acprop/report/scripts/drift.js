// Which way a method goes in the end: the net move of one period, as t → ∞.
//
// Nothing is simulated: the state is that of limits.js, where bias corrections are 1,
// the first step is forgotten and a clip that grows no longer binds. To see what it
// does before that, ask for its value at a step t.

import { isFamily, epsOf } from "./rules.js";
import { mean, secondMoment, logCentered, logUncentered, logAdd } from "./limits.js";

// Σ d_t / Σ |d_t| over a period; positive is towards x*, which is the left end.
export function drift(problem, method, convention, h, t = Infinity) {
  const d = directions(problem, method, convention, h, t);
  let net = 0;
  let all = 0;
  for (const move of d) {
    net += move;
    all += Math.abs(move);
  }
  return net / all;
}

// d_t of each phase; where the sizes underflow, relative to the largest.
export function directions(problem, method, convention, { beta1, beta2, eps }, t = Infinity) {
  const h = { beta1, beta2, eps: epsOf(method, convention, eps) };
  const logBound = logBoundOf(method, convention, t);
  const d =
    plainSteps(problem, method, convention, h, Math.exp(logBound)) ??
    logSteps(problem, method, convention, h, logBound);
  const momentum = method.rule === "adopt" ? beta1 : method.momentum;
  return momentum ? averaged(d, momentum) : d;
}

// What each numerator is multiplied by, relative to the mean of it over a period.
export function stepSizes(problem, method, convention, { beta1, beta2, eps }) {
  const h = { beta1, beta2, eps: epsOf(method, convention, eps) };
  const log = logDenominators(problem, method, convention, h).map((x) => -x);
  const high = log.reduce((a, b) => Math.max(a, b));
  const sizes = log.map((x) => Math.exp(x - high));
  const average = sizes.reduce((a, b) => a + b) / sizes.length;
  return sizes.map((x) => x / average);
}

const isNormalised = (method) =>
  method.rule === "sgd" || method.rule === "avagrad" || method.amsgrad;

// Without logarithms, much faster; null if a second moment underflows.
function plainSteps(problem, method, convention, { beta1, beta2, eps }, bound) {
  const { rule } = method;
  if (!isFamily(method) || method.amsgrad) return null;
  const s = secondMoment(problem, beta1, beta2, rule.centered);
  if (s === null) return null;
  const scale = rule.centered && convention.residual === "previous" ? beta1 ** -2 : 1;
  const added = convention.eps_placement === "accumulated" ? eps / (1 - beta2) : 0;
  const inside = convention.eps_placement === "inside";
  const P = problem.period;
  const out = numerators(problem, method, beta1);
  for (let t = 0; t < P; t++) {
    const seen = s[(t - (rule.delay % P) + P) % P] * scale + added;
    const u = out[t] / (inside ? Math.sqrt(seen + eps) : Math.sqrt(seen) + eps);
    out[t] = Math.min(Math.max(u, -bound), bound);
  }
  return out;
}

function logSteps(problem, method, convention, h, logBound) {
  const out = numerators(problem, method, h.beta1);
  const den = logDenominators(problem, method, convention, h);
  const size = out.map((n, t) => Math.min(Math.log(Math.abs(n)) - den[t], logBound));
  const high = size.reduce((a, b) => Math.max(a, b));
  for (let t = 0; t < out.length; t++) out[t] = Math.sign(out[t]) * Math.exp(size[t] - high);
  return out;
}

// n_t of each phase.
function numerators(problem, method, beta1) {
  const { rule } = method;
  if (rule === "avagrad" || rule.numerator === "m") return mean(problem, beta1);
  const { cycle, period: P } = problem;
  const width = isFamily(method) ? Math.max(rule.delay, 1) : 1;
  if (width === 1) return Float64Array.from(cycle);
  return cycle.map((_, t) => {
    let total = 0;
    let weights = 0;
    for (let i = 0, w = 1; i < width; i++, w *= beta1) {
      total += w * cycle[(((t - i) % P) + P) % P];
      weights += w;
    }
    return total / weights;
  });
}

// log of what the numerator of each phase is divided by.
function logDenominators(problem, method, convention, { beta1, beta2, eps }) {
  const P = problem.period;
  const { rule } = method;
  if (isNormalised(method)) return new Float64Array(P);
  const logEps = Math.log(eps);
  let seen;
  if (rule.centered) {
    seen = logCentered(problem, beta1, beta2);
    // g_t - m_t = β1·(g_t - m_{t-1})
    if (convention.residual === "previous")
      seen = seen.map((x) => x - 2 * Math.log(beta1));
  } else seen = logUncentered(problem, beta2);
  const before = (k) => seen.map((_, t) => seen[(t - (k % P) + P) % P]);
  if (rule === "adopt") return before(1).map((x) => Math.max(x / 2, logEps));
  if (convention.eps_placement === "accumulated")
    seen = seen.map((x) => logAdd(x, logEps - Math.log1p(-beta2)));
  seen = before(rule.delay);
  if (convention.eps_placement === "inside")
    return seen.map((x) => logAdd(x, logEps) / 2);
  return seen.map((x) => logAdd(x / 2, logEps));
}

// log of the clip at step t; none where only the ratio of steps is known here.
function logBoundOf(method, convention, t) {
  if (method.rule === "adopt") return Math.log(t - 1) / 4;
  const clip = isFamily(method) && !method.amsgrad ? convention.clip : null;
  if (clip === null) return Infinity;
  return clip === "t**0.25" ? Math.log(t) / 4 : Math.log(clip);
}

// M_t = μ·M_{t-1} + (1 - μ)·u_t, once it repeats itself.
function averaged(u, mu) {
  let M = 0;
  for (const now of u) M = mu * M + (1 - mu) * now;
  M /= 1 - mu ** u.length;
  return u.map((now) => (M = mu * M + (1 - mu) * now));
}
