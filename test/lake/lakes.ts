/** Small runs to be added to a lake, and what is in one. */
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildCli, environment } from '../support/cli.js';
import { entry, tracePickle } from '../support/small-snapshot.js';

/** A run of some ranks, each with a trace of its own; `late`: their traces go on. */
export function smallRun(directory: string, ranks: number, late = 0): string {
  mkdirSync(directory, { recursive: true });
  for (let rank = 0; rank < ranks; rank += 1) {
    const entries = Array.from({ length: 9 + (rank % 5) + late }, (_, i) =>
      entry('alloc', i, { size: 512 * (rank + 1) }),
    );
    writeFileSync(join(directory, `snapshot_rank-${rank}.pickle`), tracePickle(entries));
  }
  writeFileSync(
    join(directory, 'train.log'),
    `[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.00 GiB is free. ` +
      'Process 1 has 78.10 GiB memory in use. Of the allocated memory 70.00 GiB is allocated by PyTorch, and 7.00 GiB is reserved by PyTorch but unallocated.\n',
  );
  return directory;
}

/** Every file, hidden ones too, relative to the lake; the names of parts are their content. */
export function filesOf(lake: string): string[] {
  const names = readdirSync(lake, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => !statSync(join(lake, name), { throwIfNoEntry: false })?.isDirectory()).sort();
}

/** Parts alone. */
export const partsOf = (lake: string): string[] => filesOf(lake).filter((name) => name.includes('/part-'));

/** Folders that have two parts of a block: a reader would get rows twice. */
export function doubled(lake: string): string[] {
  const folders = partsOf(lake).map((name) => name.slice(0, name.lastIndexOf('/')));
  return folders.filter((folder, i) => folders.indexOf(folder) !== i);
}

/** What `sql --lake` answers, as lines of CSV without their head. */
export function ask(lake: string, statement: string): string[] {
  const { stdout } = buildCli().expect(0, ['sql', statement, '--lake', lake, '--format', 'csv']);
  return stdout.trim().split('\n').slice(1);
}

export interface Ended {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
}

/** The program in a process of its own, which may be killed. */
export function start(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [buildCli().script, ...args], {
    env: environment(env),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = new Promise<Ended>((resolve) =>
    child.on('close', (status, signal) => resolve({ status, signal, stderr })),
  );
  return { child, ended };
}
