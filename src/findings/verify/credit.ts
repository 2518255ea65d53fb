/**
 * The change that the gain is credited to. A single change that took effect gets the credit. Of several changes, one
 * gets it only if it alone serves the request that failed before and the others do not: a change made at the same time
 * is not the fix.
 */
import { groupBy } from '../../model/group-by.js';
import type { AdviceFix } from '../../model/results/advise.js';
import type { VerifyChange } from '../../model/results/verify.js';

export function creditOf(changes: readonly VerifyChange[], fixes: readonly AdviceFix[]): VerifyChange[] {
  const groups = groupBy(changes, ({ group }) => group);
  const possible = [...groups].filter(([, group]) =>
    group.some(({ effect: { outcome } }) => outcome === 'active' || outcome === 'partly'),
  );
  const closing = possible.filter(([, group]) =>
    group.some(
      ({ fix, fix_complete: whole }) => whole && fixes.some(({ id, closes }) => id === fix && closes === true),
    ),
  );
  const chosen = groups.size === 1 ? possible[0]?.[0] : closing.length === 1 ? closing[0]![0] : undefined;
  return changes.map((change) => ({ ...change, credited: chosen !== undefined && change.group === chosen }));
}
