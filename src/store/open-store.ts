/** Opening the one DuckDB file: modes, limits, locks, and refusing whatever is not a store of ours. */
import {
  closeSync,
  copyFileSync,
  existsSync,
  constants as fs,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { MbfError } from '../model/errors.js';
import { GIB, MIB } from '../model/units.js';
import { changed, checkForWriting, checkTables } from './check-tables.js';
import { DuckDBInstance } from './duckdb.js';
import { installLibrary } from './install-library.js';
import { makeTables, readSchemaState, SCHEMA_VERSION } from './schema.js';
import { Store } from './store.js';
import { asStoreError } from './store-errors.js';
import { type StoredTables, shieldFunctions } from './stored-tables.js';
import { makeTemporaryDirectory, sweepTemporaryFiles, temporaryName } from './temporary-files.js';

export type StoreMode = 'read' | 'write';

export interface OpenStoreOptions {
  readonly mode: StoreMode;
  /**
   * DuckDB's buffer limit in bytes; beyond it, queries spill into the store's directory. Default 1 GiB: window queries
   * over 5M events reach it.
   */
  readonly memoryLimitBytes?: number | undefined;
  /**
   * Default: at most 4, since this runs on login nodes that others share; for reading a small store one, since handing
   * work to others takes longer there than the work (a third of the CPU time of a question).
   */
  readonly threads?: number | undefined;
  /**
   * The one directory, without symbolic links, whose files statements may write and read; see `copy-to-parquet.ts`.
   * Default: none.
   */
  readonly exchangeDirectory?: string | undefined;
}

interface Opened {
  readonly instance: DuckDBInstance;
  readonly connection: DuckDBConnection;
  /** Of a store opened for reading, see {@link shieldFunctions}. */
  readonly searchPath: string | undefined;
  /** False where the objects of the library are of another build, and the file cannot be written. */
  readonly hasLibrary?: boolean;
  readonly isNew?: boolean;
}

/**
 * Stores open in this process. DuckDB's lock is a POSIX record lock: it does not exclude the process that holds it, and
 * *closing any other descriptor of the file in the same process drops it*. So a second opening has to be refused here.
 */
const openHere = new Set<string>();

/** Waiting does not help against oneself. */
export const OPEN_HERE = 'this process already has it open';

/** The magic of a DuckDB file is at byte 8, after the checksum of its main header. */
const MAGIC = 'DUCK';
const MAGIC_OFFSET = 8;

/**
 * A new store as the build made it. New stores are copies of it, since making one takes 1,200 statements and 0.3 s. The
 * path names the folder, because this code also runs from the bundle, in another one.
 */
const TEMPLATE = new URL('../store/new.duckdb', import.meta.url);

/** The store of a snapshot with 100,000 entries. */
const SMALL_STORE_BYTES = 32 * MIB;

/**
 * Opens the store at `path`. `write` creates a missing or empty (0-byte) file, and makes the library that of this
 * version; `read` opens it read-only, concurrently with other readers. Fails with an {@link MbfError} that names the
 * file: MBF3001 locked (the message keeps the other process's id), MBF3002 damaged, MBF3003 of another schema version,
 * MBF3004 not ours, MBF3005 cannot be created or written; reading a file that does not exist is MBF1004.
 */
export async function openStore(path: string, options: OpenStoreOptions): Promise<Store> {
  const named = resolve(path);
  const file = physicalPath(named);
  if (openHere.has(file)) throw new MbfError('MBF3001', OPEN_HERE, { file: named });
  openHere.add(file);
  try {
    const opened = await (options.mode === 'write' ? openForWriting(file, options) : openForReading(file, options));
    const release = () => {
      rmSync(spillDirectory(file), { recursive: true, force: true });
      openHere.delete(file);
    };
    return new Store({ ...opened, file: named, mode: options.mode, release });
  } catch (error) {
    openHere.delete(file);
    const failure = asStoreError(file, error, 'use');
    throw failure instanceof MbfError ? failure.inFile(named) : failure;
  }
}

/** A store in a temporary directory, for questions about rows that no store has. It is deleted when it is closed. */
export async function openScratch(): Promise<Store> {
  const directory = makeTemporaryDirectory();
  const remove = () => rmSync(directory, { recursive: true, force: true });
  try {
    const file = join(directory, 'scratch.duckdb');
    const opened = await openForWriting(file, { mode: 'write', threads: 1 });
    return new Store({ ...opened, file, mode: 'write', release: remove });
  } catch (error) {
    remove();
    throw error;
  }
}

/** A database in memory without tables, for queries that read none. It gives the same answers again. */
export async function openWithoutTables(): Promise<Store> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1', enable_external_access: 'false' });
  const connection = await instance.connect();
  return new Store({ file: ':memory:', mode: 'read', instance, connection, searchPath: undefined, release: () => {} });
}

/**
 * Without symbolic links, even for a file that does not exist yet: DuckDB 1.5 allows itself only the resolved names of
 * its file and log once external access is off, and then cannot open the log under the link's name.
 */
function physicalPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    try {
      return join(realpathSync(dirname(file)), basename(file));
    } catch {
      return file;
    }
  }
}

/** Per process, because two readers spilling into one directory overwrite each other's files. */
function spillDirectory(file: string): string {
  return temporaryName(file, 'tmp', dirname(file));
}

async function openForReading(file: string, options: OpenStoreOptions): Promise<Opened> {
  const size = sizeOf(file);
  if (size === undefined) throw new MbfError('MBF1004', 'there is no store at this path', { file });
  const opened = size === 0 ? undefined : await connectChecked(file, options);
  if (opened?.hasLibrary === true) return opened;
  if (opened !== undefined) close(opened);
  if (opened?.isMade !== true) throw new MbfError('MBF1004', 'the file is empty: nothing was ever ingested', { file });
  try {
    close(await openForWriting(file, options));
  } catch (error) {
    // On a read-only disk, or being read by another process: its library and its derived tables are not used.
    if (!(error instanceof MbfError && /^MBF300[15]$/.test(error.code))) throw error;
    return { ...(await connect(file, options, 'read')), hasLibrary: false };
  }
  return connect(file, options, 'read');
}

async function openForWriting(file: string, options: OpenStoreOptions): Promise<Opened> {
  const size = sizeOf(file);
  const isOurs = (size === undefined || size === 0) && (await createStore(file, size === 0, options));
  // Read-only first: opening a stranger's database for writing would already fold its log into it.
  if (!isOurs) {
    const opened = await connectChecked(file, options);
    try {
      await checkForWriting(opened.connection, file, opened.tables);
    } finally {
      close(opened);
    }
  }
  const opened = await update(await connect(file, options, 'write'), file);
  // Another process may have written since it was made.
  const isNew = isOurs && (await opened.connection.run('SELECT 1 FROM run LIMIT 1')).rowCount === 0;
  // No other process can have the store open now, so its spill directories are left over from ended processes.
  sweep(file, /\.(?:\w+-)?\d+(?:-\w+)?\.tmp$/);
  sweepTemporaryFiles(dirname(file));
  return { ...opened, isNew };
}

/** Makes the tables of an empty database, and brings the library up to date; closes the store if that fails. */
async function update(opened: Opened, file: string): Promise<Opened> {
  try {
    const state = await readSchemaState(opened.connection);
    if (state.kind === 'ours' && state.version === 0) await makeTables(opened.connection);
    await installLibrary(opened.connection);
    return opened;
  } catch (error) {
    close(opened);
    const failure = asStoreError(file, error, 'use');
    // Our statements work on every store that we made; something else in this one prevents them.
    if (failure instanceof MbfError || !(failure instanceof Error)) throw failure;
    throw changed(file, `cannot be brought up to date: ${failure.message}`, failure);
  }
}

/**
 * Opened read-only, so that a file we then refuse stays as it was. Throws unless it is a store that this version can
 * use. Nothing that the file defines runs before its tables are known to be ours. An empty database is not made yet.
 */
async function connectChecked(
  file: string,
  options: OpenStoreOptions,
): Promise<Opened & { readonly isMade: boolean; readonly tables: StoredTables; readonly hasLibrary: boolean }> {
  await checkMagic(file);
  checkLogs(file);
  const opened = await connect(file, options, 'read');
  try {
    const state = await readSchemaState(opened.connection);
    if (state.kind === 'foreign') {
      const fact = 'it is a DuckDB database that mbforensics did not make; it was left untouched';
      throw new MbfError('MBF3004', fact, { file });
    }
    const { version, tables } = state;
    const isMade = version !== 0;
    if (isMade && version !== SCHEMA_VERSION) {
      const fact = `another build of mbforensics made it: its schema is version ${version}, not ${SCHEMA_VERSION}`;
      throw new MbfError('MBF3003', fact, { file });
    }
    const hasLibrary = isMade && (await checkTables(opened.connection, file, tables));
    return { ...opened, isMade, tables, hasLibrary };
  } catch (error) {
    close(opened);
    throw error;
  }
}

function close({ instance, connection }: Opened): void {
  connection.closeSync();
  instance.closeSync();
}

/**
 * DuckDB 1.5 tries to *download* a reader when it is handed an SQLite file, and reads other formats by name. So the
 * file is looked at before DuckDB sees it. Never call this on a store that is open in this process: closing the
 * descriptor drops its lock.
 */
async function checkMagic(file: string): Promise<void> {
  const handle = await open(file, 'r');
  try {
    const head = Buffer.alloc(MAGIC_OFFSET + MAGIC.length);
    const { bytesRead } = await handle.read(head, 0, head.length, 0);
    if (bytesRead < head.length || head.toString('latin1', MAGIC_OFFSET) !== MAGIC) {
      throw new MbfError('MBF3004', 'the file is not a DuckDB database', { file });
    }
  } finally {
    await handle.close();
  }
}

/** The files that DuckDB reads with a database, by what follows its name. */
const LOGS = ['.wal', '.wal.checkpoint', '.wal.recovery'];

/** The first record of a log is its version: field 100, of type 98. */
const LOG_HEAD = Buffer.from([100, 0, 98]);

/**
 * DuckDB waits for a pipe in place of its log, writes through a link, and deletes a log that is none without a word.
 * Refused instead: MBF3004, and MBF3002 for a log that is none, since rows may be lost.
 */
function checkLogs(file: string): void {
  for (const suffix of LOGS) {
    const log = file + suffix;
    const stat = lstatSync(log, { throwIfNoEntry: false });
    if (stat === undefined) continue;
    if (!stat.isFile()) throw new MbfError('MBF3004', `its log ${basename(log)} is not a regular file`, { file });
    if (suffix !== '.wal' || stat.size === 0) continue;
    const handle = openSync(log, 'r');
    try {
      const head = Buffer.alloc(LOG_HEAD.length);
      readSync(handle, head, 0, head.length, 0);
      if (!head.equals(LOG_HEAD))
        throw new MbfError('MBF3002', `its log ${basename(log)} is not one of DuckDB`, { file });
    } finally {
      closeSync(handle);
    }
  }
}

/** Undefined if the file does not exist; throws MBF3005 or MBF3004 if the path cannot be a store. */
function sizeOf(file: string): number | undefined {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (stat === undefined) {
    if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return undefined;
    // Not created in its place: the link may be a leftover, or of a file system that is not mounted.
    throw new MbfError('MBF3005', `it is a link to ${readlinkSync(file)}, which does not exist`, { file });
  }
  if (stat.isDirectory()) throw new MbfError('MBF3005', 'the path is a directory', { file });
  if (!stat.isFile()) throw new MbfError('MBF3004', 'the path is not a regular file', { file });
  return stat.size;
}

/**
 * Makes a store under another name and links it into place: a process killed meanwhile leaves no half-made store, and
 * of two that create the same store at once neither can replace the other's file, since `link` fails where a name
 * exists. False where another had made it.
 */
async function createStore(file: string, replaceEmpty: boolean, options: OpenStoreOptions): Promise<boolean> {
  const fresh = temporaryName(file, 'new', dirname(file));
  sweepTemporaryFiles(dirname(file));
  try {
    removeWithLog(fresh);
    if (existsSync(TEMPLATE)) writeFileSync(fresh, readFileSync(TEMPLATE), { flush: true });
    else close(await update(await connect(fresh, options, 'write'), fresh));
    if (replaceEmpty && sizeOf(file) === 0) rmSync(file);
    // A log without its database can never be replayed; DuckDB deletes it too when it creates a file.
    if (sizeOf(file) === undefined) rmSync(`${file}.wal`, { force: true });
    return putInPlace(fresh, file);
  } catch (error) {
    const failure = asStoreError(file, error, 'use');
    if (!(failure instanceof MbfError)) throw failure;
    // A `.new` file is internal, and a file that did not exist cannot be damaged.
    const code = failure.code === 'MBF3002' ? 'MBF3005' : failure.code;
    throw new MbfError(code, failure.message.replaceAll(fresh, file), { file }, error);
  } finally {
    removeWithLog(fresh);
    rmSync(spillDirectory(fresh), { recursive: true, force: true });
  }
}

function putInPlace(fresh: string, file: string): boolean {
  try {
    linkSync(fresh, file);
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'EEXIST') return false;
    // FAT, some FUSE and object-store mounts lack hard links.
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'EOPNOTSUPP' && code !== 'ENOSYS' && code !== 'EMLINK')
      throw error;
    copyFileSync(fresh, file, fs.COPYFILE_EXCL);
    return true;
  }
}

function removeWithLog(file: string): void {
  rmSync(file, { force: true });
  rmSync(`${file}.wal`, { force: true });
}

/** Removes siblings named like the store plus `suffix`. Best effort: they only waste space. */
function sweep(file: string, suffix: RegExp): void {
  const directory = dirname(file);
  const name = basename(file);
  try {
    for (const entry of readdirSync(directory))
      if (entry.startsWith(`${name}.`) && suffix.test(entry.slice(name.length)))
        rmSync(join(directory, entry), { recursive: true, force: true });
  } catch {
    // Not ours to delete, or gone already.
  }
}

async function connect(file: string, options: OpenStoreOptions, mode: StoreMode): Promise<Opened> {
  let instance: DuckDBInstance | undefined;
  try {
    instance = await DuckDBInstance.create(file, settings(file, options, mode));
    const connection = await instance.connect();
    // TIMESTAMPs in the store are UTC; with the machine's zone, now() and casts would shift them.
    await connection.run(`SET TimeZone = 'UTC'`);
    if (options.exchangeDirectory !== undefined) {
      // A list cannot be given while opening, and nothing can be allowed any more once external access is off.
      await connection.run(`SET allowed_directories = ['${options.exchangeDirectory.replaceAll("'", "''")}/']`);
      await connection.run('SET enable_external_access = false');
    }
    await connection.run('SET lock_configuration = true');
    return { instance, connection, searchPath: mode === 'read' ? await shieldFunctions(connection) : undefined };
  } catch (error) {
    instance?.closeSync();
    throw asStoreError(file, error, 'open');
  }
}

function settings(file: string, options: OpenStoreOptions, mode: StoreMode): Record<string, string> {
  const isSmall = mode === 'read' && (sizeOf(file) ?? 0) < SMALL_STORE_BYTES;
  return {
    access_mode: mode === 'read' ? 'READ_ONLY' : 'READ_WRITE',
    memory_limit: `${options.memoryLimitBytes ?? GIB}B`,
    threads: String(options.threads ?? (isSmall ? 1 : Math.min(4, availableParallelism()))),
    // Whole row groups bypass the log. The rows of small files wait in it, and with them memory that cannot spill: the
    // snapshots of 1,024 ranks left a log of 3 GB, and no memory for the labels of their blocks.
    checkpoint_threshold: '64MiB',
    // Of new stores. Every column of every table that a small file adds rows to holds a block of its own until the next
    // checkpoint: with those of 256 KiB, half of the time of a thousand ranks' ingest was spilling them.
    default_block_size: '65536',
    // Row groups wait in memory to be written together, five of each table by default: an export fills four large
    // tables at once.
    write_buffer_row_group_count: '1',
    // Spilling is the only file access of a query, and must be named before external access is switched off.
    temp_directory: spillDirectory(file),
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
    allow_persistent_secrets: 'false',
    // With an exchange directory it is switched off after that was named; see `connect`.
    enable_external_access: options.exchangeDirectory === undefined ? 'false' : 'true',
  };
}
