// One step of a method, in place, in the letters of the paper's Section 2.1:
//
//     m_i = β1·m_{i-1} + (1 - β1)·g_i
//     s_i = β2·s_{i-1} + (1 - β2)·r_i²       r_i = g_i - m_i  if centered else  g_i
//     u_t = clip(n_t / √(s_k + ε), ±c_t)     k = t - delay
//     d_t = u_t
//
// With average "after" the direction is that of a second mean, and with center
// "average" the residual is taken against what this mean implies:
//
//     M_t = β1·M_{t-1} + (1 - β1)·u_t
//     d_t = M_t                              with nesterov  β1·M_t + (1 - β1)·u_t
//     r_t = g_t - D_t·clip(M_{t-1}, ±1)      D_t: what u_t was divided by
//     s_t = β2·s_{t-1} + (1 - β2)·(1 + β1)/2·r_t²
//
// The convention says where ε stands, what is corrected and whether there is a bound.
// x is the caller's: x_t = x_{t-1} - α_t·d_t. A state has one entry for each element
// of a tensor; the page has tensors of one element, the golden vectors of five.

import { isFamily, epsOf } from "./rules.js";

// m and s know all gradients but those in `past`: the newest delay - 1. `d` is the
// direction, `size` what the numerator was multiplied by to get u, `expected` the
// gradient that the average implied.
export function begin(n = 1) {
  const zeros = () => new Float64Array(n);
  return {
    t: 0,
    m: zeros(),
    s: zeros(),
    top: zeros(),
    M: zeros(),
    past: [],
    d: zeros(),
    size: zeros(),
    numerator: zeros(),
    expected: zeros(),
  };
}

// What a step needs beside the gradient; null takes the convention's or the method's.
export function hyper(method, convention, { beta1, beta2, eps = null, clip }) {
  return {
    beta1,
    beta2,
    eps: epsOf(method, convention, eps),
    clip: clip === undefined ? convention.clip : clip,
  };
}

export function advance(method, convention, state, g, h) {
  state.t += 1;
  if (method.rule === "sgd") {
    state.d.set(g);
    state.size.fill(1);
  } else if (method.rule === "avagrad") avagrad(state, g, h);
  else if (method.rule === "adopt") adopt(state, g, h);
  else if (isFamily(method)) family(method, convention, state, g, h);
  else throw new Error(`rule must be of the family or outside it, got ${method.rule}`);
}

function family(method, convention, state, g, h) {
  const { delay } = method.rule;
  if (delay === 0) {
    observe(method.rule, convention, state, g, h);
    descend(method, convention, state, g, h);
    return;
  }
  descend(method, convention, state, g, h);
  if (delay === 1) observe(method.rule, convention, state, g, h);
  else {
    state.past.push(Float64Array.from(g));
    if (state.past.length === delay)
      observe(method.rule, convention, state, state.past.shift(), h);
  }
}

// Let m and s learn of one gradient.
function observe(rule, convention, state, g, h) {
  const { m, s, expected } = state;
  const n = m.length;
  const previous = convention.residual === "previous";
  const added = convention.eps_placement === "accumulated" ? h.eps : 0;
  const gain = (1 - h.beta2) * (rule.center === "average" ? (1 + h.beta1) / 2 : 1);
  let reduced = 0;
  for (let i = 0; i < n; i++) {
    const old = m[i];
    m[i] = h.beta1 * old + (1 - h.beta1) * g[i];
    let r = g[i];
    if (rule.center === "m") r -= previous ? old : m[i];
    else if (rule.center === "average") r -= expected[i];
    if (rule.reduction === null) s[i] = h.beta2 * s[i] + gain * (r * r) + added;
    else if (rule.reduction === "max") reduced = Math.max(reduced, r * r);
    else reduced += (r * r) / n;
  }
  if (rule.reduction !== null) s.fill(h.beta2 * s[0] + gain * reduced + added);
}

const within = (x, bound) => Math.min(Math.max(x, -bound), bound);

// Divide the numerator by the root of what s has seen so far, and average that.
function descend(method, convention, state, g, h) {
  const { d, size, M, numerator, expected } = state;
  const { average, nesterov, delay } = method.rule;
  const k = Math.max(state.t - delay, 0);
  const bound = boundOf(h.clip, state.t);
  divideWhat(method.rule, convention, state, g, h);
  for (let i = 0; i < d.length; i++) {
    const den = denominator(method, convention, state, i, k, h);
    expected[i] = den * within(M[i], 1);
    const divisor = k === 0 ? firstDenominator(convention, den, h) : den;
    let u = numerator[i] / divisor;
    if (convention.clip !== null && numerator[i] === 0) u = 0;
    u = within(u, bound);
    size[i] = numerator[i] === 0 ? 1 / divisor : u / numerator[i];
    d[i] = u;
    if (average !== "after") continue;
    M[i] = h.beta1 * M[i] + (1 - h.beta1) * u;
    d[i] = nesterov ? h.beta1 * M[i] + (1 - h.beta1) * u : M[i];
  }
}

function boundOf(clip, t) {
  if (clip === null) return Infinity;
  return clip === "t**0.25" ? Math.sqrt(Math.sqrt(t)) : clip;
}

// What is divided by while s has seen nothing.
function firstDenominator(convention, den, { eps }) {
  if (convention.first_step === "sgd") return 1;
  if (convention.first_step === "one")
    return convention.eps_placement === "inside" ? 1 : 1 + eps;
  return den;
}

function denominator(method, convention, state, i, k, h) {
  const inside = convention.eps_placement === "inside";
  const { top } = state;
  let s = state.s[i];
  const largest = method.amsgrad && k > 0 ? convention.amsgrad : null;
  if (largest === "raw") s = top[i] = Math.max(top[i], s);
  const seen = convention.bias_correction && k > 0 ? 1 - h.beta2 ** k : 1;
  let radicand = s / (seen === 0 ? 1 : seen);
  if (inside) radicand += h.eps;
  if (largest === "corrected") radicand = top[i] = Math.max(top[i], radicand);
  const root = Math.sqrt(radicand);
  return inside ? root : root + h.eps;
}

// The numerator: with average "before" m_t, else the mean of the newest `delay`
// gradients.
function divideWhat(rule, convention, state, g, h) {
  const { numerator, past, m } = state;
  for (let i = 0; i < numerator.length; i++) {
    if (rule.average === "before") {
      const next = (mean, now) => h.beta1 * mean + (1 - h.beta1) * now;
      let mean = m[i];
      if (rule.delay > 0) {
        for (const old of past) mean = next(mean, old[i]);
        mean = next(mean, g[i]);
      }
      if (rule.nesterov) mean = next(mean, g[i]); // the weights of one more step
      const t = state.t + (rule.nesterov ? 1 : 0);
      numerator[i] = convention.bias_correction ? mean / (1 - h.beta1 ** t) : mean;
      continue;
    }
    let total = g[i];
    let weights = 1;
    let weight = 1;
    for (let j = past.length - 1; j >= 0; j--) {
      weight *= h.beta1;
      total += weight * past[j][i];
      weights += weight;
    }
    numerator[i] = total / weights;
  }
}

// d_t = m_t·e_t / √mean(e_t²),  e_t = 1/(√v_{t-1} + ε)
function avagrad(state, g, h) {
  const { m, s, d, size } = state;
  let squares = 0;
  for (let i = 0; i < m.length; i++) {
    size[i] = 1 / (Math.sqrt(s[i]) + h.eps);
    squares += size[i] ** 2 / m.length;
  }
  for (let i = 0; i < m.length; i++) {
    m[i] = h.beta1 * m[i] + (1 - h.beta1) * g[i];
    size[i] /= Math.sqrt(squares);
    d[i] = m[i] * size[i];
    s[i] = h.beta2 * s[i] + (1 - h.beta2) * g[i] * g[i];
  }
}

// d_t = β1·d_{t-1} + (1 - β1)·clip(g_t / max(√v_{t-1}, ε), ±(t - 1)^¼), v_1 = g_1²
function adopt(state, g, h) {
  const { m, s, d, size } = state;
  const bound = Math.sqrt(Math.sqrt(state.t - 1));
  for (let i = 0; i < m.length; i++) {
    if (state.t === 1) {
      s[i] = g[i] * g[i];
      d[i] = size[i] = 0;
      continue;
    }
    const den = Math.max(Math.sqrt(s[i]), h.eps);
    const u = Math.min(Math.max(g[i] / den, -bound), bound);
    size[i] = g[i] === 0 ? 1 / den : u / g[i];
    m[i] = h.beta1 * m[i] + (1 - h.beta1) * u;
    d[i] = m[i];
    s[i] = h.beta2 * s[i] + (1 - h.beta2) * g[i] * g[i];
  }
}
