/**
 * What a store has already, read once and counted on in memory while an ingest writes: numbers to give out, the sources
 * and handles of its run.
 */
import { getOrAdd } from '../../model/group-by.js';
import type { NoteResult } from '../../model/results/common.js';
import type { Store } from '../../store/store.js';
import type { KnownBytes } from '../read/file-digest.js';

export interface KnownSource extends KnownBytes {
  readonly sourceId: number;
  readonly status: string;
  readonly bytes: number;
  readonly parserVersion: number;
  readonly format: string | null;
  readonly rank: number | null;
  /** Of one that this ingest wrote; those of others are read when they are wanted. */
  readonly notes?: readonly NoteResult[];
}

const text = (value: unknown): string | null => (value === null ? null : String(value));
const number = (value: unknown): number | null => (value === null ? null : Number(value));

/** Tables whose rows are numbered from 1. */
export type Numbered = 'source' | 'snapshot' | 'incident';

interface KnownRun {
  readonly sources: Map<string, KnownSource>;
  /** Of snapshots, with their sources. */
  readonly handles: Map<string, number>;
}

export class Known {
  private readonly store: Store;
  private last: Record<Numbered, number> | undefined;
  private readonly runs = new Map<number, Promise<KnownRun>>();
  private readonly notesOfRuns = new Map<number, Promise<Map<number, NoteResult[]>>>();

  constructor(store: Store) {
    this.store = store;
  }

  /** After a rollback: what was given out since the last commit is free again. */
  reset(): void {
    this.last = undefined;
    this.runs.clear();
  }

  /** After the rows of a source were removed. */
  async remove(runId: number, path: string, sourceId: number): Promise<void> {
    this.last = undefined;
    const { sources, handles } = await this.run(runId, false);
    sources.delete(path);
    for (const [handle, of] of handles) if (of === sourceId) handles.delete(handle);
  }

  /** The next number; it is taken once {@link use}d. */
  async next(table: Numbered): Promise<number> {
    return (await this.lasts())[table] + 1;
  }

  async use(table: Numbered, count: number): Promise<void> {
    (await this.lasts())[table] += count;
  }

  private async lasts(): Promise<Record<Numbered, number>> {
    if (this.last === undefined) {
      const [row] = await this.store.select(
        `SELECT coalesce((SELECT max(source_id) FROM source), 0) AS source,
           coalesce((SELECT max(snapshot_id) FROM snapshot), 0) AS snapshot,
           coalesce((SELECT max(incident_id) FROM incident), 0) AS incident`,
      );
      const { source, snapshot, incident } = row!;
      this.last = { source: Number(source), snapshot: Number(snapshot), incident: Number(incident) };
    }
    return this.last;
  }

  /** By path. `isNew`: the run is without sources. */
  async sources(runId: number, isNew: boolean): Promise<Map<string, KnownSource>> {
    return (await this.run(runId, isNew)).sources;
  }

  async handles(runId: number, isNew: boolean): Promise<Map<string, number>> {
    return (await this.run(runId, isNew)).handles;
  }

  private run(runId: number, isNew: boolean): Promise<KnownRun> {
    return getOrAdd(this.runs, runId, () =>
      isNew ? Promise.resolve({ sources: new Map(), handles: new Map<string, number>() }) : this.readRun(runId),
    );
  }

  private async readRun(runId: number): Promise<KnownRun> {
    const ofRun = { run_id: runId };
    const sources = await this.store.select(
      `SELECT source_id, path, status, file_bytes, sha256, sample_sha256, modified_us, parser_version, format, rank
       FROM source WHERE run_id = $run_id ORDER BY source_id DESC`,
      ofRun,
    );
    const handles = await this.store.select('SELECT handle, source_id FROM snapshot WHERE run_id = $run_id', ofRun);
    return {
      sources: new Map(
        sources.map((row) => [
          String(row['path']),
          {
            sourceId: Number(row['source_id']),
            status: String(row['status']),
            bytes: Number(row['file_bytes']),
            sha256: text(row['sha256']),
            sample_sha256: text(row['sample_sha256']),
            modified_us: number(row['modified_us']),
            parserVersion: Number(row['parser_version']),
            format: text(row['format']),
            rank: number(row['rank']),
          },
        ]),
      ),
      handles: new Map(handles.map((row) => [String(row['handle']), Number(row['source_id'])])),
    };
  }

  async notes(runId: number, { sourceId, notes: written }: KnownSource): Promise<readonly NoteResult[]> {
    if (written !== undefined) return written;
    const notes = await getOrAdd(this.notesOfRuns, runId, () => this.readNotes(runId));
    return notes.get(sourceId) ?? [];
  }

  private async readNotes(runId: number): Promise<Map<number, NoteResult[]>> {
    const sources = await this.store.select('SELECT source_id FROM source WHERE run_id = $run_id', { run_id: runId });
    const ids = sources.map((row) => ({ source_id: Number(row['source_id']) }));
    const notes = await this.store.allOf('store.notes', ids);
    return new Map(
      ids.map(({ source_id }, i) => [
        source_id,
        notes[i]!.map(({ byte_offset, source_id: _, ...note }) => ({ ...note, offset: byte_offset })),
      ]),
    );
  }
}
