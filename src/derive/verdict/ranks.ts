/**
 * Comparison of the ranks of a run: how far their peaks differ, whether only one of them is fragmented, and whether the
 * same code pins all.
 */
import { threshold } from '../../knowledge/thresholds/threshold.js';
import { BEFORE_TRACE } from '../../model/derived-tables.js';
import type { FirstFailureResult } from '../../model/first-failure.js';
import type {
  RankFragmentation,
  RankGap,
  RankPinning,
  RankSpread,
  RanksResult,
  StageSpread,
} from '../../model/results/common.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';
import { listSnapshots } from '../run/names/snapshots.js';
import type { RankLayout } from '../run/rank-layout.js';
import { siteName } from '../stacks/read-stacks.js';
import { MOST_COMPARED_SNAPSHOTS, type TracedOom } from './facts.js';
import type { MemoryRow } from './memory-lines.js';

/** Sites of one rank that are searched for on the others, and sites reported. */
const SITES_PER_RANK = 5;
const MOST_SITES = 8;
const ALONE_FACTOR = threshold('ranks.alone_factor');
const ALONE_SHARE = threshold('ranks.alone_share');

interface RankInput {
  readonly traced: readonly TracedOom[];
  /** The judged launch, and its memory figures. */
  readonly attempt: number;
  readonly lines: readonly MemoryRow[];
  readonly layout: RankLayout | null;
  readonly layoutOrigin: string | null;
  readonly worldSize: number | null;
  readonly first: FirstFailureResult | null;
}

/**
 * Null where no rank is known by its number. Compares the states of at most {@link MOST_COMPARED_SNAPSHOTS} snapshots.
 */
export async function describeRanks(store: Store, runId: number, input: RankInput): Promise<RanksResult | null> {
  const stages = await stagesOf(store, runId, input);
  if (stages.length === 0) return null;
  const { states, leftOut } = await readSnapshots(store, runId, input.traced);
  return {
    world_size: input.worldSize,
    layout_origin: input.layoutOrigin,
    stages,
    fragmentation: await fragmentationOf(store, states, input),
    pinning: await pinningOf(store, states),
    snapshots_left_out: leftOut,
  };
}

async function stagesOf(
  store: Store,
  runId: number,
  { attempt, layout }: Pick<RankInput, 'attempt' | 'layout'>,
): Promise<StageSpread[]> {
  const { size: stages = null, stride = null } = layout?.axis('pp') ?? {};
  const place = { world_size: layout?.worldSize ?? null, stride, stages };
  const rows = await store.all('verdict.rank_stages', { run_id: runId, attempt, ...place });
  return rows.map((row) => ({
    pp: row.pp,
    ranks: row.ranks,
    peak_allocated_bytes: spreadOf(row, 'allocated'),
    peak_reserved_bytes: spreadOf(row, 'reserved'),
  }));
}

function spreadOf(row: QueryRow<'verdict.rank_stages'>, of: 'allocated' | 'reserved'): RankSpread | null {
  if (row[`${of}_ranks`] === 0) return null;
  return {
    ranks: row[`${of}_ranks`],
    least: row[`${of}_least`]!,
    median: row[`${of}_median`]!,
    most: row[`${of}_most`]!,
    most_rank: row[`${of}_most_rank`]!,
  };
}

// ---- snapshots -----------------------------------------------------------------------------------

interface RankState {
  readonly rank: number;
  readonly moment: RankGap['moment'];
  readonly snapshotId: number;
  readonly device: number;
  /** The entry after which it holds. */
  readonly seq: number;
}

/** One state a rank: at its OOM, else at the peak of its last snapshot. */
async function readSnapshots(
  store: Store,
  runId: number,
  traced: readonly TracedOom[],
): Promise<{ states: RankState[]; leftOut: number }> {
  const snapshots = await listSnapshots(store, { runId });
  const isFew = snapshots.length <= MOST_COMPARED_SNAPSHOTS;
  const states = new Map<number, RankState>();
  for (const oom of traced) {
    if (oom.rank === null || states.has(oom.rank) || states.size >= MOST_COMPARED_SNAPSHOTS) continue;
    const { rank, snapshot_id: snapshotId, device, seq } = oom;
    states.set(rank, { rank, moment: 'oom', snapshotId, device, seq: seq - 1 });
  }
  const ownDevices = await store.all('verdict.rank_devices', { run_id: runId });
  const ownDeviceOf = new Map(ownDevices.map((device) => [device.snapshot_id, device]));
  let leftOut = 0;
  for (const { snapshot_id, rank } of snapshots.toReversed()) {
    const device = ownDeviceOf.get(snapshot_id);
    if (rank === null || device === undefined || (device.reserved_bytes === 0 && device.peak_active_bytes === null))
      continue;
    const place = { snapshotId: snapshot_id, device: device.device };
    if (device.peak_active_bytes === null || device.peak_reserved_bytes === null) {
      if (isFew && !states.has(rank)) states.set(rank, { rank, moment: 'dump', ...place, seq: BEFORE_TRACE });
      continue;
    }
    if (states.has(rank)) continue;
    if (states.size >= MOST_COMPARED_SNAPSHOTS) {
      leftOut += 1;
      continue;
    }
    states.set(rank, { rank, moment: 'peak', ...place, seq: device.peak_active_seq ?? BEFORE_TRACE });
  }
  return { states: [...states.values()].sort((a, b) => a.rank - b.rank), leftOut };
}

// ---- fragmentation and pinning -------------------------------------------------------------------

/**
 * States are compared with states, and memory lines with memory lines: a gap at an OOM is not comparable with one
 * between two largest figures.
 */
async function fragmentationOf(
  store: Store,
  states: readonly RankState[],
  input: RankInput,
): Promise<RankFragmentation | null> {
  const failed = input.first?.rank ?? input.traced[0]?.rank ?? null;
  if (failed === null) return null;
  const fromStates: RankGap[] = [];
  // One rank has nothing to be compared with.
  for (const { rank, moment, snapshotId: snapshot_id, device, seq: at_seq } of states.length > 1 ? states : []) {
    const totals = await store.one('verdict.totals_at', { snapshot_id, device, at_seq });
    if (totals !== undefined) fromStates.push(gap(rank, moment, totals.reserved_bytes, totals.active_bytes));
  }
  return compare(fromStates, failed, 'snapshot') ?? compare(gapsOfLines(input.lines), failed, 'log');
}

function gap(rank: number, moment: RankGap['moment'], reserved: number, active: number): RankGap {
  return { rank, moment, reserved_bytes: reserved, active_bytes: active, gap_bytes: reserved - active };
}

function gapsOfLines(lines: readonly MemoryRow[]): RankGap[] {
  const reserved = new Map<number, number>();
  const allocated = new Map<number, number>();
  for (const { rank, metric, max_bytes } of lines) {
    if (rank === null || max_bytes === null) continue;
    if (metric === 'max_reserved') reserved.set(rank, max_bytes);
    if (metric === 'max_allocated') allocated.set(rank, max_bytes);
  }
  return [...reserved].flatMap(([rank, bytes]) => {
    const most = allocated.get(rank);
    return most === undefined || most > bytes ? [] : [gap(rank, 'lines', bytes, most)];
  });
}

function compare(
  gaps: readonly RankGap[],
  failedRank: number,
  from: RankFragmentation['from'],
): RankFragmentation | null {
  const failed = gaps.find((one) => one.rank === failedRank);
  const others = gaps.filter((one) => one.rank !== failedRank);
  if (failed === undefined || others.length === 0) return null;
  const sorted = others.sort((a, b) => a.gap_bytes - b.gap_bytes || b.rank - a.rank);
  const [first, middle, last] = [sorted[0]!, sorted[Math.floor(sorted.length / 2)]!, sorted.at(-1)!];
  const otherGaps: RankSpread = {
    ranks: sorted.length,
    least: first.gap_bytes,
    median: middle.gap_bytes,
    most: last.gap_bytes,
    most_rank: last.rank,
  };
  const failedGap = failed.gap_bytes;
  const isAlone = failedGap >= ALONE_FACTOR * otherGaps.most && failedGap >= ALONE_SHARE * failed.reserved_bytes;
  const only = isAlone ? true : otherGaps.median * ALONE_FACTOR >= failedGap ? false : null;
  return { from, failed, others: otherGaps, only_failed: only };
}

async function pinningOf(store: Store, states: readonly RankState[]): Promise<RankPinning | null> {
  if (states.length === 0) return null;
  const sites = new Map<string, { ranks: number; segments: number; bytes: number }>();
  for (const state of states) {
    for (const { site, segments, bytes } of await pinningSites(store, state, SITES_PER_RANK)) {
      const known = sites.get(site);
      if (known === undefined) sites.set(site, { ranks: 1, segments, bytes });
      else {
        known.ranks += 1;
        known.segments += segments;
        known.bytes += bytes;
      }
    }
  }
  return {
    ranks: states.map(({ rank }) => rank),
    sites: [...sites]
      .map(([site, sum]) => ({ site, ...sum }))
      .sort((a, b) => b.ranks - a.ranks || b.segments - a.segments || b.bytes - a.bytes || (a.site < b.site ? -1 : 1))
      .slice(0, MOST_SITES),
  };
}

interface PinningSite {
  readonly site: string;
  /** Partly free segments that it has live blocks in, and their actual bytes there. */
  readonly segments: number;
  readonly bytes: number;
}

/** Call sites that keep partly free segments of the default pool from the driver, most segments first. */
async function pinningSites(
  store: Store,
  state: { readonly snapshotId: number; readonly device: number; readonly seq: number },
  most: number,
): Promise<PinningSite[]> {
  const { snapshotId: snapshot_id, device, seq: at_seq } = state;
  const rows = await store.all('verdict.pinning_sites', { snapshot_id, device, at_seq, most });
  return rows.map(({ site, has_stack, segments, bytes }) => ({ site: siteName(site, has_stack), segments, bytes }));
}
