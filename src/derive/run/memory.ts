/** Memory lines by rank: last and largest figures, growth, and what in them is worth a word. */
import { groupBy } from '../../model/group-by.js';
import { maxOf } from '../../model/lists.js';
import { DOUBTFUL } from '../../model/log-rows.js';
import { pick } from '../../model/pick.js';
import type {
  DoubtfulReading,
  MemoryFlag,
  MemoryGroup,
  MemoryRank,
  MemoryRecord,
  MemoryResult,
  MemorySamples,
  RankPosition,
} from '../../model/results/log.js';
import { sentencesOf, type Unworded } from '../../model/statement.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';
import type { RankLayout } from './rank-layout.js';

type Flag = Unworded<MemoryFlag, 'text'>;

const METRIC = [
  ...(['metric', 'samples', 'first_iteration', 'last_iteration', 'last_bytes', 'max_bytes'] as const),
  ...(['last_value', 'max_value', 'growth_bytes_per_iteration', 'growth_r2'] as const),
] as const;

export async function memoryRanks(
  store: Store,
  runId: number,
  layout: RankLayout | null,
  options: { readonly rank?: number | undefined; readonly attempt?: number | undefined },
): Promise<MemoryRank[]> {
  const { rank, attempt } = options;
  const attempts = attempt === undefined ? null : String(attempt);
  const rows = await store.all('log.memory_ranks', {
    run_ids: String(runId),
    ranks: rank?.toString() ?? null,
    attempts,
  });
  const plausible = rows.filter(({ metric }) => !metric.startsWith(DOUBTFUL));
  const ranks = groupBy(plausible, (row) => `${row.attempt} ${row.rank} ${row.device}`);
  return [...ranks.values()].map((metrics) => {
    const { attempt, rank: number, device } = metrics[0]!;
    const position = number === null ? null : (layout?.position(number) ?? null);
    return { attempt, rank: number, device, position, metrics: metrics.map((row) => pick(row, METRIC)) };
  });
}

export async function memoryRecords(
  store: Store,
  runId: number,
  options: { readonly rank?: number | undefined; readonly most?: number | undefined } = {},
): Promise<MemoryRecord[]> {
  return store.all('log.memory_records', { run_id: runId, rank: options.rank ?? null, most: options.most ?? null });
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

/** What a reader would mark. The text is about the first rank listed. */
function flagOf({ kind, attempt, ranks, ...figures }: QueryRow<'log.memory_flags'>): Flag {
  return { kind: kind as MemoryFlag['kind'], attempt, ranks, text: sentencesOf('memory', 'flags')(kind, figures) };
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
): Promise<Omit<MemoryResult, 'flags'> & { readonly flags: readonly Flag[] }> {
  const ranks = await memoryRanks(store, runId, layout.layout, { rank: options.rank });
  return {
    schema: 'mbforensics/memory@1',
    run,
    layout_origin: layout.origin,
    ranks,
    stages: stagesOf(ranks),
    flags: (
      await store.all('log.memory_flags', { run_ids: String(runId), ranks: options.rank?.toString() ?? null })
    ).map(flagOf),
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
