/**
 * Settings that no frame and no figure shows: in force where the run itself printed them, requested where only a script
 * or configuration has them.
 */
import { CONFIG_ORIGINS } from '../../../model/log-rows.js';
import type { Text } from '../../../model/statement.js';
import { effectiveOf, type Side } from '../side.js';
import type { VerifyEvidence } from '../unworded.js';
import { sameValue, textOf } from '../values.js';
import { type EffectInput, type EffectOf, effect, evidenceOf, placeOf } from './effect.js';

/** Written by the running program. */
const PRINTED_ORIGINS: readonly string[] = CONFIG_ORIGINS.slice(0, CONFIG_ORIGINS.indexOf('command line'));

export interface OwnRecord extends VerifyEvidence {
  /** `yes`: the run printed the value; `no`: it printed another one; `meant`: only asked for. */
  readonly is: 'yes' | 'no' | 'meant';
  /** Of sentences: its text, and what was asked for. */
  readonly figures: { readonly record: Text; readonly to: string | null };
}

export function ownRecord(key: string, to: string | null, after: Side): OwnRecord {
  const recordOf = (is: OwnRecord['is'], code: string, value: string | null, source: Text): OwnRecord => {
    const record = evidenceOf(code, { key, value }, source);
    return { is, ...record, figures: { record: record.text, to } };
  };
  const isIt = ({ value }: { readonly value: string | null }) => (sameValue(value, to) ? 'yes' : 'no');
  const entry = effectiveOf(after).entry(key);
  const printed = after.facts.settings.get(key);
  if (entry === undefined)
    return printed === undefined
      ? recordOf('meant', 'record_none', null, textOf('no_record'))
      : recordOf(isIt(printed), 'record_shows', printed.value, placeOf(printed));
  return PRINTED_ORIGINS.includes(entry.origin)
    ? recordOf(isIt(entry), 'record_prints', entry.value, placeOf(entry))
    : recordOf('meant', 'record_meant', to, placeOf(entry));
}

export const printedEffect: EffectOf = ({ change, after }: EffectInput) => {
  const { is, figures, source } = ownRecord(change.key, change.to, after);
  return is === 'meant'
    ? effect('untested', 'not_printed', figures, source)
    : effect(is === 'yes' ? 'active' : 'inactive', 'record', figures, source);
};
