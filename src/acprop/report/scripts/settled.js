// Where the default settles on a periodic problem: its s depends on M, and M on s, so
// there is no closed form, and one period after another is walked until they repeat.
//
//     D = √(s + ε),  u = clip(g / D, ±c),  r = g - D·clip(M, ±1)
//     M ← β1·M + (1 - β1)·u
//     s ← β2·s + (1 - β2)·(1 + β1)/2·r²
//
// Near β2 = 1 that would take ages. There a period adds q to λ·s, λ = β2^P, and q hardly
// depends on s: the next s tried is q/(1 - λ), and likewise the next M. Some settings
// never repeat (small β2 on Eq. 2): then the last periods count, and `isSettled` is false.

const SLOW = 0.5; // the λ above which a jump is tried
// How many steps and periods are walked, and how many periods count where none repeats.
const FINE = { tolerance: 1e-12, steps: 4000, periods: 100, counted: 200 };
// For a whole plane: enough for the sign.
export const COARSE = { tolerance: 1e-5, steps: 0, periods: 24, counted: 24 };

// What driftOf returns. Each walk begins where the one before it ended.
export function makeWalk(problem, convention, { beta1, eps }, bound, effort = FINE) {
  const { cycle, period: P } = problem;
  const isInside = convention.eps_placement === "inside";
  const divisors = new Float64Array(P);
  const now = { s: problem.cycle.reduce((sum, g) => sum + g * g, 0) / P, M: 0, net: 0, all: 0 };

  function period(beta2) {
    const gain = ((1 - beta2) * (1 + beta1)) / 2;
    const added = convention.eps_placement === "accumulated" ? eps : 0;
    let { s, M } = now;
    let net = 0;
    let all = 0;
    for (let t = 0; t < P; t++) {
      const g = cycle[t];
      const D = isInside ? Math.sqrt(s + eps) : Math.sqrt(s) + eps;
      let u = g === 0 ? 0 : g / D;
      u = u > bound ? bound : u < -bound ? -bound : u;
      const r = g - D * (M > 1 ? 1 : M < -1 ? -1 : M);
      M = beta1 * M + (1 - beta1) * u;
      s = beta2 * s + gain * r * r + added;
      const d = beta1 * M + (1 - beta1) * u;
      net += d;
      all += d < 0 ? -d : d;
      divisors[t] = D;
    }
    Object.assign(now, { s, M, net, all });
  }

  // One period, with or without a jump; by how much the state changed.
  function round(beta2, jumps) {
    const before = { s: now.s, M: now.M };
    period(beta2);
    if (jumps) {
      const ahead = (x, y, slow) => (slow > SLOW ? (y - slow * x) / (1 - slow) : y);
      const s = ahead(before.s, now.s, beta2 ** P);
      // M is about m/D: where D jumps, M must too.
      const M = ahead(before.M, now.M, beta1 ** P) * Math.sqrt(now.s / s);
      if (s > 0 && Number.isFinite(M)) [now.s, now.M] = [s, M];
    }
    return Math.abs(now.s - before.s) / now.s + Math.abs(now.M - before.M) / (1 + Math.abs(now.M));
  }

  function settles(beta2, jumps) {
    const most = effort.periods + effort.steps / P;
    for (let i = 0; i < most; i++)
      if (round(beta2, jumps) < effort.tolerance) return true;
    return false;
  }

  return function walk(beta2) {
    const isSlow = beta2 ** P > SLOW;
    if ((isSlow && settles(beta2, true)) || settles(beta2, false))
      return { net: now.net / now.all, divisors, isSettled: true };
    let [net, all] = [0, 0];
    for (let i = 0; i < effort.counted; i++) {
      period(beta2);
      net += now.net;
      all += now.all;
    }
    return { net: net / all, divisors, isSettled: false };
  };
}
