// Four steps for somebody who has never seen this: why Adam goes the wrong way where ACProp
// does not, and what that costs. Each sets the page as an address would.

import { initial, read } from "./state.js";

export const TOUR = [
  {
    title: "A walk with one right end",
    text:
      "The gradient is 20 once, then −1 nineteen times, and so on, wherever x is. A period adds up to +1, so the right end is " +
      "x* = −1, where gradients lead in sum. SGD, whose steps are all alike, goes there: look at x over time.",
    set: "P=20&beta2=0.9&lr=0.3&show=sgd&focus=sgd",
  },
  {
    title: "Adam makes the one good step small",
    text:
      "Adam divides by the root of v, and v has just learned of the large gradient. The one step to x* is made small, the " +
      "nineteen steps back stay as they are, and their sum changes its sign: Adam drifts to +1, the worst place. " +
      "In the plane, red is every P and β2 at which that happens.",
    set: "P=20&beta2=0.9&lr=0.3&show=adam,sgd&focus=adam",
  },
  {
    title: "ACProp divides by the past",
    text:
      "ACProp waits: it divides by an s that does not yet know the gradient. No gradient can make its own step small, so " +
      "what is right in sum stays right. And s measures surprise, the distance to what was expected, rather than size. " +
      "Drag the point in the plane and watch both.",
    set: "P=20&beta2=0.9&lr=0.3&show=acprop,adam&focus=acprop",
  },
  {
    title: "What waiting costs",
    text:
      "If the past was silent, s is almost 0, and the first real gradient makes a leap: ACProp as the paper prints it " +
      "takes a step of 10⁸ × lr after a hundred zeros. ACProp (default) bounds step t by the fourth root of t. " +
      "Draw a gradient of your own.",
    set: "view=hazard",
  },
];

// `change` takes a whole state; returns draw(state).
export function makeTour(root, start, change) {
  const find = (name) => root.querySelector(`[data-part=tour-${name}]`);
  const go = (step) => {
    if (step === 0) return change({ tour: 0 });
    change({ ...initial(), ...read(TOUR[step - 1].set).values, tour: step });
  };
  let now = 0;
  start.addEventListener("click", () => {
    go(1);
    find("title").focus();
  });
  find("back").addEventListener("click", () => go(now - 1));
  find("next").addEventListener("click", () => go(now === TOUR.length ? 0 : now + 1));
  find("end").addEventListener("click", () => go(0));
  return function draw({ tour }) {
    now = tour;
    root.hidden = tour === 0;
    start.hidden = tour !== 0;
    if (tour === 0) return;
    const { title, text } = TOUR[tour - 1];
    find("count").textContent = `Step ${tour} of ${TOUR.length}`;
    find("title").textContent = title;
    find("text").textContent = text;
    find("back").disabled = tour === 1;
    find("next").textContent = tour === TOUR.length ? "Turn the knobs" : "Next";
  };
}
