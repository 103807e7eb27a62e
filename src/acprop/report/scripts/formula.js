// A rule in formulas, in the order in which they are computed; a test computes them so.
//
// "s_{t−1}" has an index, "β2^{t−1}" an exponent; 0/0 is 0, and what was never is 0.

import { isEntangled } from "./rules.js";
import { html } from "./svg.js";

const MEAN = "m_t = β1·m_{t−1} + (1 − β1)·g_t";

export function formulaOf(method, convention) {
  const { rule } = method;
  const move = "x_t = x_{t−1} − α_t·d_t";
  if (rule === "sgd") return ["d_t = g_t", move];
  // The denominator, a mean over parameters, cancels where there is one.
  if (rule === "avagrad") return [MEAN, "d_t = m_t", move];
  if (rule === "adopt") return [...adopt(), move];
  const letter = rule.center === null ? "v" : "s";
  const steps = [...division(method, convention, letter), ...average(rule), move];
  const learn = secondMoment(method, convention, letter);
  const mean = rule.average === "before" || rule.center === "m" ? [MEAN] : [];
  return rule.delay === 0 ? [...mean, ...learn, ...steps] : [...mean, ...steps, ...learn];
}

const index = (delay) => (delay === 0 ? "t" : `t−${delay}`);

// D, and what is divided by it.
function division(method, convention, letter) {
  const { rule, amsgrad } = method;
  const at = index(rule.delay);
  const isInside = convention.eps_placement === "inside";
  const before = isEntangled(method) ? ["r_t = g_t − D_t·clip(M_{t−1}, ±1)"] : [];
  const largest = amsgrad ? convention.amsgrad : null;
  const name = largest === "raw" ? "V" : letter;
  const known = convention.bias_correction ? `${name}_{${at}}/(1 − β2^{${at}})` : `${name}_{${at}}`;
  const radicand = isInside ? `${known} + ε` : known;
  const root = `√(${largest === "corrected" ? "V_t" : radicand})${isInside ? "" : " + ε"}`;
  const found = {
    raw: [`V_t = max(V_{t−1}, ${letter}_t)`],
    corrected: [`V_t = max(V_{t−1}, ${radicand})`],
  };
  return [...(found[largest] ?? []), `D_t = ${root}`, ...before, ...first(rule, convention), ...quotient(rule, convention)];
}

// While s knows no gradient, some divide by 1.
function first({ delay }, { first_step, eps_placement }) {
  if (delay === 0 || first_step === "divide") return [];
  const one = first_step === "one" && eps_placement !== "inside" ? "1 + ε" : "1";
  return [`D_t = ${one} for t ≤ ${delay}`];
}

function quotient(rule, { bias_correction, clip }) {
  const lines = [];
  let n = "g_t";
  if (rule.average === "before") {
    n = rule.nesterov ? "(β1·m_t + (1 − β1)·g_t)" : "m_t";
    if (bias_correction) n += `/(1 − β1^{${rule.nesterov ? "t+1" : "t"}})`;
  } else if (rule.delay > 1) {
    const newest = Array.from({ length: rule.delay }, (_, i) => i);
    const power = (i) => (i === 0 ? "" : i === 1 ? "β1·" : `β1^{${i}}·`);
    const terms = newest.map((i) => `${power(i)}g_{${index(i)}}`.replace("{t}", "t"));
    // The first steps have fewer gradients; the weights of those that there are sum to 1.
    lines.push(`n_t = (${terms.join(" + ")})/(1 − β1^{min(t, ${rule.delay})})·(1 − β1)`);
    n = "n_t";
  }
  const u = `${n}/D_t`;
  return [...lines, `u_t = ${clip === null ? u : `clip(${u}, ±${clip === "t**0.25" ? "t^{1/4}" : clip})`}`];
}

function average({ average, nesterov }) {
  if (average !== "after") return ["d_t = u_t"];
  return ["M_t = β1·M_{t−1} + (1 − β1)·u_t", `d_t = ${nesterov ? "β1·M_t + (1 − β1)·u_t" : "M_t"}`];
}

// What s, or v, learns of the gradient.
function secondMoment({ rule }, convention, letter) {
  const isPrevious = convention.residual === "previous";
  const residual = { m: `(g_t − m_${isPrevious ? "{t−1}" : "t"})²`, average: "(1 + β1)/2·r_t²" };
  const added = convention.eps_placement === "accumulated" ? " + ε" : "";
  return [`${letter}_t = β2·${letter}_{t−1} + (1 − β2)·${residual[rule.center] ?? "g_t²"}${added}`];
}

const adopt = () => [
  "D_t = max(√(v_{t−1}), ε)",
  "u_t = clip(g_t/D_t, ±(t − 1)^{1/4})",
  "d_t = β1·d_{t−1} + (1 − β1)·u_t",
  "v_t = β2·v_{t−1} + (1 − β2)·g_t²",
  "v_t = g_t² for t ≤ 1",
];

// A line of formula with its indices and exponents set.
export function typeset(line) {
  const parts = line.split(/([_^](?:\{[^}]*\}|\w))/);
  return parts.map((part) => {
    if (!/^[_^]/.test(part)) return part;
    return html(part[0] === "_" ? "sub" : "sup", {}, part.slice(1).replace(/[{}]/g, ""));
  });
}
