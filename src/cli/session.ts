/** What a verb opens while it answers. All of it is loaded when it is asked for, and closed when the verb ends. */
import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import type { SnapshotFilter } from '../derive/run/names/snapshots.js';
import type { Moment } from '../derive/trace/moment.js';
import { MbfError } from '../model/errors.js';
import type { Diagnosis } from '../model/results/common.js';
import type { Store } from '../store/store.js';
import type { Context } from './context.js';
import type { DbOptions, Operands } from './operands.js';
import { misuse, type REDACT, type Values } from './options.js';
import type { OpenedStore } from './path-store.js';
import type { DiagnoseQuestion } from './stored-answer.js';
import type { Target } from './target.js';
import type { TwoTargets } from './two-targets.js';

export interface CommonOptions extends DbOptions {
  /** What the screen shows, or all fields of the result. */
  readonly json: 'short' | 'full' | undefined;
}

type Closable = { close(): Promise<void> };

export class Session {
  readonly context: Context;
  readonly common: CommonOptions;
  /** The program with its verbs: all of them for completion, else the one that was called. */
  readonly program: Command;
  /** Whether a file of a run could not be read. */
  hasFailed = false;
  /** The store that `--db` or the default names, once an answer depends on it. */
  givenStore: string | undefined;
  /** For standard error, after the answer. */
  readonly remarks: string[] = [];
  readonly #opened: Closable[] = [];
  /** Set by `--redact`: paths are read from copies without names, made with this key. */
  readonly #redaction: { readonly key: string | undefined } | undefined;

  constructor(context: Context, common: CommonOptions & Partial<Values<typeof REDACT>>, program: Command) {
    this.#redaction = common.redact === true ? { key: common.key } : undefined;
    this.context = context;
    this.common = common;
    this.program = program;
  }

  /** The store that `--db`, `MBF_DB` or the default names. */
  get db(): string {
    return this.common.db ?? this.context.db;
  }

  /** Opens that store only for `work`. */
  async inStore<Result>(mode: 'read' | 'write', work: (store: Store) => Promise<Result>): Promise<Result> {
    this.givenStore = this.db;
    const [{ openStore }, { resourcesOf }] = await Promise.all([import('./open-store.js'), import('./operands.js')]);
    const store = await openStore(this.db, { mode, ...resourcesOf(this.common) });
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  }

  /** Has it closed when the verb ends. */
  keep<Kept extends Closable>(kept: Kept): Kept {
    this.#opened.push(kept);
    return kept;
  }

  async close(): Promise<void> {
    // The last first: the store of a copy is in the directory of the copy.
    for (const opened of this.#opened.splice(0).reverse()) await opened.close();
  }

  note({ failed }: Pick<OpenedStore, 'failed'>): void {
    if (failed.length > 0) this.hasFailed = true;
  }

  /** The operands of a question. Without a path, its answer depends on the store. */
  async #asked(operand: Operands): Promise<{ readonly operands: Operands; readonly context: Context }> {
    const { pathsOf } = await import('./operands.js');
    if (this.common.lake !== undefined) {
      if (this.#redaction !== undefined)
        throw misuse('--redact and --lake cannot be combined: names are hidden in what is added');
      return { operands: operand, context: this.context };
    }
    if (pathsOf(operand) === undefined && existsSync(this.db)) this.givenStore = this.db;
    return this.#redacted(operand);
  }

  /** With `--redact` a copy of what the operands name, in a directory that is removed when the verb ends. */
  async #redacted(operands: Operands): Promise<{ readonly operands: Operands; readonly context: Context }> {
    if (this.#redaction === undefined) return { operands, context: this.context };
    const { redactedCopy } = await import('./redact-run.js');
    const paths = operands === undefined ? [] : typeof operands === 'string' ? [operands] : operands;
    const { path, cacheDir } = this.keep(await redactedCopy(paths, this.#redaction.key, this.context));
    return { operands: path, context: { ...this.context, cacheDir } };
  }

  /** What the operands mean, opened. */
  async target(operand: Operands): Promise<Target> {
    const { openTarget } = await import('./target.js');
    const { operands, context } = await this.#asked(operand);
    const opened = await openTarget(operands, this.common, context);
    this.note(opened);
    return this.keep(opened);
  }

  /** Of what the operands mean. That of paths whose files did not change is stored; then no store is opened. */
  async diagnosis(operand: Operands, question: DiagnoseQuestion): Promise<Diagnosis> {
    const { askDiagnosis } = await import('./ask-diagnosis.js');
    const { operands, context } = await this.#asked(operand);
    const { diagnosis, opened } = await askDiagnosis(operands, question, this.common, context);
    this.note({ failed: diagnosis.failed_sources });
    if (opened !== undefined) this.keep(opened);
    return diagnosis;
  }

  /** As {@link target}, with the snapshots that the operand means. */
  async snapshots(operand: Operands): Promise<Target & { readonly filter: SnapshotFilter }> {
    const target = await this.target(operand);
    return { ...target, filter: filterOf(target) };
  }

  /** The device that the operand, the moment and `--device` mean. */
  async device(operand: Operands, moment: Moment, device: number | undefined) {
    const { chooseDevice } = await import('../derive/state/choose-snapshot.js');
    const target = await this.target(operand);
    const { store, run } = target;
    const chosen = await chooseDevice(store, filterOf(target), moment, device);
    const { others, handle } = chosen;
    if (others > 0)
      this.remarks.push(`${others + 1} snapshots in run ${run}; this is ${handle}, name another by its handle\n`);
    return { store, chosen };
  }

  /** The store itself, or that of a path; files that could not be read do not count. */
  async store(path: string | undefined): Promise<OpenedStore> {
    const { openTargetStore } = await import('./target.js');
    const { operands, context } = await this.#asked(path);
    return this.keep(await openTargetStore(operands as string | undefined, this.common, context));
  }

  /** All runs of a lake, for one statement. */
  async lake(directory: string, statement: string): Promise<{ readonly store: Store }> {
    const [{ openLake }, { resourcesOf }] = await Promise.all([
      import('../lake/open-lake.js'),
      import('./operands.js'),
    ]);
    const { memoryLimitBytes } = resourcesOf(this.common);
    return {
      store: this.keep(
        await openLake(directory, statement, memoryLimitBytes === undefined ? {} : { memoryLimitBytes }),
      ),
    };
  }

  /** Two operands, opened when they are used; files that could not be read do not count. */
  async two(operands: readonly [string, string]): Promise<TwoTargets> {
    const { twoTargets } = await import('./two-targets.js');
    if (this.common.lake === undefined && operands.some((operand) => !existsSync(operand))) this.givenStore = this.db;
    return this.keep(twoTargets(operands, this.common, this.context));
  }
}

/** Throws MBF1002 where nothing was found. */
export function demandSnapshots(run: string, found: readonly unknown[]): void {
  if (found.length === 0) throw new MbfError('MBF1002', `run ${run} has no memory snapshot`);
}

const filterOf = ({ runId, handle }: Pick<Target, 'runId' | 'handle'>): SnapshotFilter =>
  handle === undefined ? { runId } : { handle };
