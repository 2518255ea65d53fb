/**
 * Git histories with one planted regression each, and the files that runs of their commits left: `histories/NAME/` has
 * a bundle of the repository, one of its submodule, and the recorded runs of the commits that a bisection asks for.
 * `launch.sh` of a commit copies its recorded run.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync } from 'node:zlib';
import type { History } from '../../bench/planted-bisection.js';

const HISTORIES = join(dirname(fileURLToPath(import.meta.url)), 'histories');

export interface RecordedHistory extends History {
  readonly regression: string;
  /** Pairs of neighbours between which code only moved or was renamed. */
  readonly refactors: readonly (readonly [string, string])[];
}

/** Unpacks a history below `directory`. */
export function recordedHistory(name: string, directory: string): RecordedHistory {
  const [header, ...rows] = readFileSync(join(HISTORIES, 'histories.tsv'), 'utf8').replace(/\n$/, '').split('\n');
  const cells = rows.map((row) => row.split('\t')).find(([first]) => first === name)!;
  const fact = (column: string): string => cells[header!.split('\t').indexOf(column)]!;
  const checkout = join(directory, 'Megatron-Bridge');
  const runs = join(directory, 'recorded');
  for (const path of [checkout, runs]) mkdirSync(path, { recursive: true });
  const git = (cwd: string, ...args: string[]): string => execFileSync('git', args, { cwd, encoding: 'utf8' });
  git(directory, 'clone', '--quiet', '--bare', join(HISTORIES, name, 'submodule.bundle'), 'Megatron-LM.git');
  git(checkout, 'init', '--quiet', '--initial-branch=start');
  git(checkout, 'fetch', '--quiet', join(HISTORIES, name, 'superproject.bundle'), 'main:main');
  git(checkout, 'checkout', '--quiet', 'main');
  const input = brotliDecompressSync(readFileSync(join(HISTORIES, name, 'outputs.tar.br')));
  execFileSync('tar', ['-x', '-C', runs], { input });
  const commits = git(checkout, 'rev-list', '--reverse', 'main').trimEnd().split('\n');
  const planted = Number(fact('planted'));
  const indices = (column: string): number[] => fact(column).split(' ').filter(Boolean).map(Number);
  return {
    directory: checkout,
    criterion: fact('on'),
    commits: commits.map((sha, i) => ({ sha, isBad: i >= planted })),
    planted: { sha: commits[planted]!, file: fact('file'), line: Number(fact('line')), key: fact('key') || null },
    expectedSuspects: indices('suspects').map((at) => commits[at]!),
    environment: { TRAINER: join(HISTORIES, 'play.mjs'), RECORDED_RUNS: runs },
    train: async (sha, attempt, output) => cpSync(join(runs, `${sha}-${attempt}`), output, { recursive: true }),
    regression: fact('regression'),
    refactors: indices('refactors').map((at) => [commits[at - 1]!, commits[at]!]),
  };
}
