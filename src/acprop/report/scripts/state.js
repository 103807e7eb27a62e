// What a reader has chosen, and its way into the address and back.
//
// Whatever stands in an address is corrected, and a note says how: never a crash.

import { METHODS, CONVENTIONS } from "./rules.js";
import { PROBLEMS } from "./problems.js";

const MOST_STEPS = 1000; // of a drawn gradient
const LARGEST = 1e6; // gradient

const short = (text) => (text.length > 40 ? `${text.slice(0, 40)}…` : text);

// A field parses text to its value and to what the value must be, if the text was not.

const choice = (label, values, initial) => ({
  label,
  initial,
  show: String,
  parse(text) {
    const found = values.find((value) => String(value) === text);
    return found === undefined ? [initial, `be one of ${values.join(", ")}`] : [found];
  },
});

// With null at first, nothing means the default of the convention or the method.
const real = (label, lo, hi, initial, isWhole = false) => ({
  label,
  initial,
  lo,
  hi,
  show: (value) => (value === null ? "" : String(value)),
  nearest(value) {
    const within = Math.min(Math.max(value, lo), hi);
    return isWhole ? Math.round(within) : within;
  },
  parse(text) {
    const isEmpty = text.trim() === "";
    if (isEmpty && initial === null) return [null];
    if (isEmpty || Number.isNaN(Number(text))) return [initial, "be a number"];
    const value = this.nearest(Number(text));
    const kind = isWhole ? "be a whole number" : "be";
    return value === Number(text) ? [value] : [value, `${kind} between ${lo} and ${hi}`];
  },
});

const several = (label, values, initial) => ({
  label,
  initial,
  show: (value) => value.join(","),
  parse(text) {
    const named = text.split(",");
    const found = values.filter((value) => named.includes(value));
    if (found.length === 0) return [initial, "name at least one method"];
    const bad = named.find((part) => !values.includes(part));
    return bad === undefined ? [found] : [found, `not name ${short(bad)}`];
  },
});

// Gradients in a row: "0*60 1 -1*3" is sixty zeros, 1, and −1 three times.
const sequence = (label, initial) => ({
  label,
  initial,
  show(values) {
    const runs = [];
    for (const value of values) {
      if (runs.at(-1)?.[0] === value) runs.at(-1)[1] += 1;
      else runs.push([value, 1]);
    }
    return runs.map(([value, n]) => (n === 1 ? String(value) : `${value}*${n}`)).join(" ");
  },
  parse(text) {
    const found = [];
    for (const token of text.trim().split(/[\s,;]+/)) {
      const parts = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)(?:\*(\d+))?$/i.exec(token);
      if (parts === null || Math.abs(parts[1]) > LARGEST)
        return [initial, `be numbers such as 0*60 1 -0.5 from −10⁶ to 10⁶, not ${short(token)}`];
      const times = Math.min(Number(parts[2] ?? 1), MOST_STEPS + 1);
      found.push(...Array(times).fill(Number(parts[1])));
      if (found.length > MOST_STEPS)
        return [found.slice(0, MOST_STEPS), `have ${MOST_STEPS} steps or fewer`];
    }
    return found.length === 0 ? [initial, "have at least one step"] : [found];
  },
});

const SHOWN = ["acprop", "acprop-paper", "adashift", "adam", "rmsprop"];
const SMALLEST = 1e-100; // ε: squares of less underflow

export const FIELDS = {
  view: choice("view", ["drift", "hazard"], "drift"),
  problem: choice("problem", Object.keys(PROBLEMS), "dense"),
  P: real("P", 3, 200, 20, true),
  beta1: real("β1", 0.01, 0.99, 0.9),
  beta2: real("β2", 0.001, 0.99999, 0.9),
  lr: real("lr", 1e-6, 10, 0.1),
  eta: choice("η", [0.5, 0], 0.5),
  eps: real("ε", SMALLEST, 1, null),
  delay: real("delay", 1, 20, 1, true),
  convention: choice("convention", ["own", ...Object.keys(CONVENTIONS)], "own"),
  steps: choice("steps", [1000, 10000, 100000], 10000),
  show: several("optimizers", Object.keys(METHODS), SHOWN),
  focus: choice("explained", Object.keys(METHODS), "acprop"),
  span: choice("span", ["last", "first", "all"], "last"),
  hbeta1: real("β1", 0.001, 0.999, 0.9),
  hbeta2: real("β2", 0.001, 0.99999, 0.999),
  heps: real("ε", SMALLEST, 1, null),
  before: choice("before", ["nothing", "ordinary"], "nothing"),
  tour: choice("tour", [0, 1, 2, 3, 4], 0),
  g: sequence("gradients", [...Array(100).fill(0), ...Array(20).fill(1)]),
};

export const initial = () =>
  Object.fromEntries(Object.entries(FIELDS).map(([name, field]) => [name, field.initial]));

// One field from text: its value, and a note by the field's name if it had to be corrected.
export function parseField(name, text) {
  const field = FIELDS[name];
  const [value, condition] = field.parse(text);
  if (condition === undefined) return { value, notes: [] };
  const used = short(field.show(value)) || "the default";
  const note = { name, text: `${field.label} must ${condition}, got ${short(text) || "nothing"}; ${used} is used` };
  return { value, notes: [note] };
}

// What two fields together do not allow.
export function settle(state) {
  if (!state.show.includes(state.focus)) state.focus = state.show[0];
  const { least } = PROBLEMS[state.problem];
  if (state.P >= least) return [];
  const text = `P must be ${least} or more on the ${state.problem} problem, got ${state.P}; ${least} is used`;
  state.P = least;
  return [{ name: "P", text }];
}

// The values that an address names, and what had to be corrected.
export function read(hash) {
  const values = {};
  const notes = [];
  for (const [name, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (!Object.hasOwn(FIELDS, name)) {
      notes.push({ name, text: `${short(name)} is no setting; it is ignored` });
      continue;
    }
    const found = parseField(name, text);
    values[name] = found.value;
    notes.push(...found.notes);
  }
  return { values, notes };
}

// The address of a state: what differs from the initial one.
export function write(state) {
  const words = new URLSearchParams();
  for (const [name, field] of Object.entries(FIELDS)) {
    const text = field.show(state[name]);
    if (text !== field.show(field.initial)) words.set(name, text);
  }
  return `#${words}`;
}
