/** `lake check`, `lake compact` and `lake expire`. */
import { appendFileSync, cpSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { LakeCheckResult, LakeCompactResult, LakeExpireResult } from '../../src/model/results/lake.js';
import { buildCli } from '../support/cli.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { ask, doubled, filesOf, partsOf, smallRun } from './lakes.js';

const cli = buildCli();
const root = temporaryDirectory();
const three = join(root, 'three');
const run = smallRun(join(root, 'night-shift'), 20);
for (const block of ['0/3', '1/3', '2/3'])
  cli.expect(0, ['lake', 'add', run, '--to', three, '--id', 'a', '--events', '--block', block]);
const [name] = readdirSync(join(three, 'run_summary')).map((folder) => folder.slice('run='.length)) as [string];

let made = 0;
function copy(): string {
  made += 1;
  const lake = join(root, `copy-${made}`);
  cpSync(three, lake, { recursive: true });
  return lake;
}

const check = (lake: string): LakeCheckResult => {
  const { status, json } = cli.run(['lake', 'check', lake, '--json=full']);
  const result = json<LakeCheckResult>();
  expect(status).toBe(result.problems.length === 0 ? 0 : 1);
  return result;
};

/** Every table as other engines read it, without the number of the block. */
const TABLES = ['rank_summary', 'run_summary', 'snapshot', 'block_life', 'event', 'verdict', 'run_setting', 'source'];
const rowsOf = (lake: string): string[][] =>
  TABLES.map((table) => ask(lake, `SELECT * EXCLUDE (rank_block) FROM lake.${table} ORDER BY ALL`));

describe('lake check', () => {
  it('lists the runs of a lake where nothing is wrong', () => {
    expect(check(three)).toMatchObject({
      version: 1,
      problems: [],
      runs: [{ run: name, blocks: 3, whole_blocks: 3, missing: [], ranks: 20, files: partsOf(three).length }],
    });
  });

  it.each<[string, (lake: string) => void, LakeCheckResult['problems']]>([
    [
      'a changed byte',
      (lake) => appendFileSync(join(lake, partsOf(lake).find((one) => one.startsWith('verdict'))!), 'x'),
      [{ kind: 'damaged', run: name, path: partsOf(three).find((one) => one.startsWith('verdict'))! }],
    ],
    [
      'a block without its last row',
      (lake) => rmSync(join(lake, 'run_summary', `run=${name}`, 'rank_block=1'), { recursive: true }),
      [{ kind: 'not_whole', run: name, path: `run_summary/run=${name}` }],
    ],
    [
      'the same rows twice',
      (lake) => {
        const folder = join(lake, 'rank_summary', `run=${name}`);
        const [part] = readdirSync(join(folder, 'rank_block=1')) as [string];
        cpSync(join(folder, 'rank_block=1', part), join(folder, 'rank_block=0', part));
      },
      [{ kind: 'double', run: name, path: `rank_summary/run=${name}/rank_block=0` }],
    ],
    [
      'files that are none of its own',
      (lake) => {
        mkdirSync(join(lake, 'cache'));
        writeFileSync(join(lake, 'verdict', '_SUCCESS'), '');
        writeFileSync(join(lake, 'verdict', `run=${name}`, 'rank_block=0', 'part-1.parquet'), '');
      },
      [
        { kind: 'unknown', run: null, path: 'cache' },
        { kind: 'unknown', run: null, path: 'verdict/_SUCCESS' },
        { kind: 'unknown', run: null, path: `verdict/run=${name}/rank_block=0/part-1.parquet` },
      ],
    ],
  ])('finds %s', (_, change, problems) => {
    const lake = copy();
    change(lake);
    expect(check(lake).problems).toEqual(problems);
  });

  it('is MBF3009 of a lake of another version, and MBF1003 where there is none', () => {
    const lake = copy();
    writeFileSync(join(lake, 'mbforensics-lake.json'), '{"version": 2}');
    expect(cli.expect(5, ['lake', 'check', lake]).stderr).toContain('MBF3009');
    expect(cli.expect(2, ['lake', 'check', join(root, 'none')]).stderr).toContain('MBF1003');
  });
});

describe('lake compact', () => {
  it('keeps the rows in fewer files, and does nothing the second time', () => {
    const lake = copy();
    const rows = rowsOf(lake);
    const compacted = cli.expect(0, ['lake', 'compact', lake, '--json=full']).json<LakeCompactResult>();
    expect(compacted.runs).toMatchObject([{ run: name, outcome: 'compacted', files: partsOf(lake).length }]);
    expect(compacted.runs[0]!.files).toBeLessThan(compacted.runs[0]!.files_before);
    expect(rowsOf(lake)).toEqual(rows);
    expect(check(lake)).toMatchObject({ problems: [], runs: [{ blocks: 3, missing: [] }] });
    const files = filesOf(lake);
    const again = cli.expect(0, ['lake', 'compact', lake, '--json=full']).json<LakeCompactResult>();
    expect(again.runs).toMatchObject([{ outcome: 'nothing to do' }]);
    expect(filesOf(lake)).toEqual(files);
  });

  it('changes no answer about the run, nor about one of its ranks', () => {
    const lake = copy();
    const answer = (operand: string): unknown => {
      const { lake: _, ...about } = cli
        .expect(0, ['diagnose', operand, '--lake', lake, '--json=full'])
        .json<Record<string, unknown>>();
      return about;
    };
    const operands = [name, `${name}/4`];
    const before = operands.map(answer);
    cli.expect(0, ['lake', 'compact', lake]);
    expect(operands.map(answer)).toEqual(before);
  });

  it('makes the same files of the same blocks', () => {
    const [first, second] = [copy(), copy()];
    for (const lake of [first, second]) cli.expect(0, ['lake', 'compact', lake]);
    expect(filesOf(second)).toEqual(filesOf(first));
  });

  it('leaves a run that is not whole', () => {
    const lake = copy();
    rmSync(join(lake, 'run_summary', `run=${name}`, 'rank_block=1'), { recursive: true });
    const files = filesOf(lake);
    expect(cli.expect(0, ['lake', 'compact', lake, '--json=full']).json()).toMatchObject({
      runs: [{ outcome: 'not whole' }],
    });
    expect(filesOf(lake)).toEqual(files);
  });

  it('is undone by lake add --replace, which it requires', () => {
    const lake = copy();
    cli.expect(0, ['lake', 'compact', lake]);
    const block = (number: number, ...more: string[]): string[] => [
      ...['lake', 'add', run, '--to', lake, '--id', 'a', '--events', '--block', `${number}/3`, ...more],
    ];
    expect(cli.expect(2, block(1)).stderr).toMatch(/MBF1015.*put together by `lake compact`/);
    for (const number of [1, 0, 2]) cli.expect(0, block(number, '--replace'));
    expect(filesOf(lake)).toEqual(filesOf(three));
  });

  it('half done is finished by the next writer of the run, and no row is twice meanwhile', () => {
    const done = copy();
    cli.expect(0, ['lake', 'compact', done]);
    const lake = copy();
    // As after a kill between the two renames of a table.
    const swap = join(lake, `.${name}.compact`);
    cpSync(done, join(swap, 'new'), { recursive: true });
    rmSync(join(swap, 'new', 'mbforensics-lake.json'));
    mkdirSync(join(swap, 'old', 'verdict'), { recursive: true });
    renameSync(join(lake, 'verdict', `run=${name}`), join(swap, 'old', 'verdict', `run=${name}`));
    expect(doubled(lake)).toEqual([]);
    expect(check(lake).problems).toContainEqual({ kind: 'not_finished', run: null, path: `.${name}.compact` });
    cli.expect(0, ['lake', 'compact', lake]);
    expect(filesOf(lake)).toEqual(filesOf(done));
  });

  it('lists the runs instead of an unknown one', () => {
    expect(cli.expect(2, ['lake', 'compact', three, '--run', 'none']).stderr).toContain(`it has ${name}`);
  });
});

describe('lake expire', () => {
  const expire = (lake: string, ...more: string[]): LakeExpireResult =>
    cli.expect(0, ['lake', 'expire', lake, '--older-than', '30d', '--json=full', ...more]).json<LakeExpireResult>();
  const tables = (lake: string): string[] => [...new Set(partsOf(lake).map((one) => one.split('/')[0]!))];

  it('only lists what would go without --remove', () => {
    const lake = copy();
    const files = filesOf(lake);
    const { runs, is_removed: isRemoved } = expire(lake, '--level', 'events');
    expect(isRemoved).toBe(false);
    expect(runs).toMatchObject([{ run: name, causes: expect.any(Array) }]);
    expect(filesOf(lake)).toEqual(files);
  });

  it('removes events, or events and state, and never answers', () => {
    const lake = copy();
    const answers = ask(lake, 'SELECT * FROM lake.rank_summary ORDER BY ALL');
    expire(lake, '--level', 'events', '--remove');
    expect(tables(lake)).not.toContain('event');
    expect(tables(lake)).toContain('block_life');
    expire(lake, '--level', 'state', '--remove');
    expect(tables(lake).sort()).toEqual(
      tables(three)
        .filter((table) =>
          /^(?:rank_summary|run_summary|verdict|cause_test|oom|oom_free|run_setting|source|peak_component|step_component)$/.test(
            table,
          ),
        )
        .sort(),
    );
    expect(ask(lake, 'SELECT * FROM lake.rank_summary ORDER BY ALL')).toEqual(answers);
    expect(check(lake).problems).toEqual([]);
    expect(expire(lake, '--level', 'state', '--remove').runs).toEqual([]);
  });

  it.each([
    [['--older-than', '5200w'], 0],
    [['--passed'], 0],
    [['--failed'], 1],
    [['--cause', 'host_oom'], 0],
    [['--run', name], 1],
  ])('chooses by %j', (more, runs) => {
    expect(expire(three, '--level', 'state', ...more).runs.length).toBe(runs);
  });

  it.each([
    [['--level', 'answers'], /one of events, state/],
    [['--level', 'events', '--older-than', 'yesterday'], /an age such as/],
    [['--level', 'events', '--passed', '--failed'], /cannot be combined/],
    [['--level', 'events', '--cause', 'capacty'], /capacity/],
    [['--level', 'events', '--run', 'none'], /it has/],
  ])('refuses %j', (more, message) => {
    expect(cli.expect(2, ['lake', 'expire', three, '--older-than', '30d', ...more]).stderr).toMatch(message);
  });
});
