// The page: one state, one address, two views.

import { initial, read, settle, write } from "./state.js";
import { bindControls } from "./controls.js";
import { makeDriftView } from "./drift-view.js";
import { makeHazardView } from "./hazard-view.js";
import { bindCopy, bindSave } from "./share.js";
import { makeTour } from "./tour.js";
import { html, measure } from "./svg.js";

const by = (id) => document.getElementById(id);
const tabs = [...document.querySelectorAll("[role=tab]")];
const notes = by("notes");
const places = [...document.querySelectorAll("[data-note]")];
const show = bindControls(document.body, change);
const views = {
  drift: makeDriftView(by("drift"), change),
  hazard: makeHazardView(by("hazard"), change),
};

let state = initial();
let isWaiting = false;
let written = "";
let writing = 0;

const drawTour = makeTour(by("tour"), by("take-tour"), change);

// A note stands beside its field; those about an address at the top of the page too.
function change(changes, corrections = [], isAddress = false) {
  state = { ...state, ...changes };
  const lines = [...corrections, ...settle(state)];
  for (const place of places) {
    const own = lines.filter(({ name }) => name === place.dataset.note);
    place.hidden = own.length === 0;
    place.textContent = own.map(({ text }) => text).join(" ");
  }
  notes.hidden = !isAddress || lines.length === 0;
  notes.replaceChildren(...(isAddress ? lines.map(({ text }) => html("p", {}, text)) : []));
  request();
}

// At most once for each frame, however often a pointer reports.
function request() {
  if (isWaiting) return;
  isWaiting = true;
  requestAnimationFrame(() => {
    isWaiting = false;
    draw();
  });
}

function draw() {
  const start = performance.now();
  measure();
  for (const tab of tabs) {
    const isChosen = tab.dataset.view === state.view;
    tab.setAttribute("aria-selected", String(isChosen));
    tab.tabIndex = isChosen ? 0 : -1;
    by(tab.dataset.view).hidden = !isChosen;
  }
  show(state);
  drawTour(state);
  views[state.view](state);
  document.body.getBoundingClientRect(); // the layout is part of the work
  performance.measure("explorer-change", { start });
  clearTimeout(writing);
  // Browsers allow only so many changes of the address in a second.
  writing = setTimeout(keep, 120);
}

function keep() {
  written = write(state);
  history.replaceState(null, "", written);
}

function open() {
  const { values, notes } = read(location.hash);
  change({ ...initial(), ...values }, notes, true);
}

for (const tab of tabs) {
  tab.addEventListener("click", () => change({ view: tab.dataset.view }));
  tab.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const other = tabs[(tabs.indexOf(tab) + 1) % tabs.length];
    other.focus();
    change({ view: other.dataset.view });
    event.preventDefault();
  });
}
// On a narrow page the pictures come first.
if (matchMedia("(max-width: 60rem)").matches)
  for (const panel of document.querySelectorAll("details.controls")) panel.open = false;

bindSave(document.body);
bindCopy(by("copy"), by("address"), () => {
  keep();
  return location.href;
});
addEventListener("hashchange", () => {
  if ((location.hash || "#") !== written) open();
});
addEventListener("pagehide", keep);
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width) return; // a phone that hides its address bar
  width = innerWidth;
  request();
});
open();
