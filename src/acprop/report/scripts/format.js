// Numbers as a reader wants them.

const RAISED = { "-": "⁻", ...Object.fromEntries([..."⁰¹²³⁴⁵⁶⁷⁸⁹"].map((c, i) => [i, c])) };

const minus = (text) => text.replace("-", "−");

// 10⁴, 10⁻⁸
export const power = (n) => `10${[...String(n)].map((c) => RAISED[c]).join("")}`;

// About `digits` digits: 0.0312, 4.19, 316,000 → 3.16·10⁵.
export function number(value, digits = 3) {
  if (Number.isNaN(value)) return "not a number";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const exponent = Math.floor(Math.log10(Math.abs(value)) + 1e-12);
  if (exponent >= -4 && exponent < 5)
    return minus(String(Number(value.toPrecision(Math.max(digits, exponent + 1)))));
  const factor = Number((value / 10 ** exponent).toPrecision(digits));
  if (Math.abs(factor) === 1) return (value < 0 ? "−" : "") + power(exponent);
  return `${minus(String(factor))}·${power(exponent)}`;
}

// A decay close to 1 keeps its nines: 0.99975, not 1.
export function decay(beta) {
  const nines = Math.max(0, Math.ceil(-Math.log10(1 - beta)));
  return String(Number(beta.toPrecision(Math.max(3, nines + 2))));
}

export const whole = (n) =>
  String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f"); // a thin space between thousands

export const percent = (share) => `${minus((100 * share).toFixed(Math.abs(share) < 0.095 ? 1 : 0))}\u00a0%`;
