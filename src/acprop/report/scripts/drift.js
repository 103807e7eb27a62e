// Which way a method goes in the end: the net move of one period, as t → ∞.
//
// The state is that of limits.js, closed forms, or that of settled.js for the default,
// which has none: bias corrections are 1, the first step is forgotten and a clip that
// grows no longer binds. To see what it does before that, give a step t.

import { isEntangled, isFamily, epsOf } from "./rules.js";
import { makeWalk, COARSE } from "./settled.js";
import {
  mean,
  secondMoment,
  segments,
  logSecondMoment,
  logAdd,
} from "./limits.js";

// Σ d_t / Σ |d_t| over a period; positive is towards x*, which is the left end.
export function drift(problem, method, convention, { beta1, beta2, eps }, t = Infinity) {
  if (isEntangled(method))
    return shareOf(walkOf(problem, method, convention, { beta1, eps }, t)(beta2));
  return driftOfBeta2(problem, method, convention, { beta1, eps }, t)(beta2);
}

// The same as a function of β2, with all that does not depend on it done before: a
// border needs thousands of values. That of the default is rough: enough for its sign.
export function driftOfBeta2(problem, method, convention, { beta1, eps }, t = Infinity) {
  if (isEntangled(method)) {
    const walk = walkOf(problem, method, convention, { beta1, eps }, t, COARSE);
    return (beta2) => shareOf(walk(beta2));
  }
  const h = { beta1, eps: epsOf(method, convention, eps) };
  const logBound = logBoundOf(method, convention, t);
  const n = numerators(problem, method, beta1);
  const plain = plainSteps(problem, method, convention, h, n, Math.exp(logBound));
  const isAveraged = method.rule === "adopt" || method.rule.average === "after";
  return (beta2) => {
    const d = plain(beta2) ?? logSteps(problem, method, convention, { ...h, beta2 }, n, logBound);
    return share(isAveraged ? averaged(d, beta1) : d);
  };
}

function walkOf(problem, method, convention, { beta1, eps }, t, effort) {
  const h = { beta1, eps: epsOf(method, convention, eps) };
  const bound = Math.exp(logBoundOf(method, convention, t));
  return makeWalk(problem, convention, h, bound, effort);
}

const shareOf = ({ net, all }) => net / all;

// Does every period do the same in the end? All closed forms do.
export function doesSettle(problem, method, convention, h) {
  if (!isEntangled(method)) return true;
  return walkOf(problem, method, convention, h, Infinity)(h.beta2).isSettled;
}

function share(d) {
  let net = 0;
  let all = 0;
  for (let t = 0; t < d.length; t++) {
    net += d[t];
    all += Math.abs(d[t]);
  }
  return net / all;
}

// What each numerator is multiplied by, relative to the mean of it over a period.
export function stepSizes(problem, method, convention, { beta1, beta2, eps }) {
  const h = { beta1, beta2, eps: epsOf(method, convention, eps) };
  const log = isEntangled(method)
    ? walkOf(problem, method, convention, h, Infinity)(beta2).divisors.map((x) => -Math.log(x))
    : logDenominators(problem, method, convention, h).map((x) => -x);
  const high = log.reduce((a, b) => Math.max(a, b));
  const sizes = log.map((x) => Math.exp(x - high));
  const average = sizes.reduce((a, b) => a + b) / sizes.length;
  return sizes.map((x) => x / average);
}

const isNormalised = (method) =>
  method.rule === "sgd" || method.rule === "avagrad" || method.amsgrad;

// d_t of each phase without logarithms, many times as fast, as a function of β2: null
// if a second moment underflows.
function plainSteps(problem, method, convention, { beta1, eps }, n, bound) {
  const { rule } = method;
  if (isNormalised(method)) return () => n;
  const isAdopt = rule === "adopt";
  const isCentered = rule.center === "m";
  const seen = segments(problem, beta1, isCentered);
  const P = problem.period;
  const delay = (isAdopt ? 1 : rule.delay) % P;
  const place = isAdopt ? "below" : convention.eps_placement;
  const scale = isCentered && convention.residual === "previous" ? beta1 ** -2 : 1;
  const s = new Float64Array(P);
  const d = new Float64Array(P);
  return (beta2) => {
    if (!secondMoment(seen, beta2, s)) return null;
    const added = place === "accumulated" ? eps / (1 - beta2) : 0;
    for (let t = 0; t < P; t++) {
      const radicand = s[t < delay ? t - delay + P : t - delay] * scale + added;
      let root;
      if (place === "inside") root = Math.sqrt(radicand + eps);
      else if (place === "below") root = Math.max(Math.sqrt(radicand), eps);
      else root = Math.sqrt(radicand) + eps;
      const u = n[t] / root;
      d[t] = u > bound ? bound : u < -bound ? -bound : u;
    }
    return d;
  };
}

// The same relative to the largest, from logarithms.
function logSteps(problem, method, convention, h, n, logBound) {
  const den = logDenominators(problem, method, convention, h);
  const size = n.map((x, t) => Math.min(Math.log(Math.abs(x)) - den[t], logBound));
  const high = size.reduce((a, b) => Math.max(a, b));
  return n.map((x, t) => Math.sign(x) * Math.exp(size[t] - high));
}

// n_t of each phase.
function numerators(problem, method, beta1) {
  const { rule } = method;
  if (rule === "avagrad" || rule.average === "before") return mean(problem, beta1);
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
  const isCentered = rule.center === "m";
  let seen = logSecondMoment(segments(problem, beta1, isCentered), beta2);
  // g_t - m_t = β1·(g_t - m_{t-1})
  if (isCentered && convention.residual === "previous")
    seen = seen.map((x) => x - 2 * Math.log(beta1));
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

// M_t = μ·M_{t-1} + (1 - μ)·u_t, once it repeats itself; in place.
function averaged(u, mu) {
  let M = 0;
  for (let t = 0; t < u.length; t++) M = mu * M + (1 - mu) * u[t];
  M /= 1 - mu ** u.length;
  for (let t = 0; t < u.length; t++) {
    M = mu * M + (1 - mu) * u[t];
    u[t] = M;
  }
  return u;
}
