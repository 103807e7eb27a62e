// The second view: a gradient that a reader draws, and the steps taken on it.

import { METHODS, CONVENTIONS } from "./rules.js";
import { feed } from "./simulate.js";
import { makeChart, rangeOf } from "./chart.js";
import { number } from "./format.js";
import { axes, html, labelled, linearTicks, makePlot, onDrag, scale, svg, swatch, tableRow } from "./svg.js";

const RULES = [
  { key: "acprop", convention: "guarded" },
  { key: "acprop-paper", convention: "paper" },
  { key: "adam", convention: "torch" },
  { key: "adopt", convention: "torch" },
].map((rule) => ({ ...rule, label: METHODS[rule.key].label }));

const repeat = (n, value) => Array(n).fill(value);
const wave = (n) => Array.from({ length: n }, (_, i) => [1, -0.5, 0.8, -1, 0.3][i % 5]);

export const PRESETS = {
  zeros: [...repeat(100, 0), ...repeat(20, 1)],
  first: [0, ...wave(59)],
  dead: [...wave(40), ...repeat(160, 0), ...wave(20)],
  flip: [...repeat(80, 1), ...repeat(40, -1)],
  noise: wave(120),
};

export function makeHazardView(root, change) {
  const find = (name) => root.querySelector(`[data-part=${name}]`);
  const drawEditor = makeEditor(find("gradient"), (g) => change({ g }, []));
  const drawSteps = makeChart(find("steps"), 280);
  for (const button of root.querySelectorAll("[data-preset]"))
    button.addEventListener("click", () => change({ g: PRESETS[button.dataset.preset] }, []));
  find("hazard-legend").replaceChildren(
    ...RULES.map(({ key, label }) => html("li", {}, swatch(key), label)),
  );
  return function draw(state) {
    const numbers = { beta1: state.hbeta1, beta2: state.hbeta2, eps: state.heps };
    const found = RULES.map((rule) => {
      const d = feed(METHODS[rule.key], CONVENTIONS[rule.convention], numbers, state.g);
      return { ...rule, ...largest(d) };
    });
    drawEditor(state.g);
    const lines = found.map(({ key, label, size }) => ({ key, label, values: size, first: 1, dots: true }));
    const t = { lo: 1, hi: Math.max(2, state.g.length) };
    const y = rangeOf(lines, t, true, 10);
    drawSteps({
      lines,
      t,
      y: { ...y, lo: Math.min(y.lo, 0.5), hi: Math.max(y.hi, 2) },
      yLabel: "|step| / lr",
      summary: `The size of each step in units of lr; the largest: ${found.map((f) => `${f.label} ${number(f.most)}`).join(", ")}`,
    });
    find("hazard-sentence").textContent = sentence(found);
    find("hazard-sentence").className = `sentence ${found[1].most > 20 ? "off" : "towards"}`;
    fillTable(find("hazard-table"), found, state.hlr);
  };
}

// |d| of every step, the largest, when it was, and how far x went.
function largest(d) {
  const size = d.map(Math.abs);
  let at = 0;
  let moved = 0;
  for (let i = 0; i < d.length; i++) {
    moved -= d[i];
    if (!(size[i] <= size[at])) at = i;
  }
  return { size, most: size[at], t: at + 1, moved };
}

function sentence([ours, paper, adam, adopt]) {
  const rest = `${ours.label} takes at most ${number(ours.most)} × lr, Adam ${number(adam.most)} and ADOPT ${number(adopt.most)}`;
  if (paper.most > 20)
    return (
      `At step ${paper.t} ${paper.label} leaps ${number(paper.most)} × lr: its denominator knows ` +
      `only the past, and the past was almost nothing. On the same gradients ${rest}.`
    );
  return `No leap here: the largest step of ${paper.label} is ${number(paper.most)} × lr. ${rest}.`;
}

function fillTable(body, found, lr) {
  body.replaceChildren(
    ...found.map(({ key, label, most, t, moved }) => {
      const cells = {
        "largest step / lr": number(most),
        "at step": String(t),
        "largest step": number(most * lr),
        "x moved in all": number(moved * lr),
      };
      return tableRow(key, label, cells);
    }),
  );
}

const HEIGHT = 220;

// A picture to draw in: by mouse, finger, or arrow keys at a cursor.
function makeEditor(host, change) {
  const { image, fit } = makePlot(host, HEIGHT, { role: "slider", tabindex: 0, class: "editor" });
  let places = null;
  let now = [0];
  let cursor = 0;
  let last = null; // where the pointer was, so that quick strokes leave no gaps

  function draw(g) {
    now = g;
    cursor = Math.min(cursor, g.length - 1);
    const most = Math.max(2, 1.1 * Math.max(...g.map(Math.abs)));
    const box = fit({
      "aria-label": "The gradient at the cursor: left and right move it, up and down change it",
      "aria-valuemin": -most,
      "aria-valuemax": most,
      "aria-valuenow": g[cursor],
      "aria-valuetext": `step ${cursor + 1} of ${g.length}: gradient ${g[cursor]}`,
    });
    const x = scale({ lo: 0.5, hi: g.length + 0.5 }, box.left, box.right);
    const y = scale({ lo: -most, hi: most }, box.bottom, box.top);
    const bar = Math.max(1, (0.8 * (box.right - box.left)) / g.length);
    const ticks = linearTicks(1, g.length, Math.max(2, box.right / 75)).filter(Number.isInteger);
    const bars = g.map((value, i) => {
      const [at, end, zero] = [x.at(i + 1), y.at(value), y.at(0)];
      return `M${(at - bar / 2).toFixed(1)} ${zero.toFixed(1)}V${end.toFixed(1)}h${bar.toFixed(1)}V${zero.toFixed(1)}Z`;
    });
    image.replaceChildren(
      axes({
        box,
        x,
        y,
        xTicks: labelled(ticks, false),
        yTicks: labelled(linearTicks(-most, most, 4), false),
        xLabel: "step t",
        yLabel: "gradient g",
      }),
      svg("line", { class: "zero", x1: box.left, x2: box.right, y1: y.at(0), y2: y.at(0) }),
      svg("path", { class: "bars", d: bars.join("") }),
      svg("path", {
        class: "cursor-here",
        d: `M${x.at(cursor + 1)} ${box.bottom}l-5 8h10Z`,
      }),
      svg("circle", { class: "cursor-dot", cx: x.at(cursor + 1), cy: y.at(now[cursor]), r: 4 }),
    );
    places = { x, y, most };
  }

  function at(left, top) {
    const { x, y, most } = places;
    const i = Math.round(x.back(left)) - 1;
    const value = Math.min(Math.max(y.back(top), -most), most);
    return {
      i: Math.min(Math.max(i, 0), now.length - 1),
      value: Math.round(value * 20) / 20 || 0,
    };
  }
  function stroke(to) {
    const from = last ?? to;
    const g = [...now];
    const step = Math.sign(to.i - from.i) || 1;
    for (let i = from.i; ; i += step) {
      const share = to.i === from.i ? 1 : (i - from.i) / (to.i - from.i);
      g[i] = Math.round((from.value + share * (to.value - from.value)) * 20) / 20 || 0;
      if (i === to.i) break;
    }
    [last, cursor, now] = [to, to.i, g];
    change(g);
  }
  const begin = () => {
    image.focus({ preventScroll: true });
    last = null;
  };
  onDrag(image, begin, (left, top) => stroke(at(left, top)));
  image.addEventListener("keydown", (event) => {
    const by = { ArrowUp: 0.1, ArrowDown: -0.1, PageUp: 1, PageDown: -1 }[event.key];
    const to = {
      ArrowLeft: cursor - (event.shiftKey ? 10 : 1),
      ArrowRight: cursor + (event.shiftKey ? 10 : 1),
      Home: 0,
      End: now.length - 1,
    }[event.key];
    if (to !== undefined) {
      cursor = Math.min(Math.max(to, 0), now.length - 1);
      draw(now);
    } else if (by !== undefined || event.key === "Delete" || event.key === "Backspace") {
      const g = [...now];
      g[cursor] = by === undefined ? 0 : Number((g[cursor] + by).toFixed(3)) || 0;
      now = g; // at once, for keys that come faster than frames
      change(g);
    } else return;
    event.preventDefault();
  });
  return draw;
}
