/** Which fix of the advice on the run before a set of changes is. */

import { allocatorParts } from '../../derive/settings/values.js';
import { ALLOCATOR_VARIABLES } from '../../knowledge/env-keys.js';
import { loadData } from '../../knowledge/load-data.js';
import type { FoundChange } from './changes.js';
import type { Side } from './side.js';
import type { AdviceFix, NonFix } from './unworded.js';
import { sameValue } from './values.js';

export interface FixMatch {
  readonly fix: AdviceFix;
  /** Changed keys that are of this fix. */
  readonly keys: ReadonlySet<string>;
  /** Whether every change of the fix was made with the value of the fix. */
  readonly complete: boolean;
}

/** The fixes that the changes are, or are part of; the most of it first. */
export function matchFixes(fixes: readonly AdviceFix[], changes: readonly FoundChange[], after: Side): FixMatch[] {
  const byKey = new Map(changes.map((change) => [change.key, change]));
  const matches: FixMatch[] = [];
  for (const fix of fixes) {
    const keys = new Set<string>();
    let complete = true;
    for (const [key, wanted] of Object.entries(fix.change.settings)) {
      const change = byKey.get(key);
      const value = change === undefined ? after.view.setting(key).value : change.to;
      if (!sameValue(value, wanted)) complete = false;
      else if (change !== undefined) keys.add(key);
    }
    for (const [key, wanted] of Object.entries(fix.change.env)) {
      const isAllocator = ALLOCATOR_VARIABLES.includes(key);
      const change =
        byKey.get(key) ?? (isAllocator ? changes.find((one) => ALLOCATOR_VARIABLES.includes(one.key)) : undefined);
      const value = change === undefined ? after.view.env(key).value : change.to;
      const holds = isAllocator
        ? allocatorParts(wanted).every((part) => allocatorParts(value).includes(part))
        : sameValue(value, wanted);
      if (!holds) complete = false;
      else if (change !== undefined) keys.add(change.key);
    }
    if (keys.size > 0) matches.push({ fix, keys, complete });
  }
  return matches.sort(
    (a, b) => Number(b.complete) - Number(a.complete) || b.keys.size - a.keys.size || a.fix.rank - b.fix.rank,
  );
}

interface NonFixData extends Pick<NonFix, 'id'> {
  /** Settings, and kinds of change. */
  readonly keys?: readonly string[];
  /** A word that the value has then. */
  readonly module?: string;
}

/** What people take for a fix, by what they change. */
const NON_FIXES = (loadData('fixes') as { readonly non_fixes: readonly NonFixData[] }).non_fixes;

export function nonFixOf(nonFixes: readonly NonFix[], { key, kind, to }: FoundChange): NonFix | null {
  const isIt = ({ keys = [], module = '' }: NonFixData): boolean =>
    (keys.includes(key) || keys.includes(kind)) && (module === '' || to?.includes(module) === true);
  const changed = new Set(NON_FIXES.filter(isIt).map(({ id }) => id));
  return nonFixes.find(({ id }) => changed.has(id)) ?? null;
}
