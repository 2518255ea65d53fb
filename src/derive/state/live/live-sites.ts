/** Live memory by call site: rows of the store, named for people. */
import type { PeakGroup } from '../../../model/results/common.js';
import type { QueryRow } from '../../../store/query-catalog.js';
import type { Store } from '../../../store/store.js';
import { siteName } from '../../stacks/read-stacks.js';
import type { StateKey } from '../../trace/state-at.js';

/** What marks a group that is named by the line that freed it. */
export const FREED_THERE = ' (freed there; allocated before the recording)';

export type SiteGroup = PeakGroup & { readonly site: string };

export type SiteRow = QueryRow<'state.sites'>;

/** In descending order of bytes; together they hold every live block once. */
export async function liveSites(store: Store, key: StateKey): Promise<SiteGroup[]> {
  return namedSites(await store.all('state.sites', { ...key }));
}

/** Whose groups are held at once. */
const MOST_STATES = 256;

/** Of each of many states the first `most` groups. */
export async function topSites(store: Store, keys: readonly StateKey[], most: number): Promise<SiteGroup[][]> {
  const sites: SiteGroup[][] = [];
  for (let start = 0; start < keys.length; start += MOST_STATES) {
    const rows = await store.allOf('state.sites', keys.slice(start, start + MOST_STATES));
    for (const ofState of rows) sites.push(namedSites(ofState).slice(0, most));
  }
  return sites;
}

/** Sums of `rows` by the names of their sites. */
export function namedSites(rows: Iterable<SiteRow>): SiteGroup[] {
  const groups = new Map<string, SiteGroup>();
  for (const row of rows) {
    const site = `${siteName(row.site, row.has_stack)}${row.is_freed ? FREED_THERE : ''}`;
    const { bytes = 0, count = 0 } = groups.get(site) ?? {};
    groups.set(site, { site, bytes: bytes + row.bytes, count: count + row.count });
  }
  return [...groups.values()].sort((a, b) => b.bytes - a.bytes || (a.site < b.site ? -1 : 1));
}

/** The `count` first groups, and what the others add up to; 0 = all. */
export function cut<T extends PeakGroup>(groups: readonly T[], count: number) {
  const shown = count === 0 ? groups : groups.slice(0, count);
  const left = groups.slice(shown.length);
  const sum = (pick: (group: T) => number): number => left.reduce((total, group) => total + pick(group), 0);
  return {
    shown,
    left,
    rest: { groups: left.length, bytes: sum((group) => group.bytes), count: sum((group) => group.count) },
  };
}
