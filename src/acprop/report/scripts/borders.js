// The exact border of a region: the β2 at which the drift changes sign.
//
// The drift is sampled over (0, 1), where both ends are stretched: z = log β2/(1 - β2).
// Every change of sign is refined; a pocket between two samples shows as a dip, whose
// extremum is looked for too.

import { driftOf, hasBorder } from "./drift.js";
import { isEntangled } from "./rules.js";
import { COARSE } from "./settled.js";

const XTOL = 1e-12;
// For a drift that is only known roughly, see settled.js.
const ROUGH = 1e-3;
// Below it the sign of a drift is rounding: RMSProp's tends to 0 with β2 on Eq. 2.
const RESOLVED = 1e-12;

export const toBeta2 = (z) => 1 / (1 + Math.exp(-z));
export const toLogit = (beta2) => Math.log(beta2) - Math.log1p(-beta2);

// For one problem: does it converge below the first crossing, and the crossings' β2, each as
// near as `tolerance` in z.
export function crossings(problem, method, convention, given, { lo, hi, step, tolerance }) {
  const at = driftOf(problem, method, convention, given, { effort: COARSE });
  const f = (z) => at(toBeta2(z)).net;
  if (!hasBorder(method)) return { converges: f(0) > 0, beta2: [] };
  const n = Math.round((hi - lo) / step);
  let knots = [];
  for (let i = 0; i <= n; i++) {
    const z = lo + (i * (hi - lo)) / n;
    const y = f(z);
    if (Math.abs(y) > RESOLVED) knots.push([z, y]);
  }
  if (knots.length === 0) return { converges: false, beta2: [] };
  const converges = knots[0][1] > 0;
  const isRough = isEntangled(method);
  const near = tolerance ?? (isRough ? ROUGH : XTOL);
  if (!isRough) knots = [...knots, ...dips(f, knots)].sort((a, b) => a[0] - b[0]);
  const beta2 = [];
  for (let i = 1; i < knots.length; i++)
    if (knots[i - 1][1] > 0 !== knots[i][1] > 0)
      beta2.push(toBeta2(root(f, knots[i - 1], knots[i], near)));
  return { converges, beta2 };
}

// Where f, between two samples, crosses zero and comes back.
function dips(f, knots) {
  const found = [];
  for (let i = 1; i + 1 < knots.length; i++) {
    const [[a, fa], [, fb], [c, fc]] = [knots[i - 1], knots[i], knots[i + 1]];
    const sign = fb > 0 ? 1 : -1;
    if (sign * fb >= Math.min(sign * fa, sign * fc) - RESOLVED) continue;
    // A parabola through the three tells whether zero may be within reach at all.
    const depth = (fa - fc) ** 2 / (16 * (fa - 2 * fb + fc));
    if (sign * (fb - 4 * depth) > 0) continue;
    const z = lowest((x) => sign * f(x), a, c);
    const y = f(z);
    if (sign * y < 0) found.push([z, y]);
  }
  return found;
}

// The minimum of f between a and c, by golden sections.
function lowest(f, a, c) {
  const golden = (Math.sqrt(5) - 1) / 2;
  let [x, y] = [c - golden * (c - a), a + golden * (c - a)];
  let [fx, fy] = [f(x), f(y)];
  while (c - a > 1e-6) {
    if (fx < fy) {
      [c, y, fy] = [y, x, fx];
      x = c - golden * (c - a);
      fx = f(x);
    } else {
      [a, x, fx] = [x, y, fy];
      y = a + golden * (c - a);
      fy = f(y);
    }
  }
  return (a + c) / 2;
}

// The zero of f between two knots of different sign: regula falsi that halves the
// weight of an end which stays (Illinois), and bisects when that is slow.
function root(f, [a, fa], [b, fb], tolerance) {
  for (let i = 0; i < 100 && b - a > tolerance; i++) {
    let z = i % 4 === 3 ? (a + b) / 2 : (a * fb - b * fa) / (fb - fa);
    if (!(z > a && z < b)) z = (a + b) / 2;
    const y = f(z);
    if (y === 0) return z;
    if (y > 0 === fb > 0) {
      [b, fb, fa] = [z, y, fa / 2];
    } else {
      [a, fa, fb] = [z, y, fb / 2];
    }
  }
  return (a + b) / 2;
}
