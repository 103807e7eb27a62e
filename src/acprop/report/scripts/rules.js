// The methods and the conventions as data. A test compares both tables
// with acprop.lab.methods and acprop.rule.

const rule = (average, center, delay, nesterov = false) => ({
  average,
  center,
  delay,
  nesterov,
  reduction: null,
});

const method = (label, what, more = {}) => ({
  label,
  rule: what,
  amsgrad: false,
  eps: null,
  own: "paper",
  ...more,
});

const ADAM = rule("before", null, 0);
const OURS = { own: "guarded" };

// What acprop.ACProp is by default, the rest of the paper's Table 1, then those outside
// the family, whose rule is a name. `label` is what acprop.report.style calls it, `own`
// the convention of whoever offers it: ours are guarded.
export const METHODS = {
  acprop: method("ACProp (default)", rule("after", "average", 1, true), OURS),
  "acprop-paper": method("ACProp (paper)", rule(null, "m", 1)),
  adashift: method("AdaShift", rule(null, null, 1)),
  adam: method("Adam", ADAM),
  rmsprop: method("RMSProp", rule(null, null, 0)),
  adabelief: method("AdaBelief", rule("before", "m", 0)),
  "rmsprop-centered": method("RMSProp, centered", rule(null, "m", 0)),
  "acprop-before": method("ACProp, average before", rule("before", "m", 1), OURS),
  "acprop-after": method("ACProp, average after", rule("after", "m", 1), OURS),
  amsgrad: method("AMSGrad", ADAM, { amsgrad: true }),
  avagrad: method("AVAGrad", "avagrad", { eps: 0.1 }),
  adopt: method("ADOPT", "adopt", { eps: 1e-6 }),
  sgd: method("SGD", "sgd"),
};

const convention = (name, changes) => ({
  name,
  residual: "current",
  eps_placement: "outside",
  eps: 1e-16,
  bias_correction: true,
  first_step: "divide",
  amsgrad: "raw",
  clip: null,
  average: null,
  center: "m",
  nesterov: false,
  ...changes,
});

export const CONVENTIONS = Object.fromEntries(
  [
    convention("guarded", {
      eps: 1e-30,
      amsgrad: "corrected",
      clip: "t**0.25",
      average: "after",
      center: "average",
      nesterov: true,
    }),
    convention("paper", {
      eps_placement: "inside",
      bias_correction: false,
      amsgrad: "corrected",
    }),
    convention("authors", { eps_placement: "accumulated", first_step: "sgd" }),
    convention("optax", {
      residual: "previous",
      eps_placement: "accumulated",
      first_step: "one",
    }),
    convention("torch", { eps: 1e-8 }),
    convention("torch-rmsprop", { eps: 1e-8, bias_correction: false }),
  ].map((c) => [c.name, c]),
);

export const isFamily = (method) => typeof method.rule === "object";

export const isAsynchronous = (method) => isFamily(method) && method.rule.delay > 0;

// Does s depend on M, and M on s? Then there is no closed form.
export const isEntangled = (method) => method.rule.center === "average";

// The convention that is meant by a name; "own" is that of whoever offers the method.
export const conventionOf = (method, name) =>
  CONVENTIONS[name === "own" ? method.own : name];

// The delay of an asynchronous method; that of the others is what they are, and so is
// that of the default, whose center needs a delay of 1.
export function withDelay(method, delay) {
  if (!isAsynchronous(method) || isEntangled(method)) return method;
  return { ...method, rule: { ...method.rule, delay } };
}

// The ε that is meant: the given one, or the default of the convention or the method.
export function epsOf(method, convention, eps) {
  if (eps !== null) return eps;
  return (isFamily(method) ? convention.eps : method.eps) ?? 0;
}
