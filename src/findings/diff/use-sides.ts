/**
 * Two sides as rows of the store, with the sites that are the same on both, so that the macros of the library compare
 * them: the sides may be of two stores, and their moments any. In TEMP objects with the names of the tables, so that
 * the store may be read-only.
 */
import type { Store } from '../../store/store.js';
import { matchSites, type SiteDelta } from './match-sites.js';
import type { Side } from './side.js';

/** What the macros take instead of the names of runs. */
export const SIDES = { left_side: '#left', right_side: '#right' } as const;

/** Sites as `match_no` counts them. */
export async function useSides(store: Store, a: Side, b: Side): Promise<SiteDelta[]> {
  const sites = matchSites(a.groups, b.groups, { a: a.lines, b: b.lines });
  for (const table of ['side_stack', 'side_pool', 'side_setting', 'site_match']) {
    await store.shadow(table);
    // Rows of the store may be anything: it may be a stranger's.
    await store.run(`DELETE FROM ${table}`);
  }
  const parts = [
    [SIDES.left_side, a],
    [SIDES.right_side, b],
  ] as const;
  for (const [side, { stacks, pools, settings }] of parts) {
    await store.insertRows(
      'side_stack',
      stacks.map(({ is_allocated_there, ...row }) => ({ side, ...row })),
    );
    await store.insertRows(
      'side_pool',
      pools.map((row) => ({ side, ...row })),
    );
    await store.insertRows(
      'side_setting',
      settings.map((row, position) => ({ side, position, ...row })),
    );
  }
  const matches = sites.flatMap(({ a_site, b_site, a_groups, b_groups, match, through }, match_no) => {
    const shared = { ...SIDES, match_no, match, through };
    return [
      ...a_groups.map((i) => ({ ...shared, is_right: false, site: a_site!, of: a.groups[i]! })),
      ...b_groups.map((i) => ({ ...shared, is_right: true, site: b_site!, of: b.groups[i]! })),
    ];
  });
  await store.insertRows(
    'site_match',
    matches.map(({ of, ...row }) => ({ ...row, stack_id: of.stackId, kind: of.kind })),
  );
  return sites;
}
