/**
 * Comparison of the ranks of a run: how far their peaks differ, whether only one of them is fragmented, and whether the
 * same code pins all.
 */
import type { FirstFailureResult } from '../../model/first-failure.js';
import { pick } from '../../model/pick.js';
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
import type { RankLayout } from '../run/rank-layout.js';
import { siteName } from '../stacks/read-stacks.js';
import { MOST_COMPARED_SNAPSHOTS, type TracedOom } from './facts.js';

/** Sites of one rank that are searched for on the others, and sites reported. */
const SITES_PER_RANK = 5;
const MOST_SITES = 8;

interface RankInput {
  readonly traced: readonly TracedOom[];
  /** The judged launch. */
  readonly attempt: number;
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
  const states = await store.all('verdict.rank_states', comparedStates(runId));
  return {
    world_size: input.worldSize,
    layout_origin: input.layoutOrigin,
    stages,
    fragmentation: await fragmentationOf(store, runId, input),
    pinning: await pinningOf(store, states),
    snapshots_left_out: states[0]?.left_out ?? 0,
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

type RankState = QueryRow<'verdict.rank_states'>;

const comparedStates = (runId: number) => ({ run_id: runId, run_ids: String(runId), most: MOST_COMPARED_SNAPSHOTS });

async function fragmentationOf(
  store: Store,
  runId: number,
  { attempt, first, traced }: RankInput,
): Promise<RankFragmentation | null> {
  const rank = first?.rank ?? traced[0]?.rank ?? null;
  if (rank === null) return null;
  const launch = { ...comparedStates(runId), attempts: String(attempt), failed_rank: rank };
  const row = await store.one('verdict.rank_fragmentation', launch);
  if (row === undefined) return null;
  const { moment, reserved_bytes, active_bytes, gap_bytes, only_failed } = row;
  return {
    from: row.from as RankFragmentation['from'],
    failed: { rank, moment: moment as RankGap['moment'], reserved_bytes, active_bytes, gap_bytes },
    others: pick(row, ['ranks', 'least', 'median', 'most', 'most_rank']),
    only_failed,
  };
}

async function pinningOf(store: Store, states: readonly RankState[]): Promise<RankPinning | null> {
  if (states.length === 0) return null;
  const sites = new Map<string, { ranks: number; segments: number; bytes: number }>();
  const keys = states.map(({ snapshot_id, device, seq }) => ({ snapshot_id, device, at_seq: seq }));
  for (const rows of await store.allOf('verdict.pinning_sites', keys)) {
    for (const { site: name, has_stack, segments, bytes } of rows.slice(0, SITES_PER_RANK)) {
      const site = siteName(name, has_stack);
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
