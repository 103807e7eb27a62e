// Which way a method goes in the end: the net move of one period, as t → ∞.
//
// The state is that of limits.js, closed forms, or that of settled.js for the default,
// which has none: bias corrections are 1, the first step is forgotten and a clip that
// grows no longer binds. To see what it does before that, give a step t.

import { isEntangled, isFamily, settingsOf } from "./rules.js";
import { mean, settled } from "./limits.js";
import { makeWalk } from "./settled.js";
import { boundOf } from "./step.js";

// Returns at(β2), with all that does not depend on β2 done before, as a border needs
// thousands of values: `net` is Σ d / Σ |d| over a period, positive towards x*, which is
// the left end; `divisors` what the numerator of each phase is divided by; `isSettled`
// whether every period does the same in the end.
export function driftOf(problem, method, convention, given, { t = Infinity, effort } = {}) {
  const settings = settingsOf(method, convention, given);
  const bound = hasBorder(method) ? boundOf(method, settings.clip, t) : Infinity;
  if (isEntangled(method)) return makeWalk(problem, convention, settings, bound, effort);
  const { beta1 } = settings;
  const n = numerators(problem, method, beta1);
  const divide = divisionOf(problem, method, convention, settings);
  const isAveraged = method.rule === "adopt" || method.rule.average === "after";
  const P = problem.period;
  const [d, divisors] = [new Float64Array(P), new Float64Array(P).fill(1)];
  return (beta2) => {
    divide(beta2, divisors);
    for (let t = 0; t < P; t++) {
      const u = n[t] / divisors[t];
      d[t] = u > bound ? bound : u < -bound ? -bound : u;
    }
    if (isAveraged) average(d, beta1);
    let [net, all] = [0, 0];
    for (let t = 0; t < P; t++) {
      net += d[t];
      all += d[t] < 0 ? -d[t] : d[t];
    }
    return { net: net / all, divisors, isSettled: true };
  };
}

// Does the drift depend on β2 at all? AMSGrad's denominator stops changing, AVAGrad's
// cancels.
export const hasBorder = (method) =>
  method.rule === "adopt" || (isFamily(method) && !method.amsgrad);

// n_t of each phase: m, or the mean of the newest gradients.
function numerators(problem, method, beta1) {
  const { rule } = method;
  if (rule === "avagrad" || rule.average === "before") return mean(problem, beta1).m;
  const { cycle, period: P } = problem;
  const width = isFamily(method) ? Math.max(rule.delay, 1) : 1;
  return cycle.map((_, t) => {
    let [total, weights] = [0, 0];
    for (let i = 0, w = 1; i < width; i++, w *= beta1) {
      total += w * cycle[(t - (i % P) + P) % P];
      weights += w;
    }
    return total / weights;
  });
}

// Writes what n_t of each phase is divided by: max(√(s + inside) + outside, least). Half of
// the page's work is done here: one loop, and nothing in it but this.
function divisionOf(problem, method, convention, { beta1, eps }) {
  if (!hasBorder(method)) return () => {};
  const P = problem.period;
  const { rule } = method;
  const isCentered = rule.center === "m";
  const place = rule === "adopt" ? "below" : convention.eps_placement;
  const delay = (rule === "adopt" ? 1 : rule.delay) % P;
  // g_t - m_t = β1·(g_t - m_{t-1})
  const scale = isCentered && convention.residual === "previous" ? beta1 ** -2 : 1;
  const squares = (isCentered ? mean(problem, beta1).r : problem.cycle).map((r) => scale * r * r);
  const least = place === "below" ? eps : 0;
  const outside = place === "outside" || place === "accumulated" ? eps : 0;
  return (beta2, out) => {
    const added = place === "accumulated" ? eps / (1 - beta2) : 0;
    const inside = place === "inside" ? eps : added;
    const gain = 1 - beta2;
    let s = settled(squares, beta2);
    for (let t = 0, to = delay; t < P; t++) {
      s = beta2 * s + gain * squares[t];
      const D = Math.sqrt(s + inside) + outside;
      out[to] = D < least ? least : D;
      to = to + 1 === P ? 0 : to + 1;
    }
  };
}

// M_t = μ·M_{t-1} + (1 - μ)·u_t, once it repeats itself; in place.
function average(u, mu) {
  let M = 0;
  for (let t = 0; t < u.length; t++) M = mu * M + (1 - mu) * u[t];
  M /= 1 - mu ** u.length;
  for (let t = 0; t < u.length; t++) u[t] = M = mu * M + (1 - mu) * u[t];
}
