/**
 * The files of a lake: `TABLE/run=RUN/rank_block=N/part-HASH.parquet`. A listing is the truth; no file is shared by
 * writers but the description, which all writers make alike.
 */
import { createHash } from 'node:crypto';
import {
  closeSync,
  createReadStream,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { MbfError } from '../model/errors.js';
import { makeDirectories, temporaryName } from '../store/temporary-files.js';
import { fileColumns, LEVELS, lakeTables, RUN_SUMMARY } from './lake-tables.js';

export const DESCRIPTION = 'mbforensics-lake.json';
/** Raised when a table changes in a way that readers of the files see. */
export const LAKE_VERSION = 1;
export const PART = /^part-[0-9a-f]{16}\.parquet$/;

/** A part of a table. */
export interface Part {
  readonly table: string;
  readonly run: string;
  readonly block: number;
  /** Relative to the lake. */
  readonly path: string;
}

export const folderOf = (run: string, block: number): string => join(`run=${run}`, `rank_block=${block}`);

/** Names in a directory, in order; none where it does not exist or is a file. */
export function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).sort();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
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
  makeDirectories(lake);
  const names = namesIn(lake).filter((name) => !name.startsWith('.'));
  if (names.includes(DESCRIPTION)) {
    checkLake(lake);
    return;
  }
  if (names.length > 0) throw new MbfError('MBF3009', 'the directory is not empty, and not a lake', { file: lake });
  const work = join(lake, temporaryName(`.${DESCRIPTION}`, 'tmp', lake));
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

/** Of a block, to be put into its place. `file`: undefined: the block lacks rows of the table. */
export interface NewPart {
  readonly table: string;
  readonly file: string | undefined;
  readonly name: string;
}

/** The content is on the disk before its name is: a name is that of whole content, also after a power failure. */
export async function newPart(table: string, file: string | undefined): Promise<NewPart> {
  if (file === undefined) return { table, file, name: '' };
  const handle = openSync(file, 'r');
  fsyncSync(handle);
  closeSync(handle);
  return { table, file, name: await partName(file) };
}

export const tableNames = (): string[] => lakeTables().map(({ name }) => name);

/**
 * Puts the parts of a block in the place of all that it had, under the lock of the run. The row of `run_summary` goes
 * first and comes last, so that a block that is half replaced is not whole. A part goes before its successor comes: a
 * reader may see a table without rows of the block for a moment, and never the same row twice. The same content as
 * before only heals files; then events that are not among `parts` stay.
 */
export function putBlock(lake: string, run: string, block: number, parts: readonly NewPart[], touch: () => void): void {
  const old = listParts(lake, tableNames(), run, block);
  const oldOf = (table: string): string[] => old.filter((part) => part.table === table).map(({ path }) => path);
  const isSame = parts.every(
    ({ table, name }) =>
      oldOf(table)
        .map((path) => basename(path))
        .join() === name,
  );
  if (!isSame) {
    const written = new Set(parts.map(({ table }) => table));
    const stale = old.filter(({ table }) => !written.has(table)).map(({ path }) => path);
    removeParts(lake, [...oldOf(RUN_SUMMARY), ...stale]);
  }
  for (const { table, file, name } of parts) {
    touch();
    const replaced = oldOf(table).filter((path) => basename(path) !== name);
    removeParts(lake, replaced);
    if (file === undefined) continue;
    const folder = join(lake, table, folderOf(run, block));
    mkdirSync(folder, { recursive: true });
    renameSync(file, join(folder, name));
  }
}

/** Under the lock of their run, with the folders that are empty then. */
export function removeParts(lake: string, paths: readonly string[]): void {
  for (const path of paths) {
    rmSync(join(lake, path), { force: true });
    for (const folder of [dirname(path), dirname(dirname(path))]) {
      try {
        rmdirSync(join(lake, folder));
      } catch {
        // It has other parts, or is gone.
        break;
      }
    }
  }
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
