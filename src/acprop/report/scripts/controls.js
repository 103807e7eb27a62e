// The knobs: fields of a form on one side, the state on the other.
//
// An element with data-field="beta2" holds the value itself; a slider with
// data-slide="beta2" moves it on the scale that its data-scale names.

import { FIELDS, parseField } from "./state.js";
import { METHODS, conventionOf } from "./rules.js";
import { toBeta2, toLogit } from "./borders.js";
import { decay, number } from "./format.js";
import { html } from "./svg.js";

const SCALES = {
  linear: { to: (x) => x, from: (x) => Number(x.toPrecision(4)) },
  whole: { to: (x) => x, from: Math.round },
  // 0, 0.9, 0.99, 0.999 … evenly
  nines: { to: (x) => -Math.log10(1 - x), from: (x) => Number((1 - 10 ** -x).toPrecision(x > 2 ? 5 : 3)) },
  log: { to: Math.log10, from: (x) => Number((10 ** x).toPrecision(3)) },
  // whole numbers, evenly on a logarithmic axis
  period: { to: Math.log10, from: (x) => Math.round(10 ** x) },
  logit: { to: toLogit, from: (x) => Number(toBeta2(x).toPrecision(x > 4 ? 6 : 4)) },
};

// `change(changes, notes)` takes what a reader has done; returns show(state).
export function bindControls(form, change) {
  const fields = [...form.querySelectorAll("[data-field]")];
  const slides = [...form.querySelectorAll("[data-slide]")];
  const boxes = [...form.querySelectorAll("input[name=show]")];

  for (const slide of slides) {
    const { lo, hi } = FIELDS[slide.dataset.slide];
    const { to, from } = SCALES[slide.dataset.scale];
    slide.min = to(lo);
    slide.max = to(hi);
    slide.addEventListener("input", () => {
      const value = Math.min(Math.max(from(Number(slide.value)), lo), hi);
      change({ [slide.dataset.slide]: value }, []);
    });
  }
  for (const field of fields) {
    const name = field.dataset.field;
    // Half a number is no mistake: while somebody types, only what is whole counts,
    // and nothing is put in its place.
    if (field.tagName !== "SELECT")
      field.addEventListener("input", () => {
        const { value, note } = parseField(name, field.value);
        field.dataset.typing = "";
        field.setAttribute("aria-invalid", String(note !== null));
        if (note === null) change({ [name]: value }, []);
      });
    field.addEventListener("change", () => {
      const { value, note } = parseField(name, field.value);
      delete field.dataset.typing;
      field.setAttribute("aria-invalid", "false");
      change({ [name]: value }, note === null ? [] : [note]);
    });
  }
  for (const box of boxes)
    box.addEventListener("change", () => {
      const show = boxes.filter((b) => b.checked).map((b) => b.value);
      if (show.length > 0) return change({ show }, []);
      box.checked = true;
      change({}, ["optimizers must name at least one; the last one stays"]);
    });

  return function show(state) {
    for (const slide of slides) {
      const name = slide.dataset.slide;
      slide.value = SCALES[slide.dataset.scale].to(state[name]);
      const isDecay = slide.dataset.scale === "logit";
      slide.setAttribute("aria-valuetext", isDecay ? decay(state[name]) : number(state[name]));
    }
    for (const field of fields) {
      if (field.dataset.field === "focus") showFocus(field, state);
      const text = FIELDS[field.dataset.field].show(state[field.dataset.field]);
      const isTyping = "typing" in field.dataset && document.activeElement === field;
      if (!isTyping && field.value !== text) field.value = text;
    }
    for (const box of boxes) box.checked = state.show.includes(box.value);
    for (const own of form.querySelectorAll("[data-own-eps]"))
      own.placeholder = number(conventionOf(METHODS[state.focus], state.convention).eps);
  };
}

// Only what is drawn can be explained.
function showFocus(select, state) {
  const wanted = state.show.join();
  if (select.dataset.options === wanted) return;
  select.dataset.options = wanted;
  select.replaceChildren(
    ...state.show.map((key) => html("option", { value: key }, METHODS[key].label)),
  );
}
