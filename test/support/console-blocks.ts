/** The console blocks of a page, each compared with what the command prints. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { madeOnce, repoRoot, sharedBuild, sharedPath } from '../store/scratch.js';
import { type Cli, warmCliOf } from './cli.js';
import { temporaryDirectory } from './temporary-directory.js';

const FIRST_INGEST = 'ingest samples/llama3-70b-fragmentation';

export interface ConsoleBlock {
  /** The command line without the program's name. */
  readonly words: string;
  readonly output: string;
}

export function consoleBlocksOf(page: string): ConsoleBlock[] {
  const text = readFileSync(join(repoRoot, page), 'utf8');
  return [...text.matchAll(/```console\n\$ mbforensics ([^\n]*)\n([\s\S]*?)\n```/g)].map(([, words, output]) => ({
    words: words!,
    output: output!,
  }));
}

/**
 * Defines one test per block of `page`. They run in order, in a new directory with a link to the samples and a store
 * that holds samples/llama3-70b-fragmentation. The report of a bisection is compared in test/bisect/planted.test.ts
 * instead.
 */
export function testConsoleBlocks(page: string): void {
  const directory = temporaryDirectory();
  // What a page asks of a path was read for the page before it, if that asked too.
  const shared = sharedPath('pages');
  let cli: Cli;
  const mbforensics = (words: string): string => {
    const env = { XDG_CACHE_HOME: join(shared, 'cache'), MBF_DB: '' };
    // Only pipes and the like need a shell; other commands share one process.
    if (/^(?:[^\s"'|;*$&<>`\\]|"[^"$`\\]*"|\s)+$/.test(words)) {
      const args = [...words.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!);
      return cli.expect(0, args, { cwd: directory, env }).stdout;
    }
    return execFileSync('/bin/sh', ['-c', `"$NODE" "$CLI" ${words}`], {
      cwd: directory,
      encoding: 'utf8',
      env: { ...process.env, ...env, NODE: process.execPath, CLI: cli.script },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  };

  beforeAll(() => {
    cli = warmCliOf(join(sharedBuild(), 'src', 'cli', 'main.js'));
    symlinkSync(join(repoRoot, 'samples'), join(directory, 'samples'));
    mkdirSync(shared, { recursive: true });
    const first = join(shared, 'first.duckdb');
    madeOnce(first, (db) => mbforensics(`${FIRST_INGEST} --db ${db}`));
    copyFileSync(first, join(directory, 'mbforensics.duckdb'));
  });

  const blocks = consoleBlocksOf(page).filter(({ words }) => !words.startsWith('bisect report'));
  it.each(blocks)('$words', ({ words, output }) => {
    const isFirst = words === FIRST_INGEST;
    const actual = mbforensics(isFirst ? `${words} --db fresh.duckdb` : words).trimEnd();
    expect(isFirst ? actual.replace('fresh.duckdb', 'mbforensics.duckdb') : actual).toBe(output);
  });
}
