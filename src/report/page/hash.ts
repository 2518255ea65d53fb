/**
 * The part of the address after `#`: `v=map&r=0&t=23999&a=time&z=100-200&s=7&e=E6`. It is untrusted: only
 * known keys with values of the known form are read. Pure.
 */
import { AXIS_KINDS } from './axis.js';
import type { AxisKind } from './view-state.js';

export const VIEWS = ['stacked', 'map', 'segments', 'flame', 'lifetimes', 'pair'] as const;
export type ViewName = (typeof VIEWS)[number];
/** `E6` of the first verdict, `2-E6` of the second one. */
export const EVIDENCE = /^(\d{1,3}-)?E\d{1,4}$/;

export interface HashState {
  /** The section that is scrolled to. */
  readonly view?: ViewName;
  /** Index of the device. */
  readonly device?: number;
  /** Entry. */
  readonly cursor?: number;
  readonly axis?: AxisKind;
  /** Visible entries: `to` is after the last one. */
  readonly range?: { readonly from: number; readonly to: number };
  readonly stack?: number;
  /** Name of the evidence that is open. */
  readonly evidence?: string;
}

/** With or without the `#`. Keys that are unknown, and values of another form, are left out. */
export function parseHash(hash: string): HashState {
  const fields = new URLSearchParams(hash.replace(/^#/, ''));
  const number = (key: string, digits: number): number | undefined => {
    const text = fields.get(key) ?? '';
    return /^\d+$/.test(text) && text.length <= digits ? Number(text) : undefined;
  };
  const oneOf = <T extends string>(key: string, values: readonly T[]): T | undefined =>
    values.find((value) => value === fields.get(key));
  const [, from, to] = /^(\d{1,10})-(\d{1,10})$/.exec(fields.get('z') ?? '') ?? [];
  const isRange = from !== undefined && to !== undefined && Number(to) > Number(from);
  const evidence = EVIDENCE.exec(fields.get('e') ?? '')?.[0];
  const view = oneOf('v', VIEWS);
  const axis = oneOf('a', AXIS_KINDS);
  const [device, cursor, stack] = [number('r', 3), number('t', 10), number('s', 9)];
  const range = isRange ? { from: Number(from), to: Number(to) } : undefined;
  return defined({ view, device, cursor, axis, range, stack, evidence });
}

/** Without what is undefined. */
export const defined = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };

/** The inverse of {@link parseHash}, with `#`. */
export function formatHash({ view, device, cursor, axis, range, stack, evidence }: HashState): string {
  const z = range && `${range.from}-${range.to}`;
  const fields = defined({ v: view, r: device, t: cursor, a: axis, z, s: stack, e: evidence });
  return `#${Object.entries(fields)
    .map(([key, value]) => `${key}=${value}`)
    .join('&')}`;
}
