/** From the place of a statement to the lines that can be shown, and the query that returns its rows. */
import type { Place } from '../../model/place.js';
import type { Evidence, EvidencePlace, EvidenceQuery, Verdict } from '../../model/verdict.js';
import type { Store } from '../../store/store.js';
import { listSnapshots } from '../run/names/snapshots.js';

const BINARY: ReadonlySet<string> = new Set(['tensorboard', 'wandb']);
/** Entries before an OOM in which the allocator's last flush is seen. */
const FLUSH_ENTRIES = 64;

/** The files of a run by the names that sources use. */
export interface Places {
  readonly runId: number;
  readonly paths: ReadonlySet<string>;
  readonly snapshots: ReadonlyMap<string, { readonly snapshotId: number; readonly hasTraces: boolean }>;
}

export async function readPlaces(store: Store, runId: number): Promise<Places> {
  const sources = await store.all('store.sources', { run_id: runId });
  const snapshots = await listSnapshots(store, { runId });
  return {
    runId,
    // A record of a binary file is not a line that can be shown.
    paths: new Set(sources.filter(({ format }) => !BINARY.has(format ?? '')).map((source) => source.display_path)),
    snapshots: new Map(
      snapshots.map((row) => [row.display_path, { snapshotId: row.snapshot_id, hasTraces: row.has_traces }]),
    ),
  };
}

/** What can be shown of a place: undefined for anything other than a readable file of the run. */
function linesOf(place: Place, { paths, snapshots }: Places): EvidencePlace | undefined {
  if (!('path' in place) || !paths.has(place.path)) return undefined;
  if ('line' in place || 'entry' in place) return place;
  return snapshots.has(place.path) ? { path: place.path, entry: null } : { path: place.path, line: 1 };
}

/** The verdict with the place and the query of every evidence entry. */
export function withPlaces(verdict: Verdict, places: Places): Verdict {
  const evidence = verdict.evidence.map((entry): Evidence => {
    const lines = linesOf(entry.place, places);
    if (lines === undefined) return entry;
    const query = entry.query ?? queryOf(entry, lines, verdict, places);
    return { ...entry, lines, ...(query === undefined ? {} : { query }) };
  });
  return { ...verdict, evidence };
}

function queryOf(entry: Evidence, place: EvidencePlace, verdict: Verdict, places: Places): EvidenceQuery | undefined {
  if ('line' in place) {
    // A whole file as source means the memory lines of the rank in it.
    if (!('line' in entry.place))
      return {
        name: 'finding.memory_series',
        params: { run_id: places.runId, rank: verdict.rank, metric: 'allocated' },
      };
    return { name: 'finding.log_line', params: { run_id: places.runId, path: place.path, line: place.line } };
  }
  const snapshot = places.snapshots.get(place.path);
  if (snapshot === undefined || verdict.device === null) return undefined;
  const id = { snapshot_id: snapshot.snapshotId, device: verdict.device };
  if (place.entry === null)
    return snapshot.hasTraces
      ? { name: 'history.summary', params: id }
      : { name: 'snapshot.devices', params: { snapshot_id: snapshot.snapshotId } };
  if (entry.kind === 'whole_step') return { name: 'replay.whole_step', params: id };
  const before = { ...id, at_seq: place.entry - 1 };
  if (entry.about === 'test') {
    if (verdict.cause === 'fragmentation' || verdict.cause === 'graph_pools')
      return { name: 'finding.segments_at', params: before };
    if (verdict.cause === 'capacity' || verdict.cause === 'leak')
      return { name: 'finding.live_stacks', params: before };
    if (verdict.cause === 'synchronisation')
      return {
        name: 'snapshot.last_events',
        params: { ...id, before_seq: place.entry, count: FLUSH_ENTRIES },
      };
  }
  return { name: 'finding.oom_entry', params: { ...id, seq: place.entry } };
}
