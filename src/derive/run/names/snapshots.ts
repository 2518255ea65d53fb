/** The snapshots of a store, and what ingest noted of their files. */
import { pick } from '../../../model/pick.js';
import type { NoteResult } from '../../../model/results/common.js';
import type { Store } from '../../../store/store.js';

/** Which snapshots a verb is about; both unset: all of the store. */
export interface SnapshotFilter {
  readonly runId?: number | undefined;
  readonly handle?: string | undefined;
}

export async function listSnapshots(store: Store, filter: SnapshotFilter) {
  return store.all('snapshot.list', { run_id: filter.runId ?? null, handle: filter.handle ?? null });
}

export async function readNotes(store: Store, sourceId: number): Promise<NoteResult[]> {
  return (await notesOf(store, [sourceId]))[0]!;
}

/** Of each source. */
export async function notesOf(store: Store, sourceIds: readonly number[]): Promise<NoteResult[][]> {
  const keys = sourceIds.map((source_id) => ({ source_id }));
  return (await store.allOf('store.notes', keys)).map((notes) =>
    notes.map((note) => ({
      ...pick(note, ['kind', 'severity', 'text', 'count', 'device', 'seq']),
      offset: note.byte_offset,
      line: note.line,
    })),
  );
}
