// Where m, v and s settle on a periodic problem: closed forms at every phase.
//
// A problem is a constant c with impulses J_i = g - c at phases a_i, so u = m - c is
//
//     u_{a_i}   = (1-β1)/(1-β1^P) · Σ_b J_b·β1^((a_i - a_b) mod P)
//     u_{a_i+j} = β1^j·u_{a_i}                                until the next impulse
//     r_{a_i}   = β1·(J_i - u_{a_i-1})                        r = g - m, Algorithm 2
//     r_{a_i+j} = -u_{a_i+j}
//
// so that g - m is never formed by a difference that cancels. s is then the periodic
// solution of y_t = β2·y_{t-1} + (1-β2)·w_t with w = r² (for v: g²), a sum of positive
// terms: in plain numbers where none underflows, else as a logarithm.

// Below it a product of what a drift multiplies might lose digits.
const SMALLEST = 1e-280;

// What m does: where the impulses are, u after each, and what each adds to what was
// expected (the surprise).
export function impulsesOf(problem, beta1) {
  const { period: P, rest, cycle, impulses: at } = problem;
  const n = at.length;
  const jump = at.map((a) => cycle[a] - rest);
  const gap = at.map((a, i) => (at[(i + 1) % n] - a + P) % P || P);
  const weight = (1 - beta1) / -Math.expm1(P * Math.log(beta1));
  const after = at.map(
    (a) =>
      weight * at.reduce((sum, b, k) => sum + jump[k] * beta1 ** ((a - b + P) % P), 0),
  );
  const before = at.map((_, i) => {
    const last = (i + n - 1) % n;
    return after[last] * beta1 ** (gap[last] - 1);
  });
  return { P, at, n, gap, after, surprise: jump.map((J, i) => J - before[i]) };
}

// m at every phase.
export function mean(problem, beta1) {
  const { P, at, n, gap, after } = impulsesOf(problem, beta1);
  const m = new Float64Array(P);
  for (let i = 0; i < n; i++) {
    let u = after[i];
    for (let j = 0; j < gap[i]; j++, u *= beta1) m[(at[i] + j) % P] = problem.rest + u;
  }
  return m;
}

// The roots of what s (centered) or v averages, segment by segment: √w is first_i at
// impulse i, then rest_i·ratio^(j-1) for j = 1, 2 … They do not depend on β2.
export function segments(problem, beta1, centered) {
  const impulses = impulsesOf(problem, centered ? beta1 : 0.5);
  const { at, after, surprise } = impulses;
  return {
    ...impulses,
    first: at.map((a, i) => (centered ? beta1 * surprise[i] : problem.cycle[a])),
    rest: after.map((u) => (centered ? beta1 * u : problem.rest)),
    ratio: centered ? beta1 : 1,
  };
}

// The second moment of these segments at every phase, into `out`; false where one is
// too small for a double.
export function secondMoment({ P, at, n, gap, first, rest, ratio }, beta2, out) {
  const gain = 1 - beta2;
  const shrink = ratio * ratio;
  let y = 0;
  for (let i = 0; i < n; i++) {
    y = beta2 * y + gain * first[i] ** 2;
    for (let j = 1, w = rest[i] ** 2; j < gap[i]; j++, w *= shrink) y = beta2 * y + gain * w;
  }
  y /= -Math.expm1(P * Math.log(beta2)); // what once round leaves, for ever
  let least = Infinity;
  for (let i = 0; i < n; i++) {
    let t = at[i];
    let w = first[i] ** 2;
    for (let j = 0; j < gap[i]; j++) {
      y = beta2 * y + gain * w;
      w = j === 0 ? rest[i] ** 2 : w * shrink;
      out[t] = y;
      if (y < least) least = y;
      t = t + 1 === P ? 0 : t + 1;
    }
  }
  return least > SMALLEST;
}

// The same as logarithms, where one underflows.
export function logSecondMoment({ P, at, n, gap, first, rest, ratio }, beta2) {
  const log2 = (root) => 2 * Math.log(Math.abs(root));
  const [logFirst, logRest, logRatio] = [first.map(log2), rest.map(log2), log2(ratio)];
  const logBeta2 = Math.log(beta2);
  const logGain = Math.log(-Math.expm1(logBeta2));
  const own = (i, j) =>
    logGain +
    logAdd(j * logBeta2 + logFirst[i], logRest[i] + logSum(j, logBeta2, logRatio));
  let y = -Infinity;
  for (let i = 0; i < n; i++) y = logAdd(y + gap[i] * logBeta2, own(i, gap[i] - 1));
  y -= Math.log(-Math.expm1(P * logBeta2));
  const out = new Float64Array(P);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < gap[i]; j++)
      out[(at[i] + j) % P] = logAdd((j + 1) * logBeta2 + y, own(i, j));
    y = out[(at[i] + gap[i] - 1) % P];
  }
  return out;
}

// log Σ_{l=1..j} a^(j-l)·b^(l-1) = log (a^j - b^j)/(a - b), which at a = b is j·a^(j-1).
function logSum(j, logA, logB) {
  if (j === 0) return -Infinity;
  const delta = Math.abs(logA - logB);
  const quotient = delta === 0 ? j : Math.expm1(-j * delta) / Math.expm1(-delta);
  return Math.log(quotient) + (j - 1) * Math.max(logA, logB);
}

// log(e^a + e^b)
export function logAdd(a, b) {
  const high = Math.max(a, b);
  if (high === -Infinity) return high;
  return high + Math.log1p(Math.exp(Math.min(a, b) - high));
}
