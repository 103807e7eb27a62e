// The (β2, P) plane, as the figures have it: exact borders from the closed forms, that of the default from walks
// over a coarser grid, and the point that a reader drags over it.

import { dots, makePlot, onDrag, set, svg } from "./svg.js";
import { crossings, toBeta2, toLogit } from "./borders.js";
import { PROBLEMS, problemOf } from "./problems.js";
import { isEntangled } from "./rules.js";
import { decay } from "./format.js";

const MOST = 200; // the largest P
// β2 from 0.001 to 0.99999; samples closer together than a pocket is wide
export const Z = { lo: toLogit(0.001), hi: toLogit(0.99999), step: 0.2 };
// For a whole plane: borders to a hundredth of a pixel, and fewer samples where each is a walk.
const DRAWN_Z = { ...Z, tolerance: 1e-4 };
const COARSE_Z = { ...Z, step: 0.4 };
const BETA2 = [0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999];
const PERIODS = [5, 10, 20, 50, 100, 200];
// Crossings of neighbouring periods that are farther apart than this are two branches.
const JUMP = 2.2;

// Every P up to 12, then such as lie evenly on a logarithmic axis.
function rows(least) {
  const found = [];
  for (let P = least; P < MOST; P = Math.max(P + 1, Math.round(P * 1.13))) found.push(P);
  return [...found, MOST];
}

const cache = new Map();

// The crossings of a method for every row; computed once for each setting.
export function borderOf(name, method, convention, { beta1, eps }) {
  const id = JSON.stringify([name, method, convention, beta1, eps]);
  if (!cache.has(id)) {
    if (cache.size > 400) cache.clear();
    const grid = isEntangled(method) ? COARSE_Z : DRAWN_Z;
    const border = rows(PROBLEMS[name].least).map((P) => ({
      P,
      ...crossings(problemOf(name, P), method, convention, { beta1, eps }, grid),
    }));
    cache.set(id, border);
  }
  return cache.get(id);
}

// `move(P, beta2)` is called when the point is dragged or moved by keys. Returns draw.
export function makePlane(host, move) {
  const { image, content, frame } = makePlot(host, 400, { role: "group" }, 60);
  const handle = svg("circle", { class: "point", r: 9, tabindex: 0, role: "slider" });
  const cross = svg("path", { class: "crosshair" });
  // The point itself is never taken out: it would lose the focus.
  image.append(cross, handle);
  let places = null;
  let now = null;

  const go = (P, z) => {
    const within = Math.min(Math.max(z, Z.lo), Z.hi);
    // at once, for keys that come faster than frames
    now.P = Math.min(Math.max(Math.round(P), now.least), MOST);
    now.beta2 = Number(toBeta2(within).toPrecision(within > 4 ? 6 : 4));
    move(now.P, now.beta2);
  };
  onDrag(
    image,
    () => handle.focus({ preventScroll: true }),
    (left, top) => go(places.y.back(top), places.x.back(left)),
  );
  handle.addEventListener("keydown", (event) => {
    const far = event.shiftKey ? 10 : 1;
    const ways = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    if (!(event.key in ways)) return;
    const [right, up] = ways[event.key];
    go(now.P + far * up, toLogit(now.beta2) + far * right);
    event.preventDefault();
  });

  // layers: {key, border} of every method; that of the focus is shaded.
  return function draw({ problem, P, beta2, focus }, layers) {
    const { label, least } = PROBLEMS[problem];
    const periods = [least, ...PERIODS].map((P) => [P, String(P)]);
    const { box, x, y } = frame(
      `The plane of β2 and P, ${label}`,
      { lo: Z.lo - 0.15, hi: Z.hi + 0.15, label: "β2", ticks: BETA2.map((b) => [toLogit(b), String(b)]) },
      { lo: least - 0.25, hi: MOST * 1.04, log: true, label: "period P", ticks: periods },
    );
    places = { x, y };
    now = { P, beta2, least };
    content.append(
      hatching(),
      ...areas(layers.find(({ key }) => key === focus).border, x, y, box),
      ...layers.map((layer) => borderLines(layer, x, y)),
    );
    const [cx, cy] = [x.at(toLogit(beta2)), y.at(P)];
    set(cross, { d: `M${box.left} ${cy}H${box.right}M${cx} ${box.top}V${box.bottom}` });
    set(handle, {
      cx,
      cy,
      "aria-label": "Point in the plane: left and right change β2, up and down P",
      "aria-valuemin": least,
      "aria-valuemax": MOST,
      "aria-valuenow": P,
      "aria-valuetext": `P = ${P}, β2 = ${decay(beta2)}`,
    });
  };
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

// Where a method converges, and where it does not, row by row.
function areas(border, x, y, box) {
  const paths = { true: "", false: "" };
  border.forEach(({ P, converges, beta2 }, i) => {
    const middle = (Q) => y.at(Math.sqrt(P * Q)).toFixed(1);
    const low = i === 0 ? box.bottom : middle(border[i - 1].P);
    const high = i === border.length - 1 ? box.top : middle(border[i + 1].P);
    const ends = [box.left, ...beta2.map((b) => x.at(toLogit(b)).toFixed(1)), box.right];
    for (let k = 1; k < ends.length; k++)
      paths[converges === (k % 2 === 1)] += `M${ends[k - 1]} ${low}V${high}H${ends[k]}V${low}Z`;
  });
  return [
    svg("path", { class: "area", d: paths.true }),
    svg("path", { class: "away", d: paths.false, fill: "url(#away)" }),
  ];
}

// The crossings in runs that belong together: near each other, and with the same side
// to the right. One without a neighbour is a dot.
function borderLines({ key, border }, x, y) {
  let before = [];
  const branches = [];
  for (const { P, beta2, converges } of border)
    before = beta2.map((value, k) => {
      const z = toLogit(value);
      const upwards = converges === (k % 2 === 1); // does it converge beyond?
      const far = (branch) => Math.abs(branch.points.at(-1)[1] - z);
      let branch = before
        .filter((branch) => branch.upwards === upwards && far(branch) <= JUMP)
        .sort((a, b) => far(a) - far(b))[0];
      before = before.filter((other) => other !== branch);
      if (branch === undefined) branches.push((branch = { upwards, points: [] }));
      branch.points.push([P, z]);
      return branch;
    });
  const place = ([P, z]) => `${x.at(z).toFixed(1)} ${y.at(P).toFixed(1)}`;
  const lines = branches.map(({ points }) => `M${points.map(place).join("L")}`);
  const alone = branches.filter(({ points }) => points.length === 1).map(({ points }) => points[0]);
  return svg(
    "g",
    { class: `line border c-${key}` },
    svg("path", { d: lines.join("") }),
    dots(alone.map(place)),
  );
}
