/** What the rest of a run shows beside a failure, as evidence: driver, monitors, memory lines, the other ranks. */
import { DRIVER_OWNER_WORDS } from '../../model/results/nsys.js';
import { formatBytes, formatCount, GIB } from '../../model/units.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { DriverMemory } from '../nsys/run-memory.js';
import type { MonitorFacts } from '../outside/monitor-facts.js';
import type { EvidenceLog, Figure } from './facts.js';
import type { MemoryRow } from './memory-lines.js';

/** What other ranks reserved at most. */
export interface Reserves {
  readonly ranks: number;
  /** The row with the largest. */
  readonly most: MemoryRow | undefined;
}

/** Owners named in one line; the verb `nsys` lists all. */
const MOST_OWNERS = 4;

/** What a profile of the driver shows: failed calls, retries, and the owners of the memory outside PyTorch. */
export function addDriverEvidence(
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
export function addHostMemoryEvidence(
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
export function addMonitorEvidence(runId: number, monitor: MonitorFacts, evidence: EvidenceLog): void {
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

/** The rank's own last memory line: what it held before it failed, and signs of memory pressure in it. */
export function addMemoryEvidence(lines: ReadonlyMap<string, MemoryRow>, evidence: EvidenceLog): void {
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
export function addOtherRanksEvidence({ ranks: count, most }: Reserves, total: Figure | null, evidence: EvidenceLog): void {
  if (most === undefined) return;
  const headroom = total === null ? '' : `, ${formatBytes(total.bytes - most.max_bytes!)} below the device's total`;
  const who = count === 1 ? `rank ${most.rank}` : `${formatCount(count)} other ranks (most: rank ${most.rank})`;
  evidence.add(`elsewhere: ${who} reserved at most ${formatBytes(most.max_bytes!)}${headroom}`, {
    path: most.display_path,
    line: most.line,
  });
}
