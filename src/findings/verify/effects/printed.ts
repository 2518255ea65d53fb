/**
 * Settings that no frame and no figure shows: in force where the run itself printed them, requested where only a script
 * or configuration has them.
 */
import { CONFIG_ORIGINS } from '../../../model/log-rows.js';
import { effectiveOf, type Side } from '../side.js';
import { sameValue } from '../values.js';
import { type EffectInput, type EffectOf, effect, placeText } from './effect.js';

/** Written by the running program. */
const PRINTED_ORIGINS: readonly string[] = CONFIG_ORIGINS.slice(0, CONFIG_ORIGINS.indexOf('command line'));

export interface OwnRecord {
  /** `yes`: the run printed the value; `no`: it printed another one; `meant`: only asked for. */
  readonly is: 'yes' | 'no' | 'meant';
  readonly text: string;
  readonly source: string;
}

export function ownRecord(key: string, to: string | null, after: Side): OwnRecord {
  const entry = effectiveOf(after).entry(key);
  if (entry === undefined) {
    const printed = after.facts.settings.get(key);
    if (printed === undefined) return { is: 'meant', text: `nothing of the run prints ${key}`, source: 'no record' };
    return {
      is: sameValue(printed.value, to) ? 'yes' : 'no',
      text: `the run shows ${key} ${printed.value ?? 'None'}`,
      source: placeText(printed),
    };
  }
  const source = placeText(entry);
  if (!PRINTED_ORIGINS.includes(entry.origin))
    return { is: 'meant', text: `${key} ${to ?? 'None'} is requested; the run itself prints no settings`, source };
  return {
    is: sameValue(entry.value, to) ? 'yes' : 'no',
    text: `the run itself prints ${key} ${entry.value ?? 'None'}`,
    source,
  };
}

export const printedEffect: EffectOf = ({ change, after }: EffectInput) => {
  const record = ownRecord(change.key, change.to, after);
  if (record.is === 'meant')
    return effect('untested', record.text, record.source, {
      needs: 'the log of rank 0 from its start: the framework prints the arguments or configuration in force',
    });
  return effect(record.is === 'yes' ? 'active' : 'inactive', record.text, record.source);
};
