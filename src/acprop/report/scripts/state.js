// What a reader has chosen, and its way into the address and back.
//
// Whatever stands in an address is corrected, and a note says how: never a crash.

import { METHODS, CONVENTIONS } from "./rules.js";
import { PROBLEMS } from "./problems.js";

export const MOST_STEPS = 1000; // of a drawn gradient
const LARGEST = 1e6; // gradient

const clamp = (value, lo, hi) => Math.min(Math.max(value, lo), hi);
const short = (text) => (text.length > 40 ? `${text.slice(0, 40)}…` : text);

class Refused extends Error {
  constructor(condition, instead) {
    super(condition);
    this.instead = instead;
  }
}

const choice = (label, values, initial) => ({
  label,
  initial,
  values,
  parse(text) {
    const found = values.find((value) => String(value) === text);
    if (found === undefined) throw new Refused(`be one of ${values.join(", ")}`, initial);
    return found;
  },
  show: String,
});

const real = (label, lo, hi, initial) => ({
  label,
  initial,
  lo,
  hi,
  parse(text) {
    const value = text.trim() === "" ? NaN : Number(text);
    const condition = `be between ${lo} and ${hi}`;
    if (Number.isNaN(value)) throw new Refused(`be a number`, initial);
    if (value < lo || value > hi) throw new Refused(condition, clamp(value, lo, hi));
    return value;
  },
  show: String,
});

const integer = (label, lo, hi, initial) => {
  const base = real(label, lo, hi, initial);
  return {
    ...base,
    parse(text) {
      const value = base.parse(text);
      if (!Number.isInteger(value)) throw new Refused("be a whole number", Math.round(value));
      return value;
    },
  };
};

// ε, or nothing, which means the default of the convention or the method.
const optional = (label, lo, hi) => {
  const base = real(label, lo, hi, null);
  return {
    ...base,
    parse: (text) => (text.trim() === "" ? null : base.parse(text)),
    show: (value) => (value === null ? "" : String(value)),
  };
};

const several = (label, values, initial) => ({
  label,
  initial,
  values,
  parse(text) {
    const named = text.split(",").filter((part) => part !== "");
    const found = values.filter((value) => named.includes(value));
    const bad = named.find((part) => !values.includes(part));
    if (found.length === 0) throw new Refused("name at least one method", initial);
    if (bad !== undefined) throw new Refused(`not name ${short(bad)}`, found);
    return found;
  },
  show: (value) => value.join(","),
});

// Gradients in a row: "0*60 1 -1*3" is sixty zeros, 1, and −1 three times.
const sequence = (label, initial) => ({
  label,
  initial,
  parse(text) {
    const tokens = text.split(/[\s,;]+/).filter((token) => token !== "");
    const out = [];
    for (const token of tokens) {
      const parts = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)(?:\*(\d+))?$/i.exec(token);
      if (parts === null)
        throw new Refused(`be numbers such as 0*60 1 -0.5, not ${short(token)}`, initial);
      const value = Number(parts[1]);
      if (Math.abs(value) > LARGEST)
        throw new Refused(`be between −10⁶ and 10⁶, not ${short(token)}`, initial);
      const times = Math.min(parts[2] === undefined ? 1 : Number(parts[2]), MOST_STEPS + 1);
      for (let i = 0; i < times; i++) out.push(value);
      if (out.length > MOST_STEPS)
        throw new Refused(`have ${MOST_STEPS} steps or fewer`, out.slice(0, MOST_STEPS));
    }
    if (out.length === 0) throw new Refused("have at least one step", initial);
    return out;
  },
  show(values) {
    const runs = [];
    for (const value of values) {
      const last = runs.at(-1);
      if (last !== undefined && last[0] === value) last[1] += 1;
      else runs.push([value, 1]);
    }
    return runs.map(([value, n]) => (n === 1 ? String(value) : `${value}*${n}`)).join(" ");
  },
});

const zerosThenOne = () => [...Array(100).fill(0), ...Array(20).fill(1)];

export const FIELDS = {
  view: choice("view", ["drift", "hazard"], "drift"),
  problem: choice("problem", Object.keys(PROBLEMS), "dense"),
  P: integer("P", 3, 200, 20),
  beta1: real("β1", 0.01, 0.99, 0.9),
  beta2: real("β2", 0.001, 0.99999, 0.9),
  lr: real("lr", 1e-6, 10, 0.1),
  eta: choice("η", [0.5, 0], 0.5),
  eps: optional("ε", 0, 1),
  delay: integer("delay", 1, 20, 1),
  convention: choice("convention", ["own", ...Object.keys(CONVENTIONS)], "own"),
  steps: choice("steps", [1000, 10000, 100000], 10000),
  show: several("optimizers", Object.keys(METHODS), [
    "acprop",
    "acprop-paper",
    "adashift",
    "adam",
    "rmsprop",
  ]),
  focus: choice("explained", Object.keys(METHODS), "acprop"),
  span: choice("span", ["last", "first", "all"], "last"),
  hbeta1: real("β1", 0, 0.999, 0.9),
  hbeta2: real("β2", 0, 0.99999, 0.999),
  hlr: real("lr", 1e-6, 10, 0.001),
  heps: optional("ε", 0, 1),
  g: sequence("gradients", zerosThenOne()),
};

export const initial = () =>
  Object.fromEntries(Object.entries(FIELDS).map(([name, field]) => [name, field.initial]));

// One field from text: its value, and a note if the text had to be corrected.
export function parseField(name, text) {
  const field = FIELDS[name];
  try {
    return { value: field.parse(text), note: null };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const taken = short(field.show(error.instead)) || "the default";
    const note = `${field.label} must ${error.message}, got ${short(text) || "nothing"}; ${taken} is used`;
    return { value: error.instead, note };
  }
}

// What two fields together do not allow.
export function settle(state) {
  const notes = [];
  const { least } = PROBLEMS[state.problem];
  if (state.P < least) {
    notes.push(`P must be ${least} or more on the ${state.problem} problem, got ${state.P}; ${least} is used`);
    state.P = least;
  }
  if (!state.show.includes(state.focus)) state.focus = state.show[0];
  return notes;
}

// The state that an address asks for, and what had to be corrected.
export function read(hash) {
  const state = initial();
  const notes = [];
  for (const [name, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (!Object.hasOwn(FIELDS, name)) {
      notes.push(`${short(name)} is no setting; it is ignored`);
      continue;
    }
    const { value, note } = parseField(name, text);
    state[name] = value;
    if (note !== null) notes.push(note);
  }
  notes.push(...settle(state));
  return { state, notes };
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
