/**
 * Settings that no frame and no figure shows: in force where the run itself printed them, requested where only a script
 * or configuration has them.
 */
import { CONFIG_ORIGINS } from '../../../model/log-rows.js';
import type { VerifyEvidence } from '../../../model/results/verify.js';
import { effectiveOf, type Side } from '../side.js';
import { sameValue } from '../values.js';
import { type EffectInput, type EffectOf, effect, evidenceOf, placeText } from './effect.js';

/** Written by the running program. */
const PRINTED_ORIGINS: readonly string[] = CONFIG_ORIGINS.slice(0, CONFIG_ORIGINS.indexOf('command line'));

export interface OwnRecord extends VerifyEvidence {
  /** `yes`: the run printed the value; `no`: it printed another one; `meant`: only asked for. */
  readonly is: 'yes' | 'no' | 'meant';
  /** Of sentences: its text, and what was asked for. */
  readonly figures: { readonly record: string; readonly to: string | null };
}

export function ownRecord(key: string, to: string | null, after: Side): OwnRecord {
  const recordOf = (is: OwnRecord['is'], code: string, value: string | null, source: string): OwnRecord => {
    const record = evidenceOf(code, { key, value }, source);
    return { is, ...record, figures: { record: record.text, to } };
  };
  const isIt = ({ value }: { readonly value: string | null }) => (sameValue(value, to) ? 'yes' : 'no');
  const entry = effectiveOf(after).entry(key);
  const printed = after.facts.settings.get(key);
  if (entry === undefined)
    return printed === undefined
      ? recordOf('meant', 'record_none', null, 'no record')
      : recordOf(isIt(printed), 'record_shows', printed.value, placeText(printed));
  return PRINTED_ORIGINS.includes(entry.origin)
    ? recordOf(isIt(entry), 'record_prints', entry.value, placeText(entry))
    : recordOf('meant', 'record_meant', to, placeText(entry));
}

export const printedEffect: EffectOf = ({ change, after }: EffectInput) => {
  const { is, figures, source } = ownRecord(change.key, change.to, after);
  return is === 'meant'
    ? effect('untested', 'not_printed', figures, source)
    : effect(is === 'yes' ? 'active' : 'inactive', 'record', figures, source);
};
