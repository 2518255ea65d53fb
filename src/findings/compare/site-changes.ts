/** Sites and components of two measured peaks: as `diff` has them, from what a measurement keeps. */

import type { Frame } from '../../attribution/frames/call-site.js';
import type { DiffComponent, DiffSite } from '../../model/diff-parts.js';
import type { MeasuredPeak, Measurement } from '../../model/measurement.js';
import type { Component } from '../../model/vocabulary.js';
import { matchSites } from '../diff/match-sites.js';
import type { StackGroup } from '../diff/side-stacks.js';
import { splitByCaller } from '../diff/split-by-caller.js';

/** The peaks of the first rank that both have; of one rank each where no rank is known. */
export function pairPeaks(
  golden: Measurement,
  current: Measurement,
): readonly [MeasuredPeak, MeasuredPeak] | undefined {
  for (const theirs of current.peaks) {
    const mine = golden.peaks.find((peak) => peak.rank === theirs.rank);
    if (mine !== undefined) return [mine, theirs];
  }
  const [mine, theirs] = [golden.peaks[0], current.peaks[0]];
  return mine !== undefined && theirs !== undefined && (mine.rank === null || theirs.rank === null)
    ? [mine, theirs]
    : undefined;
}

export function componentChanges(a: MeasuredPeak, b: MeasuredPeak): DiffComponent[] {
  const names = new Set([...Object.keys(a.components), ...Object.keys(b.components)]) as Set<Component>;
  return [...names]
    .map((component) => {
      const [before, after] = [a.components[component] ?? 0, b.components[component] ?? 0];
      return { component, a_bytes: before, b_bytes: after, delta_bytes: after - before };
    })
    .sort((x, y) => Math.abs(y.delta_bytes) - Math.abs(x.delta_bytes) || y.b_bytes - x.b_bytes);
}

/** Groups that `matchSites` pairs, one for each measured site, and one of what was left out. */
export function stackGroups(peak: MeasuredPeak): StackGroup[] {
  const frames = peak.frames.map(([name, filename, line]): Frame => ({ name, filename, line }));
  const groups = peak.sites.map(
    ({ stack, kind, bytes, count }): StackGroup => ({ frames: stack.map((i) => frames[i]!), kind, bytes, count }),
  );
  if (peak.rest_bytes > 0)
    groups.push({ frames: [], kind: '(smaller stacks)', bytes: peak.rest_bytes, count: peak.rest_count });
  return groups;
}

/** Every site that differs, the largest change first. */
export function siteChanges(a: MeasuredPeak, b: MeasuredPeak): DiffSite[] {
  const [x, y] = [stackGroups(a), stackGroups(b)];
  return matchSites(x, y)
    .filter((site) => site.delta_bytes !== 0 || site.a_count !== site.b_count)
    .map(({ a_groups, b_groups, ...site }) => ({
      ...site,
      sizes: [],
      callers: splitByCaller(
        a_groups.map((group) => x[group]!),
        b_groups.map((group) => y[group]!),
      ),
    }));
}
