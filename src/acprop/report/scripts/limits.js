// Where m, v and s settle on a periodic problem: closed forms at every phase.
//
// A problem is a constant c with impulses J_i = g - c at phases a_i, so u = m - c is
//
//     u_{a_i}   = (1-β1)/(1-β1^P) · Σ_b J_b·β1^((a_i - a_b) mod P)
//     u_{a_i+j} = β1^j·u_{a_i}                                until the next impulse
//     r_{a_i}   = β1·(J_i - u_{a_i-1})                        r = g - m, Algorithm 2
//     r_{a_i+j} = -u_{a_i+j}
//
// so that g - m is never formed by a difference that cancels.

// m and r = g - m at every phase.
export function mean({ period: P, rest, cycle, impulses }, beta1) {
  const m = new Float64Array(P);
  const r = new Float64Array(P);
  const weight = (1 - beta1) / -Math.expm1(P * Math.log(beta1));
  const jump = (a) => cycle[a] - rest;
  impulses.forEach((a, i) => {
    const next = impulses[(i + 1) % impulses.length];
    const gap = (next - a + P) % P || P;
    let u = 0;
    for (const b of impulses) u += weight * jump(b) * beta1 ** ((a - b + P) % P);
    for (let j = 0; j < gap; j++, u *= beta1) {
      const t = (a + j) % P;
      m[t] = rest + u;
      if (j > 0) r[t] = -u;
    }
    r[next] = beta1 * jump(next) - u;
  });
  return { m, r };
}

// The periodic solution of y_t = β2·y_{t-1} + (1-β2)·r_t², s or with r = g v, at the end of
// a period. A sum of positive terms; what underflows is far below any ε.
export function settled(squares, beta2) {
  let y = 0;
  for (let t = 0; t < squares.length; t++) y = beta2 * y + squares[t];
  // what once round leaves, for ever
  return ((1 - beta2) * y) / -Math.expm1(squares.length * Math.log(beta2));
}
