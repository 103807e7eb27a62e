// The paper's counterexamples: gradients that repeat with period P, whatever x is.
// The gradient of step t is cycle[t % P]; `rest` is that of all phases but a few, the
// impulses. x* is the left end of the interval.

const periodic = (name, cycle, rest, lo, hi, x0) => ({
  name,
  cycle,
  rest,
  lo,
  hi,
  x0,
  xStar: lo,
  period: cycle.length,
  impulses: [...cycle.keys()].filter((t) => cycle[t] !== rest),
});

// Eq. 1: P if t mod P = 1, else -1; on [-1, 1].
function dense(period) {
  const cycle = new Float64Array(period).fill(-1);
  cycle[1] = period;
  return periodic("dense", cycle, -1, -1, 1, 0);
}

// Eq. 2: P/2 if t mod P = 1, -1 if t mod P = P - 2, else 0; on [0, 1].
function sparse(period) {
  const cycle = new Float64Array(period);
  cycle[1] = period / 2;
  cycle[period - 2] = -1;
  return periodic("sparse", cycle, 0, 0, 1, 0.5);
}

export const PROBLEMS = {
  dense: { label: "dense, Eq. 1", least: 3, make: dense },
  sparse: { label: "sparse, Eq. 2", least: 4, make: sparse },
};

export function problemOf(name, period) {
  const { least, make } = PROBLEMS[name];
  if (!(Number.isInteger(period) && period >= least))
    throw new RangeError(
      `period must be a whole number, ${least} or more, got ${period}`,
    );
  return make(period);
}
