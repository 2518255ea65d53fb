/**
 * One call of ingest: what is shared between its files, and how each of them is written. A large file has a transaction
 * of its own, in which it is decoded and written at once. Small ones are decoded first, so that one that fails leaves
 * nothing to undo, and many of them share a transaction; if that fails nevertheless, each is repeated in its own.
 */
import { PARSERS } from '../../parsers/index.js';
import { NO_RUN_FIGURES, type RunFigures } from '../attribution/blocks/attribution.js';
import { forgetRuns, type RunOfRanks, readFigures } from '../derive/derive.js';
import { MbfError } from '../model/errors.js';
import { maxOf } from '../model/lists.js';
import type { Dictionary, ParseContext, ParserSpec } from '../model/parser.js';
import { pick } from '../model/pick.js';
import type { IngestSource, NoteResult } from '../model/results/common.js';
import type { IncidentRow, Note } from '../model/tables.js';
import { MIB } from '../model/units.js';
import type { Store } from '../store/store.js';
import { asFailure } from './as-failure.js';
import type { DerivedSink } from './derive/derive-snapshot.js';
import { NoteFolder } from './derive/fold-notes.js';
import type { Candidate } from './discover/discover.js';
import { type Examined, examine, type Recognised, type Unusable } from './discover/examine.js';
import type { NamedRank } from './discover/names/rank-from-name.js';
import { namedPath, RanksOfFiles } from './discover/names/ranks-of-files.js';
import { freeName, type RunPlan } from './discover/names/run-names.js';
import { hashFolder } from './discover/table-folder.js';
import { countAttempts } from './finish/count-attempts.js';
import type { IngestOptions } from './options.js';
import { parserVersion } from './parser-version.js';
import { hashFile, type OpenedSource } from './read/byte-source.js';
import type { StackKeys } from './read/content-keys.js';
import { DecodeThreads, decodedBytes } from './read/decode-in-thread.js';
import type { DecodedSource } from './read/decode-source.js';
import { compareBytes, type FileDigest, type KnownBytes, knownBytes } from './read/file-digest.js';
import type { ReadingOrder } from './reading-order.js';
import { Group } from './write/group.js';
import { Known, type KnownSource } from './write/known.js';
import { NsysWriter } from './write/nsys-writer.js';
import { SnapshotWriter } from './write/snapshot-writer.js';
import { droppedRows, incidentRows, noteRows, removeSource } from './write/source-rows.js';
import { StoreDictionary } from './write/store-dictionary.js';
import { TextRowWriter } from './write/text-row-writer.js';

/** A file up to here is small, on disk. The rows of a snapshot have half of its size. */
const SMALL_BYTES = 8 * MIB;
const SMALL_COMPRESSED_BYTES = MIB;
/** A transaction of small files is limited to so much: its rows wait in memory until it is committed. */
const GROUP_FILES = 64;
const GROUP_BYTES = 64 * MIB;
const GROUP_ROWS = 100_000;

/**
 * Lines of JSON that look like an export of Nsight Systems but are not, and texts without a line of a log. A foreign
 * database under the name of an export is a failure, since the user expects an export.
 */
const NOT_OURS: ReadonlySet<string> = new Set(['MBF2704', 'MBF2008']);
/** Names that schedulers, launchers and users give to logs. */
const NAME_OF_LOG =
  /\.(?:log|out|err|txt|std(?:out|err))(?:\.\d+)?(?:\.(?:gz|zst))?$|(?:^|[/_-])(?:slurm|std(?:out|err))[^/]*$/i;

export interface RunRow {
  readonly runId: number;
  readonly name: string;
  readonly label: string | null;
  readonly commit: string | null;
  readonly rootPath: string;
  /** False until its first source is: an ingest that ends early leaves no run without sources. */
  isStored: boolean;
}

export function blank(
  run: Pick<RunRow, 'name'>,
  path: string,
  rest: Partial<IngestSource> & Pick<IngestSource, 'status'>,
): IngestSource {
  return { run: run.name, path, format: null, rank: null, notes: [], error: null, ...rest };
}

/** A file that was looked into, and the source it will replace. */
interface Begun {
  readonly candidate: Candidate;
  readonly examined: Examined;
  readonly oldId: number | undefined;
}
/** One that is not read again. */
interface Unchanged {
  readonly candidate: Candidate;
  readonly unchanged: IngestSource;
}

type Counted = Note & { readonly count: number };

/** What a source row has of a file beyond its name and size; what is missing is NULL. */
type SourceValues = Readonly<Record<string, string | number | null>> &
  KnownBytes & {
    readonly format: string | null;
    readonly status: 'ingested' | 'failed';
    readonly rank?: number | null;
  };

/** What has arrived of a file. */
interface Received {
  readonly sourceId: number;
  readonly decoded: DecodedSource;
  readonly fromName: NamedRank | undefined;
  readonly incidents: readonly IncidentRow[];
  readonly writers: readonly SnapshotWriter[];
  readonly texts: TextRowWriter | undefined;
  readonly nsys: NsysWriter | undefined;
}

export class Session {
  readonly store: Store;
  private readonly options: IngestOptions;
  private readonly thread: DecodeThreads;
  /** For files that are decoded again: those behind them wait in the other one. */
  private readonly spare = new DecodeThreads();
  private readonly dictionary: StoreDictionary;
  private readonly known: Known;
  private readonly now: Date;
  private readonly ranks = new RanksOfFiles();
  private runBytes = 0;
  /** Figures that the labels of the snapshots that are read now depend on. */
  private figures: RunOfRanks | undefined;
  /** Runs of which nothing is concluded any more. */
  private readonly forgotten = new Set<number>();

  constructor(options: IngestOptions, store: Store, thread: DecodeThreads) {
    this.store = store;
    this.options = options;
    this.thread = thread;
    this.dictionary = new StoreDictionary(store);
    this.known = new Known(store);
    this.now = options.now;
  }

  /** A known run, its label and commit updated if given; a new one is stored with its first source. */
  async openRun(plan: RunPlan): Promise<RunRow> {
    const { store, options, now } = this;
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
  }

  async close(): Promise<void> {
    await this.spare.close();
  }

  /** The result of each file, in the order in which they are read. */
  async *sources(
    run: RunRow,
    { others, snapshots }: ReadingOrder,
    early: Examined | undefined,
  ): AsyncGenerator<IngestSource, void, void> {
    this.runBytes = decodedBytes([...others, ...snapshots]);
    yield* this.pass(run, others, early);
    if (snapshots.length === 0) return;
    if (run.isStored && this.options.rowsOnly !== true) {
      // What the latest launch prints counts.
      if (others.length > 0) await countAttempts(this.store, run.runId);
      this.figures = await readFigures(this.store, run.runId);
    }
    yield* this.pass(run, snapshots, others.length === 0 ? early : undefined);
    this.figures = undefined;
  }

  private async *pass(
    run: RunRow,
    candidates: readonly Candidate[],
    early: Examined | undefined,
  ): AsyncGenerator<IngestSource, void, void> {
    const ahead = new Ahead(this.begin(run, candidates, early));
    try {
      for (;;) {
        const begun = await ahead.peek();
        if (begun === undefined) return;
        if ('examined' in begun && isSmall(begun)) {
          yield* await this.group(run, ahead);
          continue;
        }
        ahead.take();
        const source = await this.alone(run, begun);
        this.done(source, begun);
        yield source;
      }
    } finally {
      await ahead.close();
    }
  }

  /**
   * The files in order, each handed out once so many more have been looked into that all threads have one to decode, or
   * that memory allows.
   * `early` is the first one, if it has been looked into already.
   */
  private async *begin(
    run: RunRow,
    candidates: readonly Candidate[],
    early: Examined | undefined,
  ): AsyncGenerator<Begun | Unchanged, void, void> {
    const held: (Begun | Unchanged)[] = [];
    const paths = new Set<string>();
    try {
      for (const [i, candidate] of candidates.entries()) {
        // What became of the file is known once it has been handed out.
        if (paths.has(candidate.path)) while (held.length > 0) yield held.shift()!;
        paths.add(candidate.path);
        while (!this.thread.mayHold([...held.map((begun) => begun.candidate), candidate])) yield held.shift()!;
        held.push(await this.beginOne(run, candidate, i === 0 ? early : undefined));
      }
      while (held.length > 0) yield held.shift()!;
    } finally {
      for (const begun of held) if ('examined' in begun) await begun.examined.close();
    }
  }

  private async beginOne(
    run: RunRow,
    candidate: Candidate,
    early: Examined | undefined,
    thread: DecodeThreads = this.thread,
  ): Promise<Begun | Unchanged> {
    const known = (await this.known.sources(run.runId, !run.isStored)).get(candidate.path);
    const oldId = known?.sourceId;
    if (early !== undefined) return { candidate, examined: early, oldId };
    if (
      known?.status === 'ingested' &&
      known.bytes === candidate.sizeBytes &&
      known.parserVersion === parserVersion(known.format, this.options.formats) &&
      !(this.options.allTables === true && known.format === 'nsys' && !(await this.hasAllTables(known.sourceId)))
    ) {
      const { displayPath } = candidate;
      if (await isSame(known, candidate)) {
        const notes = await this.known.notes(run.runId, known);
        const { format, rank } = known;
        return { candidate, unchanged: { ...blank(run, displayPath, { status: 'unchanged' }), format, rank, notes } };
      }
    }
    const { parsers = PARSERS, allTables, explain, formats } = this.options;
    const figures = await this.figuresOf(candidate);
    const options = { allTables, explain, formats, runBytes: this.runBytes, run: figures };
    return { candidate, examined: await examine(candidate, parsers, thread, options), oldId };
  }

  /** A transaction that writes sources of a run, all of them or none. */
  private async writing<T>(run: RunRow, isShared: boolean, work: (group: Group) => Promise<T>): Promise<T> {
    const { isStored } = run;
    const isForgotten = this.forgotten.has(run.runId);
    try {
      return await this.store.transaction(async () => {
        const group = new Group(this.store, isShared);
        const result = await work(group);
        await group.finish();
        return result;
      });
    } catch (error) {
      run.isStored = isStored;
      if (!isForgotten) this.forgotten.delete(run.runId);
      this.dictionary.reset();
      this.known.reset();
      throw error;
    }
  }

  /** The next small files, in one transaction. */
  private async group(run: RunRow, ahead: Ahead<Begun | Unchanged>): Promise<IngestSource[]> {
    const taken: (Begun | Unchanged)[] = [];
    const sources: IngestSource[] = [];
    let isLarge = false;
    /** Of looking into further files: those before it are kept. */
    let failure: { readonly error: unknown } | undefined;
    try {
      await this.writing(run, true, async (group) => {
        let bytes = 0;
        while (taken.length < GROUP_FILES && bytes < GROUP_BYTES && group.rowCount < GROUP_ROWS) {
          const begun = await ahead.peek().catch((error: unknown) => {
            failure = { error };
            return undefined;
          });
          if (begun === undefined || !isSmall(begun)) break;
          ahead.take();
          taken.push(begun);
          bytes += begun.candidate.sizeBytes;
          const source = await this.small(run, group, begun);
          isLarge = source === undefined;
          if (source === undefined) break;
          sources.push(source);
          this.done(source, begun);
        }
      });
    } catch {
      // Whatever it was, it is the error of one file.
      const reported = sources.splice(0).length;
      for (const [i, begun] of taken.entries()) sources.push(await this.again(run, begun, i >= reported));
      isLarge = false;
    }
    if (isLarge) sources.push(await this.again(run, taken.at(-1)!, true));
    if (failure !== undefined) throw failure.error;
    return sources;
  }

  /** Writes a file that was begun before in a transaction of its own. */
  private async again(run: RunRow, { candidate }: Begun | Unchanged, isReported: boolean): Promise<IngestSource> {
    const begun = await this.beginOne(run, candidate, undefined, this.spare);
    const source = await this.alone(run, begun);
    if (isReported) this.done(source, begun);
    return source;
  }

  /** A file of a group; undefined if it turns out to be large, and nothing was written. */
  private async small(run: RunRow, group: Group, begun: Begun | Unchanged): Promise<IngestSource | undefined> {
    if ('unchanged' in begun) return begun.unchanged;
    const { examined, candidate } = begun;
    try {
      if (examined.status !== 'recognised') return await this.unusable(run, group, examined);
      const notes = new NoteFolder();
      const file = await examined.keep(this.context(candidate));
      if (file === undefined) return undefined;
      const { error } = file;
      if (error !== undefined) {
        for (const note of file.notes()) notes.add(note);
        return await this.refused(run, group, examined, error, notes);
      }
      const received = await this.receive(run, group, examined, (sink) => file.sendTo(sink), notes);
      if (received instanceof MbfError) return await this.refused(run, group, examined, received, notes);
      const source = await this.finish(run, group, examined, received, notes);
      await group.settle();
      return explained(this.options, examined, source);
    } finally {
      await examined.close();
    }
  }

  /** A file in a transaction of its own. */
  private async alone(run: RunRow, begun: Begun | Unchanged): Promise<IngestSource> {
    if ('unchanged' in begun) return begun.unchanged;
    const { examined, oldId } = begun;
    try {
      if (examined.status !== 'recognised')
        return await this.writing(run, false, (group) => this.unusable(run, group, examined, oldId));
      const notes = new NoteFolder();
      try {
        return explained(this.options, examined, await this.streamed(run, examined, notes, oldId));
      } catch (error) {
        if (!(error instanceof MbfError) || error.kind !== 'input') throw error;
        return await this.writing(run, false, (group) => this.refused(run, group, examined, error, notes, oldId));
      }
    } finally {
      await examined.close();
    }
  }

  /** Writes a file while it is decoded; throws after undoing everything. */
  private async streamed(
    run: RunRow,
    examined: Recognised,
    notes: NoteFolder,
    oldId: number | undefined,
  ): Promise<IngestSource> {
    const { candidate, parser } = examined;
    const decode = (sink: DerivedSink) => examined.decode(sink, this.context(candidate));
    return this.writing(run, false, async (group) => {
      await this.remove(run, candidate, oldId, parser.id === 'nsys');
      const received = await this.receive(run, group, examined, decode, notes, oldId);
      if (received instanceof MbfError) throw received;
      return this.finish(run, group, examined, received, notes);
    });
  }

  private async remove(run: RunRow, { path }: Candidate, oldId: number | undefined, keepsRaw: boolean): Promise<void> {
    if (oldId === undefined) return;
    await removeSource(this.store, oldId, { keepsRaw });
    await this.known.remove(run.runId, path, oldId);
  }

  /** A file to report and not to read. */
  private async unusable(
    run: RunRow,
    group: Group,
    examined: Unusable,
    oldId: number | undefined = undefined,
  ): Promise<IngestSource> {
    const { candidate, error } = examined;
    const source =
      examined.status === 'skipped'
        ? blank(run, candidate.displayPath, { status: 'skipped', error: asFailure(error) })
        : await this.failed(run, group, examined, error, undefined, [], oldId);
    return explained(this.options, examined, source);
  }

  /** A file whose reading ended with an error. */
  private async refused(
    run: RunRow,
    group: Group,
    examined: Recognised,
    error: MbfError,
    notes: NoteFolder,
    oldId: number | undefined = undefined,
  ): Promise<IngestSource> {
    const { candidate } = examined;
    const { displayPath } = candidate;
    // Detected only while reading: another kind of file, not named by the user.
    const source =
      NOT_OURS.has(error.code) && !candidate.isNamed && oldId === undefined
        ? blank(run, displayPath, { status: 'skipped', error: asFailure(error.inFile(displayPath)) })
        : await this.failed(run, group, examined, error, examined.parser, notes.list(), oldId);
    return explained(this.options, examined, source);
  }

  private async figuresOf(candidate: Candidate): Promise<RunFigures | undefined> {
    if (this.options.rowsOnly === true) return undefined;
    return this.figures?.figuresOf((await this.ranks.of(candidate))?.rank ?? null) ?? NO_RUN_FIGURES;
  }

  private context({ displayPath, sizeBytes }: Candidate): Pick<ParseContext, 'progress'> {
    const { progress } = this.options;
    return { progress: progress && ((bytes) => progress.read(displayPath, bytes, sizeBytes)) };
  }

  private done({ path, status }: IngestSource, { candidate }: Begun | Unchanged): void {
    this.options.progress?.done(path, candidate.sizeBytes, status);
  }

  /** Takes the rows of a file; an error if they are not those of a file of ours: then nothing was written. */
  private async receive(
    run: RunRow,
    group: Group,
    { candidate, parser, otherwise }: Recognised,
    decode: (sink: DerivedSink) => Promise<DecodedSource>,
    notes: NoteFolder,
    oldId: number | undefined = undefined,
  ): Promise<Received | MbfError> {
    const { store, known } = this;
    const fromName = await this.ranks.of(candidate);
    const sourceId = await known.next('source');
    const incidents: IncidentRow[] = [];
    const writers: SnapshotWriter[] = [];
    const texts =
      parser.id === 'torch-snapshot' ? undefined : await TextRowWriter.open(group, this.dictionary, sourceId);
    const nsys = parser.id === 'nsys' ? await NsysWriter.open(store, sourceId, oldId) : undefined;
    const decoded = await decode({
      note: (note) => notes.add(note),
      incident: (row) => void incidents.push(row),
      droppedIncidents: (rows) => group.insert('incident_dropped', droppedRows(sourceId, rows)),
      textRows: (kind, batch, newTexts) => texts?.textRows(kind, batch, newTexts),
      textRow: (finding, place) => texts?.textRow(finding, place),
      attempt: (row) => texts?.attempt(row),
      nsys,
      snapshot: async (dictionary: Dictionary, keys: StackKeys) => {
        const rank = fromName?.rank ?? null;
        const identity = {
          snapshotId: (await known.next('snapshot')) + writers.length,
          sourceId,
          runId: run.runId,
          rank,
          handle: await this.handle(run, rank, writers.length),
          path: namedPath(candidate),
          figures: (await this.figuresOf(candidate)) ?? NO_RUN_FIGURES,
        };
        const writer = await SnapshotWriter.open(group, this.dictionary, identity, dictionary, keys);
        writers.push(writer);
        return writer;
      },
    });
    // A text among others, such as a licence or /etc/passwd, is not a log.
    const mayBeOther = parser.id === 'log' && !candidate.isNamed && !NAME_OF_LOG.test(candidate.path);
    if ((mayBeOther || otherwise !== undefined) && texts?.isEmpty === true && incidents.length === 0)
      return otherwise ?? new MbfError('MBF2008', 'has no line of a training log');
    return { sourceId, decoded, fromName, incidents, writers, texts, nsys };
  }

  /** Writes what follows from the whole file. */
  private async finish(
    run: RunRow,
    group: Group,
    { candidate, parser }: Recognised,
    { sourceId, decoded: { summary, digest }, fromName, incidents, writers, texts, nsys }: Received,
    notes: NoteFolder,
  ): Promise<IngestSource> {
    const { known } = this;
    for (const writer of writers) for (const note of writer.finish(notes.list())) notes.add(note);
    await nsys?.finish();
    for (const note of texts?.finish() ?? []) notes.add(note);
    const rows = incidentRows(await known.next('incident'), sourceId, incidents);
    group.insert('incident', rows.incident);
    group.insert('incident_value', rows.incident_value);
    await known.use('incident', incidents.length);
    await known.use('snapshot', writers.length);
    const rank = summary.rank ?? fromName?.rank ?? null;
    const origin =
      summary.rank !== null
        ? summary.rankOrigin
        : fromName === undefined
          ? null
          : `name:${fromName.rule}${fromName.scope === 'local' ? ' (local rank)' : ''}`;
    // A killed ingest must not leave what was concluded without this file.
    if (run.isStored && !this.forgotten.has(run.runId)) await forgetRuns(this.store, [run.runId]);
    this.forgotten.add(run.runId);
    const written = await this.insertSource(run, group, candidate, notes.list(), {
      format: parser.id,
      status: 'ingested',
      ...{ rank, rank_origin: origin, clock: summary.clock ?? null },
      ...knownBytes(digest, candidate.mtimeMs),
    });
    const handles = await known.handles(run.runId, false);
    for (const { identity } of writers) handles.set(identity.handle, sourceId);
    return {
      ...blank(run, candidate.displayPath, { status: 'ingested' }),
      format: parser.id,
      rank,
      notes: written,
    };
  }

  /** Keeps one row with the error, and no data. */
  private async failed(
    run: RunRow,
    group: Group,
    { candidate, opened }: Examined,
    error: MbfError,
    parser: ParserSpec | undefined,
    notes: readonly Counted[],
    oldId: number | undefined,
  ): Promise<IngestSource> {
    await this.remove(run, candidate, oldId, false);
    const failure = asFailure(error.inFile(candidate.displayPath));
    const format = parser?.id ?? null;
    const written = await this.insertSource(run, group, candidate, notes, {
      ...{ format, status: 'failed', ...knownBytes(await digestOf(opened), candidate.mtimeMs) },
      ...{ error_code: error.code, error_text: failure.text, error_offset: error.place.offset ?? null },
    });
    return { ...blank(run, candidate.displayPath, { status: 'failed', error: failure }), format, notes: written };
  }

  /** With the run, if this is its first source, and with its notes, as results have them. */
  private async insertSource(
    run: RunRow,
    group: Group,
    candidate: Candidate,
    notes: readonly Counted[],
    values: SourceValues,
  ): Promise<NoteResult[]> {
    const { known, now } = this;
    const { runId: run_id, name, label, commit: commit_sha, rootPath: root_path } = run;
    const sources = await known.sources(run_id, !run.isStored);
    if (!run.isStored) {
      const times = { created_at: now, touched_at: now };
      group.insert('run', [{ run_id, name, label, commit_sha, root_path, ...times }]);
      run.isStored = true;
    }
    const source_id = await known.next('source');
    const { path, displayPath, sizeBytes: bytes } = candidate;
    const parser_version = parserVersion(values.format, this.options.formats);
    group.insert('source', [
      {
        ...{ source_id, run_id, attempt: 1, path, display_path: displayPath, file_bytes: bytes },
        ...{ parser_version, ingested_at: now, ...values },
      },
    ]);
    group.insert('ingest_note', noteRows(source_id, notes));
    await known.use('source', 1);
    const written = notes.map(noteResult);
    const { status, format, rank = null, sha256, sample_sha256, modified_us } = values;
    sources.set(path, {
      ...{ sourceId: source_id, bytes, parserVersion: parser_version, notes: written },
      ...{ status, format, rank, sha256, sample_sha256, modified_us },
    });
    return written;
  }

  /** Lines of JSON do not contain tables. */
  private async hasAllTables(sourceId: number): Promise<boolean> {
    const [row] = await this.store.select(
      "SELECT has_all_tables OR form = 'jsonlines' AS has FROM nsys_report WHERE source_id = $source_id",
      { source_id: sourceId },
    );
    return row?.['has'] === true;
  }

  /** `run/rank/snapshot#n`, counted per rank of a run; `-` where the rank is unknown. */
  private async handle(run: RunRow, rank: number | null, earlier: number): Promise<string> {
    const prefix = `${run.name}/${rank ?? '-'}/snapshot#`;
    const taken = await this.known.handles(run.runId, !run.isStored);
    let n = 1 + earlier;
    while (taken.has(`${prefix}${n}`)) n += 1;
    return `${prefix}${n}`;
  }
}

/** Values of a generator, one of which can be looked at before it is taken. */
class Ahead<Value> {
  private readonly values: AsyncGenerator<Value, void, void>;
  private next: Promise<Value | undefined> | undefined;

  constructor(values: AsyncGenerator<Value, void, void>) {
    this.values = values;
  }

  /** Undefined after the last one. */
  peek(): Promise<Value | undefined> {
    this.next ??= this.values.next().then(({ value }) => value ?? undefined);
    return this.next;
  }

  take(): void {
    this.next = undefined;
  }

  async close(): Promise<void> {
    await this.values.return();
  }
}

/** Small, new, and without tables of its own: DuckDB commits no transaction that alters tables with new rows. */
function isSmall(begun: Begun | Unchanged): boolean {
  if ('unchanged' in begun) return true;
  const { candidate, examined, oldId } = begun;
  const isOfTables = examined.status === 'recognised' && examined.parser.id === 'nsys';
  const isCompressed = examined.opened !== undefined && examined.opened.compression !== 'none';
  const most = isCompressed ? SMALL_COMPRESSED_BYTES : SMALL_BYTES;
  return oldId === undefined && candidate.sizeBytes <= most && !isOfTables;
}

export const bytesOf = (files: readonly Candidate[]): number =>
  files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);

/** With the assessment of each parser, if that is wanted. */
function explained({ explain }: IngestOptions, { claims }: Examined, source: IngestSource): IngestSource {
  if (explain !== true || claims === undefined) return source;
  return {
    ...source,
    detection: claims.map((claim) => ({ parser: claim.parser.id, score: claim.score, why: claim.why })),
  };
}

function noteResult(note: Counted): NoteResult {
  return {
    ...pick(note, ['kind', 'severity', 'text', 'count']),
    device: note.device ?? null,
    seq: note.seq ?? null,
    offset: note.offset ?? null,
    line: note.line ?? null,
  };
}

/** Of a file that failed, as a fact for the reader; unknown if it cannot even be read. */
async function digestOf(opened: OpenedSource | undefined): Promise<FileDigest | undefined> {
  return opened?.finish().catch(() => undefined);
}

/** Whether a file of the same size is the one that was read. The time of change of a large one is looked at first. */
async function isSame(known: KnownSource, { path, files, mtimeMs }: Candidate): Promise<boolean> {
  if (known.modified_us !== null && known.modified_us !== knownBytes({ of: 'sample', hex: '' }, mtimeMs).modified_us)
    return false;
  const digest = await (files === undefined ? hashFile(path) : hashFolder(path, files)).catch(() => undefined);
  return digest !== undefined && compareBytes(known, knownBytes(digest, mtimeMs)) === 'same';
}
