/**
 * Git histories with one planted regression each, and the files that runs of their commits left. They are packed
 * together in `histories/recordings.tar.br`: of each history the repository and its submodule as `git fast-export`
 * writes them, and the recorded runs of the commits that a bisection asks for. `launch.sh` of a commit copies its
 * recorded run.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync, constants } from 'node:zlib';
import type { History } from '../../bench/planted-bisection.js';
import { contentKey } from '../store/scratch.js';
import { sharedFolder } from '../support/stores.js';

const HISTORIES = join(dirname(fileURLToPath(import.meta.url)), 'histories');
const ARCHIVE = join(HISTORIES, 'recordings.tar.br');
const REPOSITORIES = { superproject: 'Megatron-Bridge.git', submodule: 'Megatron-LM.git' };

export interface RecordedHistory extends History {
  readonly regression: string;
  /** Pairs of neighbours between which code only moved or was renamed. */
  readonly refactors: readonly (readonly [string, string])[];
}

/** Signed differences as base 128 of `2 n`, or `-2 n - 1`, low digits first; as what they are differences of. */
function* summedDifferences(bytes: Uint8Array): Generator<bigint> {
  let [sum, folded, shift] = [0n, 0n, 0n];
  for (const byte of bytes) {
    folded |= BigInt(byte & 127) << shift;
    shift += 7n;
    if (byte > 127) continue;
    sum += folded & 1n ? -(folded + 1n) / 2n : folded / 2n;
    [folded, shift] = [0n, 0n];
    yield sum;
  }
}

/**
 * Addresses and times differ in every run, all else of a pickle hardly: numbers of six bytes (addresses) and of seven
 * (times) were taken out, and are stored next to it as differences. Together, 31 MB compress to a third.
 */
function putNumbersBack(pickle: string): void {
  const withoutNumbers = readFileSync(pickle);
  const numbers = [6, 7].map((length) => summedDifferences(readFileSync(`${pickle}.${length}`)));
  const parts: Uint8Array[] = [];
  let end = 0;
  // LONG1 with its length.
  for (let at = withoutNumbers.indexOf(0x8a); at >= 0; at = withoutNumbers.indexOf(0x8a, at + 1)) {
    const length = withoutNumbers[at + 1]!;
    if (length !== 6 && length !== 7) continue;
    const number = Buffer.alloc(8);
    number.writeBigUInt64LE(numbers[length - 6]!.next().value as bigint);
    parts.push(withoutNumbers.subarray(end, at + 2), number.subarray(0, length));
    end = at + 2;
  }
  writeFileSync(pickle, Buffer.concat([...parts, withoutNumbers.subarray(end)]));
}

/** All of them, for each history a folder with two bare repositories and `recorded`. */
const unpacked = (): string =>
  sharedFolder(`histories-${contentKey([ARCHIVE])}`, (folder) => {
    mkdirSync(folder);
    const params = { [constants.BROTLI_DECODER_PARAM_LARGE_WINDOW]: 1 };
    const input = brotliDecompressSync(readFileSync(ARCHIVE), { params });
    execFileSync('tar', ['-x', '-C', folder], { input });
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      const path = join(folder, name);
      if (name.endsWith('.pickle')) {
        putNumbersBack(path);
        for (const length of [6, 7]) rmSync(`${path}.${length}`);
      }
      if (!name.endsWith('.export')) continue;
      const git = join(dirname(path), REPOSITORIES[basename(name, '.export') as keyof typeof REPOSITORIES]);
      execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', git]);
      execFileSync('git', ['fast-import', '--quiet'], { cwd: git, input: readFileSync(path) });
      rmSync(path);
    }
  });

/** A checkout of a history below `directory`, and its submodule; its recorded runs are where they were unpacked. */
export function recordedHistory(name: string, directory: string): RecordedHistory {
  const [header, ...rows] = readFileSync(join(HISTORIES, 'histories.tsv'), 'utf8').replace(/\n$/, '').split('\n');
  const cells = rows.map((row) => row.split('\t')).find(([first]) => first === name)!;
  const fact = (column: string): string => cells[header!.split('\t').indexOf(column)]!;
  const checkout = join(directory, 'Megatron-Bridge');
  const history = join(unpacked(), name);
  const runs = join(history, 'recorded');
  mkdirSync(checkout, { recursive: true });
  const git = (cwd: string, ...args: string[]): string => execFileSync('git', args, { cwd, encoding: 'utf8' });
  cpSync(join(history, REPOSITORIES.submodule), join(directory, REPOSITORIES.submodule), { recursive: true });
  git(checkout, 'init', '--quiet', '--initial-branch=start');
  git(checkout, 'fetch', '--quiet', join(history, REPOSITORIES.superproject), 'main:main');
  git(checkout, 'checkout', '--quiet', 'main');
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
