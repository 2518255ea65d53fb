/** Which stacks grew: the call sites of a diff, split into the paths that lead there. */

import type { Frame } from '../../attribution/frames/call-site.js';
import type { Component } from '../../model/vocabulary.js';
import type { SiteDelta } from './match-sites.js';
import type { StackGroup } from './side-stacks.js';

/** A stack of b (of a, where b has none) and its part of the change of its site. */
export interface GrownSite {
  readonly delta_bytes: number;
  /** Innermost first; empty where the side lacks the stack. */
  readonly a_frames: readonly Frame[];
  readonly b_frames: readonly Frame[];
  readonly component: Component | null;
}

/**
 * `sites`: as `matchSites` pairs the groups. `componentOf`: of a group of b, or of a where b has none. Sites that did
 * not change are left out.
 */
export function grownSites(
  sites: readonly SiteDelta[],
  a: readonly StackGroup[],
  b: readonly StackGroup[],
  componentOf: (side: 'a' | 'b', group: number) => GrownSite['component'],
): GrownSite[] {
  return sites
    .filter(({ delta_bytes }) => delta_bytes !== 0)
    .flatMap((site): GrownSite[] => {
      const [side, groups] =
        site.b_groups.length > 0 ? (['b', site.b_groups] as const) : (['a', site.a_groups] as const);
      const of = side === 'b' ? b : a;
      const bytes = groups.reduce((sum, group) => sum + of[group]!.bytes, 0);
      const before = site.a_groups[0] === undefined ? [] : a[site.a_groups[0]]!.frames;
      // How much of the change came by which way is not known: each gets its part of the bytes.
      return groups.map((group) => ({
        delta_bytes: bytes === 0 ? 0 : (site.delta_bytes * of[group]!.bytes) / bytes,
        a_frames: side === 'a' ? of[group]!.frames : before,
        b_frames: side === 'b' ? of[group]!.frames : [],
        component: componentOf(side, group),
      }));
    });
}
