// The paper's counterexamples: gradients that repeat with period P, whatever x is.
// The gradient of step t is cycle[t % P]; `rest` is that of all phases but a few, the
// impulses. x* is the left end of the interval.

export const PROBLEMS = {
  // P if t mod P = 1, else -1
  dense: { label: "dense, Eq. 1", least: 3, rest: -1, lo: -1, hi: 1, impulses: (P) => [[1, P]] },
  // P/2 if t mod P = 1, -1 if t mod P = P - 2, else 0
  sparse: {
    label: "sparse, Eq. 2",
    least: 4,
    rest: 0,
    lo: 0,
    hi: 1,
    impulses: (P) => [[1, P / 2], [P - 2, -1]],
  },
};

const made = new Map();

// Made once: every border of a plane walks the same sixty of them.
export function problemOf(name, period) {
  const id = `${name} ${period}`;
  if (!made.has(id)) made.set(id, make(name, period));
  return made.get(id);
}

function make(name, period) {
  const { rest, lo, hi, impulses } = PROBLEMS[name];
  const cycle = new Float64Array(period).fill(rest);
  for (const [t, g] of impulses(period)) cycle[t] = g;
  return {
    name,
    period,
    cycle,
    rest,
    lo,
    hi,
    x0: (lo + hi) / 2,
    xStar: lo,
    impulses: impulses(period).map(([t]) => t),
  };
}
