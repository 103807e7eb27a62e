// The methods and the conventions as data. A test compares both tables with
// acprop.lab.methods and acprop.rule.

const rule = (average, center, delay, nesterov = false) => ({ average, center, delay, nesterov });
const method = (label, what, more = {}) =>
  ({ label, rule: what, amsgrad: false, eps: null, own: "paper", ...more });

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

const convention = (changes) => ({
  residual: "current",
  eps_placement: "outside",
  eps: 1e-16,
  bias_correction: true,
  first_step: "divide",
  amsgrad: "raw",
  clip: null,
  ...changes,
});

export const CONVENTIONS = {
  guarded: convention({ eps: 1e-30, amsgrad: "corrected", clip: "t**0.25" }),
  paper: convention({ eps_placement: "inside", bias_correction: false, amsgrad: "corrected" }),
  authors: convention({ eps_placement: "accumulated", first_step: "sgd" }),
  optax: convention({ residual: "previous", eps_placement: "accumulated", first_step: "one" }),
  torch: convention({ eps: 1e-8 }),
  "torch-rmsprop": convention({ eps: 1e-8, bias_correction: false }),
};

export const isFamily = (method) => typeof method.rule === "object";

export const isAsynchronous = (method) => isFamily(method) && method.rule.delay > 0;

// Does s depend on M, and M on s? Then there is no closed form.
export const isEntangled = (method) => method.rule.center === "average";

// The convention that is meant by a name; "own" is that of whoever offers the method.
export const conventionOf = (method, name) => CONVENTIONS[name === "own" ? method.own : name];

// The delay of an asynchronous method; that of the others is what they are, and so is
// that of the default, whose center needs a delay of 1.
export const withDelay = (method, delay) =>
  isAsynchronous(method) && !isEntangled(method)
    ? { ...method, rule: { ...method.rule, delay } }
    : method;

// What a step needs beside the gradient; ε null is the convention's or the method's.
export function settingsOf(method, convention, { beta1, beta2, eps, clip = convention.clip }) {
  const own = (isFamily(method) ? convention.eps : method.eps) ?? 0;
  return { beta1, beta2, eps: eps ?? own, clip };
}
