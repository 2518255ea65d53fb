/** Labels of axes, drawn by the browser or as SVG: round steps, units by size, decimals by the step. Pure. */
import { formatCount } from '../model/units.js';

const ROUND = [1, 2, 2.5, 5, 10];

/** The least round step of which at most `most` are in `span`. */
export function roundStep(span: number, most: number): number {
  const least = span / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ROUND.find((round) => round * power >= least * (1 - 1e-9))!;
}

/** A unit of labels: its size, its name, and the least size of an axis that has it. */
export interface Unit {
  readonly size: number;
  readonly name: string;
  readonly from?: number;
}

/** The smallest first. */
export const BYTES: readonly Unit[] = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'].map((name, i) => ({
  ...{ size: 1024 ** i, name: ` ${name}` },
}));
const unit = (size: number, name: string, from = size): Unit => ({ size, name, from });
/** Of microseconds. `170 s` is read less easily than `2.8 min`, `90 s` more easily than `1.5 min`. */
export const TIMES: readonly Unit[] = [
  ...[unit(1, ' µs'), unit(1e3, ' ms'), unit(1e6, ' s'), unit(60e6, ' min', 120e6), unit(3600e6, ' h', 7200e6)],
];
/** Of plain numbers: powers of thousand where many zeros would be counted. */
export const NUMBERS: readonly Unit[] = [-15, -12, -9, -6, 0, 6, 9, 12, 15, 18].map((power) =>
  power === 0 ? unit(1, '', 1e-3) : unit(Number(`1e${power}`), `e${power}`),
);

/** The largest unit for an axis up to `most`; for 0 the one without a factor, else the smallest. */
export const unitFor = (units: readonly Unit[], most: number): Unit =>
  units.findLast(({ size, from = size }) => (most === 0 ? size === 1 : Math.abs(most) >= from)) ?? units[0]!;

/** Decimals of which a step is a multiple. */
export function decimalsOf(step: number): number {
  let decimals = 0;
  while (decimals < 12 && Math.abs(step - Number(step.toFixed(decimals))) > step * 1e-6) decimals += 1;
  return decimals;
}

/** A multiple of `step` in a unit: no more digits than its neighbours differ by. */
export function tickText(value: number, step: number, { size, name }: Unit): string {
  const number = Math.abs(value / size).toFixed(decimalsOf(step / size));
  const [whole = '', fraction = ''] = number.split('.');
  const digits = fraction.replace(/0+$/, '');
  const text = `${formatCount(Number(whole))}${digits === '' ? '' : `.${digits}`}`;
  return text === '0' ? '0' : `${value < 0 ? '-' : ''}${text}${name}`;
}
