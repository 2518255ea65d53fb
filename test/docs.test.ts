/** Docs are claims about the code: every console block of README is run, every table compared with what it describes. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { EXIT } from '../src/cli/exit-codes.js';
import { ERROR_CODES } from '../src/model/errors.js';
import { CAUSES } from '../src/model/vocabulary.js';
import { MIGRATIONS } from '../src/store/migrations.js';
import { sharedBuild } from './store/scratch.js';
import { type Cli, warmCliOf } from './support/cli.js';
import { temporaryDirectory } from './support/temporary-directory.js';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');

describe('README', () => {
  const directory = temporaryDirectory();
  let cli: Cli;
  const mbforensics = (words: string): string => {
    const env = { XDG_CACHE_HOME: join(directory, 'cache'), MBF_DB: '' };
    // A shell is needed for what only a shell does; the processes themselves are the matter of test/cli.
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
  const blocks = [...readme.matchAll(/```console\n\$ mbforensics ([^\n]*)\n([\s\S]*?)\n```/g)].map(
    ([, words, output]) => ({
      words: words!,
      output: output!,
    }),
  );

  beforeAll(() => {
    cli = warmCliOf(join(sharedBuild(), 'src', 'cli', 'main.js'));
    symlinkSync(join(ROOT, 'samples'), join(directory, 'samples'));
    mbforensics('ingest samples/llama3-70b-fragmentation');
  });

  it('shows every verb', () => {
    const shown = new Set(blocks.map((block) => block.words.split(' ')[0]));
    const verbs = execFileSync(process.execPath, [cli.script, '--help'], { encoding: 'utf8' }).matchAll(
      /^ {2}([a-z]+) \[options\]/gm,
    );
    for (const [, verb] of verbs) if (verb !== 'runs') expect(shown, `README shows no ${verb}`).toContain(verb);
    expect(blocks.length).toBeGreaterThanOrEqual(7);
  });

  // What a bisection prints is compared where there is one: test/bisect/planted.test.ts.
  it.each(blocks.filter(({ words }) => !words.startsWith('bisect ')))(
    '$words prints what README says',
    ({ words, output }) => {
      const isFirstIngest = words === 'ingest samples/llama3-70b-fragmentation';
      const actual = mbforensics(isFirstIngest ? `${words} --db fresh.duckdb` : words).trimEnd();
      expect(isFirstIngest ? actual.replace('fresh.duckdb', 'mbforensics.duckdb') : actual).toBe(output);
    },
  );

  it('lists the exit codes', () => {
    const listed = [...readme.matchAll(/^\| (\d+) \| /gm)].map(([, code]) => Number(code));
    expect(listed).toEqual(Object.values(EXIT));
  });

  it('names causes that exist', () => {
    const sentence = /The verdict is one of ([^.]*)\./.exec(readme)![1]!;
    for (const [, cause] of sentence.matchAll(/`(\w+)`/g)) expect(CAUSES).toContain(cause);
  });
});

it('docs/errors.md lists every error with its remedy', () => {
  const rows = readFileSync(join(ROOT, 'docs', 'errors.md'), 'utf8').matchAll(/^\| (MBF\d+) \| [^|]+ \| (.+) \|$/gm);
  expect([...rows].map(([, code, remedy]) => [code, remedy])).toEqual(
    Object.entries(ERROR_CODES).map(([code, entry]) => [code, entry.remedy]),
  );
});

it('docs/store-format.md describes every table of every version', () => {
  const text = readFileSync(join(ROOT, 'docs', 'store-format.md'), 'utf8');
  for (const { version, sql } of MIGRATIONS) {
    expect(text).toContain(`## Version ${version}`);
    for (const [, table] of sql.matchAll(/CREATE TABLE (\w+)/g))
      expect(text, `table ${table}`).toContain(`\`${table}\``);
  }
});

it('every parser says where its format is defined', () => {
  const parsers = readdirSync(join(ROOT, 'parsers'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(parsers.length).toBeGreaterThan(1);
  for (const { name } of parsers) {
    expect(readFileSync(join(ROOT, 'parsers', name, 'FORMAT.md'), 'utf8')).toMatch(/## Where it is defined|upstream/i);
  }
});
