/**
 * The files of a lake: `TABLE/run=RUN/rank_block=N/part-HASH.parquet`. A listing is the truth; no file is shared by
 * writers but the description, which is the same whoever writes it.
 */
import { createHash } from 'node:crypto';
import {
  createReadStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { MbfError } from '../model/errors.js';
import { fileColumns, LEVELS, lakeTables, RUN_SUMMARY } from './lake-tables.js';

export const DESCRIPTION = 'mbforensics-lake.json';
/** Raised when a table changes in a way that readers of the files see. */
export const LAKE_VERSION = 1;
const PART = /^part-[0-9a-f]{16}\.parquet$/;

/** A part of a table. */
export interface Part {
  readonly table: string;
  readonly run: string;
  readonly block: number;
  /** Relative to the lake. */
  readonly path: string;
}

const folderOf = (run: string, block: number): string => join(`run=${run}`, `rank_block=${block}`);

/** Names in a directory, in order; none where it does not exist. */
function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** The whole parts of some tables, of one run or all, in order. */
export function listParts(lake: string, tables: readonly string[], only?: string, onlyBlock?: number): Part[] {
  return tables.flatMap((table) =>
    (only === undefined ? namesIn(join(lake, table)) : [`run=${only}`]).flatMap((ofRun) => {
      const run = /^run=(.+)$/.exec(ofRun)?.[1];
      if (run === undefined) return [];
      return namesIn(join(lake, table, ofRun)).flatMap((ofBlock) => {
        const block = Number(/^rank_block=(\d+)$/.exec(ofBlock)?.[1] ?? Number.NaN);
        if (Number.isNaN(block) || (onlyBlock !== undefined && block !== onlyBlock)) return [];
        const names = namesIn(join(lake, table, ofRun, ofBlock)).filter((name) => PART.test(name));
        return names.map((name) => ({ table, run, block, path: join(table, ofRun, ofBlock, name) }));
      });
    }),
  );
}

/** Runs that have a whole block, in order of their names. */
export const runNames = (lake: string): string[] =>
  namesIn(join(lake, RUN_SUMMARY)).flatMap((name) => /^run=(.+)$/.exec(name)?.[1] ?? []);

/** Makes the lake where it does not exist; MBF3009 if the directory holds something else, or is of another version. */
export function openLakeForWriting(lake: string): void {
  mkdirSync(lake, { recursive: true });
  if (existsSync(join(lake, DESCRIPTION))) {
    checkLake(lake);
    return;
  }
  if (namesIn(lake).some((name) => !name.startsWith('.')))
    throw new MbfError('MBF3009', 'the directory is not empty, and not a lake', { file: lake });
  const work = join(lake, `.${DESCRIPTION}.${process.pid}.tmp`);
  writeFileSync(work, `${JSON.stringify(describeLake(), null, 2)}\n`);
  renameSync(work, join(lake, DESCRIPTION));
}

/** MBF3009 unless this version reads and writes the lake. */
export function checkLake(lake: string): void {
  let version: unknown;
  try {
    version = (JSON.parse(readFileSync(join(lake, DESCRIPTION), 'utf8')) as { version?: unknown }).version;
  } catch (error) {
    const fact = `there is no lake: ${DESCRIPTION} ${existsSync(join(lake, DESCRIPTION)) ? 'is not JSON' : 'is missing'}`;
    throw new MbfError('MBF3009', fact, { file: lake }, error);
  }
  if (version !== LAKE_VERSION)
    throw new MbfError('MBF3009', `the lake has version ${String(version)}, not ${LAKE_VERSION}`, { file: lake });
}

/** For readers that are not this program. */
function describeLake() {
  return {
    schema: 'mbforensics/lake@1',
    version: LAKE_VERSION,
    layout: 'TABLE/run=RUN/rank_block=N/part-HASH.parquet',
    levels: LEVELS,
    tables: lakeTables().map((table) => ({
      ...{ name: table.name, title: table.title, level: table.level },
      columns: fileColumns(table).map(({ name, type, text }) => ({ name, type, text })),
    })),
  };
}

/** The name of a whole file by its content. */
export async function partName(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return `part-${hash.digest('hex').slice(0, 16)}.parquet`;
}

/**
 * Puts `file` in the place of the parts that the block had of a table. These go first: a reader may see a table
 * without rows of the block for a moment, and never the same row twice.
 */
export async function replacePart(lake: string, table: string, run: string, block: number, file: string | undefined) {
  const folder = join(lake, table, folderOf(run, block));
  const name = file === undefined ? undefined : await partName(file);
  for (const old of namesIn(folder)) if (PART.test(old) && old !== name) rmSync(join(folder, old), { force: true });
  if (file === undefined || name === undefined) return;
  mkdirSync(folder, { recursive: true });
  renameSync(file, join(folder, name));
}

/** Of some tables those that have a whole part, of whatever run. */
export function tablesWithFiles(
  lake: string,
  names: readonly string[] = lakeTables().map(({ name }) => name),
): ReadonlySet<string> {
  const hasPart = (directory: string, depth: number): boolean =>
    namesIn(directory).some((name) =>
      depth === 0 ? PART.test(name) : /^(?:run|rank_block)=/.test(name) && hasPart(join(directory, name), depth - 1),
    );
  return new Set(names.filter((name) => hasPart(join(lake, name), 2)));
}
