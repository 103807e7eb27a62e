// Which way the net drift points, and why: one sentence.

import { isAsynchronous, isFamily } from "./rules.js";
import { driftOf } from "./drift.js";
import { number, percent } from "./format.js";

// `steps`: the length of the run, at whose end a growing bound may still bind.
export function explain(problem, method, convention, given, steps) {
  const { net, divisors, isSettled } = driftOf(problem, method, convention, given)(given.beta2);
  if (!Number.isFinite(net) || Math.abs(net) < 1e-12)
    return { towards: null, net, isSettled, text: `${method.label} does not drift: the moves of a period cancel.` };
  const towards = net > 0;
  const where = towards
    ? `towards x* = ${number(problem.xStar)}`
    : `away from x* = ${number(problem.xStar)}, to ${number(problem.hi)}`;
  const why = isSettled
    ? reason(problem, method, divisors, net)
    : `its periods do not repeat, and over the last 200 ${ways(net)}`;
  const text = `${method.label} drifts ${where}: ${why}.`;
  return { towards, net, isSettled, text: text + boundNote(problem, method, convention, given, steps, towards) };
}

function reason(problem, method, divisors, net) {
  const sum = number(problem.cycle.reduce((a, b) => a + b));
  if (method.rule === "sgd")
    return `all its step sizes are equal, and the gradients of a period add up to +${sum}`;
  if (method.rule === "avagrad")
    return `with one parameter its denominator cancels, and the gradients of a period add up to +${sum}`;
  if (method.amsgrad)
    return `its denominator stops changing, so every gradient counts by its size, and those of a period add up to +${sum}`;
  if (method.rule.average === "before" || method.rule.delay > 1) return shares(problem, method, net);
  const decided = sizes(problem, method, divisors);
  const isAveraged = method.rule.average === "after" || method.rule === "adopt";
  return isAveraged ? `${decided}; averaging afterwards leaves their sum as it is` : decided;
}

const ways = (net) =>
  `its moves to x* make up ${percent((1 + net) / 2)} of the way, those back ${percent((1 - net) / 2)}`;

// The gradient is divided itself: step sizes decide.
function sizes(problem, method, divisors) {
  const { name, period: P, cycle } = problem;
  const isDense = name === "dense";
  const all = divisors.map((D) => divisors[1] / D); // relative to the large gradient's
  const others = isDense ? (all.reduce((a, b) => a + b) - 1) / (P - 1) : all[P - 2];
  const needed = isDense ? (P - 1) / P : 2 / P;
  const rule = isDense ? "(P − 1)/P" : "2/P";
  const whom = isDense ? "the mean of the others" : "that of the gradient −1";
  const late = isAsynchronous(method) || method.rule === "adopt";
  const cause = late
    ? `its denominator does not yet know the gradient ${number(cycle[1])} that it divides, whose step size is`
    : `the gradient ${number(cycle[1])} enlarges its own denominator, so that its step size is`;
  return `${cause} ${number(1 / others)} times ${whom}, where more than ${rule} = ${number(needed)} is needed`;
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

function boundNote(problem, method, convention, given, steps, towards) {
  const grows = method.rule === "adopt" || (isFamily(method) && convention.clip === "t**0.25");
  const atEnd = () => driftOf(problem, method, convention, given, { t: steps })(given.beta2).net;
  if (!grows || atEnd() > 0 === towards) return "";
  return ` That is the limit: at step ${number(steps)} its bound t^¼ = ${number(steps ** 0.25)} still binds, and the drift points the other way.`;
}
