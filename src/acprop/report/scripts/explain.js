// Which way the net drift points, and why: one sentence.

import { isAsynchronous, isFamily } from "./rules.js";
import { doesSettle, drift, stepSizes } from "./drift.js";
import { number, percent, whole } from "./format.js";

// `steps`: the length of the run, at whose end a growing bound may still bind.
export function explain(problem, method, convention, h, steps) {
  const net = drift(problem, method, convention, h);
  const isSettled = doesSettle(problem, method, convention, h);
  if (!Number.isFinite(net) || Math.abs(net) < 1e-12)
    return { towards: null, net, isSettled, text: `${method.label} does not drift: the moves of a period cancel.` };
  const towards = net > 0;
  const far = problem.xStar === problem.lo ? problem.hi : problem.lo;
  const where = towards
    ? `towards x* = ${number(problem.xStar)}`
    : `away from x* = ${number(problem.xStar)}, to ${number(far)}`;
  const text = `${method.label} drifts ${where}: ${isSettled ? reason(problem, method, convention, h, net) : wanders(net)}.`;
  return { towards, net, isSettled, text: text + boundNote(problem, method, convention, h, steps, towards) };
}

function reason(problem, method, convention, h, net) {
  const sum = number(problem.cycle.reduce((a, b) => a + b));
  if (method.rule === "sgd")
    return `all its step sizes are equal, and the gradients of a period add up to +${sum}`;
  if (method.rule === "avagrad")
    return `with one parameter its denominator cancels, and the gradients of a period add up to +${sum}`;
  if (method.amsgrad)
    return `its denominator stops changing, so every gradient counts by its size, and those of a period add up to +${sum}`;
  const spreads = method.rule.average === "before" || method.rule.delay > 1;
  if (spreads) return shares(problem, method, net);
  const decided = sizes(problem, method, convention, h);
  const isAveraged = method.rule.average === "after" || method.rule === "adopt";
  return isAveraged ? `${decided}; averaging afterwards leaves their sum as it is` : decided;
}

const ways = (net) =>
  `its moves to x* make up ${percent((1 + net) / 2)} of the way, those back ${percent((1 - net) / 2)}`;

const wanders = (net) => `its periods do not repeat, and over the last 200 ${ways(net)}`;

// The gradient is divided itself: step sizes decide.
function sizes(problem, method, convention, h) {
  const all = stepSizes(problem, method, convention, h);
  const isDense = problem.name === "dense";
  const { period: P, cycle } = problem;
  const big = all[1];
  const others = isDense
    ? (all.reduce((a, b) => a + b) - big) / (P - 1)
    : all[P - 2];
  const needed = isDense ? (P - 1) / P : 2 / P;
  const rule = isDense ? "(P − 1)/P" : "2/P";
  const whom = isDense ? "the mean of the others" : "that of the gradient −1";
  const late = isAsynchronous(method) || method.rule === "adopt";
  const cause = late
    ? `its denominator does not yet know the gradient ${number(cycle[1])} that it divides, whose step size is`
    : `the gradient ${number(cycle[1])} enlarges its own denominator, so that its step size is`;
  return `${cause} ${number(big / others)} times ${whom}, where more than ${rule} = ${number(needed)} is needed`;
}

// A mean is divided: it points to x* at some steps and back at the others.
function shares(problem, method, net) {
  const what = method.rule.average === "before" ? "m" : "the mean of the newest gradients";
  const how = isAsynchronous(method)
    ? "a denominator that lags behind divides it"
    : "the same gradient enlarges the denominator";
  return (
    `${what} spreads the gradient ${number(problem.cycle[1])} over the steps that follow, while ${how}; ${ways(net)}`
  );
}

function boundNote(problem, method, convention, h, steps, towards) {
  const grows = method.rule === "adopt" || (isFamily(method) && convention.clip === "t**0.25");
  if (!grows || drift(problem, method, convention, h, steps) > 0 === towards) return "";
  return ` That is the limit: at step ${whole(steps)} its bound t^¼ = ${number(steps ** 0.25)} still binds, and the drift points the other way.`;
}
