/**
 * What a lake holds: for each table of a store the columns as its Parquet files have them, in types that DuckDB, Spark
 * and Polars share. Numbers of files, snapshots, stacks and texts are replaced by keys that are equal
 * in every store: 52 bits of a hash, exact in any engine's numbers.
 */
import { loadData } from '../knowledge/load-data.js';
import { loadLibrary, loadQuery, schemaTables } from '../store/load-queries.js';

/** What is kept for how long: answers for ever, state for months, events for days. */
export const LEVELS = ['answers', 'state', 'events'] as const;
export type Level = (typeof LEVELS)[number];

/** What a number of the store is of; `failure` and `verdict` are counted over the blocks of a run. */
export type Key = 'run' | 'source' | 'snapshot' | 'incident' | 'stack' | 'frame' | 'text' | 'failure';

/**
 * How a row finds its block: by the file, snapshot, message, failure or rank that it is about. `run`: one row for each
 * task. `dictionary`: by its key, in every block that uses it.
 */
export type Scope = 'run' | 'rank' | 'failure' | 'source' | 'snapshot' | 'incident' | 'dictionary';

export interface LakeColumn {
  readonly name: string;
  /** In the files. */
  readonly type: string;
  /** In a store. */
  readonly storeType: string;
  readonly key: Key | undefined;
  /** Computed by a store. */
  readonly isGenerated: boolean;
  readonly text: string;
}

export interface LakeTable {
  readonly name: string;
  readonly title: string;
  readonly level: Level;
  readonly scope: Scope;
  /** In the order of the store, without the name of the run, which the folder has, and without times of ingest. */
  readonly columns: readonly LakeColumn[];
  /** All columns, as a store has them. */
  readonly storeColumns: readonly { readonly name: string; readonly type: string }[];
  /**
   * Beyond those: the task, except where several have the same; where a reader looks for a snapshot; the place of
   * rows that have an order of their own.
   */
  readonly added: readonly ('task' | 'rank' | 'snapshot' | 'place')[];
}

/** Columns that are names of folders. */
export const FOLDERS = [
  { name: 'run', type: 'VARCHAR', text: 'the run, by its folder' },
  { name: 'rank_block', type: 'INTEGER', text: 'the first of its blocks, by the folder' },
] as const;

const ADDED = {
  task: { name: 'task', type: 'INTEGER', text: 'number of the task that added it: its block' },
  rank: { name: 'rank', type: 'INTEGER', text: 'global rank of the snapshot' },
  snapshot: { name: 'snapshot', type: 'INTEGER', text: 'number of the snapshot in its file' },
  place: { name: 'place', type: 'BIGINT', text: 'order of the rows in their store' },
} as const;

/** The columns as readers of the files have them. */
export const fileColumns = ({ columns, added }: LakeTable) => [
  ...columns,
  ...added.map((name) => ADDED[name]),
  ...FOLDERS,
];

/** One row of a block, written last: a block without it is not whole. */
export const RUN_SUMMARY = 'run_summary';

/** Failures and verdicts of block K are numbered from K times this on: no task has as many. */
export const NUMBERS_PER_BLOCK = 1_048_576;

const KEY_COLUMNS: Readonly<Record<string, Key>> = {
  ...{ run_id: 'run', source_id: 'source', snapshot_id: 'snapshot', incident_id: 'incident' },
  ...{ stack_id: 'stack', free_stack_id: 'stack', frame_id: 'frame', text_id: 'text' },
  ...{ compile_context_id: 'text', user_metadata_id: 'text', failure: 'failure', contradicted_by: 'failure' },
};
/** `text_id` and `number` mean other things here. */
const NUMBERED: Readonly<Record<string, Readonly<Record<string, Key | undefined>>>> = {
  verdict: { number: 'failure' },
  nsys_text: { text_id: undefined },
  nsys_nvtx: { text_id: undefined },
};
const SCOPES: Readonly<Record<string, Scope>> = {
  ...{ stack: 'dictionary', frame: 'dictionary', stack_frame: 'dictionary', text_value: 'dictionary' },
  ...{ source: 'source', snapshot: 'snapshot', judged_run: 'run', run_setting: 'run' },
  // What a task printed, as a whole.
  ...{ evidence: 'run', diagnosis: 'run' },
};
/** Of a store, and different in two that hold the same. */
const NOT_KEPT = 'TIMESTAMP';

const TYPES: Readonly<Record<string, string>> = { UBIGINT: 'BIGINT', UTINYINT: 'INTEGER', HUGEINT: 'DECIMAL(38,0)' };

interface Levels {
  readonly answers: readonly string[];
  readonly events: readonly string[];
  readonly left_out: readonly string[];
  readonly ordered: readonly string[];
}

interface StoreTable {
  readonly name: string;
  readonly title: string;
  readonly columns: readonly {
    readonly name: string;
    readonly type: string;
    readonly text: string;
    readonly isText?: boolean;
    readonly isGenerated?: boolean;
  }[];
}

let tables: readonly LakeTable[] | undefined;

export function lakeTables(): readonly LakeTable[] {
  tables ??= readTables();
  return tables;
}

function readTables(): readonly LakeTable[] {
  const levels = loadData('lake') as Levels;
  const library = loadLibrary();
  const objects = [...library.names].flatMap((name): StoreTable[] => {
    const object = library.get(name)!;
    // Of the run as a whole; a block has a row of its own.
    const isKept =
      name !== RUN_SUMMARY &&
      (object.kind === 'table' || levels.answers.includes(name) || levels.events.includes(name));
    return isKept ? [{ name, title: object.title, columns: object.columns }] : [];
  });
  const summary = loadQuery('export.run_of_lake');
  const isLeft = ({ name }: StoreTable): boolean => !levels.left_out.includes(name);
  return [
    ...[...schemaTables(), ...objects].filter(isLeft),
    { name: RUN_SUMMARY, title: summary.title, columns: summary.columns },
  ].map(({ name, title, columns }): LakeTable => {
    const names = new Set(columns.map((column) => column.name));
    const typed = columns.map(({ type, ...column }) => ({ ...column, type: enumOf(name, column.name, type) }));
    return {
      ...{ name, title, scope: scopeOf(name, names), storeColumns: typed },
      level: levels.answers.includes(name) ? 'answers' : levels.events.includes(name) ? 'events' : 'state',
      columns: typed.filter((column) => column.name !== 'run' && column.type !== NOT_KEPT).map(lakeColumn(name)),
      added: [
        ...(isOfBlock(name, scopeOf(name, names)) ? (['task'] as const) : []),
        ...(names.has('snapshot_id') ? (['rank', 'snapshot'] as const).filter((each) => !names.has(each)) : []),
        ...(levels.ordered.includes(name) ? (['place'] as const) : []),
      ],
    };
  });
}

/** Texts and stacks are of all tasks, and settings of the run; `run_summary` has the column itself. */
function isOfBlock(table: string, scope: Scope): boolean {
  if (table === 'stack') return true;
  return scope !== 'dictionary' && table !== 'run_setting' && table !== RUN_SUMMARY;
}

const lakeColumn =
  (table: string) =>
  ({ name, type: storeType, text, isText, isGenerated = false }: StoreTable['columns'][number]): LakeColumn => {
    const of = NUMBERED[table] ?? {};
    const key = name in of ? of[name] : isText === true ? 'text' : KEY_COLUMNS[name];
    const type = key === undefined || key === 'failure' ? (TYPES[storeType] ?? plain(storeType)) : 'BIGINT';
    return { name, type, storeType, key, isGenerated, text };
  };

/** An ENUM of the schema; headers of queries do not name it. */
function enumOf(table: string, column: string, type: string): string {
  if (type !== 'ENUM') return type;
  const known = schemaTables().flatMap(({ columns }) => columns.filter(({ name }) => name === column));
  const first = known.find((one) => /^[a-z]/.test(one.type));
  if (first === undefined) throw new Error(`${table}.${column}: no table of the schema has this ENUM`);
  return first.type;
}

const plain = (type: string): string => (/^[a-z]/.test(type) ? 'VARCHAR' : type);

function scopeOf(name: string, columns: ReadonlySet<string>): Scope {
  const known = SCOPES[name];
  if (known !== undefined) return known;
  if (columns.has('run_id') && columns.has('rank')) return 'rank';
  if (columns.has('snapshot_id')) return 'snapshot';
  if (columns.has('source_id')) return 'source';
  if (columns.has('incident_id')) return 'incident';
  return columns.has('failure') ? 'failure' : 'run';
}
