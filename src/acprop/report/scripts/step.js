// One step of a method on one parameter, in the letters of the paper's Section 2.1:
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
// x is the caller's: x_t = x_{t-1} - α_t·d_t.

// m and s know all gradients but those in `past`: the newest delay - 1. `d` is the
// direction, `size` what the numerator was multiplied by to get u, `expected` the
// gradient that the average implied.
export const begin = () => ({ t: 0, m: 0, s: 0, top: 0, M: 0, past: [], d: 0, size: 0, expected: 0 });

export function advance(method, convention, state, g, settings) {
  state.t += 1;
  if (method.rule === "adopt") adopt(method, state, g, settings);
  else if (method.rule === "sgd" || method.rule === "avagrad") {
    // AVAGrad divides by its denominators' mean: with one parameter they cancel.
    const beta1 = method.rule === "sgd" ? 0 : settings.beta1;
    state.d = state.m = beta1 * state.m + (1 - beta1) * g;
    state.size = 1;
  } else family(method, convention, state, g, settings);
}

function family(method, convention, state, g, settings) {
  const { delay } = method.rule;
  if (delay === 0) observe(method.rule, convention, state, g, settings);
  descend(method, convention, state, g, settings);
  if (delay === 0) return;
  state.past.push(g);
  if (state.past.length === delay)
    observe(method.rule, convention, state, state.past.shift(), settings);
}

// Let m and s learn of one gradient.
function observe({ center }, convention, state, g, { beta1, beta2, eps }) {
  const old = state.m;
  state.m = beta1 * old + (1 - beta1) * g;
  let r = g;
  if (center === "m") r -= convention.residual === "previous" ? old : state.m;
  else if (center === "average") r -= state.expected;
  const gain = (1 - beta2) * (center === "average" ? (1 + beta1) / 2 : 1);
  const added = convention.eps_placement === "accumulated" ? eps : 0;
  state.s = beta2 * state.s + gain * (r * r) + added;
}

const within = (x, bound) => Math.min(Math.max(x, -bound), bound);

// Divide the numerator by the root of what s has seen so far, and average that.
function descend(method, convention, state, g, settings) {
  const { average, nesterov, delay } = method.rule;
  const { beta1, clip, eps } = settings;
  const k = Math.max(state.t - delay, 0); // how many gradients s has seen
  const n = numerator(method.rule, convention, state, g, settings);
  let D = denominator(method, convention, state, k, settings);
  state.expected = D * within(state.M, 1);
  if (k === 0 && convention.first_step === "sgd") D = 1;
  if (k === 0 && convention.first_step === "one")
    D = convention.eps_placement === "inside" ? 1 : 1 + eps;
  const isGuarded = convention.clip !== null;
  const u = n === 0 && isGuarded ? 0 : within(n / D, boundOf(method, clip, state.t));
  state.size = n === 0 ? 1 / D : u / n;
  state.d = u;
  if (average !== "after") return;
  state.M = beta1 * state.M + (1 - beta1) * u;
  state.d = nesterov ? beta1 * state.M + (1 - beta1) * u : state.M;
}

// What |u| cannot exceed at step t.
export function boundOf({ rule }, clip, t) {
  if (rule === "adopt") return Math.sqrt(Math.sqrt(t - 1));
  if (clip === null) return Infinity;
  return clip === "t**0.25" ? Math.sqrt(Math.sqrt(t)) : clip;
}

function denominator({ amsgrad }, convention, state, k, { beta2, eps }) {
  const isInside = convention.eps_placement === "inside";
  const largest = amsgrad && k > 0 ? convention.amsgrad : null;
  if (largest === "raw") state.top = Math.max(state.top, state.s);
  const s = largest === "raw" ? state.top : state.s;
  const seen = convention.bias_correction && k > 0 ? 1 - beta2 ** k : 1;
  let radicand = s / (seen === 0 ? 1 : seen);
  if (isInside) radicand += eps;
  if (largest === "corrected") radicand = state.top = Math.max(state.top, radicand);
  return isInside ? Math.sqrt(radicand) : Math.sqrt(radicand) + eps;
}

// With average "before" m_t, else the mean of the newest `delay` gradients.
function numerator(rule, convention, { t, m, past }, g, { beta1 }) {
  if (rule.average === "before") {
    const next = (mean, now) => beta1 * mean + (1 - beta1) * now;
    let mean = rule.delay > 0 ? next(past.reduce(next, m), g) : m;
    if (rule.nesterov) mean = next(mean, g); // the weights of one more step
    return convention.bias_correction ? mean / (1 - beta1 ** (rule.nesterov ? t + 1 : t)) : mean;
  }
  let [total, weights, weight] = [g, 1, 1];
  for (let j = past.length - 1; j >= 0; j--) {
    weight *= beta1;
    total += weight * past[j];
    weights += weight;
  }
  return total / weights;
}

// d_t = β1·d_{t-1} + (1 - β1)·clip(g_t / max(√v_{t-1}, ε), ±(t - 1)^¼), v_1 = g_1²
function adopt(method, state, g, { beta1, beta2, eps }) {
  if (state.t === 1) {
    state.s = g * g;
    return;
  }
  const D = Math.max(Math.sqrt(state.s), eps);
  const u = within(g / D, boundOf(method, null, state.t));
  state.size = g === 0 ? 1 / D : u / g;
  state.d = state.m = beta1 * state.m + (1 - beta1) * u;
  state.s = beta2 * state.s + (1 - beta2) * g * g;
}
