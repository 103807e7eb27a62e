// How near 1 must β2 be? On Eq. 1, for large P, a method that averages before it divides
// drifts to x* iff (1 - β2)·P² is below a number that depends on β1 alone.
//
// β2 = 1 - c/P²: s is almost constant, but for a sawtooth. After the large gradient m
// carries P·(1 - β1)·β1^j, j = 0, 1 …, and divides by an s in which the share f_j of the
// leap has arrived. What the leap costs is c·Σ_j (1 - β1)·β1^j·(f_j - ½)/2, what the
// gradients of a period leave is 1; where the sum is not positive, nothing is lost.

export const THRESHOLDS = {
  "acprop-before": (b) => 4 * (1 + b + b ** 2) / (2 * b ** 3 + 2 * b ** 2 - 1),
  uncentered: (b) => 4 / (2 * b - 1),
  adabelief: (b) => 4 / (1 - (1 - b) / (1 + b + b ** 2)),
  adam: () => 4,
};

// Up to these β1 a large P drifts to x* for every c: the zero of the denominator.
export const CRITICAL = { "acprop-before": criticalCentered(), uncentered: 0.5 };

// 2·β1³ + 2·β1² = 1, by Newton's method.
function criticalCentered() {
  let b = 0.6;
  for (let i = 0; i < 8; i++) b -= (2 * b ** 3 + 2 * b ** 2 - 1) / (6 * b ** 2 + 4 * b);
  return b;
}

// The threshold, ∞ where there is none.
export function threshold(key, beta1) {
  return beta1 <= (CRITICAL[key] ?? 0) ? Infinity : THRESHOLDS[key](beta1);
}
