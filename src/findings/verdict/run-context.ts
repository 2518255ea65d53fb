/**
 * What the rest of a run adds about one of its ranks: allocator variables, memory lines, growth, the other ranks. A
 * message alone has none of it.
 */

import { readAllocConf } from '../../allocator/settings.js';
import { ALLOCATOR_VARIABLES } from '../../knowledge/env-keys.js';
import { DRIVER_OWNER_WORDS } from '../../model/results/nsys.js';
import { formatBytes, formatCount, GIB } from '../../model/units.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';
import { type DriverMemory, driverMemoryOf, readDriverMemory } from '../nsys/run-memory.js';
import { type MonitorFacts, readMonitored } from '../outside/monitor-facts.js';
import { readRunTexts } from '../run/run-texts.js';
import type { AllocatorFacts, Bystanders, DriverFacts, EvidenceLog, Figure, Growth, RunSide } from './facts.js';
import { type MemoryRow, readMemoryLines } from './memory-lines.js';
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
            if (allocator !== null) evidence.add(allocator.text, allocator.facts.source);
            addMemoryEvidence(lines, evidence);
          }
          if (ownRank !== null) addOtherRanksEvidence(reserves, total, evidence);
          if (driver !== null) addDriverEvidence(driver, evidence);
          if (monitor !== null) addMonitorEvidence(runId, monitor, evidence);
          if (saving !== null) evidence.add(saving.text, saving.source);
        },
      };
    },
  };
}

/** Owners named in one line; the verb `nsys` lists all. */
const MOST_OWNERS = 4;

/** What a profile of the driver shows: failed calls, retries, and the owners of the memory outside PyTorch. */
function addDriverEvidence(
  { outside, moment, failed, retries, retryNs, source }: DriverMemory,
  evidence: EvidenceLog,
): void {
  if (failed.length > 0) {
    const calls = failed
      .map(({ api, count }) => `${api}${count === 1 ? '' : ` (${formatCount(count)} times)`}`)
      .join(', ');
    const tried =
      retries === 0
        ? ''
        : `; the allocator emptied its cache to try again ${retries === 1 ? 'once' : `${formatCount(retries)} times`}, ${(retryNs / 1e6).toFixed(1)} ms of frees`;
    evidence.add(`the driver refused memory: ${calls}${tried}`, source);
  }
  if (outside.length === 0) return;
  const sum = outside.reduce((bytes, share) => bytes + share.bytes, 0);
  const named = outside
    .slice(0, MOST_OWNERS)
    .map(({ owner, bytes }) => `${DRIVER_OWNER_WORDS[owner]} ${formatBytes(bytes)}`);
  const remainingOwners = outside.length - named.length;
  const when = moment === 'oom' ? 'when it failed' : "at the driver's peak";
  const words = `${named.join(', ')}${remainingOwners === 0 ? '' : ` and ${remainingOwners} more`}`;
  evidence.add(`outside PyTorch the profiler saw ${formatBytes(sum)} ${when}: ${words}`, source);
}

const HOST_WORDS: Readonly<Record<string, (bytes: string) => string>> = {
  host_limit: (bytes) => `may use ${bytes} of host memory`,
  host_used: (bytes) => `${bytes} of the host in use at most`,
  process_rss: (bytes) => `resident at most ${bytes}`,
  process_max_rss: (bytes) => `resident at most ${bytes}`,
};

/** Limits first, then who came near them. These are samples: the last moment may be missing. */
function addHostMemoryEvidence(
  runId: number,
  rows: readonly QueryRow<'outside.host_memory'>[],
  evidence: EvidenceLog,
): void {
  for (const { metric, host, process, bytes, display_path: path, line } of rows) {
    const words = HOST_WORDS[metric]?.(formatBytes(bytes));
    if (words === undefined || bytes === 0) continue;
    const who = process === null ? '' : `${process}: `;
    const where = host === null ? '' : ` on ${host}`;
    const sampled = metric === 'host_limit' ? '' : ' (sampled)';
    evidence.add(
      `${who}${words}${where}${sampled}`,
      { path: path, line: line },
      {
        query: { name: 'outside.host_memory', params: { run_id: runId } },
      },
    );
  }
}

/** A change of memory outside PyTorch large enough to report. */
const OUTSIDE_CHANGE_BYTES = GIB / 2;

/** What was sampled of the device: in use at the failure, other processes, how the part outside PyTorch moved. */
function addMonitorEvidence(runId: number, monitor: MonitorFacts, evidence: EvidenceLog): void {
  const { usedBytes, moment, usedOfBytes, others, outsideFirstBytes: first, outsideLastBytes: last, source } = monitor;
  const when = moment === 'failure' ? 'when it failed' : 'in the largest sample, which may have missed the peak';
  const all = usedOfBytes === null ? '' : ` of ${formatBytes(usedOfBytes)}`;
  const change =
    first === null || last === null || Math.abs(last - first) < OUTSIDE_CHANGE_BYTES
      ? ''
      : `; outside PyTorch ${formatBytes(first)} at first and ${formatBytes(last)} at last`;
  evidence.add(`the device had ${formatBytes(usedBytes)}${all} in use ${when}${change}`, source, {
    query: { name: 'outside.monitors', params: { run_id: runId } },
  });
  const [most] = others ?? [];
  if (most === undefined || others === null) return;
  const sum = others.reduce((bytes, process) => bytes + process.bytes, 0);
  const who = `pid ${most.pid ?? 'unknown'}${most.process === null ? '' : ` ${most.process}`}`;
  const more = others.length === 1 ? '' : `, largest of ${formatCount(others.length)}`;
  evidence.add(
    `other processes on this device held ${formatBytes(sum)} when last seen: ${who}${more}`,
    monitor.othersSource ?? monitor.totalSource,
    { query: { name: 'outside.processes', params: { run_id: runId } } },
  );
}

interface Reserves {
  readonly ranks: number;
  /** The row with the largest. */
  readonly most: MemoryRow | undefined;
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
): { readonly facts: AllocatorFacts; readonly text: string } | null {
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
  const set = found.value === null ? 'unset' : `set to ${JSON.stringify(found.value)}`;
  const trouble = problems.length === 0 ? '' : `; torch refuses it: ${problems[0]}`;
  const source = { path: found.display_path, line: found.line };
  return {
    facts: { expandableSegments: settings.expandableSegments, maxSplitBytes: settings.maxSplitBytes, source },
    text: `${found.key} is ${set} (${found.origin}): expandable segments ${settings.expandableSegments ? 'on' : 'off'}${trouble}`,
  };
}

/** The rank's own last memory line: what it held before it failed, and signs of memory pressure in it. */
function addMemoryEvidence(lines: ReadonlyMap<string, MemoryRow>, evidence: EvidenceLog): void {
  const reserved = lines.get('max_reserved') ?? lines.get('reserved');
  const allocated = lines.get('max_allocated') ?? lines.get('allocated');
  const shown = reserved ?? allocated;
  if (shown === undefined) return;
  const parts: string[] = [];
  if (allocated?.last_bytes != null) parts.push(`peak allocated ${formatBytes(allocated.last_bytes)}`);
  if (reserved?.last_bytes != null) parts.push(`peak reserved ${formatBytes(reserved.last_bytes)}`);
  const split = lines.get('inactive_split');
  if (split?.last_bytes != null && split.last_bytes > 0)
    parts.push(`${formatBytes(split.last_bytes)} in unusable remainders of split blocks`);
  const when = shown.last_iteration === null ? '' : ` (iteration ${formatCount(shown.last_iteration)})`;
  const source = { path: shown.display_path, line: shown.line };
  if (parts.length > 0) evidence.add(`last memory line before it${when}: ${parts.join(', ')}`, source);
  const retries = lines.get('alloc_retries');
  if (retries !== undefined && retries.max_value > 0) {
    const times = retries.max_value === 1 ? 'once' : `${formatCount(retries.max_value)} times`;
    evidence.add(
      `the driver had refused memory ${times} before and the cache was flushed (allocation retries): near its limit already`,
      { path: retries.display_path, line: retries.line },
    );
  }
}

/** Headroom elsewhere: if one rank fails while others have free memory, the model does not exceed every device. */
function addOtherRanksEvidence({ ranks: count, most }: Reserves, total: Figure | null, evidence: EvidenceLog): void {
  if (most === undefined) return;
  const headroom = total === null ? '' : `, ${formatBytes(total.bytes - most.max_bytes!)} below the device's total`;
  const who = count === 1 ? `rank ${most.rank}` : `${formatCount(count)} other ranks (most: rank ${most.rank})`;
  evidence.add(`elsewhere: ${who} reserved at most ${formatBytes(most.max_bytes!)}${headroom}`, {
    path: most.display_path,
    line: most.line,
  });
}
