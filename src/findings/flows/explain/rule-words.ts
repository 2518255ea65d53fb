/** Rules in words that hold for every configuration, and those of a knob. */
import type { LintRule, VersionRange } from '../../../derive/lint/rule.js';
import { lintRules } from '../../../derive/lint/rules.js';
import type { Knob } from '../../../knowledge/knobs/knob.js';

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
    .replaceAll(/\b([\w.]+)[ =]\{\1\}/g, '$1')
    .replaceAll(/\{([\w.]+)\}/g, '$1');
}

/** Rules about a knob: those that the index names, and those whose condition looks at it. */
export function rulesOf(knob: Knob): readonly LintRule[] {
  const wholeName = new RegExp(`(?<![\\w.])${knob.id.replaceAll('.', '\\.')}(?![\\w.])`);
  return lintRules().filter((rule) => knob.rules.includes(rule.id) || wholeName.test(rule.when.text));
}
