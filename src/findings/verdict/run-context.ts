/**
 * What the rest of a run adds about one of its ranks: allocator variables, memory lines, growth, the other ranks. A
 * message alone has none of it.
 */

import { readAllocConf } from '../../allocator/settings.js';
import { ALLOCATOR_VARIABLES } from '../../knowledge/env-keys.js';
import { named } from '../../model/statement.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';
import { driverMemoryOf, readDriverMemory } from '../nsys/run-memory.js';
import { type MonitorFacts, readMonitored } from '../outside/monitor-facts.js';
import { readRunTexts } from '../run/run-texts.js';
import type { AllocatorFacts, Bystanders, DriverFacts, EvidenceLog, Figure, Growth, RunSide } from './facts.js';
import { type MemoryRow, readMemoryLines } from './memory-lines.js';
import {
  addDriverEvidence,
  addHostMemoryEvidence,
  addMemoryEvidence,
  addMonitorEvidence,
  addOtherRanksEvidence,
  type Reserves,
} from './run-evidence.js';
import { runSides, savingSince } from './run-side.js';

type EnvRow = QueryRow<'log.env'>;

/** Facts of one rank that are in no message of it. */
export interface RankContext {
  readonly allocator: AllocatorFacts | null;
  readonly growth: Growth | null;
  readonly reservedGrowth: Growth | null;
  readonly side: RunSide;
  /**
   * This rank's memory in a profile of the driver; null without a profile that distinguishes PyTorch's memory from the
   * rest.
   */
  readonly driver: DriverFacts | null;
  /** What was sampled of the device of this rank. */
  readonly monitor: MonitorFacts | null;
  /** Context in addition to the facts of failures. */
  readonly bystanders: Omit<Bystanders, 'failedAlone'>;
  /** Adds the context that a reader needs with a message, or with a snapshot, which is complete for its own rank. */
  addEvidence(evidence: EvidenceLog, total: Figure | null, basis: 'message' | 'snapshot'): void;
}

export interface RunContext {
  of(rank: number | null): RankContext;
  /** Adds what was sampled of the host's memory, for a failure of host memory. */
  addHostEvidence(evidence: EvidenceLog): void;
}

/** Reads a run's context once: of the newest launch that printed memory, and of what sets the allocator's variables. */
export async function readRunContext(store: Store, runId: number): Promise<RunContext> {
  const env = await store.all('log.env', { run_id: runId });
  const { printed, newest: memory } = await readMemoryLines(store, runId);
  const ranks = new Set(memory.rows.map(({ rank }) => rank));
  const reservedByOthers = reservesOfOthers(memory.rows);
  const texts = await readRunTexts(store, runId);
  const profiled = await readDriverMemory(store, runId);
  const monitored = await readMonitored(store, runId);
  const sideOf = runSides(texts, memory, printed, env);
  const saving = savingSince(texts);
  const hostMemory = await store.all('outside.host_memory', { run_id: runId });
  return {
    addHostEvidence: (evidence) => addHostMemoryEvidence(runId, hostMemory, evidence),
    of(rank) {
      // Without a rank, a sole writer must be the rank that failed.
      const ownRank = rank ?? (ranks.size === 1 ? [...ranks][0]! : null);
      const lines = new Map(memory.of(ownRank).map((row) => [row.metric, row]));
      const reserves = reservedByOthers(ownRank);
      const allocator = allocatorOf(env, ownRank);
      const driver = driverMemoryOf(profiled, ownRank);
      const monitor =
        ownRank === null
          ? monitored.size === 1
            ? [...monitored.values()][0]!
            : null
          : (monitored.get(ownRank) ?? null);
      return {
        allocator: allocator?.facts ?? null,
        growth: growthOf(lines.get('allocated')),
        reservedGrowth: growthOf(lines.get('reserved')),
        side: sideOf(ownRank),
        driver: driver === null || driver.outside.length === 0 ? null : driver,
        monitor,
        bystanders: bystandersOf(reserves, lines.get('max_reserved'), env),
        addEvidence(evidence, total, basis) {
          if (basis === 'message') {
            if (allocator !== null)
              evidence.add('allocator_setting', allocator.facts.source, { names: allocator.names });
            addMemoryEvidence(lines, evidence);
          }
          if (ownRank !== null) addOtherRanksEvidence(reserves, total, evidence);
          if (driver !== null) addDriverEvidence(driver, evidence);
          if (monitor !== null) addMonitorEvidence(runId, monitor, evidence);
          if (saving !== null)
            evidence.add('checkpoint_announced', saving.source, { numbers: { iteration: saving.iteration } });
        },
      };
    },
  };
}

/** What the ranks other than one reserved at most. */
function reservesOfOthers(memory: readonly MemoryRow[]): (rank: number | null) => Reserves {
  const rows = memory.filter((row) => row.metric === 'max_reserved' && row.max_bytes !== null && row.rank !== null);
  const ranks = new Set(rows.map((row) => row.rank));
  const most = largestOf(rows);
  const next = largestOf(rows.filter((row) => row.rank !== most?.rank));
  return (rank) => ({
    ranks: ranks.size - (ranks.has(rank) ? 1 : 0),
    most: most !== undefined && most.rank === rank ? next : most,
  });
}

function largestOf(rows: readonly MemoryRow[]): MemoryRow | undefined {
  let largest = rows[0];
  for (const row of rows) if (row.max_bytes! > largest!.max_bytes!) largest = row;
  return largest;
}

function bystandersOf(
  reserves: Reserves,
  ownReserved: MemoryRow | undefined,
  env: readonly EnvRow[],
): Omit<Bystanders, 'failedAlone'> {
  return {
    ranks: reserves.ranks,
    mostReservedBytes: reserves.most?.max_bytes ?? null,
    ownReservedBytes: ownReserved?.max_bytes ?? null,
    environmentSource: env[0]?.display_path ?? null,
  };
}

function growthOf(row: MemoryRow | undefined): Growth | null {
  if (row === undefined || row.growth_bytes === null || row.last_bytes === null || row.last_iteration === null)
    return null;
  if (row.growth_first_bytes === null || row.growth_first_iteration === null) return null;
  return {
    samples: row.growth_samples,
    firstIteration: row.growth_first_iteration,
    lastIteration: row.last_iteration,
    firstBytes: row.growth_first_bytes,
    lastBytes: row.last_bytes,
    bytesPerIteration: row.growth_bytes,
    r2: row.growth_r2 ?? 0,
    lateBytes: row.growth_late_bytes,
    source: { path: row.display_path },
  };
}

/**
 * The strongest origin that applies to this rank, or to all; within one origin, the variable that torch reads first.
 */
function allocatorOf(
  rows: readonly EnvRow[],
  rank: number | null,
): { readonly facts: AllocatorFacts; readonly names: Readonly<Record<string, string>> } | null {
  const order = (row: EnvRow): number => ALLOCATOR_VARIABLES.indexOf(row.key);
  const isOwn = (row: EnvRow): boolean => rank !== null && row.ranks?.includes(rank) === true;
  const [found] = rows
    .filter((row) => order(row) >= 0 && (row.ranks === null || isOwn(row)))
    .sort(
      (a, b) =>
        Number(isOwn(b)) - Number(isOwn(a)) ||
        a.precedence - b.precedence ||
        b.attempt - a.attempt ||
        order(a) - order(b),
    );
  if (found === undefined) return null;
  const { settings, problems } = readAllocConf(found.value ?? '');
  const source = { path: found.display_path, line: found.line };
  return {
    facts: { expandableSegments: settings.expandableSegments, maxSplitBytes: settings.maxSplitBytes, source },
    names: named({
      variable: found.key,
      value: found.value,
      origin: found.origin,
      setting: settings.expandableSegments ? 'on' : 'off',
      problem: problems[0],
    }),
  };
}
