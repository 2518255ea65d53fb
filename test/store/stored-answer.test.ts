/** The diagnosis of a path asked again: from a file in the cache, equal to what the store answers. */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { answerFile } from '../../src/cli/stored-answer.js';
import { verb as diagnose } from '../../src/cli/verbs/start/diagnose.js';
import { buildCli } from '../support/cli.js';
import { samplePath } from '../support/stores.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { repoRoot } from './scratch.js';

const cli = buildCli();
const root = temporaryDirectory();
let caches = 0;

/** The command line with a cache of its own. */
function withCache() {
  caches += 1;
  const cache = join(root, `cache-${caches}`);
  const directory = join(cache, 'mbforensics', 'paths');
  return {
    directory,
    ask: (...args: readonly string[]) => {
      const { status, stdout } = cli.run(args, { cwd: root, env: { XDG_CACHE_HOME: cache } });
      return { status, stdout };
    },
    files: (ending: string) => readdirSync(directory).filter((name) => name.endsWith(ending)),
  };
}

/** A run of its own, whose files may be changed. */
function copyOf(sample: string): string {
  const copy = join(root, `run-${caches}`, sample);
  cpSync(samplePath(sample), copy, { recursive: true });
  return copy;
}

describe('a stored answer', () => {
  /** Of each option. A new one needs a line here. */
  const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
    full: ['--full'],
    each: ['--each'],
    capacity: ['--capacity', '40GiB'],
    exitCode: ['--exit-code'],
    markdown: ['--markdown', '-'],
    redact: ['--redact', '--key', join(repoRoot, 'LICENSE')],
    key: ['--redact', '--key', join(repoRoot, 'LICENSE')],
  };
  /** Of every verb: they change no diagnosis; with `--lake` operands are not paths, and no answer is stored. */
  const COMMON = ['db', 'debug', 'formats', 'json', 'json=full', 'json=short', 'lake', 'memoryLimit', 'wait'];
  const { options } = diagnose.addTo(new Command(), { context: {} as never, end: () => {} });

  it('never answers for another option', () => {
    const names = options.map((option) => option.attributeName()).filter((name) => !COMMON.includes(name));
    expect(Object.keys(ARGUMENTS).sort()).toEqual(names.sort());
    const run = copyOf('capacity');
    const { redact, key: _, ...shown } = ARGUMENTS;
    const questions = [['--json=full'], ['--json=full', '--capacity', '200GiB'], ...Object.values(shown), redact!];
    const answers = questions.map((question) => withCache().ask('diagnose', run, ...question));
    const { ask } = withCache();
    // Each after others, the first ones after all of them.
    for (const asked of [questions, questions.slice(0, 2)])
      for (const [i, question] of asked.entries())
        expect([question, ask('diagnose', run, ...question)]).toEqual([question, answers[i]]);
  });

  it('is read without the store, by diagnose, and with it by show, advise and report', () => {
    const { ask, directory, files } = withCache();
    const run = copyOf('llama3-70b-fragmentation');
    const followUps = [
      ['show', 'E1', run, '--json=full'],
      ['advise', run, '--json=full'],
      ['report', run, '-o', '-'],
    ];
    const before = followUps.map((question) => ask(...question));
    const first = ask('diagnose', run, '--json=full');
    expect(followUps.map((question) => ask(...question))).toEqual(before);
    for (const store of files('.duckdb')) rmSync(join(directory, store));
    expect(ask('diagnose', run, '--json=full')).toEqual(first);
    expect(ask('diagnose', run).stdout).toContain('VERDICT  fragmentation');
    expect(files('.duckdb')).toEqual([]);
    expect(followUps.map((question) => ask(...question))).toEqual(before);
  });

  it('is of files with this content only', () => {
    const { ask, files } = withCache();
    const run = copyOf('capacity');
    const first = ask('diagnose', run, '--json=full');
    writeFileSync(
      join(run, 'log-foundation-foundation.qwen25-32b-longctx-tp1pp8-87191_7586959_0.out'),
      'nothing is in it\n',
    );
    const changed = ask('diagnose', run, '--json=full');
    expect(changed.stdout).not.toBe(first.stdout);
    expect(changed).toEqual(withCache().ask('diagnose', run, '--json=full'));
    expect(files('.json')).toHaveLength(2);
  });

  it('is made again where its file is damaged', () => {
    const { ask, directory, files } = withCache();
    const run = copyOf('capacity');
    const first = ask('diagnose', run, '--json=full');
    const file = join(directory, files('.json')[0]!);
    const content = readFileSync(file);
    const damages = [
      () => truncateSync(file, content.length - 1),
      () => truncateSync(file, 0),
      () => writeFileSync(file, `${content.toString('utf8', 0, 65)}{"run":"x","verdicts":[]}`),
      () => writeFileSync(file, content.toString().replace('capacity', 'external')),
      () => writeFileSync(file, content.subarray(65)),
    ];
    for (const damage of damages) {
      damage();
      expect(ask('diagnose', run, '--json=full')).toEqual(first);
      expect(readFileSync(file).equals(content)).toBe(true);
    }
  });

  it('ends with the exit code of files that could not be read', () => {
    const { ask } = withCache();
    const run = copyOf('capacity');
    writeFileSync(join(run, 'snapshot_oom_rank-1.pickle'), Buffer.from('80049500000000000000', 'hex'));
    const first = ask('diagnose', run);
    expect(first.status).toBe(4);
    expect(ask('diagnose', run)).toEqual(first);
  });

  it('needs valid options all the same', () => {
    const { ask } = withCache();
    const run = copyOf('capacity');
    expect(ask('diagnose', run).status).toBe(0);
    expect(ask('diagnose', run, '--memory-limit', '1MiB').status).toBe(2);
    expect(ask('diagnose', run, '--wait', 'x').status).toBe(2);
  });

  it('is one of the last 32', () => {
    const { ask, directory, files } = withCache();
    mkdirSync(directory, { recursive: true });
    for (let i = 0; i < 40; i += 1) writeFileSync(join(directory, `${i}-0.json`), '');
    ask('diagnose', copyOf('capacity'), '--json=full');
    expect(files('.json')).toHaveLength(32);
    expect(files('.json').filter((name) => statSync(join(directory, name)).size > 0)).toHaveLength(1);
  });
});

describe('the key of a stored answer', () => {
  const files = { directory: '/cache', key: 'content' };

  it('differs for other files, builds, and each field of the question', () => {
    const names = [
      answerFile(files, {}, 'build'),
      answerFile({ ...files, key: 'changed' }, {}, 'build'),
      answerFile(files, {}, 'other build'),
      answerFile(files, { capacityBytes: 80 }, 'build'),
      answerFile(files, { capacityBytes: 81 }, 'build'),
      answerFile(files, { added: 80 } as object, 'build'),
    ];
    expect(new Set(names).size).toBe(names.length);
    expect(answerFile(files, { capacityBytes: undefined }, 'build')).toBe(names[0]);
  });

  it('is that of a build: program, rules, words, queries and version', async () => {
    const { buildId } = await import(pathToFileURL(join(repoRoot, '.ci', 'build-id.mjs')).href);
    const place = join(root, 'build');
    const idOf = (): string =>
      buildId(join(place, 'package.json'), join(place, 'dist'), join(place, 'queries')) as string;
    const parts = [
      'package.json',
      'dist/src/bundle/program.cjs',
      'dist/src/knowledge/fixes.json',
      'dist/src/knowledge/words/causes.json',
      'dist/parsers/log/formats/megatron.js',
      'queries/library/cause-leak.sql',
      'queries/schema/run.sql',
    ];
    for (const part of parts) {
      mkdirSync(join(place, part, '..'), { recursive: true });
      writeFileSync(join(place, part), '1');
    }
    const ids = new Set([idOf(), idOf()]);
    for (const part of parts) {
      writeFileSync(join(place, part), '2');
      ids.add(idOf());
    }
    writeFileSync(join(place, 'queries', 'library', 'new.sql'), '');
    ids.add(idOf());
    // V8's code of the program is made after it, and decides nothing.
    writeFileSync(join(place, 'dist', 'src', 'bundle', 'program.cjs.linux-x64.code'), '');
    expect(ids.has(idOf())).toBe(true);
    expect(ids.size).toBe(parts.length + 2);
  });
});
