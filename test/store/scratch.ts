/** Temporary directories, and a compiled copy of the sources for tests that need a second process (child processes cannot load TypeScript). */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
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
 * Compiles everything into its own folder under `node_modules` (so that packages resolve) and returns it. A build of `dist/` may be
 * older than the sources under test; type errors elsewhere do not stop the compiler from emitting.
 */
export function compileSources(name: string): string {
  const outDir = join(repoRoot, 'node_modules', '.cache', `mbforensics-test-${name}`);
  rmSync(outDir, { recursive: true, force: true });
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
  return outDir;
}

export interface Child {
  /** Resolves at the next line of stdout; rejects if the process ends first. */
  nextLine(): Promise<string>;
  tell(line: string): void;
  kill(): void;
  /** Exit code, or null if it was killed. */
  readonly ended: Promise<number | null>;
  stderr(): string;
}

/** Runs one of the `.mjs` scripts beside this file; `before` is a command that is given the rest as its arguments. */
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
    tell: (line) => child.stdin.write(`${line}\n`),
    kill: () => child.kill('SIGKILL'),
    ended,
    stderr: () => errors,
  };
}
