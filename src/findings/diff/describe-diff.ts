/** `mbforensics diff`: from two sides to the result. */

import type { DiffComponent, DiffSite } from '../../model/diff-parts.js';
import { groupBy } from '../../model/group-by.js';
import { pick } from '../../model/pick.js';
import type { DiffPool, DiffTotals, NoSnapshotDiff, SnapshotDiff } from '../../model/results/diff.js';
import { sentencesOf, type Text } from '../../model/statement.js';
import { COMPONENTS } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import type { SiteDelta } from './match-sites.js';
import type { Side, SideTotals } from './side.js';
import { splitByCaller } from './split-by-caller.js';
import { SIDES } from './use-sides.js';

const sentence = sentencesOf('diff');

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

const SITE = [
  'site',
  'a_site',
  'b_site',
  'a_bytes',
  'b_bytes',
  'delta_bytes',
  'a_count',
  'b_count',
  'delta_count',
  'match',
  'through',
] as const;
const REMAINDER = [
  'sites',
  'changed',
  'a_bytes',
  'b_bytes',
  'a_count',
  'b_count',
  'grown_bytes',
  'shrunk_bytes',
] as const;

/** A difference of memory without a stack by more than this share of the larger side is reported. */
const MUCH_WITHOUT_STACK = 0.05;
const SIZES_SHOWN = 5;

/** `sites`: those of {@link useSides}, which put both sides into the store. */
export async function describeDiff(
  store: Store,
  sites: readonly SiteDelta[],
  a: Side,
  b: Side,
  limits: DiffLimits,
  others: OtherPairs,
): Promise<SnapshotDiff> {
  const [x, y] = [a.info, b.info];
  const total = y.active_bytes - x.active_bytes;
  const parts = groupBy(
    await store.all('diff.memory', {
      ...SIDES,
      min_bytes: limits.minBytes,
      most_sites: limits.sites ?? null,
      most_sizes: SIZES_SHOWN,
      components: COMPONENTS.join(','),
    }),
    ({ part }) => part,
  );
  const sizes = groupBy(parts.get('size') ?? [], (row) => row.match_no);
  const [remainder] = parts.get('left_out')!;
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
    sites: (parts.get('site') ?? []).map((row) => ({
      ...pick(row, SITE),
      sizes: (sizes.get(row.match_no) ?? []).map((size) => pick(size, ['size_bytes', 'a_count', 'b_count'])),
      callers: splitByCaller(
        sites[row.match_no!]!.a_groups.map((group) => a.groups[group]!),
        sites[row.match_no!]!.b_groups.map((group) => b.groups[group]!),
      ),
    })) as DiffSite[],
    remainder_bytes: remainder!.delta_bytes,
    remainder: pick(remainder!, REMAINDER) as SnapshotDiff['remainder'],
    components: (parts.get('component') ?? []).map((row) =>
      pick(row, ['component', 'a_bytes', 'b_bytes', 'delta_bytes']),
    ) as DiffComponent[],
    pools: (await store.all('diff.pool_changes', SIDES)) as DiffPool[],
    settings: await store.all('diff.settings', SIDES),
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

function notesOf(a: Side, b: Side): Text[] {
  const notes: Text[] = [];
  const [x, y] = [a.info, b.info];
  if (x.ooms > 0 !== y.ooms > 0) {
    const [died, other] = x.ooms > 0 ? ['a', 'b'] : ['b', 'a'];
    notes.push(sentence('one_oom', { side: died, other }));
  }
  for (const [name, side] of [
    ['a', x],
    ['b', y],
  ] as const) {
    if (!side.has_trace && side.moment === 'peak') notes.push(sentence('no_trace', { side: name }));
    if (side.basis === 'approximate') notes.push(sentence('contradicts', { side: name }));
  }
  const more = x.no_stack_bytes - y.no_stack_bytes;
  if (Math.abs(more) > MUCH_WITHOUT_STACK * Math.max(x.active_bytes, y.active_bytes)) {
    const [name, side, other] = more > 0 ? (['a', x, 'b'] as const) : (['b', y, 'a'] as const);
    notes.push(
      sentence('no_stack', { stackless_bytes: side.no_stack_bytes, side: name, more_bytes: Math.abs(more), other }),
    );
  }
  if (x.rank !== y.rank) notes.push(sentence('ranks_differ', { a: x.rank, b: y.rank }));
  if (x.moment !== y.moment) notes.push(sentence('moments_differ', { a: x.moment, b: y.moment }));
  if (x.torch_at_least !== y.torch_at_least) {
    notes.push(sentence('torch_differs', { a: x.torch_at_least, b: y.torch_at_least }));
  }
  return notes;
}

function ranksNote(ranks: readonly number[]): Text[] {
  if (ranks.length === 0) return [];
  return [sentence('not_in_ranks', { ranks: ranks.slice(0, 16), more: ranks.length > 16 })];
}

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
