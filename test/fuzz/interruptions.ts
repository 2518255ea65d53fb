/**
 * Real ingests that meet what a machine does: signals at any moment, a full disk, files that change while they are
 * read. Afterwards the store holds what it held before or the whole source, and nothing is left behind.
 */
import { execFileSync, spawn } from 'node:child_process';
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { createRandom, type Random } from '../../samples/generate/simulate/random.js';
import { pickled } from '../../samples/generate/write/pickle-writer.js';
import { getOrAdd } from '../../src/model/group-by.js';
import { packageRoot } from '../../src/store/load-queries.js';
import { segment, snapshot, trace } from '../support/small-snapshot.js';
import { contentOf, differingTables } from './compare-stores.js';
import { pickOf } from './mutate-bytes.js';

const MAIN = join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.js');
const MOST_SECONDS = 120;

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
  readonly ms: number;
  readonly timedOut: boolean;
}

interface Call {
  readonly main: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly tmp: string;
  /** Called once the process runs. */
  readonly meanwhile?: (kill: (signal: NodeJS.Signals) => void) => Promise<void>;
}

async function call({ main, args, cwd, tmp, meanwhile }: Call): Promise<Ended> {
  mkdirSync(tmp, { recursive: true });
  const start = performance.now();
  const child = spawn(process.execPath, [main, ...args], {
    cwd,
    env: { PATH: process.env['PATH'], HOME: cwd, XDG_CACHE_HOME: join(cwd, 'cache'), TMPDIR: tmp, TZ: 'UTC', CI: '1' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-4000);
  });
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    child.kill('SIGKILL');
  }, MOST_SECONDS * 1000);
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, stderr, ms: performance.now() - start, timedOut });
    });
  });
  await meanwhile?.((signal) => child.kill(signal));
  return ended;
}

export interface InterruptionResult {
  readonly what: string;
  readonly runs: number;
  /** How often each end was met. */
  readonly ends: Readonly<Record<string, number>>;
  /** What broke a rule; empty is good. */
  readonly faults: readonly string[];
}

class Tally {
  readonly ends: Record<string, number> = {};
  readonly faults: string[] = [];
  count(end: string): void {
    this.ends[end] = (this.ends[end] ?? 0) + 1;
  }
}

const STACK_TRACE = /\n\s+at .*:\d+:\d+\)?(?:\n|$)/;
function commonFaults({ code, stderr, timedOut }: Ended): string | undefined {
  if (timedOut) return `did not end in ${MOST_SECONDS} s`;
  if (code === 70 || STACK_TRACE.test(stderr)) return `exit ${code}: ${stderr.slice(0, 300)}`;
  return undefined;
}

/** Sources that take some tenths of a second each to be read. */
function makeRuns(root: string): string[] {
  const names = ['log', 'snapshot', 'nsys', 'nsys-gz'];
  if (existsSync(join(root, names.at(-1)!))) return names.map((name) => join(root, name));
  const sample = join(packageRoot(), 'samples', 'nccl-outside');
  const files = readdirSync(sample);
  const nsys = files.find((name) => name.startsWith('nsys'))!;
  const put = (name: string, file: string, bytes: Uint8Array): string => {
    const folder = join(root, name);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, file), bytes);
    return folder;
  };
  const log = readFileSync(join(sample, files.find((name) => name.endsWith('.out'))!));
  const value = snapshot({
    segments: Array.from({ length: 40 }, (_, i) => segment({ address: 0x7f00_0000_0000 + i * 2 ** 22 })),
    device_traces: [trace(25_000)],
  });
  const export_ = readFileSync(join(sample, nsys));
  return [
    put('log', 'train.log', Buffer.concat(Array.from({ length: 60 }, () => log))),
    put('snapshot', 'snapshot_0.pickle', pickled(value)),
    put('nsys', 'report.sqlite', gunzipSync(export_)),
    put('nsys-gz', 'report.sqlite.gz', export_),
  ];
}

/** Files of ours in the temporary directory, and next to the store. */
function leftovers(tmp: string, db: string): string[] {
  const next = join(db, '..');
  const name = db.slice(next.length + 1);
  return [
    ...(existsSync(tmp) ? readdirSync(tmp) : []),
    ...readdirSync(next).filter((entry) => entry.startsWith(name) && entry !== name),
  ];
}

export interface InterruptionOptions {
  readonly count: number;
  /** Number of the first: the sources are taken in turn. */
  readonly first?: number;
  readonly directory: string;
  readonly seed: number;
  /** Another `main.js` than the one of this build. */
  readonly main?: string;
}

export interface KillOptions extends InterruptionOptions {
  /** Further folders to ingest. */
  readonly folders?: readonly string[];
  /** Of the same store, before an ingest may end; default 1. */
  readonly kills?: number;
  /** Called after each kill; throws if the store is not as it must be. */
  readonly inspect?: (db: string, run: string, isLast: boolean) => Promise<void>;
}

/** By folder: how long a whole ingest takes, and what its store holds. */
const completeReads = new Map<string, Promise<{ readonly ms: number; readonly content: Content }>>();
type Content = Awaited<ReturnType<typeof contentOf>>;

export async function runKills(options: KillOptions): Promise<InterruptionResult> {
  const { count, first = 0, directory, seed, main = MAIN, folders = [], kills = 1, inspect } = options;
  const random = createRandom(seed);
  const tally = new Tally();
  const root = join(directory, 'kills');
  const runs = [...folders, ...makeRuns(root)];
  for (let i = first; i < first + count; i++) {
    const run = runs[i % runs.length]!;
    const name = run.slice(run.lastIndexOf('/') + 1);
    const { ms, content } = await getOrAdd(completeReads, run, async () => {
      const db = join(root, `${name}.duckdb`);
      const ended = await call({ main, args: ['ingest', run, '--db', db], cwd: root, tmp: join(root, 'tmp') });
      if (ended.code !== 0) throw new Error(`${run}: exit ${ended.code}: ${ended.stderr}`);
      return { ms: ended.ms, content: await contentOf(db) };
    });
    const db = join(root, `killed-${i}.duckdb`);
    const tmp = join(root, `tmp-${i}`);
    const args = ['ingest', run, '--db', db];
    let at = name;
    const fault = (what: string): void => void tally.faults.push(`${at}: ${what.replaceAll('\n', ' ')}`);
    for (let n = 1; n <= kills; n++) {
      const signal = pickOf(random, ['SIGKILL', 'SIGKILL', 'SIGINT', 'SIGTERM', 'SIGHUP'] as const);
      const delay = Math.round(ms * (0.1 + random()));
      at = `${signal} after ${delay} ms of ${name}`;
      const killed = await call({
        ...{ main, args, cwd: root, tmp },
        meanwhile: async (kill) => {
          await sleep(delay);
          kill(signal);
        },
      });
      const isWhole = killed.signal === null && killed.code === 0;
      tally.count(isWhole ? 'ended before' : existsSync(db) ? 'store was there' : 'no store yet');
      const common = commonFaults(killed);
      if (common !== undefined) fault(common);
      // On a signal that can be handled, everything is swept at once.
      if (signal !== 'SIGKILL' && killed.code !== 0 && kills === 1) {
        const left = leftovers(tmp, db).filter((entry) => !entry.endsWith('.wal'));
        if (left.length > 0) fault(`left behind: ${left.join(', ')}`);
      }
      await inspect?.(db, run, n === kills);
    }
    // The same user's next ingest is the one that sweeps; temporary folders are known by the process that made them.
    const again = await call({ main, args, cwd: root, tmp });
    if (again.code !== 0) fault(`the second ingest: exit ${again.code}: ${again.stderr.slice(0, 200)}`);
    else {
      const differing = differingTables(content, await contentOf(db));
      if (differing.length > 0) fault(`other content of ${differing.join(', ')}`);
      const left = leftovers(tmp, db);
      if (left.length > 0) fault(`left after the next ingest: ${left.join(', ')}`);
    }
    for (const path of [db, `${db}.wal`, tmp]) rmSync(path, { recursive: true, force: true });
  }
  return { what: 'kills', runs: count, ...tally };
}

const KIB = 1024;

/** A real file system that is full: mounting one needs root. */
export async function runDiskFull(options: InterruptionOptions): Promise<InterruptionResult | string> {
  const { count, first: from = 0, directory, seed, main = MAIN } = options;
  const random = createRandom(seed);
  const tally = new Tally();
  const root = join(directory, 'disk-full');
  const disk = join(root, 'disk');
  mkdirSync(disk, { recursive: true });
  const mount = (size: number): void =>
    void execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}k`, 'tmpfs', disk]);
  const unmount = (): void => void execFileSync('umount', [disk]);
  try {
    mount(1024);
    unmount();
  } catch (error) {
    return `disk-full: SKIPPED: no file system can be mounted here (needs root on Linux): ${String(error).split('\n')[0]}`;
  }
  const runs = makeRuns(root);
  const first = join(root, 'first.duckdb');
  const sample = join(packageRoot(), 'samples', 'leak');
  if (!existsSync(first)) {
    const made = await call({ main, args: ['ingest', sample, '--db', first], cwd: root, tmp: join(root, 'tmp') });
    if (made.code === null || made.code > 1) throw new Error(`exit ${made.code}: ${made.stderr}`);
  }
  const before = await contentOf(first);
  const base = Math.ceil(statSync(first).size / KIB);
  const complete = new Map<string, ReturnType<typeof contentOf>>();
  const completeOf = (run: string) =>
    getOrAdd(complete, run, async () => {
      const db = `${run}.duckdb`;
      copyFileSync(first, db);
      await call({ main, args: ['ingest', run, '--db', db], cwd: root, tmp: join(root, 'tmp') });
      return contentOf(db);
    });
  for (let i = from; i < from + count; i++) {
    const run = runs[i % runs.length]!;
    const hasStore = random() < 0.7;
    const free = Math.round(16 * 2 ** (random() * 10));
    const size = (hasStore ? base : 0) + free;
    const where = `${run.slice(root.length + 1)} with ${free} KiB free${hasStore ? '' : ', new store'}`;
    const fault = (what: string): void => void tally.faults.push(`${where}: ${what.replaceAll('\n', ' ')}`);
    mount(size);
    try {
      const db = join(disk, 'store.duckdb');
      if (hasStore) copyFileSync(first, db);
      const tmp = random() < 0.3 ? join(disk, 'tmp') : join(root, 'tmp');
      let ended: Ended;
      try {
        ended = await call({ main, args: ['ingest', run, '--db', db], cwd: root, tmp });
      } catch (error) {
        // The temporary directory itself does not fit.
        tally.count(`not started: ${(error as NodeJS.ErrnoException).code}`);
        continue;
      }
      tally.count(`exit ${ended.code ?? ended.signal}`);
      const common = commonFaults(ended);
      if (common !== undefined) fault(common);
      if (common !== undefined || ended.code === 0) continue;
      const isFull = ended.code === 5 && ended.stderr.includes('MBF3005');
      // With the temporary directory on the same disk, an archive that cannot be unpacked is a fault of reading.
      const isReadError = ended.code === 4 && tmp.startsWith(disk);
      if (!isFull && !isReadError) fault(`exit ${ended.code}, not 5 with MBF3005: ${ended.stderr.slice(0, 300)}`);
      if (!hasStore) continue;
      rmSync(join(disk, 'tmp'), { recursive: true, force: true });
      const copy = join(root, 'after.duckdb');
      copyFileSync(db, copy);
      if (existsSync(`${db}.wal`)) copyFileSync(`${db}.wal`, `${copy}.wal`);
      const differing = differingTables(before, await contentOf(copy));
      if (differing.length > 0 && ended.code === 5) {
        // A source is whole, and the disk was full when it was judged: the next ingest does what is left.
        await call({ main, args: ['ingest', run, '--db', copy], cwd: root, tmp: join(root, 'tmp') });
        const wrong = differingTables(await completeOf(run), await contentOf(copy));
        if (!differing.includes('source') || wrong.length > 0)
          fault(`the store has other content of ${differing.join(', ')}; after the next ingest of ${wrong.join(', ')}`);
      }
      for (const path of [copy, `${copy}.wal`]) rmSync(path, { force: true });
    } finally {
      unmount();
    }
  }
  return { what: 'disk full', runs: count, ...tally };
}

/** What other processes do to a file that is being read. */
const CHANGES: Readonly<Record<string, (path: string, random: Random) => void>> = {
  grow: (path) => appendFileSync(path, Buffer.alloc(100_000, 0x61)),
  shrink: (path, random) => truncateSync(path, Math.floor(statSync(path).size * random())),
  empty: (path) => truncateSync(path, 0),
  rewrite: (path, random) => {
    const bytes = readFileSync(path);
    bytes.fill(0x20, Math.floor(bytes.length * random()));
    writeFileSync(path, bytes);
  },
  remove: (path) => rmSync(path),
  replace: (path) => {
    writeFileSync(`${path}.new`, 'something else\n');
    renameSync(`${path}.new`, path);
  },
  directory: (path) => {
    rmSync(path);
    mkdirSync(path);
  },
  unreadable: (path) => execFileSync('chmod', ['000', path]),
};

export async function runRaces(options: InterruptionOptions): Promise<InterruptionResult> {
  const { count, first = 0, directory, seed, main = MAIN } = options;
  const random = createRandom(seed);
  const tally = new Tally();
  const root = join(directory, 'races');
  const runs = makeRuns(root);
  const tmp = join(root, 'tmp');
  const usual = await call({ main, args: ['ingest', runs[1]!, '--db', join(root, 'a.duckdb')], cwd: root, tmp });
  for (let i = first; i < first + count; i++) {
    const run = runs[i % runs.length]!;
    const folder = join(root, 'changing');
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    const [name] = readdirSync(run);
    const path = join(folder, name!);
    copyFileSync(join(run, name!), path);
    const change = pickOf(random, Object.keys(CHANGES));
    const delay = Math.round(usual.ms * (0.05 + random()));
    const db = join(root, `raced-${i}.duckdb`);
    const fault = (what: string): void => void tally.faults.push(`${change} ${name} after ${delay} ms: ${what}`);
    const ended = await call({
      ...{ main, args: ['ingest', random() < 0.5 ? folder : path, '--db', db], cwd: root, tmp },
      meanwhile: async () => {
        await sleep(delay);
        CHANGES[change]!(path, random);
        // Twice, so that one of them is noticed in the middle.
        if (change === 'grow') for (let n = 0; n < 5; n++) await sleep(20).then(() => CHANGES['grow']!(path, random));
      },
    });
    tally.count(`exit ${ended.code ?? ended.signal}`);
    const common = commonFaults(ended);
    if (common !== undefined) fault(common);
    else if (![0, 2, 4].includes(ended.code ?? -1)) fault(`exit ${ended.code}: ${ended.stderr.slice(0, 300)}`);
    if (existsSync(db)) await contentOf(db).catch((error: unknown) => fault(`the store does not open: ${error}`));
    const left = readdirSync(tmp);
    if (left.length > 0) {
      fault(`left behind: ${left.join(', ')}`);
      for (const entry of left) rmSync(join(tmp, entry), { recursive: true, force: true });
    }
    for (const file of [db, `${db}.wal`]) rmSync(file, { force: true });
  }
  return { what: 'races', runs: count, ...tally };
}
