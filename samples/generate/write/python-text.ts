/** Values as Python prints them. */

/** `str(value)` of a Python float: the shortest digits that read back the same, with `.0` on whole numbers. */
export function pythonFloat(value: number): string {
  // JavaScript turns to exponents at 1e21 and below 1e-6, Python at 1e16 and below 1e-4; and Python pads the exponent
  // to two digits.
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

/** `{:.<digits>E}`: `1.234567E+00`. */
export function scientific(value: number, digits = 6): string {
  return value
    .toExponential(digits)
    .toUpperCase()
    .replace(/E([+-])(\d)$/, 'E$10$2');
}

/** More decimals than decide between a tie and a neighbouring number, for all figures that are printed. */
const DECISIVE_DECIMALS = 60;

/**
 * `{:.<digits>f}` for one digit or more. Exact ties go to the even digit, as in C and Python: 317.625 prints as 317.62,
 * where `toFixed` says 317.63.
 */
export function fixed(value: number, digits: number): string {
  const rounded = value.toFixed(digits);
  const all = value.toFixed(DECISIVE_DECIMALS);
  const kept = all.length - DECISIVE_DECIMALS + digits;
  if (!/^50*$/.test(all.slice(kept))) return rounded;
  const down = all.slice(0, kept);
  return Number(down.at(-1)) % 2 === 0 ? down : rounded;
}

/** `{:<width>d}`. */
export function padded(value: number, width: number): string {
  return String(value).padStart(width);
}

/** `2025-11-18 09:12:04`, UTC, with `.123456` behind it where `fraction` is set. */
export function clock(us: number, fraction = false): string {
  const seconds = new Date(Math.floor(us / 1e6) * 1000).toISOString().slice(0, 19).replace('T', ' ');
  return fraction ? `${seconds}.${microseconds(us)}` : seconds;
}

/** The six digits after a time's seconds. */
export function microseconds(us: number): string {
  return String(Math.floor(us) % 1_000_000).padStart(6, '0');
}

/** A value of a configuration, as `repr` shows it. */
export type PyLiteral = string | number | boolean | null | PyBare | readonly PyLiteral[];

/** A number whose Python spelling is not the one JavaScript would give it: `1e-05`, `0.0`, `torch.bfloat16`. */
export interface PyBare {
  readonly python: string;
}

/** A bare name or number, printed without quotes: an enum member, a dtype, a float that is whole. */
export function bare(text: string): PyBare {
  return { python: text };
}

/** A float: `1.0` where JavaScript would print `1`. */
export function float(value: number): PyBare {
  return { python: pythonFloat(value) };
}

function isBare(value: PyLiteral): value is PyBare {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `repr(value)`. */
export function repr(value: PyLiteral): string {
  if (value === null) return 'None';
  if (isBare(value)) return value.python;
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return `'${value}'`;
  return `[${value.map((item) => repr(item)).join(', ')}]`;
}

/** `str(value)`: {@link repr} but for a string, which is without quotes. */
export function str(value: PyLiteral): string {
  return typeof value === 'string' ? value : repr(value);
}
