/** What the rest of a run adds to a failure as evidence: driver, monitors, memory lines, the other ranks. */
import { sumOf } from '../../model/lists.js';
import { type Item, known, named } from '../../model/statement.js';
import { GIB } from '../../model/units.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { DriverMemory } from '../nsys/run-memory.js';
import type { MonitorFacts } from '../outside/monitor-facts.js';
import type { EvidenceLog, OomFacts } from './facts.js';
import type { MemoryRow } from './memory-lines.js';

/** What a profile of the driver shows: failed calls, retries, and the owners of the memory outside PyTorch. */
export function addDriverEvidence(driver: DriverMemory, evidence: EvidenceLog): void {
  const { outside, moment, failed, retries, retryNs, source } = driver;
  if (failed.length > 0)
    evidence.add('refused_calls', source, {
      numbers: { retries, retry_ms: retryNs / 1e6 },
      items: failed.map(({ api, count }) => ({ name: api, numbers: { times: count } })),
    });
  if (outside.length > 0) evidence.add('profiled_outside', source, { names: { moment }, items: ownersOf(outside) });
}

/** Owners of memory at the driver, as the items of a statement. */
export function ownersOf(shares: readonly { readonly owner: string; readonly bytes: number }[]): Item[] {
  return shares.map(({ owner, bytes }) => ({ name: owner, numbers: { bytes } }));
}

const HOST_METRICS: ReadonlySet<string> = new Set(['host_limit', 'host_used', 'process_rss', 'process_max_rss']);

/** Limits first, then who came near them. These are samples: the last moment may be missing. */
export function addHostMemoryEvidence(
  runId: number,
  rows: readonly QueryRow<'outside.host_memory'>[],
  evidence: EvidenceLog,
): void {
  for (const { metric, host, process, bytes, display_path: path, line } of rows) {
    if (!HOST_METRICS.has(metric) || bytes === 0) continue;
    const query = { name: 'outside.host_memory', params: { run_id: runId } };
    evidence.add('host_memory', { path, line }, { numbers: { bytes }, names: named({ metric, host, process }), query });
  }
}

/** A change of memory outside PyTorch large enough to report. */
const OUTSIDE_CHANGE_BYTES = GIB / 2;

/** What was sampled of the device: in use at the failure, other processes, how the part outside PyTorch moved. */
export function addMonitorEvidence(runId: number, monitor: MonitorFacts, evidence: EvidenceLog): void {
  const { usedBytes, moment, usedOfBytes, others, outsideFirstBytes: first, outsideLastBytes: last, source } = monitor;
  const hasMoved = first !== null && last !== null && Math.abs(last - first) >= OUTSIDE_CHANGE_BYTES;
  evidence.add('device_in_use', source, {
    numbers: known({
      used_bytes: usedBytes,
      total_bytes: usedOfBytes,
      ...(hasMoved ? { first_outside_bytes: first, last_outside_bytes: last } : {}),
    }),
    names: { moment },
    query: { name: 'outside.monitors', params: { run_id: runId } },
  });
  if (others === null || others.length === 0) return;
  evidence.add('other_process_samples', monitor.othersSource ?? monitor.totalSource, {
    numbers: { held_bytes: sumOf(others.map(({ bytes }) => bytes)) },
    items: processesOf(others),
    query: { name: 'outside.processes', params: { run_id: runId } },
  });
}

/** Processes as the items of a statement. */
export function processesOf(processes: NonNullable<MonitorFacts['others']>): Item[] {
  return processes.map(({ pid, process, bytes }) => ({ name: process, numbers: known({ pid, bytes }) }));
}

/** The rank's own last memory line: what it held before it failed, and signs of memory pressure in it. */
export function addMemoryEvidence(lines: ReadonlyMap<string, MemoryRow>, evidence: EvidenceLog): void {
  const reserved = lines.get('max_reserved') ?? lines.get('reserved');
  const allocated = lines.get('max_allocated') ?? lines.get('allocated');
  const shown = reserved ?? allocated;
  if (shown === undefined) return;
  const figures = known({
    peak_allocated_bytes: allocated?.last_bytes,
    peak_reserved_bytes: reserved?.last_bytes,
    inactive_split_bytes: lines.get('inactive_split')?.last_bytes || null,
  });
  if (Object.keys(figures).length > 0)
    evidence.add('memory_line', placeOf(shown), {
      numbers: { ...known({ iteration: shown.last_iteration }), ...figures },
    });
  const retries = lines.get('alloc_retries');
  if (retries !== undefined && retries.max_value > 0)
    evidence.add('allocation_retries', placeOf(retries), { numbers: { times: retries.max_value } });
}

/** Headroom elsewhere: if one rank fails while others have free memory, the model does not exceed every device. */
export function addOtherRanksEvidence(facts: OomFacts, evidence: EvidenceLog): void {
  const { others_reserved_path: path, others_reserved_line: line, others_reserved_bytes: reserved_bytes } = facts;
  if (path === null) return;
  const headroom_bytes = facts.total_bytes === null ? null : facts.total_bytes - reserved_bytes!;
  const ranks = facts.other_ranks ?? 0;
  const numbers = known({ ranks, rank: facts.others_reserved_rank, reserved_bytes, headroom_bytes });
  evidence.add('other_ranks', { path, line: line! }, { numbers });
}

function placeOf({ display_path: path, line }: Pick<MemoryRow, 'display_path' | 'line'>) {
  return { path, line };
}
