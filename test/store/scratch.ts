/**
 * Temporary directories, and a compiled copy of the sources for tests that need a second process (child processes
 * cannot load TypeScript).
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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

const CACHE = join(repoRoot, 'node_modules', '.cache');

/**
 * A path for what all test files of this run share, and a later run removes; undefined where the system does not
 * distinguish runs.
 */
export function sharedPath(suffix: string): string | undefined {
  const run = runId();
  if (run === undefined) return undefined;
  mkdirSync(CACHE, { recursive: true });
  return join(CACHE, `mbforensics-test-run-${run}${suffix}`);
}
/** How long another worker may take to make something. */
const MOST_WAIT_MS = 180_000;
const POLL_MS = 50;

/** Lets `make` create something at `path` once per run of the tests; other callers wait until it exists. */
export function madeOnce(path: string, make: () => void): void {
  const done = `${path}.done`;
  try {
    mkdirSync(`${path}.begun`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const until = Date.now() + MOST_WAIT_MS;
    while (!existsSync(done)) {
      if (Date.now() > until) throw new Error(`nobody made ${path}`);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS);
    }
    return;
  }
  make();
  writeFileSync(done, '');
}

/**
 * The sources compiled for this run of the tests: by whichever worker needs them first, and kept under `node_modules`
 * so that packages resolve. A build of `dist/` may be older than the sources under test, unless MBF_DIST_IS_NEW=1
 * promises that it was just made of them: then it is copied. It must not be changed.
 */
export function sharedBuild(): string {
  const outDir = sharedPath('');
  if (outDir === undefined) return compileSources(`worker-${process.pid}`);
  madeOnce(outDir, () => {
    for (const name of readdirSync(CACHE)) {
      const of = /^mbforensics-test-run-(\d+)-(\d+)/.exec(name);
      // Another run may be in progress.
      if (of !== null && startOf(of[1]!) !== of[2]) rmSync(join(CACHE, name), { recursive: true, force: true });
    }
    if (process.env['MBF_DIST_IS_NEW'] === '1') cpSync(join(repoRoot, 'dist'), outDir, { recursive: true });
    else compileInto(outDir);
  });
  return outDir;
}

/**
 * Of the process that started this worker: its number and when it began, in ticks of the system; undefined where the
 * system does not provide it.
 */
function runId(): string | undefined {
  const start = startOf(String(process.ppid));
  return start === undefined ? undefined : `${process.ppid}-${start}`;
}

/** When a process began, in ticks of the system; undefined if there is none, or the system does not provide it. */
function startOf(pid: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')[19];
  } catch {
    return undefined;
  }
}

/** A private compiled copy; `name` distinguishes it. */
function compileSources(name: string): string {
  const outDir = join(CACHE, `mbforensics-test-${name}`);
  rmSync(outDir, { recursive: true, force: true });
  compileInto(outDir);
  return outDir;
}

/** Type errors elsewhere do not stop the compiler from emitting. */
function compileInto(outDir: string): void {
  const tsc = join(repoRoot, 'node_modules', 'typescript', 'bin', 'tsc');
  const args = [
    tsc,
    '-p',
    'tsconfig.build.json',
    '--incremental',
    'false',
    '--tsBuildInfoFile',
    'null',
    '--outDir',
    outDir,
  ];
  const { stdout } = spawnSync(process.execPath, args, { cwd: repoRoot, encoding: 'utf8' });
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
