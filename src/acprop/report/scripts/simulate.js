// Run a method on gradients, and move x along its directions.

import { advance, begin } from "./step.js";
import { settingsOf } from "./rules.js";

// After each step: the direction d, m, s, and what the numerator was multiplied by.
export function run(method, convention, given, gradients) {
  const settings = settingsOf(method, convention, given);
  const state = begin();
  const [d, m, s, size] = [0, 0, 0, 0].map(() => new Float64Array(gradients.length));
  gradients.forEach((g, i) => {
    advance(method, convention, state, g, settings);
    d[i] = state.d;
    m[i] = state.m;
    s[i] = state.s;
    size[i] = state.size;
  });
  return { d, m, s, size };
}

// g_1, g_2 … of a problem
export const gradientsOf = ({ cycle, period }, steps) =>
  Float64Array.from({ length: steps }, (_, i) => cycle[(i + 1) % period]);

// α_t = lr·t^-η, η = 0 or ½
export const rates = (lr, eta, steps) =>
  Float64Array.from({ length: steps }, (_, i) => (eta === 0 ? lr : lr / Math.sqrt(i + 1)));

// x_t = clip(x_{t-1} - α_t·d_t, lo, hi)
export function walk({ x0, lo, hi }, d, alpha) {
  let x = x0;
  return d.map((step, i) => (x = Math.min(Math.max(x - alpha[i] * step, lo), hi)));
}
