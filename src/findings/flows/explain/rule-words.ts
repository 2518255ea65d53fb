/** Rules in words that hold for every configuration. */
import type { VersionRange } from '../../../derive/lint/rule.js';

export function versionsText({ package: name, from, before }: VersionRange): string {
  const parts = [...(from === undefined ? [] : [`≥ ${from}`]), ...(before === undefined ? [] : [`< ${before}`])];
  return `${name} ${parts.join(', ')}`;
}

/**
 * A sentence of a rule without the places of values: `TP {size}` → `TP`, `key {key}` → `key`, ` (PP {key})` → nothing,
 * `{key}` → `key`.
 */
export function withoutValues(text: string): string {
  return text
    .replaceAll(/: \{clause\}/g, '')
    .replaceAll(/ \([^(){}]{0,60}\{[\w.]+\}\)/g, '')
    .replaceAll(/\b([A-Z]{2,4}) \{[\w.]+\}/g, '$1')
    .replaceAll(/\b([\w.]+) \{\1\}/g, '$1')
    .replaceAll(/\{([\w.]+)\}/g, '$1');
}
