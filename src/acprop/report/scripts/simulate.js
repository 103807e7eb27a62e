// Run a method: x_t = clip(x_{t-1} - α_t·d_t, lo, hi), α_t = lr·t^-η.

import { begin, advance, hyper } from "./step.js";

// α_1 … α_n
export function rates(lr, eta, steps) {
  const out = new Float64Array(steps);
  for (let t = 1; t <= steps; t++)
    out[t - 1] = eta === 0 ? lr : eta === 0.5 ? lr / Math.sqrt(t) : lr * t ** -eta;
  return out;
}

// x and s after each step, and the step size: what its numerator is multiplied by.
export function trajectory(problem, method, convention, numbers, alpha) {
  const h = hyper(method, convention, numbers);
  const steps = alpha.length;
  const state = begin();
  const x = new Float64Array(steps);
  const size = new Float64Array(steps);
  const s = new Float64Array(steps);
  const g = new Float64Array(1);
  const { cycle, period, lo, hi } = problem;
  let at = problem.x0;
  for (let t = 1; t <= steps; t++) {
    g[0] = cycle[t % period];
    advance(method, convention, state, g, h);
    at = Math.min(Math.max(at - alpha[t - 1] * state.d[0], lo), hi);
    x[t - 1] = at;
    size[t - 1] = alpha[t - 1] * state.size[0];
    s[t - 1] = state.s[0];
  }
  return { x, size, s };
}

// g, m, v and the paper's s after each step: on these problems the same for all methods
// that have them; the default's s is its own.
export function moments(problem, convention, { beta1, beta2 }, steps) {
  const [g, m, v, s] = [0, 0, 0, 0].map(() => new Float64Array(steps));
  const { cycle, period } = problem;
  const previous = convention.residual === "previous";
  let [mean, raw, centered] = [0, 0, 0];
  for (let t = 1; t <= steps; t++) {
    const now = cycle[t % period];
    const old = mean;
    mean = beta1 * mean + (1 - beta1) * now;
    const r = now - (previous ? old : mean);
    raw = beta2 * raw + (1 - beta2) * now * now;
    centered = beta2 * centered + (1 - beta2) * r * r;
    g[t - 1] = now;
    m[t - 1] = mean;
    v[t - 1] = raw;
    s[t - 1] = centered;
  }
  return { g, m, v, s };
}

// The directions of a method on gradients that are given: d_1, d_2 …
export function feed(method, convention, numbers, gradients) {
  const h = hyper(method, convention, numbers);
  const state = begin();
  return Float64Array.from(gradients, (g) => {
    advance(method, convention, state, [g], h);
    return state.d[0];
  });
}
