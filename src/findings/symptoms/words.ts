/** Facts and figures as sentences. */

import type { Looked } from '../../derive/settings/facts.js';
import { formatCount } from '../../model/units.js';

export const percent = (share: number): string => {
  const value = 100 * share;
  return `${Math.abs(value) < 10 ? value.toFixed(1) : value.toFixed(0)} %`;
};

export const milliseconds = (ns: number): string => `${(ns / 1e6).toFixed(1)} ms`;

export const place = ({ file, line }: { readonly file: string; readonly line: number }): string =>
  line > 0 ? `${file} line ${formatCount(line)}` : file;

/** `recompute_modules ["mlp"] (run_config.yaml line 12)`; an implicit value is marked as such. */
export function factText({ key, kind, by, value, explicit }: Looked): string {
  if (by === 'unknown') return `${key} unknown`;
  const shown = kind === 'env' ? (value === null ? `${key} not set` : `${key}=${value}`) : `${key} ${value ?? 'None'}`;
  if (by === 'default') return `${shown} (the default)`;
  if (by === 'assumed') return `${shown} (assumed; not in the files)`;
  return explicit === null || explicit.file === '' ? shown : `${shown} (${place(explicit)})`;
}

/** Each fact once. */
export function factsText(looked: readonly Looked[]): string {
  const seen = new Map(looked.map((fact) => [fact.key, fact]));
  return [...seen.values()].map(factText).join(', ');
}

/** The place of the first fact that has one. */
export function placeOfFacts(looked: readonly Looked[]): string {
  const explicit = looked.find((fact) => fact.explicit !== null && fact.explicit.file !== '')?.explicit;
  return explicit == null ? '' : place(explicit);
}

export const list = (values: readonly string[]): string =>
  values.length < 2 ? (values[0] ?? '') : `${values.slice(0, -1).join(', ')} and ${values.at(-1)}`;

export const share = (part: number, whole: number): number => (whole > 0 ? part / whole : 0);
