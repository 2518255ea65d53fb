/** How figures print. The unit at the end of a field's name chooses the form, the same in every rendering. */
import { formatBytes, formatCount } from '../../model/units.js';

/** What is not known. */
export const UNKNOWN = '—';

/**
 * `change`: with its sign. `share`: of 1. `since_ns`: a time of a clock that starts at 0. `clock`, `time_of_day`:
 * microseconds of a wall clock without a zone.
 */
export type Unit =
  | 'bytes'
  | 'change_bytes'
  | 'count'
  | 'change'
  | 'share'
  | 'change_share'
  | 'ms'
  | 'us'
  | 'ns'
  | 'change_ns'
  | 'since_ns'
  | 'clock'
  | 'time_of_day'
  | 'number';

/** By the end of a name. `.ci/write-schemas.mjs` has their types of it. */
export const UNIT_OF_NAME: readonly (readonly [RegExp, Unit])[] = [
  [/^(?:.*_)?delta(?:_.*)?_bytes$|^change_bytes$/, 'change_bytes'],
  [/(?:^|_)bytes$/, 'bytes'],
  [/(?:^|_)share$/, 'share'],
  [/_ms$/, 'ms'],
  [/_us$/, 'us'],
  [/(?:^|_)delta_ns$/, 'change_ns'],
  [/_ns$/, 'ns'],
];

/** Of a field, by its name; plain numbers have none. */
export const unitOf = (name: string): Unit | null => UNIT_OF_NAME.find(([pattern]) => pattern.test(name))?.[1] ?? null;

/** A field's name without its unit: `peak allocated` of `peak_allocated_bytes`. */
export const titleOf = (name: string): string => name.replace(/_(?:bytes|share|ms|us|ns)$/, '').replaceAll('_', ' ');

/** The beginning of a long text of a file; how much is left out. */
export function excerpt(text: string, most = 200): string {
  const left = text.length - most;
  return left <= 20 ? text : `${text.slice(0, most)}… (${formatCount(left)} more characters)`;
}

const FORMS: Readonly<Record<Unit, (value: number) => string>> = {
  bytes: formatBytes,
  change_bytes: (bytes) => (bytes > 0 ? `+${formatBytes(bytes)}` : formatBytes(bytes)),
  count: (count) => (Number.isSafeInteger(count) ? formatCount(count) : figure(count)),
  change: (count) => `${count > 0 ? '+' : ''}${Number.isSafeInteger(count) ? formatCount(count) : figure(count)}`,
  share: shareText,
  change_share: (share) => `${share > 0 ? '+' : ''}${shareText(share)}`,
  ms: (ms) => `${grouped(ms, Math.abs(ms) < 100 ? 2 : 1)} ms`,
  us: duration,
  ns: nanoseconds,
  change_ns: (ns) => (ns > 0 ? `+${nanoseconds(ns)}` : nanoseconds(ns)),
  since_ns: (ns) => `${(ns / 1e9).toFixed(3)} s`,
  clock,
  time_of_day: (us) => clock(us).slice(11),
  number: figure,
};

export const isUnit = (form: string): form is Unit => Object.hasOwn(FORMS, form);

export function formatValue(value: number | null | undefined, unit: Unit | null): string {
  if (value === null || value === undefined) return UNKNOWN;
  return FORMS[unit ?? (Number.isSafeInteger(value) ? 'count' : 'number')](value);
}

/** `69.6 %`. */
export function shareText(share: number): string {
  return `${(100 * share).toFixed(1).replace(/^-(0\.0)$/, '$1')} %`;
}

/** Digits of the whole part in groups of three. */
export function grouped(value: number, decimals: number): string {
  const [whole = '', fraction] = value.toFixed(decimals).split('.');
  const digits = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ',');
  return fraction === undefined ? digits : `${digits}.${fraction}`;
}

/** A figure as a person would write it: integers whole, others to six digits. */
export function figure(value: number | null | undefined): string {
  if (value === null || value === undefined) return UNKNOWN;
  return Number.isSafeInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
}

/** `2.31 s`, `1.20 ms`: in the unit of `of`, so that labels of one scale agree. */
export function duration(us: number, of = us): string {
  const size = Math.abs(of);
  if (size < 1000) return `${Math.round(us)} us`;
  if (size < 1e6) return `${(us / 1000).toFixed(2)} ms`;
  if (size < 600e6) return `${(us / 1e6).toFixed(2)} s`;
  return `${(us / 60e6).toFixed(1)} min`;
}

function nanoseconds(ns: number): string {
  const size = Math.abs(ns);
  if (size < 1e3) return `${Math.round(ns)} ns`;
  if (size < 1e6) return `${(ns / 1e3).toFixed(1)} µs`;
  return size < 1e9 ? `${(ns / 1e6).toFixed(1)} ms` : `${(ns / 1e9).toFixed(2)} s`;
}

function clock(timeUs: number): string {
  if (Math.abs(timeUs) > 8.64e18) return UNKNOWN;
  return new Date(Math.floor(timeUs / 1000)).toISOString().slice(0, 19).replace('T', ' ');
}
