// Run a method on gradients, and move x along its directions.

import { advance, begin } from "./step.js";
import { settingsOf } from "./rules.js";

// Room for what run and walk return. Who draws often uses it again: to allocate and to
// collect it takes as long as a run.
export const roomFor = (steps) =>
  Object.fromEntries(["d", "m", "s", "size", "x"].map((name) => [name, new Float64Array(steps)]));

// After each step: the direction d, m, s, and what the numerator was multiplied by.
export function run(method, convention, given, gradients, room = roomFor(gradients.length)) {
  const settings = settingsOf(method, convention, given);
  const state = begin();
  const { d, m, s, size } = room;
  for (let i = 0; i < gradients.length; i++) {
    advance(method, convention, state, gradients[i], settings);
    d[i] = state.d;
    m[i] = state.m;
    s[i] = state.s;
    size[i] = state.size;
  }
  return room;
}

// g_1, g_2 … of a problem
export function gradientsOf({ cycle, period }, steps) {
  const g = new Float64Array(steps);
  for (let i = 0; i < steps; i++) g[i] = cycle[(i + 1) % period];
  return g;
}

// α_t = lr·t^-η, η = 0 or ½
export function rates(lr, eta, steps) {
  const alpha = new Float64Array(steps).fill(lr);
  if (eta !== 0) for (let i = 0; i < steps; i++) alpha[i] /= Math.sqrt(i + 1);
  return alpha;
}

// x_t = clip(x_{t-1} - α_t·d_t, lo, hi)
export function walk({ x0, lo, hi }, d, alpha, x = new Float64Array(d.length)) {
  for (let i = 0, now = x0; i < d.length; i++)
    x[i] = now = Math.min(Math.max(now - alpha[i] * d[i], lo), hi);
  return x;
}
