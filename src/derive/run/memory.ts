/** Memory lines by rank: last and largest figures, growth, and what in them is worth a word. */
import { threshold } from '../../knowledge/thresholds/threshold.js';
import { groupBy } from '../../model/group-by.js';
import { maxOf } from '../../model/lists.js';
import { DOUBTFUL } from '../../model/log-rows.js';
import { pick } from '../../model/pick.js';
import type {
  DoubtfulReading,
  MemoryFlag,
  MemoryGroup,
  MemoryMetricResult,
  MemoryRank,
  MemoryRecord,
  MemoryResult,
  MemorySamples,
  RankPosition,
} from '../../model/results/log.js';
import { formatBytes, GIB } from '../../model/units.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';
import type { RankLayout } from './rank-layout.js';

const GROWTH_SAMPLES = threshold('memory_lines.growth_samples');
const GROWTH_R2 = threshold('memory_lines.growth_r2');
const GROWTH_SHARE_PER_ITERATION = threshold('memory_lines.growth_share_per_iteration');
const INACTIVE_SHARE = threshold('memory_lines.inactive_share');
const RESERVED_SHARE = threshold('memory_lines.reserved_factor');
const IMBALANCE_SHARE = threshold('memory_lines.imbalance_factor');

function metricOf(row: QueryRow<'log.memory_ranks'>): MemoryMetricResult {
  const grows = row.growth_samples >= GROWTH_SAMPLES && row.growth_bytes !== null && Number.isFinite(row.growth_bytes);
  return {
    ...pick(row, ['metric', 'samples', 'first_iteration', 'last_iteration']),
    ...pick(row, ['last_bytes', 'max_bytes', 'last_value', 'max_value']),
    growth_bytes_per_iteration: grows ? row.growth_bytes : null,
    // A flat line explains everything: there is nothing to explain.
    growth_r2: grows && row.growth_r2 !== null && Number.isFinite(row.growth_r2) ? row.growth_r2 : null,
  };
}

export async function memoryRanks(
  store: Store,
  runId: number,
  layout: RankLayout | null,
  options: { readonly rank?: number | undefined; readonly attempt?: number | undefined },
): Promise<MemoryRank[]> {
  const { rank = null, attempt } = options;
  const attempts = attempt === undefined ? null : String(attempt);
  const rows = await store.all('log.memory_ranks', { run_ids: String(runId), rank, attempts });
  const plausible = rows.filter(({ metric }) => !metric.startsWith(DOUBTFUL));
  const ranks = groupBy(plausible, (row) => `${row.attempt} ${row.rank} ${row.device}`);
  return [...ranks.values()].map((metrics) => {
    const { attempt, rank: number, device } = metrics[0]!;
    const position = number === null ? null : (layout?.position(number) ?? null);
    return { attempt, rank: number, device, position, metrics: metrics.map(metricOf) };
  });
}

export async function memoryRecords(
  store: Store,
  runId: number,
  options: { readonly rank?: number | undefined; readonly most?: number | undefined } = {},
): Promise<MemoryRecord[]> {
  return store.all('log.memory_records', { run_id: runId, rank: options.rank ?? null, most: options.most ?? null });
}

function metric(rank: MemoryRank, name: string): MemoryMetricResult | undefined {
  return rank.metrics.find((candidate) => candidate.metric === name);
}

/** Ranks of one launch with the same last and largest figures, as one. */
export function memoryGroups(ranks: readonly MemoryRank[]): MemoryGroup[] {
  const groups = new Map<string, MemoryGroup & { ranks: (number | null)[] }>();
  for (const rank of ranks) {
    const last: Record<string, number> = {};
    const max: Record<string, number> = {};
    const counts: Record<string, number> = {};
    for (const entry of rank.metrics) {
      if (entry.last_bytes === null) counts[entry.metric] = entry.last_value;
      else last[entry.metric] = entry.last_bytes;
      if (entry.max_bytes !== null) max[entry.metric] = entry.max_bytes;
    }
    const stage = rank.position?.pp ?? null;
    const iteration = rank.metrics.reduce<number | null>(
      (latest, { last_iteration }) => (last_iteration === null ? latest : Math.max(latest ?? 0, last_iteration)),
      null,
    );
    const key = JSON.stringify([stage, iteration, last, max, counts]);
    const known = groups.get(key);
    if (known !== undefined) known.ranks.push(rank.rank);
    else {
      const samples = maxOf(rank.metrics.map((entry) => entry.samples));
      groups.set(key, { stage, ranks: [rank.rank], iteration, samples, last, max, counts });
    }
  }
  return [...groups.values()].sort((a, b) => (a.ranks[0] ?? -1) - (b.ranks[0] ?? -1));
}

function stagesOf(ranks: readonly MemoryRank[]): MemoryResult['stages'] {
  const known = ranks.flatMap(({ attempt, position, metrics }) =>
    position === null ? [] : [{ attempt, stage: position.pp, metrics }],
  );
  return [...groupBy(known, ({ attempt, stage }) => `${attempt} ${stage}`).values()]
    .map((group) => {
      const { attempt, stage } = group[0]!;
      const max: Record<string, number> = {};
      for (const { metric: name, max_bytes } of group.flatMap(({ metrics }) => metrics))
        if (max_bytes !== null) max[name] = Math.max(max[name] ?? 0, max_bytes);
      return { attempt, stage, ranks: group.length, max };
    })
    .sort((a, b) => a.attempt - b.attempt || a.stage - b.stage);
}

/** Readings that cannot be true; no other figure includes them. */
export async function doubtfulReadings(store: Store, runId: number, rank?: number): Promise<DoubtfulReading[]> {
  const rows = await store.all('log.doubtful_memory', { run_id: runId });
  return rank === undefined ? rows : rows.filter((row) => row.rank === rank);
}

/** Ranks of one attempt that share an oddity. */
class Flags {
  readonly list: (MemoryFlag & { ranks: (number | null)[] })[] = [];

  add(kind: MemoryFlag['kind'], rank: MemoryRank, text: string): void {
    const sameFlag = this.list.find((flag) => flag.kind === kind && flag.attempt === rank.attempt);
    if (sameFlag === undefined) this.list.push({ kind, attempt: rank.attempt, ranks: [rank.rank], text });
    else sameFlag.ranks.push(rank.rank);
  }
}

/** Bytes per iteration of a figure that grows in a straight line, by more than nothing; else null. */
export function steadyGrowth({
  last_bytes: last,
  growth_bytes_per_iteration: slope,
  growth_r2: r2,
}: MemoryMetricResult): number | null {
  if (last === null || slope === null || (r2 ?? 0) < GROWTH_R2) return null;
  return slope < GROWTH_SHARE_PER_ITERATION * last || slope <= 0 ? null : slope;
}

/** What a reader would mark. The text is about the first rank listed. */
export function memoryFlags(ranks: readonly MemoryRank[]): MemoryFlag[] {
  const flags = new Flags();
  for (const rank of ranks) {
    const retries = metric(rank, 'alloc_retries');
    if (retries !== undefined && retries.max_value > 0)
      flags.add(
        'alloc_retries',
        rank,
        `the driver refused ${retries.max_value} allocations and the cache was flushed for a second try: close to the limit, or fragmented`,
      );
    const ooms = metric(rank, 'ooms');
    if (ooms !== undefined && ooms.max_value > 0)
      flags.add('ooms', rank, `${ooms.max_value} allocations failed and were survived`);
    const inactive = metric(rank, 'max_inactive_split') ?? metric(rank, 'inactive_split');
    const reserved = metric(rank, 'max_reserved') ?? metric(rank, 'reserved');
    if (
      inactive?.max_bytes != null &&
      reserved?.max_bytes != null &&
      inactive.max_bytes > INACTIVE_SHARE * reserved.max_bytes
    )
      flags.add(
        'inactive_split',
        rank,
        `${formatBytes(inactive.max_bytes)} of ${formatBytes(reserved.max_bytes)} reserved were unusable remainders of split blocks`,
      );
    const allocated = metric(rank, 'max_allocated');
    if (
      allocated?.max_bytes != null &&
      reserved?.max_bytes != null &&
      reserved.max_bytes > RESERVED_SHARE * allocated.max_bytes &&
      reserved.max_bytes - allocated.max_bytes > GIB
    )
      flags.add(
        'reserved_far_above_allocated',
        rank,
        `${formatBytes(reserved.max_bytes)} reserved at most, of which at most ${formatBytes(allocated.max_bytes)} were ever allocated`,
      );
    for (const name of ['allocated', 'reserved'] as const) {
      const entry = metric(rank, name);
      const slope = entry === undefined ? null : steadyGrowth(entry);
      if (entry === undefined || slope === null) continue;
      flags.add(
        'growth',
        rank,
        `${name} grew by ${formatBytes(Math.round(slope))} an iteration, straight (r² ${entry.growth_r2!.toFixed(2)}), from iteration ${entry.first_iteration} to ${entry.last_iteration}`,
      );
      break;
    }
  }
  imbalance(ranks, flags);
  return flags.list;
}

/** Peaks of the same attempt that differ widely: a stage or rank holds more than the others. */
function imbalance(ranks: readonly MemoryRank[], flags: Flags): void {
  for (const attempt of new Set(ranks.map((rank) => rank.attempt))) {
    const peaks = ranks.flatMap((rank) => {
      const bytes = rank.attempt === attempt && rank.rank !== null ? metric(rank, 'max_allocated')?.max_bytes : null;
      return bytes == null ? [] : [{ rank, bytes }];
    });
    if (peaks.length < 2) continue;
    const sorted = peaks.map(({ bytes }) => bytes).sort((a, b) => a - b);
    const median = sorted[Math.floor(sorted.length / 2)]!;
    const lowest = sorted[0]!;
    const compared = peaks.length === 2 ? lowest : median;
    for (const { rank, bytes } of peaks) {
      if (compared > 0 && bytes > IMBALANCE_SHARE * compared)
        flags.add(
          'imbalance',
          rank,
          `peak allocated ${formatBytes(bytes)}, while ${peaks.length === 2 ? 'the other rank has' : 'half of the ranks have at most'} ${formatBytes(compared)}`,
        );
    }
  }
}

export interface MemoryOptions {
  /** Only this rank, and every record of it. */
  readonly rank?: number | undefined;
}

export async function describeMemory(
  store: Store,
  runId: number,
  run: string,
  layout: { readonly layout: RankLayout | null; readonly origin: string | null },
  options: MemoryOptions = {},
): Promise<MemoryResult> {
  const ranks = await memoryRanks(store, runId, layout.layout, { rank: options.rank });
  return {
    schema: 'mbforensics/memory@1',
    run,
    layout_origin: layout.origin,
    ranks,
    stages: stagesOf(ranks),
    flags: memoryFlags(ranks),
    doubtful: await doubtfulReadings(store, runId, options.rank),
    records: options.rank === undefined ? null : await memoryRecords(store, runId, { rank: options.rank }),
    sampled: await readSamples(store, runId),
  };
}

async function readSamples(store: Store, runId: number): Promise<MemorySamples | null> {
  const monitors = await store.all('outside.monitors', { run_id: runId });
  if (monitors.length === 0) return null;
  const devices = new Set(monitors.map(({ host, device, gpu }) => JSON.stringify([host, device ?? gpu])));
  return {
    devices: devices.size,
    samples: monitors.reduce((sum, { samples }) => sum + samples, 0),
    max_used_bytes: monitors.reduce((most, { max_bytes: bytes }) => Math.max(most, bytes), 0),
    files: [...new Set(monitors.map(({ display_path: path }) => path))],
  };
}

/** Where the ranks of a list sit; those of an unknown layout are left out. */
export function positionsOf(layout: RankLayout | null, ranks: readonly number[]): RankPosition[] {
  return ranks.flatMap((rank) => layout?.position(rank) ?? []);
}
