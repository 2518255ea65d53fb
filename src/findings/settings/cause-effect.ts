/**
 * What a change of a setting has to do with the cause of a failure. The one answer to it: suspects, the settings of a
 * bisection and `verify-fix` read it. The knowledge is in `knob-effects.yaml`.
 */

import { allocatorParts } from '../../derive/settings/values.js';
import { ALLOCATOR_VARIABLES } from '../../knowledge/env-keys.js';
import type { ChangedValue } from '../../model/results/compare.js';
import { type Sentence, sentencesOf } from '../../model/statement.js';
import type { Cause } from '../../model/vocabulary.js';
import { ALLOCATOR_OPTIONS, type CauseTowards, isSameTowards, knobEffect, type Way, wayOf } from './knob-effects.js';

export interface CauseEffect {
  readonly cause: Cause;
  /** `up`: with the newer value the cause is likelier. */
  readonly way: Way;
  /** One clause, the same whichever value is the newer one: `expandable_segments:True reduces fragmentation, …`. */
  readonly text: Sentence;
}

/**
 * Null: no known effect on it. Causes that are a matter of live tensors (capacity, a leak) are explained by what grew,
 * and not here.
 */
export function effectOnCause(change: ChangedValue, cause: Cause): CauseEffect | null {
  const effects = partsOf(change).flatMap(({ causes, a, b, unset, named }): CauseEffect[] => {
    const towards = causes[cause];
    if (towards === undefined || isSameTowards(towards, a ?? unset, b ?? unset)) return [];
    const way = wayOf(towards, a ?? unset, b ?? unset);
    const [more, less] = way === 'up' ? [b, a] : [a, b];
    const code = way === 'unknown' ? 'bears_on' : less === null ? 'increases' : 'reduces';
    const value = way === 'unknown' ? (b ?? a) : (less ?? more);
    return [{ cause, way, text: sentencesOf('suspects', 'on_cause')(code, { ...named, value, cause }) }];
  });
  return effects.find(({ way }) => way === 'up') ?? effects[0] ?? null;
}

/**
 * Which way it moves whatever it bears on besides live tensors: for runs whose failure is not known. Null: nothing.
 */
export function wayOfAnyCause(change: ChangedValue): Way | null {
  const ways = partsOf(change).flatMap(({ causes, a, b, unset }) =>
    Object.values(causes).flatMap((towards) =>
      isSameTowards(towards, a ?? unset, b ?? unset) ? [] : [wayOf(towards, a ?? unset, b ?? unset)],
    ),
  );
  return ways.find((way) => way === 'up') ?? ways[0] ?? null;
}

interface ChangedPart {
  readonly causes: CauseTowards;
  readonly a: string | null;
  readonly b: string | null;
  /** In force where it is not set. */
  readonly unset: string | null;
  /** As it is written: `=` or `:` before its value. */
  readonly named: { readonly key: string; readonly sign: '=' | ':' };
}

/** The change itself; of a variable of the allocator, the options in it that differ. */
function partsOf({ key, a, b }: ChangedValue): ChangedPart[] {
  if (!ALLOCATOR_VARIABLES.includes(key)) {
    const { causes = {}, unset = null } = knobEffect(key) ?? {};
    return [{ causes, a, b, unset, named: { key, sign: '=' } }];
  }
  const [before, after] = [optionsOf(a), optionsOf(b)];
  return [...new Set([...before.keys(), ...after.keys()])].map((option) => ({
    causes: Object.hasOwn(ALLOCATOR_OPTIONS, option) ? ALLOCATOR_OPTIONS[option]! : {},
    a: before.get(option) ?? null,
    b: after.get(option) ?? null,
    unset: null,
    named: { key: option, sign: ':' },
  }));
}

function optionsOf(text: string | null): Map<string, string> {
  return new Map(
    allocatorParts(text).map((part) => {
      const colon = part.indexOf(':');
      return colon < 0 ? [part, ''] : [part.slice(0, colon), part.slice(colon + 1)];
    }),
  );
}
