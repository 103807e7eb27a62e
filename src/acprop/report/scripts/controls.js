// The knobs: fields of a form on one side, the state on the other.
//
// An element with data-field="beta2" holds the value itself; a slider with
// data-slide="beta2" moves it on the scale that its data-scale names.

import { FIELDS, parseField, read } from "./state.js";
import { METHODS, conventionOf } from "./rules.js";
import { toBeta2, toLogit } from "./borders.js";
import { decay, number } from "./format.js";
import { html } from "./svg.js";

const SCALES = {
  linear: { to: (x) => x, from: (x) => Number(x.toPrecision(4)), text: number },
  log: { to: Math.log10, from: (x) => Number((10 ** x).toPrecision(3)), text: number },
  logit: { to: toLogit, from: (x) => Number(toBeta2(x).toPrecision(x > 4 ? 6 : 4)), text: decay },
};

// `change(changes, notes)` takes what a reader has done; returns show(state).
export function bindControls(form, change) {
  const fields = [...form.querySelectorAll("[data-field]")];
  const slides = [...form.querySelectorAll("[data-slide]")];
  const boxes = [...form.querySelectorAll("input[name=show]")];
  let typed = null; // the field in which somebody types: nothing is put in its place

  for (const slide of slides) {
    const name = slide.dataset.slide;
    const { lo, hi, nearest } = FIELDS[name];
    const { to, from } = SCALES[slide.dataset.scale];
    slide.min = to(lo);
    slide.max = to(hi);
    slide.addEventListener("input", () => change({ [name]: nearest(from(Number(slide.value))) }));
  }
  for (const field of fields) {
    const name = field.dataset.field;
    // Half a number is no mistake: while somebody types, only what is whole counts.
    field.addEventListener("input", () => {
      const { value, notes } = parseField(name, field.value);
      typed = field;
      field.setAttribute("aria-invalid", String(notes.length > 0));
      if (notes.length === 0) change({ [name]: value });
    });
    field.addEventListener("change", () => {
      const { value, notes } = parseField(name, field.value);
      typed = null;
      field.setAttribute("aria-invalid", "false");
      change({ [name]: value }, notes);
    });
  }
  for (const box of boxes)
    box.addEventListener("change", () => {
      const show = boxes.filter((b) => b.checked).map((b) => b.value);
      if (show.length > 0) change({ show });
      else change({}, [{ name: "show", text: "optimizers must name at least one; the last one stays" }]);
    });
  for (const button of form.querySelectorAll("[data-set]"))
    button.addEventListener("click", () => change({ ...read(button.dataset.set).values, tour: 0 }));

  return function show(state) {
    for (const slide of slides) {
      const value = state[slide.dataset.slide];
      const { to, text } = SCALES[slide.dataset.scale];
      slide.value = to(value);
      slide.setAttribute("aria-valuetext", text(value));
    }
    for (const field of fields) {
      const name = field.dataset.field;
      if (name === "focus") showFocus(field, state);
      const text = FIELDS[name].show(state[name]);
      if (field !== typed && field.value !== text) field.value = text;
    }
    for (const box of boxes) box.checked = state.show.includes(box.value);
    const { eps } = conventionOf(METHODS[state.focus], state.convention);
    form.querySelector("#eps").placeholder = number(eps);
  };
}

// Only what is drawn can be explained.
function showFocus(select, { show }) {
  if (select.dataset.options === show.join()) return;
  select.dataset.options = show.join();
  select.replaceChildren(...show.map((key) => html("option", { value: key }, METHODS[key].label)));
}
