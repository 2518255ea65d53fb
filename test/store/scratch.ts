/**
 * Temporary directories, and a compiled copy of the sources for tests that need a second process (child processes
 * cannot load TypeScript).
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

export const repoRoot = fileURLToPath(new URL('../..', import.meta.url));

/** Removed when the current test ends. */
export function scratchDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'mbf-store-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/**
 * Made once and kept under `node_modules`, so that packages resolve: the compiled sources, and what tests of this build
 * share (stores, generated runs). One folder per content of the sources; those unused for a day are removed.
 */
const CACHE = join(repoRoot, 'node_modules', '.cache', 'mbforensics-tests');
const UNUSED_MS = 86_400_000;

/** What `tsconfig.build.json` compiles, and what `finish-build.mjs` and the program read. */
const BUILT_FROM = ['src', 'parsers', 'queries', 'samples', 'bench', '.ci', 'test/frozen', 'test/fuzz'];
const BUILT_FILES = ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json', 'CHANGELOG.md'];

/** Names and contents of files and folders, as one key. */
export function contentKey(paths: readonly string[], more: readonly string[] = []): string {
  const hash = createHash('sha256').update(JSON.stringify(more));
  for (const path of paths) {
    const names = statSync(path).isDirectory() ? readdirSync(path, { recursive: true, encoding: 'utf8' }).sort() : [''];
    for (const name of names) {
      const file = join(path, name);
      if (!statSync(file).isFile() || name.endsWith('.gen.ts')) continue;
      hash.update(`\0${name}\0`).update(readFileSync(file));
    }
  }
  return hash.digest('hex').slice(0, 24);
}

let folder: string | undefined;

function buildFolder(): string {
  if (folder !== undefined) return folder;
  const paths = [...BUILT_FROM, ...BUILT_FILES].map((name) => join(repoRoot, name));
  folder = join(CACHE, contentKey(paths, [process.version]));
  mkdirSync(folder, { recursive: true });
  utimesSync(folder, new Date(), new Date());
  return folder;
}

/** A path for what all test files of one build share. `name` must hold all else that its content depends on. */
export const sharedPath = (name: string): string => join(buildFolder(), name);

const POLL_MS = 50;

/**
 * Lets `make` create something at the path that it gets, once for all tests and runs of tests of this build; it is
 * then moved to `path`. Others wait for it, and take over from a process that ended before it was done.
 */
export function madeOnce(path: string, make: (unfinished: string) => void): string {
  const lock = `${path}.lock`;
  while (!existsSync(path)) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      if (!isAlive(lock)) rmSync(lock, { force: true });
      else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS);
      continue;
    }
    try {
      const unfinished = `${path}.part`;
      rmSync(unfinished, { recursive: true, force: true });
      if (!existsSync(path)) {
        make(unfinished);
        renameSync(unfinished, path);
      }
    } finally {
      rmSync(lock, { force: true });
    }
  }
  return path;
}

function isAlive(lock: string): boolean {
  try {
    const pid = readFileSync(lock, 'utf8');
    // Written a moment ago, but not filled yet.
    if (pid === '') return true;
    process.kill(Number(pid), 0);
    return true;
  } catch {
    return false;
  }
}

/**
 * The sources, compiled by whichever worker needs them first. A build of `dist/` may be older than the sources under
 * test, unless MBF_DIST_IS_NEW=1 promises that it was just made of them: then it is copied. It must not be changed.
 */
export function sharedBuild(): string {
  return madeOnce(sharedPath('build'), (outDir) => {
    for (const name of readdirSync(CACHE)) {
      const unused = join(CACHE, name);
      if (Date.now() - statSync(unused).mtimeMs > UNUSED_MS) rmSync(unused, { recursive: true, force: true });
    }
    if (process.env['MBF_DIST_IS_NEW'] === '1') cpSync(join(repoRoot, 'dist'), outDir, { recursive: true });
    else compileInto(outDir);
  });
}

/** Type errors elsewhere do not stop the compiler from emitting. */
function compileInto(outDir: string): void {
  const tsc = join(repoRoot, 'node_modules', 'typescript', 'bin', 'tsc');
  const flags = ['--incremental', 'false', '--tsBuildInfoFile', 'null', '--outDir', outDir];
  const { stdout } = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json', ...flags], {
    cwd: repoRoot,
    encoding: 'utf8',
  });
  if (!existsSync(join(outDir, 'src', 'store', 'open-store.js'))) throw new Error(`nothing was compiled: ${stdout}`);
  execFileSync(process.execPath, [join(repoRoot, '.ci', 'finish-build.mjs'), outDir], { cwd: repoRoot });
}

export interface Child {
  /** Resolves at the next line of stdout; rejects if the process ends first. */
  nextLine(): Promise<string>;
  writeLine(line: string): void;
  kill(): void;
  /** Exit code, or null if it was killed. */
  readonly ended: Promise<number | null>;
  stderr(): string;
}

/** Runs one of the `.mjs` scripts of this folder; `before` is a command that gets the script as its arguments. */
export function startChild(script: string, args: readonly string[], before: readonly string[] = []): Child {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const [command, ...rest] = [...before, process.execPath, path, ...args];
  const child = spawn(command!, rest, { stdio: ['pipe', 'pipe', 'pipe'] });
  const lines: string[] = [];
  const waiting: { resolve: (line: string) => void; reject: (error: Error) => void }[] = [];
  let pending = '';
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    pending += text;
    for (let end = pending.indexOf('\n'); end >= 0; end = pending.indexOf('\n')) {
      const line = pending.slice(0, end);
      pending = pending.slice(end + 1);
      const waiter = waiting.shift();
      if (waiter === undefined) lines.push(line);
      else waiter.resolve(line);
    }
  });
  child.stdin.on('error', () => undefined);
  const ended = new Promise<number | null>((resolve) => {
    child.on('close', (code) => {
      for (const waiter of waiting) waiter.reject(new Error(`the child ended with ${code}: ${errors}`));
      resolve(code);
    });
  });
  return {
    nextLine: () => {
      const line = lines.shift();
      if (line !== undefined) return Promise.resolve(line);
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    writeLine: (line) => child.stdin.write(`${line}\n`),
    kill: () => child.kill('SIGKILL'),
    ended,
    stderr: () => errors,
  };
}
