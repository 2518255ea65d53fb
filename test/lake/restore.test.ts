/** Verbs about runs of a lake: the same answers as about the files that were added. */
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratchDirectory } from '../store/scratch.js';
import { buildCli } from '../support/cli.js';
import { samplePath, sharedFolder } from '../support/stores.js';

const cli = buildCli();
const SAMPLES = ['llama3-70b-fragmentation', 'leak', 'llama3-70b-tp8'];
const made = sharedFolder(`restored-${SAMPLES.join('-')}`, (folder) => {
  for (const sample of SAMPLES) cli.expect(0, ['lake', 'add', samplePath(sample), '--to', join(folder, 'lake'), '-q']);
});
const lake = join(made, 'lake');
const runs = readdirSync(join(lake, 'run_summary')).map((name) => name.replace('run=', ''));
const keyOf = (sample: string): string => runs.find((run) => run.replace(/-[0-9a-f]{8}$/, '') === sample)!;
const VERBS = [
  ...['diagnose', 'advise', 'log', 'log iterations', 'peak', 'attribute', 'whatif', 'snapshot', 'state', 'allocations'],
  'timeline',
];

describe.each(SAMPLES)('%s', (sample) => {
  it.each(VERBS)('%s answers as about its files', (verb) => {
    const words = verb.split(' ');
    const ofPath = cli.expect(0, [...words, samplePath(sample), '--json=full']).json<Record<string, unknown>>();
    const { lake: asked, ...ofLake } = cli
      .expect(0, [...words, keyOf(sample), '--lake', lake, '--json=full'])
      .json<Record<string, unknown>>();
    const named = JSON.stringify(ofLake).replaceAll(keyOf(sample), sample);
    expect(JSON.parse(named)).toEqual(ofPath);
    expect(asked !== undefined).toBe(verb === 'diagnose');
  });
});

it('two runs are compared, and a run is kept as golden values', () => {
  const [a, b] = [keyOf('llama3-70b-tp8'), keyOf('llama3-70b-fragmentation')];
  const options = ['--json=full'];
  const ofLake = cli.expect(0, ['diff', a, b, '--lake', lake, ...options]).stdout;
  const ofPaths = cli.expect(0, [
    'diff',
    samplePath('llama3-70b-tp8'),
    samplePath('llama3-70b-fragmentation'),
    ...options,
  ]).stdout;
  const named = (text: string): string =>
    [a, b]
      .reduce((shown, run) => shown.replaceAll(run, run.slice(0, -9)), text)
      .replaceAll(samplePath('').replace(/\/?$/, '/'), '');
  expect(named(ofLake)).toBe(named(ofPaths));
  const db = join(scratchDirectory(), 'golden.duckdb');
  cli.expect(0, ['golden', 'add', a, '--name', 'tp8', '--lake', lake, '--db', db]);
  const compared = cli.expect(0, ['compare', a, '--golden', 'tp8', '--lake', lake, '--db', db]);
  expect(compared.stdout).toContain(a);
});

describe('a run in blocks', () => {
  const RANKS = 20;
  const blocks = sharedFolder(`blocks-${RANKS}`, (folder) => {
    const run = join(folder, 'night');
    mkdirSync(run, { recursive: true });
    const [snapshot = ''] = readdirSync(samplePath('capacity')).filter((name) => name.startsWith('snapshot'));
    for (let rank = 0; rank < RANKS; rank += 1)
      copyFileSync(join(samplePath('capacity'), snapshot), join(run, `snapshot_rank-${rank}.pickle.gz`));
    for (const block of ['0/3', '1/3', '2/3'])
      cli.expect(0, ['lake', 'add', run, '--to', join(folder, 'lake'), '--block', block, '-q']);
  });
  const place = join(blocks, 'lake');
  const diagnosed = (...operands: readonly string[]) =>
    cli.expect(0, ['diagnose', ...operands, '--lake', place, '--json=full']).json<{
      lake: { ranks: number; blocks: number; missing: number[]; causes: unknown[] };
      verdicts: { rank: number; cause: string; also: { rank: number }[]; commands: string[] }[];
    }>();

  it('counts the ranks of all, and reads the block of the first failure', () => {
    const { lake: run, verdicts } = diagnosed('night');
    expect(run).toMatchObject({ ranks: RANKS, blocks: 3, missing: [] });
    expect(run.causes).toEqual([{ cause: 'capacity', detail: null, ranks: RANKS }]);
    expect(verdicts.flatMap(({ rank, also }) => [rank, ...also.map((one) => one.rank)])).toEqual([...Array(8).keys()]);
  });

  it('answers about a rank from its block, and its handles are operands', () => {
    const text = cli.expect(0, ['diagnose', 'night/17', '--lake', place]).stdout;
    expect(text).toMatch(/^OOM · run night-[0-9a-f]{8} · rank 17 /);
    const [command = ''] = diagnosed('night/17').verdicts.find(({ rank }) => rank === 17)!.commands;
    const [handle = ''] = /night-[0-9a-f]{8}\/\S+/.exec(command) ?? [];
    expect(cli.expect(0, ['peak', handle, '--lake', place]).stdout).toContain('rank 17');
    expect(cli.expect(2, ['diagnose', 'night/99', '--lake', place]).stderr).toMatch(/MBF1002.*has no rank 99/);
  });

  it('has every rank in the rank table of the restored store, and on the page', () => {
    const rows = cli.expect(0, [
      'sql',
      'SELECT count(*) AS n FROM rank_summary',
      'night',
      '--lake',
      place,
      '--format',
      'csv',
    ]).stdout;
    expect(rows).toBe(`n\n${RANKS}\n`);
    const page = join(scratchDirectory(), 'page.html');
    cli.expect(0, ['report', 'night', '--lake', place, '-o', page]);
    const html = readFileSync(page, 'utf8');
    expect(html).toContain(`Ranks: ${RANKS}`);
    expect(html).toContain('Runs of the lake: 1 run');
  });

  it('lists missing blocks, and names state that has expired', () => {
    const copy = join(scratchDirectory(), 'lake');
    cpSync(place, copy, { recursive: true });
    const [run = ''] = readdirSync(join(copy, 'run_summary'));
    rmSync(join(copy, 'run_summary', run, 'rank_block=1'), { recursive: true });
    expect(cli.expect(0, ['diagnose', '--lake', copy]).stdout).toContain('missing: block 1 of 3');
    rmSync(join(copy, 'diagnosis'), { recursive: true });
    expect(cli.expect(2, ['diagnose', '--lake', copy]).stderr).toMatch(
      /MBF1002.*state of run night-[0-9a-f]{8} is no longer kept/,
    );
  });
});

it('names the runs that there are', () => {
  const { stderr } = cli.expect(2, ['diagnose', 'leek', '--lake', lake]);
  expect(stderr).toContain(`leek is not a run of ${lake}, which has ${keyOf('leak')}`);
  expect(cli.expect(2, ['diagnose', 'llama3', '--lake', lake]).stderr).toContain('llama3 begins 2 runs');
  expect(cli.expect(2, ['diagnose', '--lake', lake, 'leak', '--capacity', '80GiB']).stderr).toContain('--capacity');
});

it('counts a failure whose rank is not known', () => {
  const directory = scratchDirectory();
  const log = join(directory, 'error.txt');
  writeFileSync(log, 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n');
  cli.expect(0, ['lake', 'add', log, '--to', join(directory, 'lake'), '-q']);
  const screen = cli.expect(0, ['diagnose', '--lake', join(directory, 'lake')]).stdout;
  expect(screen).toMatch(/^LAKE +unknown ranks in 1 block: .* on 1 rank$/m);
});

it('a statement that needs more than memory is answered, and leaves nothing', () => {
  const temporary = scratchDirectory();
  const statement =
    'SELECT max(n - range) AS most FROM (SELECT range, row_number() OVER (ORDER BY range) AS n FROM range(12000000) ORDER BY hash(range))';
  const asked = ['sql', statement, '--lake', lake, '--memory-limit', '128MiB', '--format', 'csv'];
  expect(cli.expect(0, asked, { env: { TMPDIR: temporary } }).stdout).toBe('most\n1\n');
  expect(readdirSync(temporary)).toEqual([]);
});
