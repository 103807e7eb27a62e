// The (P, β2) plane: exact borders from the closed forms, that of the default from walks
// over a coarser grid, and the point that a reader drags over it.

import { axes, makePlot, onDrag, scale, set, svg } from "./svg.js";
import { crossings, toBeta2, toLogit } from "./borders.js";
import { PROBLEMS, problemOf } from "./problems.js";
import { isEntangled } from "./rules.js";
import { decay } from "./format.js";

const HEIGHT = 400;
const MOST = 200; // the largest P
// β2 from 0.001 to 0.99999; samples closer together than a pocket is wide
export const Z = { lo: toLogit(0.001), hi: toLogit(0.99999), step: 0.2 };
const COARSE_Z = { ...Z, step: 0.4 };
const BETA2 = [0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999];
const PERIODS = [3, 5, 10, 20, 50, 100, 200];
// Crossings of neighbouring periods that are farther apart than this are two branches.
const JUMP = 2.2;

// Every P up to 15, then such as lie evenly on a logarithmic axis.
export function columns(least) {
  const found = [];
  for (let P = least; P <= MOST; P = Math.max(P + 1, Math.round(P * 1.1))) found.push(P);
  if (found.at(-1) !== MOST) found.push(MOST);
  return found;
}

const cache = new Map();

// The crossings of a method for every column; computed once for each setting.
export function borderOf(name, method, key, convention, { beta1, eps }) {
  const id = JSON.stringify([name, key, method.rule.delay, convention.name, beta1, eps]);
  if (!cache.has(id)) {
    if (cache.size > 400) cache.clear();
    const numbers = { beta1, eps };
    const grid = isEntangled(method) ? COARSE_Z : Z;
    cache.set(
      id,
      columns(PROBLEMS[name].least).map((P) => ({
        P,
        ...crossings(problemOf(name, P), method, convention, numbers, grid),
      })),
    );
  }
  return cache.get(id);
}

// `host` is a <figure> with an empty .plot; `move(P, beta2)` is called when the point
// is dragged or moved by keys.
export function makePlane(host, move) {
  const { image, fit } = makePlot(host, HEIGHT, { role: "group" }, 60);
  const handle = svg("circle", { class: "point", r: 9, tabindex: 0, role: "slider" });
  const cross = svg("path", { class: "crosshair" });
  const under = svg("g");
  // The point itself is never taken out: it would lose the focus.
  image.append(under, cross, handle);
  let places = null;
  let now = { P: 10, beta2: 0.9, least: 3 };

  function draw({ name, P, beta2, layers, focus }) {
    const box = fit({ "aria-label": `The plane of P and β2, ${PROBLEMS[name].label}` });
    const { least } = PROBLEMS[name];
    const x = scale({ lo: least - 0.25, hi: MOST * 1.04, log: true }, box.left, box.right);
    const y = scale({ lo: Z.lo - 0.15, hi: Z.hi + 0.15 }, box.bottom, box.top);
    const beta2Ticks = BETA2.map((value) => [toLogit(value), String(value)]);
    const periodTicks = [least, ...PERIODS.filter((P) => P > least + 0.5)];
    const chosen = layers.find((layer) => layer.key === focus);
    under.replaceChildren(
      hatching(),
      ...areas(chosen, x, y, box),
      axes({
        box,
        x,
        y,
        xTicks: periodTicks.map((P) => [P, String(P)]),
        yTicks: beta2Ticks,
        xLabel: "period P",
        yLabel: "β2",
      }),
      ...layers.map((layer) => borderLines(layer, x, y)),
    );
    places = { x, y };
    now = { P, beta2, least };
    const [cx, cy] = [x.at(P), y.at(toLogit(beta2))];
    cross.setAttribute("d", `M${box.left} ${cy}H${box.right}M${cx} ${box.top}V${box.bottom}`);
    set(handle, {
      cx,
      cy,
      "aria-label": "Point in the plane: left and right change P, up and down β2",
      "aria-valuemin": least,
      "aria-valuemax": MOST,
      "aria-valuenow": P,
      "aria-valuetext": `P = ${P}, β2 = ${decay(beta2)}`,
    });
  }

  const go = (P, z) => {
    const within = Math.min(Math.max(z, Z.lo), Z.hi);
    // at once, for keys that come faster than frames
    now = {
      ...now,
      P: Math.min(Math.max(Math.round(P), now.least), MOST),
      beta2: Number(toBeta2(within).toPrecision(within > 4 ? 6 : 4)),
    };
    move(now.P, now.beta2);
  };
  onDrag(
    image,
    () => handle.focus({ preventScroll: true }),
    (left, top) => go(places.x.back(left), places.y.back(top)),
  );
  handle.addEventListener("keydown", (event) => {
    const far = event.shiftKey ? 10 : 1;
    const z = toLogit(now.beta2);
    const to = {
      ArrowLeft: [now.P - far, z],
      ArrowRight: [now.P + far, z],
      ArrowUp: [now.P, z + 0.1 * far],
      ArrowDown: [now.P, z - 0.1 * far],
      Home: [now.least, z],
      End: [MOST, z],
      PageUp: [now.P, z + 1],
      PageDown: [now.P, z - 1],
    }[event.key];
    if (to === undefined) return;
    go(...to);
    event.preventDefault();
  });
  return draw;
}

// Lines that say "away" to readers who see no colours.
function hatching() {
  const pattern = svg(
    "pattern",
    { id: "away", width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    svg("line", { class: "hatch", x1: 0, x2: 0, y1: 0, y2: 7 }),
  );
  return svg("defs", {}, pattern);
}

// Where the chosen method converges, and where it does not, column by column.
function areas(layer, x, y, box) {
  if (layer === undefined) return [];
  const paths = { true: "", false: "" };
  const { border } = layer;
  border.forEach(({ P, converges, beta2 }, i) => {
    const middle = (Q) => x.at(Math.sqrt(P * Q));
    const left = i === 0 ? box.left : middle(border[i - 1].P);
    const right = i === border.length - 1 ? box.right : middle(border[i + 1].P);
    const ends = [box.bottom, ...beta2.map((b) => y.at(toLogit(b))), box.top];
    let good = converges;
    for (let k = 1; k < ends.length; k++, good = !good)
      paths[good] += `M${left.toFixed(1)} ${ends[k - 1].toFixed(1)}H${right.toFixed(1)}V${ends[k].toFixed(1)}H${left.toFixed(1)}Z`;
  });
  return [
    svg("path", { class: "area", d: paths.true }),
    svg("path", { class: "away", d: paths.false, fill: "url(#away)" }),
  ];
}

// The crossings in runs that belong together: near each other, and with the same side
// above. One without a neighbour is a dot.
function borderLines({ key, border }, x, y) {
  let before = [];
  const branches = [];
  for (const { P, beta2, converges } of border)
    before = beta2.map((value, k) => {
      const z = toLogit(value);
      const upwards = converges === (k % 2 === 1); // does it converge above?
      const far = (branch) => Math.abs(branch.points.at(-1)[1] - z);
      const near = before
        .filter((branch) => branch.upwards === upwards && far(branch) <= JUMP)
        .sort((a, b) => far(a) - far(b))[0];
      const branch = near ?? { upwards, points: [] };
      if (near === undefined) branches.push(branch);
      else before = before.filter((other) => other !== near);
      branch.points.push([P, z]);
      return branch;
    });
  const place = ([P, z]) => `${x.at(P).toFixed(1)} ${y.at(z).toFixed(1)}`;
  const group = svg("g", { class: `line border c-${key}` });
  group.append(
    svg("path", { d: branches.map(({ points }) => `M${points.map(place).join("L")}`).join("") }),
  );
  for (const { points } of branches) {
    const [[P, z], ...more] = points;
    if (more.length === 0) group.append(svg("circle", { cx: x.at(P), cy: y.at(z), r: 2 }));
  }
  return group;
}
