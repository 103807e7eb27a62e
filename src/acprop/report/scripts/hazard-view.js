// The second view: a gradient that a reader draws, and the steps taken on it.

import { METHODS, CONVENTIONS } from "./rules.js";
import { run } from "./simulate.js";
import { makeChart, rangeOf } from "./chart.js";
import { number } from "./format.js";
import { html, makePlot, onDrag, svg, swatch, tableRow } from "./svg.js";

// 200 steps such as a training takes: then nothing depends on the first of them.
const ORDINARY = Array.from({ length: 200 }, (_, i) => [1, -0.5, 0.8, -1, 0.3][i % 5]);
const LEAP = 20; // × lr: more than the guard lets pass within 1000 steps, by far
const RULES = { acprop: "guarded", "acprop-paper": "paper", adam: "torch", adopt: "torch" };

export function makeHazardView(root, change) {
  const find = (name) => root.querySelector(`[data-part=${name}]`);
  const drawEditor = makeEditor(find("gradient"), (g) => change({ g }));
  const drawSteps = makeChart(find("steps"), 280);
  find("hazard-legend").replaceChildren(
    ...Object.keys(RULES).map((key) => html("li", {}, swatch(key), METHODS[key].label)),
  );
  return function draw({ hbeta1, hbeta2, heps, before, g }) {
    const settings = { beta1: hbeta1, beta2: hbeta2, eps: heps };
    const found = Object.entries(RULES).map(([key, convention]) => {
      const past = before === "ordinary" ? ORDINARY : [];
      const { d } = run(METHODS[key], CONVENTIONS[convention], settings, [...past, ...g]);
      return { key, label: METHODS[key].label, ...largest(d.slice(past.length)) };
    });
    drawEditor(g);
    const t = { lo: 1, hi: Math.max(2, g.length) };
    const { lo, hi } = rangeOf(found, t, true);
    drawSteps({
      lines: found,
      t,
      y: { lo: Math.min(lo, 0.5), hi: Math.max(hi, 2), log: true, label: "|step| / lr" },
      isDotted: true,
      summary: `The size of each step in units of lr; the largest: ${found.map((f) => `${f.label} ${number(f.most)}`).join(", ")}`,
    });
    const isFirst = before === "nothing" && g.slice(0, found[1].t - 1).every((value) => value === 0);
    find("hazard-sentence").textContent = sentence(found, isFirst);
    find("hazard-sentence").className = `sentence ${found[1].most > LEAP ? "off" : "towards"}`;
    find("hazard-table").replaceChildren(
      ...found.map(({ key, label, most, t, moved }) =>
        tableRow(key, label, {
          "largest step / lr": number(most),
          "at step": String(t),
          "x moved / lr": number(moved),
        }),
      ),
    );
  };
}

// |d| of every step, the largest, when it was, and how far x went.
function largest(d) {
  const values = d.map(Math.abs);
  const most = values.reduce((a, b) => Math.max(a, b));
  return { values, most, t: values.indexOf(most) + 1, moved: -d.reduce((a, b) => a + b) };
}

// isFirst: the leap is at the first gradient that is not 0.
function sentence([ours, paper, adam, adopt], isFirst) {
  const rest = `${ours.label} takes at most ${number(ours.most)} × lr, Adam ${number(adam.most)} and ADOPT ${number(adopt.most)}`;
  const why = isFirst
    ? "it has seen no gradient before, so that s is 0 and only ε is left to divide by"
    : "its denominator knows only the past, and there s had become almost nothing";
  if (paper.most > LEAP)
    return `At step ${paper.t} ${paper.label} leaps ${number(paper.most)} × lr: ${why}. On the same gradients ${rest}.`;
  return `No leap here: the largest step of ${paper.label} is ${number(paper.most)} × lr. ${rest}.`;
}

// A picture to draw in by mouse or finger; the field beside it takes the same as text.
function makeEditor(host, change) {
  const { image, content, frame } = makePlot(host, 220, { role: "img", class: "editor" });
  let places = null;
  let now = null;
  let last = null; // where the pointer was, so that quick strokes leave no gaps

  onDrag(
    image,
    () => (last = null),
    (left, top) => {
      const { x, y } = places;
      const within = ({ lo, hi }, value) => Math.min(Math.max(value, lo), hi);
      const step = Math.min(Math.round(within(x, x.back(left))), now.length);
      const to = { i: step - 1, g: within(y, y.back(top)) };
      const from = last ?? to;
      const [a, b] = from.i < to.i ? [from, to] : [to, from];
      now = now.map((g, i) => {
        if (i < a.i || i > b.i) return g;
        const share = a.i === b.i ? 1 : (i - a.i) / (b.i - a.i);
        const drawn = i === to.i ? to.g : a.g + share * (b.g - a.g);
        return Math.round(drawn * 20) / 20 || 0;
      });
      last = to;
      change(now);
    },
  );

  return function draw(g) {
    const most = Math.max(2, 1.1 * Math.max(...g.map(Math.abs)));
    const { box, x, y } = frame(
      `${g.length} gradients from ${Math.min(...g)} to ${Math.max(...g)}`,
      { lo: 0.5, hi: g.length + 0.5, label: "step t", least: 1 },
      { lo: -most, hi: most, label: "gradient g" },
    );
    const bar = Math.max(1, (0.8 * (box.right - box.left)) / g.length);
    const zero = y.at(0);
    const bars = g.map((value, i) => `M${x.at(i + 1) - bar / 2} ${zero}V${y.at(value)}h${bar}V${zero}Z`);
    content.append(
      svg("line", { class: "zero", x1: box.left, x2: box.right, y1: zero, y2: zero }),
      svg("path", { class: "bars", d: bars.join("") }),
    );
    places = { x, y };
    now = g;
  };
}
