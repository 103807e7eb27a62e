// The methods and the conventions as data. A test compares both tables
// with acprop.lab.methods and acprop.rule.

const rule = (centered, delay, numerator) => ({
  centered,
  delay,
  numerator,
  reduction: null,
});

const method = (label, what, more = {}) => ({
  label,
  rule: what,
  amsgrad: false,
  eps: null,
  momentum: 0,
  ...more,
});

const ADAM = rule(false, 0, "m");
const ACPROP = rule(true, 1, "g");

// In the order of the paper's Table 1, then those outside the family, whose rule is a
// name. `label` is what acprop.report.style calls it.
export const METHODS = {
  acprop: method("ACProp", ACPROP),
  adashift: method("AdaShift", rule(false, 1, "g")),
  adam: method("Adam", ADAM),
  rmsprop: method("RMSProp", rule(false, 0, "g")),
  adabelief: method("AdaBelief", rule(true, 0, "m")),
  "rmsprop-centered": method("RMSProp, centered", rule(true, 0, "g")),
  "acprop-momentum": method("ACProp with momentum", rule(true, 1, "m")),
  "acprop-momentum-u": method("ACProp, momentum of u", ACPROP, { momentum: 0.9 }),
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
  numerator: "g",
  ...changes,
});

export const CONVENTIONS = Object.fromEntries(
  [
    convention("guarded", {
      eps: 1e-30,
      amsgrad: "corrected",
      clip: "t**0.25",
      numerator: "m",
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

// The delay of an asynchronous method; that of the others is what they are.
export function withDelay(method, delay) {
  if (!isAsynchronous(method)) return method;
  return { ...method, rule: { ...method.rule, delay } };
}

// The ε that is meant: the given one, or the default of the convention or the method.
export function epsOf(method, convention, eps) {
  if (eps !== null) return eps;
  return (isFamily(method) ? convention.eps : method.eps) ?? 0;
}
