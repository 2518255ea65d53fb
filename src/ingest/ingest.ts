/**
 * `mbforensics ingest`: paths → runs → files → rows. One transaction a file, so that whatever happens the store holds whole sources only,
 * and a second ingest goes on where the first was cut off.
 */
import { basename } from 'node:path';
import { MbfError } from '../model/errors.js';
import type { Dictionary, ParseContext, ParserSpec, RowSink } from '../model/parser.js';
import type { Failure, IngestResult, IngestSource, NoteResult } from '../model/results.js';
import type { IncidentRow, Note } from '../model/tables.js';
import type { Store } from '../store/store.js';
import { hashFile, type OpenedSource, openByteSource } from './byte-source.js';
import { decodeInThread, decodesInThread } from './decode-in-thread.js';
import { type Detection, detect } from './detect.js';
import { type Candidate, discover } from './discover.js';
import { rankFromName } from './rank-from-name.js';
import { freeName, planRuns, type RunPlan } from './run-names.js';
import { SnapshotWriter } from './snapshot-writer.js';
import { insertIncidents, insertNotes, NoteFolder, removeSource } from './source-rows.js';
import { StoreDictionary } from './store-dictionary.js';

/** Raise when a parser reads the same bytes differently: unchanged files are then read again. */
export const PARSER_VERSION = 1;
/** Incidents kept per source; a log that repeats one line a million times says nothing more. */
const MAX_INCIDENTS = 100_000;

export interface IngestOptions {
  readonly store: Store;
  readonly parsers: readonly ParserSpec[];
  readonly paths: readonly string[];
  readonly run?: string | undefined;
  readonly label?: string | undefined;
  readonly commit?: string | undefined;
  readonly each?: boolean | undefined;
  /** Add every parser's claim to the result. */
  readonly explain?: boolean | undefined;
  /** Time of this ingest; the caller's clock, so that tests can hold it. */
  readonly now: Date;
  readonly progress?: ((file: string, bytesRead: number, bytesTotal: number) => void) | undefined;
}

interface RunRow {
  readonly runId: number;
  readonly name: string;
  readonly label: string | null;
  readonly commit: string | null;
}

export async function ingest(options: IngestOptions): Promise<IngestResult> {
  const { store } = options;
  const plans = await planRuns(options.paths, options);
  const session = new Session(options);
  const runs: IngestResult['runs'][number][] = [];
  const sources: IngestSource[] = [];
  for (const plan of plans) {
    const discovery = await discover(plan.paths, { exclude: [store.file, `${store.file}.wal`] });
    const run = await session.openRun(plan);
    runs.push({ name: run.name, label: run.label, commit: run.commit, path: plan.rootPath });
    for (const failed of discovery.failed) {
      sources.push(
        blank(run, failed.displayPath, { status: 'failed', error: asFailure(failed.error.inFile(failed.displayPath)) }),
      );
    }
    for (const candidate of discovery.candidates) sources.push(await session.file(run, candidate));
    for (const skipped of discovery.skipped) {
      const note: NoteResult = {
        kind: skipped.rule,
        severity: 'info',
        text: skipped.why,
        count: skipped.count,
        device: null,
        seq: null,
        offset: null,
        line: null,
      };
      sources.push(blank(run, skipped.examples[0] ?? skipped.root, { status: 'skipped', notes: [note] }));
    }
  }
  await store.checkpoint();
  return { schema: 'mbforensics/ingest@1', db: store.file, runs, sources };
}

function blank(run: RunRow, path: string, rest: Partial<IngestSource> & Pick<IngestSource, 'status'>): IngestSource {
  return { run: run.name, path, format: null, rank: null, notes: [], error: null, ...rest };
}

export function asFailure(error: MbfError): Failure {
  return { code: error.code, text: error.describe(), remedy: error.remedy, offset: error.place.offset ?? null };
}

/** One call of ingest: what is shared between its files. */
class Session {
  private readonly options: IngestOptions;
  private readonly store: Store;
  private readonly dictionary: StoreDictionary;
  private readonly now: Date;

  constructor(options: IngestOptions) {
    this.options = options;
    this.store = options.store;
    this.dictionary = new StoreDictionary(options.store);
    this.now = options.now;
  }

  /** The row of a run, made if new; label and commit are updated if given. */
  async openRun(plan: RunPlan): Promise<RunRow> {
    const { store, options, now } = this;
    return store.transaction(async () => {
      const text = (value: unknown): string | null => (value === null ? null : String(value));
      const known = (await store.select('SELECT run_id, name, root_path, label, commit_sha FROM run')).map((row) => ({
        runId: Number(row['run_id']),
        name: String(row['name']),
        root: String(row['root_path']),
        label: text(row['label']),
        commit: text(row['commit_sha']),
      }));
      const same = known.find((run) => (plan.named ? run.name === plan.name : run.root === plan.rootPath));
      if (same !== undefined) {
        await store.run(
          `UPDATE run SET touched_at = $now, label = coalesce($label, label), commit_sha = coalesce($commit, commit_sha) WHERE run_id = $run_id`,
          { now, label: options.label ?? null, commit: options.commit ?? null, run_id: same.runId },
        );
        return {
          runId: same.runId,
          name: same.name,
          label: options.label ?? same.label,
          commit: options.commit ?? same.commit,
        };
      }
      const name = plan.named
        ? plan.name
        : freeName(plan.name, plan.rootPath, (wanted) => known.some((run) => run.name === wanted));
      const runId = Math.max(0, ...known.map((run) => run.runId)) + 1;
      await store.insertRows('run', [
        {
          run_id: runId,
          name,
          label: options.label ?? null,
          commit_sha: options.commit ?? null,
          root_path: plan.rootPath,
          created_at: now,
          touched_at: now,
        },
      ]);
      // Restarts inside a run are found in logs; until a log says more, a run is one launch.
      await store.insertRows('attempt', [{ run_id: runId, attempt: 1, origin: 'assumed' }]);
      return { runId, name, label: options.label ?? null, commit: options.commit ?? null };
    });
  }

  async file(run: RunRow, candidate: Candidate): Promise<IngestSource> {
    const known = await this.knownSource(run, candidate);
    if (known?.status === 'ingested' && known.bytes === candidate.sizeBytes && known.parserVersion === PARSER_VERSION) {
      const sha256 = await hashFile(candidate.path).catch(() => undefined);
      if (sha256 === known.sha256) {
        const notes = await this.storedNotes(known.sourceId);
        return {
          ...blank(run, candidate.displayPath, { status: 'unchanged' }),
          format: known.format,
          rank: known.rank,
          notes,
        };
      }
    }
    let opened: OpenedSource;
    try {
      opened = await openByteSource(candidate.path);
    } catch (error) {
      return this.failed(run, candidate, known?.sourceId, inputError(error), undefined, [], undefined);
    }
    try {
      return await this.opened(run, candidate, known?.sourceId, opened);
    } finally {
      await opened.close();
    }
  }

  private async opened(
    run: RunRow,
    candidate: Candidate,
    oldId: number | undefined,
    opened: OpenedSource,
  ): Promise<IngestSource> {
    let detection: Detection;
    try {
      const name = basename(candidate.path).replace(/\.gz$/i, '');
      const head = { bytes: await opened.head(), name, sizeBytes: candidate.sizeBytes };
      detection = detect(this.options.parsers, head, { isNamed: candidate.isNamed });
    } catch (error) {
      return this.failed(run, candidate, oldId, inputError(error), undefined, [], await sha256Of(opened));
    }
    const claims = detection.claims.map((claim) => ({ parser: claim.parser.id, score: claim.score, why: claim.why }));
    const explained = this.options.explain === true ? { detection: claims } : {};
    if (detection.status !== 'recognised') {
      if (detection.status === 'skipped') {
        return {
          ...blank(run, candidate.displayPath, { status: 'skipped', error: asFailure(detection.error) }),
          ...explained,
        };
      }
      return {
        ...(await this.failed(run, candidate, oldId, detection.error, undefined, [], await sha256Of(opened))),
        ...explained,
      };
    }
    const notes = new NoteFolder();
    try {
      return { ...(await this.parse(run, candidate, oldId, opened, detection.parser, notes)), ...explained };
    } catch (error) {
      this.dictionary.reset();
      const input = inputError(error);
      if (input.kind !== 'input') throw input;
      const sha256 = await sha256Of(opened);
      return {
        ...(await this.failed(run, candidate, oldId, input, detection.parser, notes.list(), sha256)),
        ...explained,
      };
    }
  }

  /** Parses one file inside one transaction; throws after undoing everything. */
  private async parse(
    run: RunRow,
    candidate: Candidate,
    oldId: number | undefined,
    opened: OpenedSource,
    parser: ParserSpec,
    notes: NoteFolder,
  ): Promise<IngestSource> {
    const { store, options } = this;
    // A named file's display path is its base name; directory rules (`rank_3/trace.pickle`) need the real one.
    const fromName = rankFromName(candidate.isNamed ? candidate.path : candidate.displayPath);
    return store.transaction(async () => {
      if (oldId !== undefined) await removeSource(store, oldId);
      const sourceId = await this.nextId('source', 'source_id');
      const writers: SnapshotWriter[] = [];
      const incidents: IncidentRow[] = [];
      let droppedIncidents = 0;
      const sink: RowSink = {
        note: (note) => notes.add(note),
        incident: (row) => {
          if (incidents.length < MAX_INCIDENTS) incidents.push(row);
          else droppedIncidents += 1;
        },
        snapshot: async (dictionary: Dictionary) => {
          const rank = fromName?.rank ?? null;
          const identity = {
            snapshotId: (await this.nextId('snapshot', 'snapshot_id')) + writers.length,
            sourceId,
            runId: run.runId,
            rank,
            handle: await this.handle(run, rank, writers.length),
          };
          const writer = await SnapshotWriter.open(store, this.dictionary, identity, dictionary);
          writers.push(writer);
          return writer;
        },
      };
      const progress = options.progress;
      const context: ParseContext = {
        name: basename(candidate.path),
        progress:
          progress === undefined ? undefined : (bytes) => progress(candidate.displayPath, bytes, candidate.sizeBytes),
      };
      const { summary, sha256 } = decodesInThread(opened.sizeBytes)
        ? await decodeInThread(
            { path: candidate.path, parser: parser.id, sizeBytes: opened.sizeBytes, mtimeMs: opened.mtimeMs },
            sink,
            context,
          )
        : { summary: await parser.parse(opened.source, sink, context), sha256: await opened.finish() };
      for (const writer of writers) for (const note of await writer.finish(notes.list())) notes.add(note);
      if (droppedIncidents > 0) {
        const text = `more than ${MAX_INCIDENTS} failure lines; the rest is counted, not kept`;
        notes.add({ kind: 'incidents_dropped', severity: 'warning', text, count: droppedIncidents });
      }
      await insertIncidents(store, sourceId, incidents);
      const rank = summary.rank ?? fromName?.rank ?? null;
      const origin =
        summary.rank !== null
          ? summary.rankOrigin
          : fromName === undefined
            ? null
            : `name:${fromName.rule}${fromName.scope === 'local' ? ' (local rank)' : ''}`;
      const folded = notes.list();
      await this.insertSource(run, candidate, {
        sourceId,
        parser,
        status: 'ingested',
        sha256,
        rank,
        origin,
        error: null,
      });
      await insertNotes(store, sourceId, folded);
      return {
        ...blank(run, candidate.displayPath, { status: 'ingested' }),
        format: parser.id,
        rank,
        notes: folded.map(noteResult),
      };
    });
  }

  /** Keeps one row that says what failed, and no data. */
  private async failed(
    run: RunRow,
    candidate: Candidate,
    oldId: number | undefined,
    error: MbfError,
    parser: ParserSpec | undefined,
    notes: readonly (Note & { readonly count: number })[],
    sha256: string | undefined,
  ): Promise<IngestSource> {
    const { store } = this;
    await store.transaction(async () => {
      if (oldId !== undefined) await removeSource(store, oldId);
      const sourceId = await this.nextId('source', 'source_id');
      await this.insertSource(run, candidate, {
        sourceId,
        parser,
        status: 'failed',
        sha256: sha256 ?? null,
        rank: null,
        origin: null,
        error,
      });
      await insertNotes(store, sourceId, notes);
    });
    const failure = asFailure(error.inFile(candidate.displayPath));
    return {
      ...blank(run, candidate.displayPath, { status: 'failed', error: failure }),
      format: parser?.id ?? null,
      notes: notes.map(noteResult),
    };
  }

  private async insertSource(
    run: RunRow,
    candidate: Candidate,
    row: {
      readonly sourceId: number;
      readonly parser: ParserSpec | undefined;
      readonly status: 'ingested' | 'failed';
      readonly sha256: string | null;
      readonly rank: number | null;
      readonly origin: string | null;
      readonly error: MbfError | null;
    },
  ): Promise<void> {
    await this.store.insertRows('source', [
      {
        source_id: row.sourceId,
        run_id: run.runId,
        attempt: 1,
        path: candidate.path,
        display_path: candidate.displayPath,
        format: row.parser?.id ?? null,
        status: row.status,
        file_bytes: candidate.sizeBytes,
        sha256: row.sha256,
        parser_version: PARSER_VERSION,
        rank: row.rank,
        rank_origin: row.origin,
        error_code: row.error?.code ?? null,
        error_text: row.error?.inFile(candidate.displayPath).describe() ?? null,
        error_offset: row.error?.place.offset ?? null,
        ingested_at: this.now,
      },
    ]);
  }

  private async knownSource(run: RunRow, candidate: Candidate) {
    const [row] = await this.store.select(
      'SELECT source_id, status, file_bytes, sha256, parser_version, format, rank FROM source WHERE run_id = $run_id AND path = $path',
      { run_id: run.runId, path: candidate.path },
    );
    if (row === undefined) return undefined;
    return {
      sourceId: Number(row['source_id']),
      status: String(row['status']),
      bytes: Number(row['file_bytes']),
      sha256: row['sha256'] === null ? undefined : String(row['sha256']),
      parserVersion: Number(row['parser_version']),
      format: row['format'] === null ? null : String(row['format']),
      rank: row['rank'] === null ? null : Number(row['rank']),
    };
  }

  private async storedNotes(sourceId: number): Promise<NoteResult[]> {
    return (await this.store.all('store.notes', { source_id: sourceId })).map(
      ({ byte_offset, source_id: _, ...note }) => ({ ...note, offset: byte_offset }),
    );
  }

  private async nextId(table: string, column: string): Promise<number> {
    const [row] = await this.store.select(`SELECT coalesce(max(${column}), 0) + 1 AS next FROM ${table}`);
    return Number(row!['next']);
  }

  /** `run/rank/snapshot#n`, counted per rank of a run; `-` where the rank is unknown. */
  private async handle(run: RunRow, rank: number | null, earlier: number): Promise<string> {
    const prefix = `${run.name}/${rank ?? '-'}/snapshot#`;
    const taken = new Set(
      (await this.store.select('SELECT handle FROM snapshot WHERE run_id = $run_id', { run_id: run.runId })).map(
        (row) => String(row['handle']),
      ),
    );
    let n = 1 + earlier;
    while (taken.has(`${prefix}${n}`)) n += 1;
    return `${prefix}${n}`;
  }
}

function noteResult(note: Note & { readonly count: number }): NoteResult {
  return {
    kind: note.kind,
    severity: note.severity,
    text: note.text,
    count: note.count,
    device: note.device ?? null,
    seq: note.seq ?? null,
    offset: note.offset ?? null,
    line: note.line ?? null,
  };
}

/** Errors of the input pass; anything else is a bug or the store's, and ends the ingest. */
function inputError(error: unknown): MbfError {
  if (error instanceof MbfError) return error;
  throw error;
}

/** Above this a failed file is not read to its end: somebody named a 100 GB checkpoint, and the error is already known. */
const MAX_HASHED_FAILURE_BYTES = 256 * 1024 * 1024;

/** The hash of a file that failed, as a fact for the reader; unknown if it is huge or cannot even be read. */
async function sha256Of(opened: OpenedSource): Promise<string | undefined> {
  if (opened.sizeBytes > MAX_HASHED_FAILURE_BYTES) return undefined;
  try {
    return await opened.finish();
  } catch {
    return undefined;
  }
}
