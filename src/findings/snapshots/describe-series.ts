/** `mbforensics snapshot series`: the dumps of each rank in the order of time, and what changed between them. */

import { siteName } from '../../derive/stacks/read-stacks.js';
import { groupBy } from '../../model/group-by.js';
import { pick } from '../../model/pick.js';
import type {
  SeriesSnapshot,
  SiteGrowth,
  SnapshotSeries,
  SnapshotSeriesResult,
} from '../../model/results/snapshot-series.js';
import type { DumpTrigger } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import { dumpTimeUs, orderSnapshots } from './order.js';
import { NOTHING, type Relation, relateTraces, type SeriesRow } from './relate.js';
import { seriesTrend, trendTolerance } from './trend.js';

export interface SeriesQuestion {
  readonly runId: number;
  readonly run: string;
  /** Only the series this snapshot is in. */
  readonly handle?: string | undefined;
  /** Call sites a series; 0 = all that changed. */
  readonly sites: number;
}

/** Of the first snapshot. */
const NO_RELATION = { relation: null, ...NOTHING };

interface KnownTrigger {
  readonly trigger: DumpTrigger;
  readonly origin: string;
}

/**
 * A run without snapshots gives an empty list. Snapshots of unknown rank make a series where their names have steps and
 * differ in numbers alone; any other is by itself: two names without a rank or a step may be of any two processes.
 */
export async function describeSeries(store: Store, question: SeriesQuestion): Promise<SnapshotSeriesResult> {
  const groups = groupBy(
    await store.all('snapshot.series', { run_id: question.runId }),
    (row) => `${row.rank ?? unrankedSeries(row)} ${row.device}`,
  );
  const series: SnapshotSeries[] = [];
  for (const rows of groups.values()) {
    if (question.handle !== undefined && !rows.some((row) => row.handle === question.handle)) continue;
    series.push(await describeOne(store, rows, question.sites));
  }
  return { schema: 'mbforensics/snapshots@1', run: question.run, series };
}

function unrankedSeries({ display_path: path, step }: SeriesRow): string {
  return `- ${step === null ? path : path.replaceAll(/\d+/g, '#')}`;
}

async function describeOne(store: Store, unordered: readonly SeriesRow[], sites: number): Promise<SnapshotSeries> {
  const { order, rows } = orderSnapshots(unordered);
  const relations: (Relation | null)[] = [null];
  for (let i = 1; i < rows.length; i += 1) relations.push(await relateTraces(store, rows[i - 1]!, rows[i]!));
  const triggers = triggersOf(rows, relations);
  const snapshots = rows.map((row, i) => snapshotOf(row, rows[i - 1], relations[i]!, triggers[i]!));
  const begin = snapshots.findLastIndex(({ relation }) => isOtherProcess(relation));
  const compared = rows
    .map((row, i) => ({ row, snapshot: snapshots[i]! }))
    .filter(({ snapshot }, i) => i >= begin && isRegular(snapshot.trigger))
    .map(({ row }) => row);
  const first = compared[0];
  const last = compared.at(-1);
  const bytes = compared.map((row) => row.allocated_bytes);
  const growth =
    first === undefined || last === undefined || first === last ? null : last.allocated_bytes - first.allocated_bytes;
  return {
    rank: rows[0]!.rank,
    device: rows[0]!.device,
    order,
    snapshots,
    trend: {
      kind: seriesTrend(bytes),
      snapshots: compared.length,
      growth_bytes: growth,
      growth_per_step_bytes: growth === null ? null : perStep(growth, first!, last!),
      tolerance_bytes: trendTolerance(bytes),
    },
    sites: growth === null ? [] : await siteGrowth(store, first!, last!, sites),
  };
}

function isOtherProcess(relation: SeriesSnapshot['relation']): boolean {
  return relation === 'restart' || relation === 'unrelated';
}

/** Dumps of a failure stop in the middle of a step. */
const isRegular = (trigger: string | null): boolean => trigger !== 'oom' && trigger !== 'failure';

/** The file first; then what only the whole series shows. */
function triggersOf(rows: readonly SeriesRow[], relations: readonly (Relation | null)[]): KnownTrigger[] {
  let process = 0;
  const processes = relations.map((relation) => {
    if (isOtherProcess(relation?.relation ?? null)) process += 1;
    return process;
  });
  return rows.map((row, i) => {
    if (row.dump_trigger !== null) {
      return { trigger: row.dump_trigger as DumpTrigger, origin: row.dump_trigger_origin ?? 'name' };
    }
    const alike = rows.filter((other, j) => processes[j] === processes[i] && isRegular(other.dump_trigger)).length;
    return alike > 1
      ? { trigger: 'periodic', origin: `series: one of ${alike} dumps of one process` }
      : { trigger: 'manual', origin: 'assumed: one dump, and its name has neither an OOM nor a step' };
  });
}

function snapshotOf(
  row: SeriesRow,
  before: SeriesRow | undefined,
  relation: Relation | null,
  { trigger, origin }: KnownTrigger,
): SeriesSnapshot {
  const growth =
    before === undefined || isOtherProcess(relation?.relation ?? null)
      ? null
      : {
          allocated_bytes: row.allocated_bytes - before.allocated_bytes,
          active_bytes: row.active_bytes - before.active_bytes,
          reserved_bytes: row.reserved_bytes - before.reserved_bytes,
        };
  return {
    handle: row.handle,
    path: row.display_path,
    ...pick(row, ['attempt', 'step', 'step_origin']),
    trigger,
    trigger_origin: origin,
    ...pick(row, ['events', 'first_time_us']),
    last_time_us: dumpTimeUs(row),
    ...pick(row, ['oom_entries', 'allocated_bytes', 'active_bytes', 'reserved_bytes', 'inactive_bytes']),
    ...pick(relation ?? NO_RELATION, ['relation', 'shared_entries', 'new_entries', 'lost']),
    growth,
    growth_per_step_bytes: growth === null ? null : perStep(growth.allocated_bytes, before!, row),
  };
}

function perStep(bytes: number, first: SeriesRow, last: SeriesRow): number | null {
  if (first.step === null || last.step === null || last.step <= first.step) return null;
  return Math.round(bytes / (last.step - first.step));
}

async function siteGrowth(store: Store, first: SeriesRow, last: SeriesRow, limit: number): Promise<SiteGrowth[]> {
  const rows = await store.all('snapshot.site_growth', {
    earlier: first.snapshot_id,
    later: last.snapshot_id,
    device: last.device,
  });
  const changed = rows
    .map(({ site, has_stack, ...change }) => ({ site: siteName(site, has_stack), ...change }))
    .sort((a, b) => b.bytes - a.bytes || (a.site < b.site ? -1 : 1));
  return limit === 0 ? changed : changed.slice(0, limit);
}
