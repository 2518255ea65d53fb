/**
 * What users type in their first minutes, mistakes included: a path as the first word, a log and a snapshot in one
 * command, an empty directory, typos. Each has an answer that leads on.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import type { DiagnoseResult } from '../../src/model/results/common.js';
import { repoRoot } from '../store/scratch.js';
import { asker } from '../support/ask.js';
import { samplePath } from '../support/stores.js';

const SAMPLE = samplePath('leak');
const { cli, cwd, options, text, json, put } = asker();
const run = (...args: string[]) => cli.run(args, options);
const OOM =
  'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.00 GiB is free. Of the allocated memory 70.00 GiB is allocated by PyTorch, and 7.00 GiB is reserved by PyTorch but unallocated.\n';

beforeAll(() => {
  mkdirSync(join(cwd, 'empty'));
  put('hello.txt', 'hello\n');
  cpSync(SAMPLE, join(cwd, 'runs', 'leak'), { recursive: true });
  for (const file of readdirSync(SAMPLE)) {
    if (file.endsWith('.out')) cpSync(join(SAMPLE, file), join(cwd, 'train.log'));
    if (file.endsWith('.pickle.gz'))
      writeFileSync(join(cwd, 'snap.pickle'), gunzipSync(readFileSync(join(SAMPLE, file))));
  }
  put('runs/dir with blank/train.log', readFileSync(join(cwd, 'train.log')));
  for (const file of ['/etc/hosts', '/etc/passwd', '/bin/sh']) put(`unrelated/${basename(file)}`, readFileSync(file));
  // The store of both files of the run.
  text('ingest', 'snap.pickle', 'train.log', ...both);
});

const both = ['--db', 'both.duckdb'];

describe('a path', () => {
  it.each(['runs/leak', './runs/leak/', 'snap.pickle', 'runs/dir with blank'])(
    '%s as the first word is diagnosed',
    (path) => {
      const { status, stdout } = run(path);
      expect(status).toBe(0);
      expect(stdout).toMatch(/^OOM · /);
      expect(stdout).toContain('\nVERDICT  ');
    },
  );

  it('and another one are one run: the snapshot is judged, with the log', () => {
    for (const args of [
      ['train.log', 'snap.pickle'],
      ['diagnose', 'snap.pickle', 'train.log'],
    ]) {
      const { verdicts } = json<DiagnoseResult>(...args);
      expect(verdicts[0]!.cause).toBe('leak');
      expect(verdicts[0]!.evidence.map(({ kind }) => kind)).toContain('request');
      expect(verdicts[0]!.accounting_total).not.toBeNull();
    }
  });

  it('with another one in ingest is one run, and the default of the next verb', () => {
    expect(json<{ runs: unknown[] }>('runs', ...both).runs).toHaveLength(1);
    expect(text('diagnose', ...both)).toContain('VERDICT  leak');
  });

  it('is one run each with --each', () => {
    const { runs } = json<{ runs: DiagnoseResult[] }>('diagnose', 'train.log', 'snap.pickle', '--each');
    expect(runs.map((one) => one.run)).toEqual(['train.log', 'snap.pickle']);
  });

  it('with a name that a verb has is diagnosed with ./, and the verb says so', () => {
    cpSync(join(cwd, 'runs', 'leak'), join(cwd, 'log'), { recursive: true });
    expect(run('log', ...both).stderr).toContain('mbforensics ./log');
    expect(run('./log').stdout).toContain('VERDICT  leak');
  });

  it('in a command of a next line can be pasted', () => {
    const { stdout } = run('runs/dir with blank');
    expect(stdout).toMatch(/NEXT +mbforensics \w+.* 'runs\/dir with blank'/);
  });
});

describe('standard input', () => {
  it.each([['-'], ['diagnose', '-'], ['explain', 'text', '-']])('%s reads it', (...args) => {
    const { status, stdout } = cli.run(args, { ...options, input: OOM });
    expect(status).toBe(0);
    expect(stdout).toMatch(/VERDICT +(?:probably )?fragmentation/);
  });
});

describe('what holds nothing', () => {
  it('an empty directory makes neither a store nor a run', () => {
    const db = join(cwd, 'none.duckdb');
    const { status, stderr, stdout } = run('ingest', 'empty', '--db', db);
    expect([status, stdout]).toEqual([4, '']);
    expect(stderr).toContain('MBF2008');
    expect(run('diagnose', '--db', db).stderr).toContain('mbforensics PATH');
  });

  it('and never becomes the default run', () => {
    const db = join(cwd, 'poisoned.duckdb');
    text('ingest', 'runs/leak', '--db', db);
    run('ingest', 'empty', '--db', db);
    run('ingest', 'unrelated', '--db', db);
    expect(text('diagnose', '--db', db)).toMatch(/^OOM · run leak/);
    text('show', 'E1', '--db', db);
  });

  it('files of other kinds are not training logs', () => {
    const { status, stderr } = run('ingest', 'unrelated', '--db', join(cwd, 'other.duckdb'));
    expect(status).toBe(4);
    expect(stderr).toContain('nothing usable');
    expect(run('unrelated').status).toBe(4);
  });

  it('files of another kind are named, with the verb that answers questions about them', () => {
    cpSync(samplePath('profiler-timeline'), join(cwd, 'timeline'), { recursive: true });
    const [file] = readdirSync(join(cwd, 'timeline')).filter((name) => name.endsWith('.json.gz'));
    const { stdout } = run(join('timeline', file!));
    expect(stdout).toMatch(/^NO FAILURE FOUND/);
    expect(stdout).toContain('a memory timeline of torch.profiler');
    expect(stdout).toContain(`NEXT     mbforensics log profile timeline/${file}`);
  });

  it('a text without a failure is not an OOM', () => {
    const { stdout } = run('hello.txt');
    expect(stdout).toMatch(/^NOTHING RECOGNISED/);
    expect(stdout).toContain('NEXT');
    expect(stdout).not.toMatch(/^OOM/);
    expect(run('explain', 'text', 'hello.txt').stdout).not.toMatch(/^OOM/);
  });
});

describe('a typo', () => {
  it.each([
    [['diagnse'], /Did you mean diagnose/],
    [['diagnose', '--jsn'], /Did you mean --json/],
    [['/no/such'], /MBF1003: \/no\/such: no such file or directory\n/],
    [['snapshot_rank2.pickle'], /snapshot_rank2\.pickle: no such file or directory/],
    [['diagnose', 'train.lgo', 'snap.pickle'], /train\.lgo: no such file or directory/],
    [['help', 'diag'], /unknown topic "diag"; did you mean diagnose\?/],
    [['peak', 'snap.pickle', '--by', 'banan'], /invalid --by "banan"; expected one of site, /],
    [['peak', 'snap.pickle', '--by', 'moduel'], /invalid --by "moduel"; expected one of .*; did you mean module\?/],
    [['lint', 'x.yaml', '--severity', 'eror'], /invalid --severity "eror"; .*; did you mean error\?/],
    [['export', 'snap.pickle', '--as', 'pprf'], /invalid --as "pprf"; .*; did you mean pprof\?/],
    [['snap.pickel'], /snap\.pickel: no such file or directory\n {2}Did you mean snap\.pickle\?/],
    [['runs/laek'], /runs\/laek: no such file or directory\n {2}Did you mean runs\/leak\?/],
    [['runs/leak/nothing/at-all'], /The directory runs\/leak exists, without nothing\. Check the path/],
    [['state', 'snap.pickle', '--at', 'noon'], /invalid moment "noon"; expected one of start, peak, oom/],
    [['peak', 'snap.pickle', '--limit', 'many'], /invalid --limit "many"; expected a whole number/],
    [['whatif', 'snap.pickle', '--capacity', 'big'], /invalid --capacity "big"; expected a size/],
  ])('%s: what is wrong, and what is expected', (args, message) => {
    const { status, stderr, stdout } = run(...args);
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(message);
    expect(stderr).not.toContain('\ufffd');
  });

  it('with a store present names the path first', () => {
    const { stderr } = run('diagnose', 'snapshot_rank2.pickle', ...both);
    expect(stderr).toContain('snapshot_rank2.pickle: no such file or directory');
  });

  it('in the name of a run gives the runs that there are, the nearest first', () => {
    for (const name of ['alpha', 'beta', 'monday-70b'])
      text('ingest', 'train.log', '--run', name, '--db', 'names.duckdb');
    const { status, stderr } = run('diagnose', 'mondy-70b', '--db', 'names.duckdb');
    expect(status).toBe(2);
    expect(stderr).toMatch(/MBF1002: mondy-70b: .* in names\.duckdb, which has the runs monday-70b, \w+, \w+\n/);
    // A path is missing as a path, whatever store there is.
    const path = run('diagnose', './snap.pickel', '--db', 'names.duckdb').stderr;
    expect(path).toMatch(/MBF1003: .*\n {2}Did you mean snap\.pickle\?/);
    expect(path).not.toContain('mbforensics runs');
  });

  it('golden values by their path name the verbs that read them', () => {
    text('golden', 'add', 'runs/leak', '--name', 'gold', '--force', '--db', 'gold.duckdb');
    text('golden', 'export', 'gold.json', '--name', 'gold', '--db', 'gold.duckdb');
    const { status, stderr } = run('gold.json');
    expect(status).toBe(4);
    expect(stderr).toContain('`golden show gold.json`');
    expect(text('golden', 'show', 'gold.json')).toContain('gold');
    expect(run('compare', 'runs/leak', '--golden', 'gold.json').stdout).toContain('gold');
  });

  it('in SQL is shown without garbage', () => {
    const { stderr, status } = run('sql', 'SELECT * FROM nope', ...both);
    expect(status).toBe(2);
    expect(stderr).toContain('nope does not exist');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none but line ends
    expect(stderr).not.toMatch(/[\ufffd\u0000-\u0009\u000b-\u001f]/);
  });

  it('is JSON with --json', () => {
    const { status, stdout } = run('/no/such', '--json');
    expect(status).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({ schema: 'mbforensics/error@1', code: 'MBF1003', exit_code: 2 });
    expect(JSON.parse(run('diagnose', '--jsn', '--json').stdout)).toMatchObject({ code: 'MBF1001' });
    expect(JSON.parse(run('diagnose', '--jsn', '--json=full').stdout)).toMatchObject({ code: 'MBF1001' });
  });

  it.each([
    ['runs', '--json=ful'],
    ['--json=', 'runs/leak'],
    ['-', '--json=FULL'],
  ])('%s %s: the values that --json has', (...args) => {
    const { status, stdout, stderr } = run(...args);
    expect(status).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({ schema: 'mbforensics/error@1', code: 'MBF1001', exit_code: 2 });
    expect(stderr).toMatch(/invalid --json "\w*"; expected one of full, short/);
  });
});

describe('a part of a verb', () => {
  it.each([
    [['log', 'memory', 'runs/leak'], /memory/],
    [['snapshot', 'series', 'runs/leak'], /snapshot/],
    [['explain', 'rules'], /parameter/],
    [['explain', 'knobs'], /knobs/],
  ])('%s', (args, words) => {
    expect(text(...args)).toMatch(words);
  });

  it('is not a verb by itself', () => {
    const { status, stderr } = run('memory', 'runs/leak');
    expect(status).toBe(2);
    expect(stderr).toContain("unknown command 'memory'");
  });
});

describe('the screen', () => {
  it('is as wide as $COLUMNS, at least 60 and at most 160', () => {
    for (const [columns, most] of [
      ['60', 60],
      ['80', 80],
      ['140', 140],
      ['1000', 160],
      ['20', 60],
    ] as const) {
      const { stdout } = cli.run(['runs/leak'], { ...options, env: { ...options.env, COLUMNS: columns } });
      const widest = Math.max(...stdout.split('\n').map((line) => line.length));
      expect(widest).toBeLessThanOrEqual(most);
      expect(widest).toBeGreaterThan(most - 25);
    }
  });

  it('has colours only where they are wanted', () => {
    expect(run('runs/leak').stdout).not.toContain('\u001b');
    const always = run('runs/leak', '--color', 'always').stdout;
    expect(always).toContain('\u001b[');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours
    expect(always.replaceAll(/\u001b\[\d+m/g, '')).toBe(run('runs/leak').stdout);
    expect(run('runs/leak', '--color', 'never').stdout).not.toContain('\u001b');
  });

  it('of the default is short, and --full has all evidence', () => {
    const short = run('runs/leak').stdout.trimEnd().split('\n');
    expect(short.length).toBeLessThanOrEqual(16);
    const full = run('runs/leak', '--full').stdout.trimEnd().split('\n');
    expect(full.slice(0, short.length)).toEqual(short);
    expect(full.length).toBeGreaterThan(short.length + 8);
  });
});

describe('help', () => {
  it('of the program lists few verbs, and all of them with --all', () => {
    const verbs = (text: string): number => [...text.matchAll(/^ {2}[a-z][\w-]+ {2,}\S/gm)].length;
    expect(verbs(run('--help').stdout)).toBeLessThanOrEqual(12);
    const all = run('--help', '--all').stdout;
    expect(verbs(all)).toBeGreaterThan(20);
    expect(verbs(all)).toBeLessThanOrEqual(29);
  });

  it('shows the page of a topic without Markdown syntax, and lists all topics without one', () => {
    const list = run('help').stdout;
    for (const name of readdirSync(join(repoRoot, 'docs')).filter((file) => file.endsWith('.md'))) {
      const topic = name.slice(0, -3);
      expect(list).toMatch(new RegExp(`^ {2}${topic}(?:\\.md)? {2,}\\S.*[.\\w]`, 'm'));
      const page = cli.run(['help', name], { ...options, env: { ...options.env, COLUMNS: '80' } });
      expect(page.status).toBe(0);
      const words = readFileSync(join(repoRoot, 'docs', name), 'utf8')
        .split('\n')[0]!
        .slice(2);
      expect(page.stdout.split('\n')[0]).toBe(words.replaceAll('`', ''));
      const prose = page.stdout.split('\n').filter((line) => !line.startsWith('    '));
      for (const line of prose) expect(line).not.toMatch(/^(?:#+ |```|\|)|\]\(/);
    }
    expect(run('help', 'redact').stdout).toContain('HMAC');
    expect(run('help', 'docs/limits.md').stdout).toBe(run('help', 'limits').stdout);
    // A verb goes before the page of its name.
    expect(run('help', 'sql').stdout).toBe(run('sql', '--help').stdout);
  });

  it('fits a terminal of 80 columns', () => {
    const { stdout } = cli.run(['--help', '--all'], { ...options, env: { COLUMNS: '80' } });
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });
});

describe('shell completion', () => {
  it('of bash completes verbs, options and files', () => {
    const script = text('doctor', 'completion', 'bash');
    const complete = (...words: string[]): string[] =>
      spawnSync(
        'bash',
        [
          '-c',
          `${script}\nCOMP_WORDS=("$@") COMP_CWORD=$(($#-1)); _mbforensics; printf '%s\\n' "\${COMPREPLY[@]}"`,
          'x',
          'mbforensics',
          ...words,
        ],
        { cwd, encoding: 'utf8' },
      ).stdout.split('\n');
    expect(complete('diag')).toContain('diagnose');
    expect(complete('snap')).toContain('snap.pickle');
    expect(complete('peak', '--li')).toContain('--limit');
    expect(complete('golden', 'a')).toContain('add');
  });

  it('of zsh and fish, and the man page, name every listed verb', () => {
    for (const what of ['zsh', 'fish', 'man']) {
      for (const verb of ['diagnose', 'verify\\\\?-fix', 'export'])
        expect(text('doctor', 'completion', what)).toMatch(new RegExp(verb));
    }
  });
});

describe('doctor', () => {
  it('reports the installation and what can be read', () => {
    const { stdout } = run('doctor', 'runs/leak', ...both);
    for (const part of ['Node', 'DuckDB', 'store', 'cache', 'disk', 'torch-snapshot', 'log'])
      expect(stdout).toContain(part);
  });

  it('names files that cannot be read', () => {
    put('cut/snapshot.pickle', '');
    expect(run('doctor', 'cut').stdout).toMatch(/snapshot\.pickle/);
  });
});

it('a version of Node that is too old is named, also to git bisect', () => {
  const versions = "{ value: { ...process.versions, node: '18.19.1' } }";
  const preload = put('old-node.cjs', `Object.defineProperty(process, 'versions', ${versions});\n`);
  const onOldNode = { ...options, env: { NODE_OPTIONS: `--require ${preload}` } };
  for (const [status, verb] of [
    [2, 'diagnose'],
    [255, 'triage'],
  ] as const) {
    const { stdout, stderr } = cli.expect(status, [verb, 'runs/leak'], onOldNode);
    expect(stdout).toBe('');
    expect(stderr).toContain('mbforensics needs Node 20.19 or newer; this is 18.19.1');
  }
});
