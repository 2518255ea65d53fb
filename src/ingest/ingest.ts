/**
 * `mbforensics ingest`: paths → runs → files → rows. One transaction a file, so that whatever happens the store holds
 * whole sources only, and a second ingest goes on where the first was cut off.
 *
 * While one file is written, the next is already being decoded on a second core; and while a new store is being made,
 * so is the first.
 */

import { readdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PARSERS } from '../../parsers/index.js';
import { derive, forgetRuns, loadLabels } from '../derive/derive.js';
import { MbfError } from '../model/errors.js';
import { getOrAdd } from '../model/group-by.js';
import { maxOf, pushAll } from '../model/lists.js';
import type { Dictionary, ParseContext, ParserSpec } from '../model/parser.js';
import { pick } from '../model/pick.js';
import type { IngestResult, IngestSource, NoteResult } from '../model/results/common.js';
import type { IncidentRow, Note } from '../model/tables.js';
import type { Store } from '../store/store.js';
import { asFailure } from './as-failure.js';
import type { DerivedSink } from './derive/derive-snapshot.js';
import { NoteFolder } from './derive/fold-notes.js';
import { type Candidate, discover, NOT_FOLLOWED, type Skipped } from './discover/discover.js';
import { type Examined, examine, type Recognised } from './discover/examine.js';
import { needsSiblings, rankFromName } from './discover/names/rank-from-name.js';
import { freeName, planRuns, type RunPlan } from './discover/names/run-names.js';
import { hashFolder } from './discover/table-folder.js';
import { countAttempts } from './finish/count-attempts.js';
import { PARSER_VERSION } from './parser-version.js';
import { hashFile, type OpenedSource } from './read/byte-source.js';
import type { StackKeys } from './read/content-keys.js';
import { DecodeThread } from './read/decode-in-thread.js';
import { NsysWriter } from './write/nsys-writer.js';
import type { SeenBlocks, SeenSnapshot } from './write/seen-blocks.js';
import { SnapshotWriter } from './write/snapshot-writer.js';
import { insertIncidents, insertNotes, removeSource } from './write/source-rows.js';
import { StoreDictionary } from './write/store-dictionary.js';
import { TextRowWriter } from './write/text-row-writer.js';

/**
 * Lines of JSON that look like an export of Nsight Systems but are not, and texts without a line of a log. A foreign
 * database under the name of an export is a failure, since the user expects an export.
 */
const NOT_OURS: ReadonlySet<string> = new Set(['MBF2704', 'MBF2008']);
/** Names that schedulers, launchers and users give to logs. */
const NAME_OF_LOG =
  /\.(?:log|out|err|txt|std(?:out|err))(?:\.\d+)?(?:\.(?:gz|zst))?$|(?:^|[/_-])(?:slurm|std(?:out|err))[^/]*$/i;
/** A store that is opened while the first file is already being decoded. */
export interface StoreToOpen {
  readonly file: string;
  /** The store does not exist yet, so that all files are unknown. */
  readonly isNew: boolean;
  /** Called once. Closing the store is the caller's. */
  open(): Promise<Store>;
}

export interface IngestOptions {
  readonly store: Store | StoreToOpen;
  /** Default: all. */
  readonly parsers?: readonly ParserSpec[] | undefined;
  readonly paths: readonly string[];
  readonly run?: string | undefined;
  readonly label?: string | undefined;
  readonly commit?: string | undefined;
  readonly each?: boolean | undefined;
  /** Keep every table of an Nsight Systems export. */
  readonly allTables?: boolean | undefined;
  /** Whether links out of a directory are followed. */
  readonly followLinks?: boolean | undefined;
  /** Add every parser's claim to the result. */
  readonly explain?: boolean | undefined;
  /** Nothing is concluded from the rows: for tests of reading. */
  readonly rowsOnly?: boolean | undefined;
  /** Time of this ingest; the caller's clock, so that tests can hold it. */
  readonly now: Date;
  readonly progress?: IngestProgress | undefined;
}

/** Files are named by their display path; sizes are bytes on disk. */
export interface IngestProgress {
  /** More files, of so many bytes, will be read. */
  files(count: number, bytes: number): void;
  read(file: string, bytesRead: number, bytesTotal: number): void;
  done(file: string, bytes: number, status: IngestSource['status']): void;
  /** All files are read; conclusions follow. */
  derive(): void;
}

interface RunRow {
  readonly runId: number;
  readonly name: string;
  readonly label: string | null;
  readonly commit: string | null;
  readonly rootPath: string;
  /** False until its first source is: an ingest that ends early leaves no run without sources. */
  isStored: boolean;
}

export async function ingest(options: IngestOptions): Promise<IngestResult> {
  const { file } = options.store;
  const thread = new DecodeThread();
  let early: Examined | undefined;
  try {
    const plans = await planRuns(options.paths, options);
    let session: Session | undefined;
    const runs: IngestResult['runs'][number][] = [];
    const sources: IngestSource[] = [];
    const written = new Set<number>();
    for (const plan of plans) {
      const { candidates, skipped, failed } = await discover(plan.paths, {
        exclude: [file, `${file}.wal`],
        followLinks: options.followLinks,
      });
      for (const group of skipped) pushAll(sources, skippedSources(plan.name, group));
      // An empty directory makes neither a store nor a run.
      if (candidates.length === 0 && failed.length === 0) continue;
      if (session === undefined) {
        if (candidates[0] !== undefined && 'open' in options.store && options.store.isNew) {
          early = await examine(candidates[0], options.parsers ?? PARSERS, thread, { allTables: options.allTables });
        }
        session = new Session(options, 'open' in options.store ? await options.store.open() : options.store, thread);
      }
      const run = await session.openRun(plan);
      const sizes = candidates.map(({ sizeBytes }) => sizeBytes);
      options.progress?.files(
        sizes.length,
        sizes.reduce((sum, bytes) => sum + bytes, 0),
      );
      runs.push({ name: run.name, label: run.label, commit: run.commit, path: plan.rootPath });
      for (const entry of failed) {
        const error = asFailure(entry.error.inFile(entry.displayPath));
        sources.push(blank(run, entry.displayPath, { status: 'failed', error }));
      }
      let read = 0;
      for await (const begun of session.begin(run, candidates, early)) {
        const source = await session.finish(run, begun);
        sources.push(source);
        options.progress?.done(source.path, sizes[read] ?? 0, source.status);
        read += 1;
      }
      early = undefined;
      if (!run.isStored) continue;
      await countAttempts(session.store, run.runId);
      written.add(run.runId);
    }
    if (session !== undefined) {
      // What the thread holds is as much as labels need.
      await thread.close();
      options.progress?.derive();
      if (options.rowsOnly !== true) await derive(session.store, [...written], { seen: session.seen });
      await session.store.checkpoint();
    }
    return { schema: 'mbforensics/ingest@1', db: file, runs, sources };
  } finally {
    await thread.close();
    await early?.close();
  }
}

/**
 * Files that are skipped by one rule, as one entry with an example. Links that are not followed are named one by one,
 * with a warning: what they lead to may be the run.
 */
function skippedSources(run: string, { rule, why, count, examples, root }: Skipped): IngestSource[] {
  const isLinks = rule === NOT_FOLLOWED;
  const note = (of: number): NoteResult => ({
    kind: rule,
    severity: isLinks ? 'warning' : 'info',
    text: why,
    count: of,
    device: null,
    seq: null,
    offset: null,
    line: null,
  });
  const entry = (path: string, of: number): IngestSource =>
    blank({ name: run }, path, { status: 'skipped', notes: [note(of)] });
  if (!isLinks) return [entry(examples[0] ?? root, count)];
  const last = examples.length - 1;
  return examples.map((link, at) => entry(link, at === last ? count - last : 1));
}

function blank(
  run: Pick<RunRow, 'name'>,
  path: string,
  rest: Partial<IngestSource> & Pick<IngestSource, 'status'>,
): IngestSource {
  return { run: run.name, path, format: null, rank: null, notes: [], error: null, ...rest };
}

/** A file that was looked into, and the source it will replace. */
interface Begun {
  readonly examined: Examined;
  readonly oldId: number | undefined;
}

/** One call of ingest: what is shared between its files. */
class Session {
  readonly store: Store;
  private readonly options: IngestOptions;
  private readonly thread: DecodeThread;
  private readonly dictionary: StoreDictionary;
  private readonly now: Date;
  private readonly namesByDirectory = new Map<string, Promise<string[]>>();
  /** Runs of which nothing is concluded any more. */
  private readonly forgotten = new Set<number>();
  /** With the first snapshot whose blocks will be labelled: the rules take time to load. */
  seen: SeenBlocks | undefined;

  constructor(options: IngestOptions, store: Store, thread: DecodeThread) {
    this.store = store;
    this.options = options;
    this.thread = thread;
    this.dictionary = new StoreDictionary(store);
    this.now = options.now;
  }

  /** A known run, its label and commit updated if given; a new one is stored with its first source. */
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
      const knownRun = known.find((run) => (plan.named ? run.name === plan.name : run.root === plan.rootPath));
      if (knownRun !== undefined) {
        await store.run(
          `UPDATE run SET touched_at = $now, label = coalesce($label, label), commit_sha = coalesce($commit, commit_sha) WHERE run_id = $run_id`,
          { now, label: options.label ?? null, commit: options.commit ?? null, run_id: knownRun.runId },
        );
        return {
          runId: knownRun.runId,
          name: knownRun.name,
          label: options.label ?? knownRun.label,
          commit: options.commit ?? knownRun.commit,
          rootPath: knownRun.root,
          isStored: true,
        };
      }
      const name = plan.named
        ? plan.name
        : freeName(plan.name, plan.rootPath, (wanted) => known.some((run) => run.name === wanted));
      const runId = Math.max(0, maxOf(known.map((run) => run.runId))) + 1;
      const { label = null, commit = null } = options;
      return { runId, name, label, commit, rootPath: plan.rootPath, isStored: false };
    });
  }

  /** A transaction that writes a source of a run. */
  private async writing<T>(run: RunRow, work: () => Promise<T>): Promise<T> {
    const { isStored } = run;
    try {
      return await this.store.transaction(work);
    } catch (error) {
      run.isStored = isStored;
      throw error;
    }
  }

  /**
   * The files in order, each handed out once the next one has been looked into. `early` is the first one, if it has
   * been looked into already.
   */
  async *begin(
    run: RunRow,
    candidates: readonly Candidate[],
    early: Examined | undefined,
  ): AsyncGenerator<Begun | IngestSource, void, void> {
    const held: (Begun | IngestSource)[] = [];
    try {
      const [first, ...others] = candidates;
      if (first !== undefined) held.push(await this.beginOne(run, first, early));
      for (const candidate of others) {
        held.push(await this.beginOne(run, candidate, undefined));
        yield held.shift()!;
      }
      if (held.length > 0) yield held.shift()!;
    } finally {
      for (const begun of held) if ('examined' in begun) await begun.examined.close();
    }
  }

  private async beginOne(
    run: RunRow,
    candidate: Candidate,
    early: Examined | undefined,
  ): Promise<Begun | IngestSource> {
    const known = await this.knownSource(run, candidate);
    const oldId = known?.sourceId;
    if (early !== undefined) return { examined: early, oldId };
    if (
      known?.status === 'ingested' &&
      known.bytes === candidate.sizeBytes &&
      known.parserVersion === PARSER_VERSION &&
      !(this.options.allTables === true && known.format === 'nsys' && !(await this.hasAllTables(known.sourceId)))
    ) {
      const { path, files } = candidate;
      const hash = files === undefined ? hashFile(path) : hashFolder(path, files);
      const sha256 = await hash.catch(() => undefined);
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
    const { parsers = PARSERS, allTables } = this.options;
    return { examined: await examine(candidate, parsers, this.thread, { allTables }), oldId };
  }

  async finish(run: RunRow, begun: Begun | IngestSource): Promise<IngestSource> {
    if (!('examined' in begun)) return begun;
    const { examined, oldId } = begun;
    try {
      const source = await this.settle(run, examined, oldId);
      const { claims } = examined;
      if (this.options.explain !== true || claims === undefined) return source;
      const detection = claims.map((claim) => ({ parser: claim.parser.id, score: claim.score, why: claim.why }));
      return { ...source, detection };
    } finally {
      await examined.close();
    }
  }

  private async settle(run: RunRow, examined: Examined, oldId: number | undefined): Promise<IngestSource> {
    const { candidate } = examined;
    if (examined.status !== 'recognised') {
      if (examined.status === 'skipped') {
        return blank(run, candidate.displayPath, { status: 'skipped', error: asFailure(examined.error) });
      }
      const sha256 = await sha256Of(examined.opened);
      return this.failed(run, candidate, oldId, examined.error, undefined, [], sha256);
    }
    const notes = new NoteFolder();
    try {
      return await this.write(run, examined, oldId, notes);
    } catch (error) {
      this.dictionary.reset();
      this.seen?.reset();
      if (!(error instanceof MbfError) || error.kind !== 'input') throw error;
      // Detected only while reading: another kind of file, not named by the user.
      if (NOT_OURS.has(error.code) && !candidate.isNamed && oldId === undefined) {
        const { displayPath } = candidate;
        return blank(run, displayPath, { status: 'skipped', error: asFailure(error.inFile(displayPath)) });
      }
      const sha256 = await sha256Of(examined.opened);
      return this.failed(run, candidate, oldId, error, examined.parser, notes.list(), sha256);
    }
  }

  /** Names of the entries of its directory, read once: thousands of ranks write into one. */
  private siblingNames(path: string): Promise<string[]> {
    const directory = dirname(path);
    return getOrAdd(this.namesByDirectory, directory, () => readdir(directory).catch(() => []));
  }

  /** Writes one file inside one transaction; throws after undoing everything. */
  private async write(
    run: RunRow,
    { candidate, parser, decode }: Recognised,
    oldId: number | undefined,
    notes: NoteFolder,
  ): Promise<IngestSource> {
    const { store, options } = this;
    // A named file's display path is its base name; directory rules (`rank_3/trace.pickle`) need the real one.
    const namedPath = candidate.isNamed ? candidate.path : candidate.displayPath;
    const fromName = rankFromName(namedPath, needsSiblings(namedPath) ? await this.siblingNames(candidate.path) : []);
    const isNsys = parser.id === 'nsys';
    const writers: SnapshotWriter[] = [];
    const source = await this.writing(run, async (): Promise<IngestSource> => {
      if (oldId !== undefined) await removeSource(store, oldId, { keepsRaw: isNsys });
      // A killed ingest must not leave what was concluded without this file.
      if (run.isStored && !this.forgotten.has(run.runId)) await forgetRuns(store, [run.runId]);
      const sourceId = await this.nextId('source', 'source_id');
      const incidents: IncidentRow[] = [];
      const texts =
        parser.id === 'torch-snapshot' ? undefined : await TextRowWriter.open(store, this.dictionary, sourceId);
      const nsys = isNsys ? await NsysWriter.open(store, sourceId, oldId) : undefined;
      const sink: DerivedSink = {
        note: (note) => notes.add(note),
        incident: (row) => void incidents.push(row),
        textRows: (kind, batch, newTexts) => texts?.textRows(kind, batch, newTexts),
        textRow: (finding, place) => texts?.textRow(finding, place),
        attempt: (row) => texts?.attempt(row),
        nsys,
        snapshot: async (dictionary: Dictionary, keys: StackKeys) => {
          const rank = fromName?.rank ?? null;
          const identity = {
            snapshotId: (await this.nextId('snapshot', 'snapshot_id')) + writers.length,
            sourceId,
            runId: run.runId,
            rank,
            handle: await this.handle(run, rank, writers.length),
            path: namedPath,
          };
          const seen = await this.seenSnapshot(identity.snapshotId);
          const writer = await SnapshotWriter.open(store, this.dictionary, identity, dictionary, keys, seen);
          writers.push(writer);
          return writer;
        },
      };
      const progress = options.progress;
      const context: Pick<ParseContext, 'progress'> = {
        progress:
          progress === undefined
            ? undefined
            : (bytes) => progress.read(candidate.displayPath, bytes, candidate.sizeBytes),
      };
      const { summary, sha256 } = await decode(sink, context);
      for (const writer of writers) for (const note of await writer.finish(notes.list())) notes.add(note);
      await nsys?.finish();
      for (const note of (await texts?.finish()) ?? []) notes.add(note);
      // A text among others, such as a licence or /etc/passwd, is not a log.
      const mayBeOther = parser.id === 'log' && !candidate.isNamed && !NAME_OF_LOG.test(candidate.path);
      if (mayBeOther && texts?.isEmpty === true && incidents.length === 0)
        throw new MbfError('MBF2008', 'has no line of a training log');
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
        source_id: sourceId,
        format: parser.id,
        status: 'ingested',
        sha256,
        rank,
        rank_origin: origin,
        clock: summary.clock ?? null,
      });
      await insertNotes(store, sourceId, folded);
      return {
        ...blank(run, candidate.displayPath, { status: 'ingested' }),
        format: parser.id,
        rank,
        notes: folded.map(noteResult),
      };
    });
    this.forgotten.add(run.runId);
    for (const { seen } of writers) if (seen !== undefined) this.seen?.keep(seen);
    return source;
  }

  private async seenSnapshot(snapshotId: number): Promise<SeenSnapshot | undefined> {
    if (this.options.rowsOnly === true) return undefined;
    const [{ SeenBlocks, SeenSnapshot }] = await Promise.all([import('./write/seen-blocks.js'), loadLabels()]);
    this.seen ??= new SeenBlocks();
    this.seen.forget(snapshotId);
    return new SeenSnapshot(this.seen, snapshotId);
  }

  /** Keeps one row with the error, and no data. */
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
    await this.writing(run, async () => {
      if (oldId !== undefined) await removeSource(store, oldId);
      const sourceId = await this.nextId('source', 'source_id');
      const { code, place } = error;
      await this.insertSource(run, candidate, {
        source_id: sourceId,
        format: parser?.id ?? null,
        status: 'failed',
        sha256: sha256 ?? null,
        error_code: code,
        error_text: asFailure(error.inFile(candidate.displayPath)).text,
        error_offset: place.offset ?? null,
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

  /** With the run, if this is its first source. `values`: the other columns; those that are missing are NULL. */
  private async insertSource(
    run: RunRow,
    candidate: Candidate,
    values: Readonly<Record<string, string | number | null>>,
  ): Promise<void> {
    const { store, now } = this;
    if (!run.isStored) {
      const { runId: run_id, name, label, commit: commit_sha, rootPath: root_path } = run;
      const times = { created_at: now, touched_at: now };
      await store.insertRows('run', [{ run_id, name, label, commit_sha, root_path, ...times }]);
      run.isStored = true;
    }
    await store.insertRows('source', [
      {
        run_id: run.runId,
        attempt: 1,
        path: candidate.path,
        display_path: candidate.displayPath,
        file_bytes: candidate.sizeBytes,
        parser_version: PARSER_VERSION,
        ingested_at: now,
        ...values,
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

  /** Lines of JSON do not contain tables. */
  private async hasAllTables(sourceId: number): Promise<boolean> {
    const [row] = await this.store.select(
      "SELECT has_all_tables OR form = 'jsonlines' AS has FROM nsys_report WHERE source_id = $source_id",
      { source_id: sourceId },
    );
    return row?.['has'] === true;
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
    ...pick(note, ['kind', 'severity', 'text', 'count']),
    device: note.device ?? null,
    seq: note.seq ?? null,
    offset: note.offset ?? null,
    line: note.line ?? null,
  };
}

/** Above this a failed file is not read to its end: for a named 100 GB checkpoint the error is already known. */
const MAX_HASHED_FAILURE_BYTES = 256 * 1024 * 1024;

/** The hash of a file that failed, as a fact for the reader; unknown if it is huge or cannot even be read. */
async function sha256Of(opened: OpenedSource | undefined): Promise<string | undefined> {
  if (opened === undefined || opened.sizeBytes > MAX_HASHED_FAILURE_BYTES) return undefined;
  try {
    return await opened.finish();
  } catch {
    return undefined;
  }
}
