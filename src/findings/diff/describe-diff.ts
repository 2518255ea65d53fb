/** `mbforensics diff`: from two sides to the result. */

import type { DiffComponent, DiffSite } from '../../model/diff-parts.js';
import type { DiffPool, DiffTotals, NoSnapshotDiff, SnapshotDiff } from '../../model/results/diff.js';
import { formatBytes } from '../../model/units.js';
import { matchSites, type SiteDelta } from './match-sites.js';
import type { PoolSums, Side, SideTotals } from './side.js';
import { splitByCaller } from './split-by-caller.js';

export interface DiffLimits {
  /** Sites shown; undefined = all. */
  readonly sites: number | undefined;
  /** Sites with a smaller |delta| go to the remainder. */
  readonly minBytes: number;
  /** Growth of active bytes that is still allowed, in bytes, or as a share of a's. */
  readonly maxGrowth: { readonly bytes: number } | { readonly share: number } | undefined;
}

/** Pairs of which only totals are reported. */
export interface OtherPairs {
  readonly devices: readonly DiffTotals[];
  readonly ranks: readonly DiffTotals[];
  /** Ranks that lack this moment on a side. */
  readonly ranksWithoutMoment: readonly number[];
}

/** A difference of memory without a stack by more than this share of the larger side is reported. */
const MUCH_WITHOUT_STACK = 0.05;
const SIZES_SHOWN = 5;

export function describeDiff(a: Side, b: Side, limits: DiffLimits, others: OtherPairs): SnapshotDiff {
  const sites = matchSites(a.groups, b.groups);
  const large = sites.filter((site) => Math.abs(site.delta_bytes) >= limits.minBytes && !isUnchanged(site));
  const shown = limits.sites === undefined ? large : large.slice(0, limits.sites);
  const kept = new Set(shown);
  const omittedSites = sites.filter((site) => !kept.has(site));
  const sum = (
    of: readonly SiteDelta[],
    field: 'a_bytes' | 'b_bytes' | 'delta_bytes' | 'a_count' | 'b_count',
  ): number => of.reduce((total, site) => total + site[field], 0);
  const [x, y] = [a.info, b.info];
  const total = y.active_bytes - x.active_bytes;
  return {
    a: x.handle,
    b: y.handle,
    a_info: x,
    b_info: y,
    total_delta_bytes: total,
    reserved: {
      delta_bytes: y.reserved_bytes - x.reserved_bytes,
      allocated_delta_bytes: y.allocated_bytes - x.allocated_bytes,
      pending_delta_bytes: y.pending_bytes - x.pending_bytes,
      inactive_delta_bytes: y.inactive_bytes - x.inactive_bytes,
    },
    sites: shown.map((site) => describeSite(site, a, b)),
    remainder_bytes: sum(omittedSites, 'delta_bytes'),
    remainder: {
      sites: omittedSites.length,
      changed: omittedSites.filter((site) => site.delta_bytes !== 0).length,
      a_bytes: sum(omittedSites, 'a_bytes'),
      b_bytes: sum(omittedSites, 'b_bytes'),
      a_count: sum(omittedSites, 'a_count'),
      b_count: sum(omittedSites, 'b_count'),
      grown_bytes: sum(
        omittedSites.filter((site) => site.delta_bytes > 0),
        'delta_bytes',
      ),
      shrunk_bytes: sum(
        omittedSites.filter((site) => site.delta_bytes < 0),
        'delta_bytes',
      ),
    },
    components: compareComponents(a.components, b.components),
    pools: comparePools(a.pools, b.pools),
    settings: compareSettings(a.settings, b.settings),
    features: {
      only_a: a.features.filter((feature) => !b.features.includes(feature)),
      only_b: b.features.filter((feature) => !a.features.includes(feature)),
    },
    devices: others.devices,
    ranks: others.ranks,
    bridge_compare: bridgeCompare(a, b),
    notes: [...notesOf(a, b), ...ranksNote(others.ranksWithoutMoment)],
    gate: gateOf(total, x.active_bytes, limits.maxGrowth),
  };
}

function compareComponents(a: Side['components'], b: Side['components']): DiffComponent[] {
  return [...new Set([...a.keys(), ...b.keys()])]
    .map((component) => {
      const [before, after] = [a.get(component) ?? 0, b.get(component) ?? 0];
      return { component, a_bytes: before, b_bytes: after, delta_bytes: after - before };
    })
    .sort((x, y) => Math.abs(y.delta_bytes) - Math.abs(x.delta_bytes) || y.b_bytes - x.b_bytes);
}

/**
 * No difference to report: such sites are counted in the remainder, so that the list is empty for two sides between
 * which code only moved or was renamed.
 */
function isUnchanged(site: SiteDelta): boolean {
  return site.delta_bytes === 0 && site.a_count === site.b_count;
}

function describeSite(site: SiteDelta, a: Side, b: Side): DiffSite {
  const { a_groups, b_groups, ...plain } = site;
  return {
    ...plain,
    sizes: sizeChanges(
      a_groups.map((group) => a.sizes[group]!),
      b_groups.map((group) => b.sizes[group]!),
    ),
    callers: splitByCaller(
      a_groups.map((group) => a.groups[group]!),
      b_groups.map((group) => b.groups[group]!),
    ),
  };
}

function sizeChanges(
  a: readonly ReadonlyMap<number, number>[],
  b: readonly ReadonlyMap<number, number>[],
): DiffSite['sizes'] {
  const counts = new Map<number, { a: number; b: number }>();
  const add = (sizes: readonly ReadonlyMap<number, number>[], side: 'a' | 'b'): void => {
    for (const group of sizes) {
      for (const [size, count] of group) {
        const known = counts.get(size) ?? { a: 0, b: 0 };
        known[side] += count;
        counts.set(size, known);
      }
    }
  };
  add(a, 'a');
  add(b, 'b');
  return [...counts]
    .filter(([, count]) => count.a !== count.b)
    .sort(([p, m], [q, n]) => q * Math.abs(n.b - n.a) - p * Math.abs(m.b - m.a) || q - p)
    .slice(0, SIZES_SHOWN)
    .map(([size_bytes, count]) => ({ size_bytes, a_count: count.a, b_count: count.b }));
}

function comparePools(a: readonly PoolSums[], b: readonly PoolSums[]): DiffPool[] {
  const keyOf = (pool: PoolSums): string => `${pool.pool} ${pool.segmentType} ${pool.sideStream}`;
  const pools = new Map<string, { a?: PoolSums; b?: PoolSums }>();
  for (const pool of a) pools.set(keyOf(pool), { a: pool });
  for (const pool of b) pools.set(keyOf(pool), { ...pools.get(keyOf(pool)), b: pool });
  return [...pools.values()]
    .map(({ a: x, b: y }): DiffPool => {
      const { pool, segmentType, sideStream } = (x ?? y)!;
      return {
        pool,
        segment_type: segmentType,
        side_stream: sideStream,
        a_reserved_bytes: x?.reservedBytes ?? 0,
        b_reserved_bytes: y?.reservedBytes ?? 0,
        delta_reserved_bytes: (y?.reservedBytes ?? 0) - (x?.reservedBytes ?? 0),
        a_active_bytes: x?.activeBytes ?? 0,
        b_active_bytes: y?.activeBytes ?? 0,
        delta_active_bytes: (y?.activeBytes ?? 0) - (x?.activeBytes ?? 0),
        a_segments: x?.segments ?? 0,
        b_segments: y?.segments ?? 0,
      };
    })
    .sort(
      (p, q) =>
        Math.abs(q.delta_reserved_bytes) - Math.abs(p.delta_reserved_bytes) ||
        Math.abs(q.delta_active_bytes) - Math.abs(p.delta_active_bytes),
    );
}

function compareSettings(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): SnapshotDiff['settings'] {
  return [...new Set([...a.keys(), ...b.keys()])]
    .filter((key) => a.get(key) !== b.get(key))
    .map((key) => ({ key, a: a.get(key) ?? null, b: b.get(key) ?? null }));
}

function bridgeCompare(a: Side, b: Side): SnapshotDiff['bridge_compare'] {
  if (a.trace === null || b.trace === null) return null;
  return {
    peak_a: a.trace.peakBytes,
    peak_b: b.trace.peakBytes,
    peak_diff: b.trace.peakBytes - a.trace.peakBytes,
    baseline_a: a.trace.baselineBytes,
    baseline_b: b.trace.baselineBytes,
    abs_peak_a: a.trace.baselineBytes + a.trace.peakBytes,
    abs_peak_b: b.trace.baselineBytes + b.trace.peakBytes,
    allocs_a: a.trace.allocs,
    allocs_b: b.trace.allocs,
  };
}

function notesOf(a: Side, b: Side): string[] {
  const notes: string[] = [];
  const [x, y] = [a.info, b.info];
  if (x.ooms > 0 !== y.ooms > 0) {
    const [died, other] = x.ooms > 0 ? ['a', 'b'] : ['b', 'a'];
    notes.push(`${died} ran out of memory, ${other} did not: its peak is how far it came, not what it needs`);
  }
  for (const [name, side] of [
    ['a', x],
    ['b', y],
  ] as const) {
    if (!side.has_trace && side.moment === 'peak')
      notes.push(`${name} has no trace: its state at the dump stands for its peak`);
    if (side.basis === 'approximate')
      notes.push(`the trace of ${name} contradicts itself: some of its blocks may be wrong`);
  }
  const more = x.no_stack_bytes - y.no_stack_bytes;
  if (Math.abs(more) > MUCH_WITHOUT_STACK * Math.max(x.active_bytes, y.active_bytes)) {
    const [name, side, other] = more > 0 ? (['a', x, 'b'] as const) : (['b', y, 'a'] as const);
    notes.push(
      `${formatBytes(side.no_stack_bytes)} of ${name} have no allocating stack, ${formatBytes(Math.abs(more))} more than of ${other}: sites that only ${other} shows may be among them`,
    );
  }
  if (x.rank !== y.rank) notes.push(`ranks differ: a is rank ${x.rank ?? 'unknown'}, b is rank ${y.rank ?? 'unknown'}`);
  if (x.moment !== y.moment) notes.push(`moments differ: a at ${x.moment}, b at ${y.moment}`);
  if (x.torch_at_least !== y.torch_at_least) {
    notes.push(`torch differs: a was written by ${torch(x.torch_at_least)}, b by ${torch(y.torch_at_least)}`);
  }
  return notes;
}

function ranksNote(ranks: readonly number[]): string[] {
  if (ranks.length === 0) return [];
  const shown = ranks.slice(0, 16).join(', ');
  return [`not in the table of ranks, a side having no such moment: ${shown}${ranks.length > 16 ? ', …' : ''}`];
}

const torch = (version: string | null): string => (version === null ? 'an unknown version' : `${version} or newer`);

function gateOf(growth: number, before: number, limit: DiffLimits['maxGrowth']): SnapshotDiff['gate'] {
  if (limit === undefined) return null;
  const bytes = 'bytes' in limit ? limit.bytes : Math.floor(limit.share * before);
  return { max_growth_bytes: bytes, exceeded: growth > bytes };
}

/** The totals of two sides. */
export function totalsOf(a: SideTotals, b: SideTotals): DiffTotals {
  return {
    a: a.handle,
    b: b.handle,
    rank: a.rank === b.rank ? a.rank : null,
    a_device: a.device,
    b_device: b.device,
    a_active_bytes: a.active_bytes,
    b_active_bytes: b.active_bytes,
    delta_active_bytes: b.active_bytes - a.active_bytes,
    a_reserved_bytes: a.reserved_bytes,
    b_reserved_bytes: b.reserved_bytes,
    delta_reserved_bytes: b.reserved_bytes - a.reserved_bytes,
  };
}

/** What is left where a side lacks a snapshot. */
export function noSnapshotDiff(a: string, b: string, notes: readonly string[]): NoSnapshotDiff {
  return {
    a,
    b,
    a_info: null,
    b_info: null,
    total_delta_bytes: null,
    reserved: null,
    sites: [],
    remainder_bytes: 0,
    remainder: {
      sites: 0,
      changed: 0,
      a_bytes: 0,
      b_bytes: 0,
      a_count: 0,
      b_count: 0,
      grown_bytes: 0,
      shrunk_bytes: 0,
    },
    components: [],
    pools: [],
    settings: [],
    features: { only_a: [], only_b: [] },
    devices: [],
    ranks: [],
    bridge_compare: null,
    notes,
    gate: null,
  };
}
