// Numbers as a reader wants them.

const RAISED = { "-": "⁻", ...Object.fromEntries([..."⁰¹²³⁴⁵⁶⁷⁸⁹"].map((c, i) => [i, c])) };

const minus = (text) => text.replace("-", "−");

// About `digits` digits, all of a whole number: 0.0312, 4.19, 31600, 3.16·10⁵.
export function number(value, digits = 3) {
  if (Number.isNaN(value)) return "not a number";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const exponent = Math.floor(Math.log10(Math.abs(value)) + 1e-12);
  if (exponent >= -4 && exponent < 5)
    return minus(String(Number(value.toPrecision(Math.max(digits, exponent + 1)))));
  const factor = Number((value / 10 ** exponent).toPrecision(digits));
  const power = `10${[...String(exponent)].map((c) => RAISED[c]).join("")}`;
  if (Math.abs(factor) === 1) return (value < 0 ? "−" : "") + power;
  return `${minus(String(factor))}·${power}`;
}

// A decay close to 1 keeps its nines: 0.99975, not 1.
export function decay(beta) {
  const nines = Math.max(0, Math.ceil(-Math.log10(1 - beta)));
  return String(Number(beta.toPrecision(Math.max(3, nines + 2))));
}

export const percent = (share) => `${minus((100 * share).toFixed(Math.abs(share) < 0.095 ? 1 : 0))}\u00a0%`;
