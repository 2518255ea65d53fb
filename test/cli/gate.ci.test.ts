/** The gate as a job runs it: a baseline file, runs, exit codes, and the reports that a job publishes. */
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { GoldenDocument } from '../../src/model/measurement.js';
import type { GateResult, GateVerdict } from '../../src/model/results/gate.js';
import { repoRoot } from '../store/scratch.js';
import { asker } from '../support/ask.js';
import { samplePath } from '../support/stores.js';
import { NCCL_TIMEOUT, oomLines, type TrainingLog, writeTraining } from '../support/training-log.js';

const PEAKS = [
  { rank: 0, first: 50_000, later: 57_000 },
  { rank: 1, first: 40_000, later: 45_000 },
];
const BASE: TrainingLog = {
  iterations: 20,
  peaks: PEAKS,
  arguments: { hidden_size: 4096, num_layers: 32, seq_length: 4096, world_size: 2 },
  stepMs: (i) => (i === 1 ? 9000 : 1000 + (i % 5)),
};
const retries = (count: number): Pick<TrainingLog, 'after'> => ({
  after: [`[titan] 2026-02-03 04:05:30,000 - root - WARNING - ${count} CUDA memory allocation retries.`],
});

interface Sarif {
  readonly runs: readonly {
    readonly results: readonly {
      readonly ruleId: string;
      readonly level: string;
      readonly locations: readonly {
        readonly physicalLocation?: {
          readonly artifactLocation: { readonly uri: string };
          readonly region: { readonly startLine: number };
        };
      }[];
    }[];
  }[];
}

describe('gate', () => {
  const { cli, cwd, options, ends, refuse } = asker();
  const mbf = (status: number, ...args: string[]) => ends(status, 'gate', ...args);
  const STATUS: Readonly<Record<GateVerdict, number>> = {
    pass: 0,
    warning: 0,
    updated: 0,
    regression: 1,
    undecided: 3,
  };
  let number = 0;
  const judge = (log: TrainingLog, verdict: GateVerdict, ...more: string[]): GateResult => {
    number += 1;
    const run = writeTraining(cwd, `run-${number}`, { ...BASE, ...log });
    const result = mbf(STATUS[verdict], run, '--baseline', 'base.json', '--json=full', ...more).json<GateResult>();
    expect(result).toMatchObject({ schema: 'mbforensics/gate@1', verdict });
    return result;
  };
  const failing = ({ checks }: GateResult): string[] =>
    checks.filter(({ gate, status }) => gate && status === 'regression').map(({ name }) => name);
  const baseline = (file: string): GoldenDocument =>
    JSON.parse(readFileSync(join(cwd, file), 'utf8')) as GoldenDocument;
  const sarif = (file: string) => (JSON.parse(readFileSync(join(cwd, file), 'utf8')) as Sarif).runs[0]!.results;
  beforeAll(() => {
    mkdirSync(join(cwd, '.git'));
    writeTraining(cwd, 'base', BASE);
    mbf(0, 'base', '--baseline', 'base.json', '--update');
  });

  it('passes what is alike, and what is better', () => {
    expect(
      judge({}, 'pass')
        .checks.filter(({ gate }) => gate)
        .map(({ name }) => name),
    ).toEqual(['status', 'peak_allocated', 'step_time']);
    judge({ peaks: PEAKS.map((peak) => ({ ...peak, later: peak.later * 0.8 })), stepMs: () => 900 }, 'pass');
    expect(mbf(0, 'base', '--baseline', 'base.json').stdout).toMatch(/^VERDICT {2}pass\n/);
  });

  it('fails on memory, on time, and on a run that failed', () => {
    expect(
      failing(judge({ peaks: PEAKS.map((peak) => ({ ...peak, later: peak.later * 1.05 })) }, 'regression')),
    ).toEqual(['peak_allocated']);
    expect(failing(judge({ stepMs: () => 1200 }, 'regression'))).toEqual(['step_time']);
    const end = { iterations: 8, target: 20, finished: false };
    expect(failing(judge({ ...end, after: oomLines(0) }, 'regression'))).toContain('status');
    judge({ ...end, after: NCCL_TIMEOUT }, 'undecided');
  });

  it('fails on a loss that is broken, and on nothing else of the loss', () => {
    expect(failing(judge({ loss: () => 'nan' }, 'regression'))).toEqual(['loss']);
    judge({ loss: () => 30 }, 'pass');
  });

  it('compares a rank with the same rank', () => {
    const grown = PEAKS.map((peak) => (peak.rank === 1 ? { ...peak, later: peak.later * 1.1 } : peak));
    expect(failing(judge({ peaks: grown }, 'regression'))).toEqual(['peak_allocated:rank 1']);
  });

  it('fails on the first allocator retries', () => {
    writeTraining(cwd, 'retries-base', { ...BASE, ...retries(10) });
    mbf(0, 'retries-base', '--baseline', 'retries.json', '--update');
    const last = (count: number, ...more: string[]) => {
      const run = writeTraining(cwd, `retries-${count}`, { ...BASE, ...retries(count) });
      return cli.run(['gate', run, '--baseline', 'retries.json', '--json=full', ...more], options);
    };
    expect(last(10).status).toBe(0);
    const more = last(90);
    expect([more.status, failing(more.json<GateResult>())]).toEqual([1, ['alloc_retries']]);
    expect(last(90, '--tolerance', 'alloc_retries=900%').status).toBe(0);
    const warned = last(90, '--warn', 'alloc_retries');
    expect([warned.status, warned.json<GateResult>().verdict]).toEqual([0, 'warning']);
  });

  it('does not judge what is not comparable, unless forced', () => {
    const wider = { arguments: { ...BASE.arguments, hidden_size: 8192 } };
    expect(judge(wider, 'undecided').refused).toContain('hidden_size 4096 → 8192');
    judge(wider, 'pass', '--force');
  });

  it('is not decided by the first of several runs alone', () => {
    writeTraining(cwd, 'other', { ...BASE, arguments: { ...BASE.arguments, hidden_size: 8192 } });
    writeTraining(cwd, 'dead', { ...BASE, iterations: 8, target: 20, after: oomLines(0), finished: false });
    mbf(3, 'base', 'other', '--baseline', 'base.json');
    mbf(1, 'base', 'dead', '--baseline', 'base.json');
    expect(mbf(0, 'base', 'run-1', '--baseline', 'base.json', '--json=full').json<GateResult>().current.runs).toBe(2);
  });

  it('warns of what is within the noise, and with --strict is undecided', () => {
    const slower: TrainingLog = { stepMs: (i) => (i === 1 ? 9000 : 1025 + (i % 5)) };
    expect(judge(slower, 'warning').summary).toMatch(/^step_time \+2\.\d %/);
    judge(slower, 'undecided', '--strict');
    judge(slower, 'pass', '--tolerance', 'step_time=10%');
    judge(slower, 'regression', '--tolerance', 'step_time=0.1%,memory=50%');
  });

  it('judges by all figures that the baseline has', () => {
    judge({ peaks: [] }, 'undecided');
  });

  it('warns of named metrics only', () => {
    judge({ stepMs: () => 1200 }, 'warning', '--warn', 'step_time,component:activation');
    judge(
      { stepMs: () => 1200, peaks: [{ rank: 0, first: 60_000, later: 70_000 }] },
      'regression',
      '--warn',
      'step_time',
    );
  });

  it('finds the component that grew', () => {
    mbf(0, samplePath('llama3-70b-expandable'), '--baseline', 'llama.json', '--update');
    const args = [samplePath('llama3-70b-vpp10'), '--baseline', 'llama.json', '--allow-change', 'layout'];
    const reports = ['--sarif', 'llama.sarif', '--junit', 'llama.xml', '--markdown', 'llama.md'];
    const result = mbf(1, ...args, '--json=full', ...reports).json<GateResult>();
    expect(failing(result).every((name) => name.startsWith('component:'))).toBe(true);
    expect(failing(result).length).toBeGreaterThan(0);
    expect(mbf(1, ...args).stdout).toMatch(/component:\w+ .* FAIL\n/);
    mbf(0, ...args, '--warn', 'component');
    const lines = readFileSync(join(cwd, 'llama.json'), 'utf8').split('\n');
    for (const { ruleId, locations } of sarif('llama.sarif').filter((one) => one.ruleId.startsWith('component:'))) {
      const { artifactLocation, region } = locations[0]!.physicalLocation!;
      expect([ruleId, artifactLocation.uri]).toEqual([ruleId, 'llama.json']);
      expect(lines[region.startLine - 1]).toMatch(/^ +"peaks":/);
    }
    expect(readFileSync(join(cwd, 'llama.md'), 'utf8')).toMatch(/^## mbforensics gate: regression\n/);
  });

  it('gives every result of SARIF a line of a file', () => {
    const slow = writeTraining(cwd, 'slow', { ...BASE, stepMs: () => 1200 });
    mbf(1, slow, '--baseline', 'base.json', '--sarif', 'slow.sarif');
    mbf(1, 'dead', '--baseline', 'base.json', '--sarif', 'dead.sarif');
    mbf(3, 'other', '--baseline', 'base.json', '--sarif', 'other.sarif');
    const places = ['slow', 'dead', 'other'].flatMap((name) => sarif(`${name}.sarif`));
    expect(places.length).toBeGreaterThan(3);
    for (const { locations } of places) expect(locations[0]!.physicalLocation!.region.startLine).toBeGreaterThan(0);
    const [status] = sarif('dead.sarif').filter(({ ruleId }) => ruleId === 'status');
    const { artifactLocation, region } = status!.locations[0]!.physicalLocation!;
    expect([status!.level, artifactLocation.uri]).toEqual(['error', 'dead/train.log']);
    expect(readFileSync(join(cwd, 'dead/train.log'), 'utf8').split('\n')[region.startLine - 1]).toContain(
      'out of memory',
    );
    expect(sarif('other.sarif').map(({ ruleId, level }) => `${ruleId} ${level}`)).toContain('contract warning');
  });

  it('writes JUnit and Markdown from hostile names', () => {
    const name = 'a<b>&"|`c';
    copyFileSync(join(cwd, 'base.json'), join(cwd, 'hostile.json'));
    const document = { ...baseline('base.json'), name };
    writeFileSync(join(cwd, 'hostile.json'), JSON.stringify(document));
    mbf(1, 'slow', '--baseline', 'hostile.json', '--junit', 'h.xml', '--markdown', 'h.md', '--sarif', 'h.sarif');
    const xml = readFileSync(join(cwd, 'h.xml'), 'utf8');
    expect(xml).toContain('a&lt;b&gt;&amp;&quot;|`c');
    expect(xml.match(/<testcase /g)!.length).toBe(Number(/tests="(\d+)" failures="1"/.exec(xml)![1]));
    const open: string[] = [];
    for (const [, close, tag, empty] of xml.matchAll(/<(\/?)(\w[\w-]*)[^<>]*?(\/?)>/g)) {
      if (close === '/') expect(open.pop()).toBe(tag);
      else if (empty !== '/') open.push(tag!);
    }
    expect(open).toEqual([]);
    expect(readFileSync(join(cwd, 'h.md'), 'utf8')).toContain('a&lt;b&gt;&amp;"\\|\\`c');
    // A minified baseline has one line.
    for (const { locations } of sarif('h.sarif')) expect(locations[0]!.physicalLocation!.region.startLine).toBe(1);
  });

  it('renews the baseline, and adds repeats to it', () => {
    const renew = (run: string, ...more: string[]) =>
      mbf(0, run, '--baseline', 'ci.json', '--update', '--json=full', ...more);
    expect(renew('base').json<GateResult>().update).toEqual({ runs: 1, dropped: 0, created: true });
    writeFileSync(
      join(cwd, 'ci.json'),
      readFileSync(join(cwd, 'ci.json'), 'utf8').replace('"name": "ci"', '"name": "mine"'),
    );
    expect(renew('slow').json<GateResult>()).toMatchObject({
      verdict: 'updated',
      update: { runs: 1, dropped: 0, created: false },
      checks: expect.arrayContaining([
        expect.objectContaining({ name: 'step_time', status: 'regression', gate: false }),
      ]),
    });
    expect(baseline('ci.json')).toMatchObject({ name: 'mine', runs: [{ run: 'slow' }] });
    renew('base', '--append');
    expect(baseline('ci.json').runs.map(({ run }) => run)).toEqual(['slow', 'base']);
    for (let i = 0; i < 3; i += 1)
      mbf(0, ...Array<string>(4).fill('base'), '--baseline', 'ci.json', '--update', '--append');
    expect(baseline('ci.json').runs.map(({ run }) => run)).toEqual(Array<string>(12).fill('base'));
    mbf(0, 'base', '--baseline', 'ci.json');
  });

  it('refuses a run that failed, and a repeat with another model', () => {
    const before = readFileSync(join(cwd, 'base.json'), 'utf8');
    for (const run of [['dead'], ['other', '--append']])
      expect(refuse(2, 'gate', ...run, '--baseline', 'base.json', '--update')).toContain('MBF1001');
    expect(readFileSync(join(cwd, 'base.json'), 'utf8')).toBe(before);
    copyFileSync(join(cwd, 'base.json'), join(cwd, 'forced.json'));
    mbf(0, 'dead', '--baseline', 'forced.json', '--update', '--force');
    expect(baseline('forced.json').runs.map(({ run }) => run)).toEqual(['dead']);
  });

  it.each([
    [['base', '--baseline', 'absent.json'], 2, 'MBF1003', '--update'],
    [['base', '--baseline', 'cut.json'], 4, 'MBF2801', 'cut.json'],
    [['base', '--baseline', 'cut.json', '--update'], 4, 'MBF2801', 'cut.json'],
    [['base', '--baseline', '.'], 4, 'MBF2801', ''],
    [['absent', '--baseline', 'base.json'], 2, 'MBF100', 'absent'],
    [['base'], 2, 'MBF1001', '--baseline'],
    [['base', '--baseline', 'base.json', '--append'], 2, 'MBF1001', '--update'],
    [['base', '--baseline', 'base.json', '--warn', 'speed'], 2, 'MBF1001', 'step_time'],
    [['base', '--baseline', 'base.json', '--tolerance', 'speed=1%'], 2, 'MBF1001', 'step_time'],
    [['base', '--baseline', 'base.json', '--tolerance', 'memory=2'], 2, 'MBF1001', 'memory'],
  ] as const)('%j ends with %i and %s', (args, status, code, words) => {
    writeFileSync(join(cwd, 'cut.json'), readFileSync(join(cwd, 'base.json'), 'utf8').slice(0, 900));
    const stderr = refuse(status, 'gate', ...args);
    expect(stderr).toContain(code);
    expect(stderr).toContain(words);
    expect(existsSync(join(cwd, 'absent.json'))).toBe(false);
  });

  describe('the workflows of docs/ci.md', () => {
    const page = readFileSync(join(repoRoot, 'docs', 'ci.md'), 'utf8');
    const workflows = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text]) => parse(text!) as object);
    const scripts = (value: unknown): string[] =>
      typeof value === 'string'
        ? [value]
        : typeof value === 'object' && value !== null
          ? Object.values(value).flatMap(scripts)
          : [];
    const commands = workflows
      .flatMap(scripts)
      .flatMap((script) => script.replaceAll(/\\\n\s*/g, '').split('\n'))
      .filter((line) => line.startsWith('mbforensics '));

    it('are one of each kind, with commands', () => {
      expect(workflows.map((workflow) => ('jobs' in workflow ? 'github' : 'gitlab'))).toEqual(['github', 'gitlab']);
      expect(commands.length).toBeGreaterThan(1);
    });

    it.each(commands)('%s', (command) => {
      const [, ...args] = command.split(/\s+/);
      for (const run of args.filter((arg) => arg.startsWith('runs/'))) writeTraining(cwd, run, BASE);
      const file = args[args.indexOf('--baseline') + 1]!;
      mkdirSync(join(cwd, file, '..'), { recursive: true });
      copyFileSync(join(cwd, 'base.json'), join(cwd, file));
      cli.expect(0, args, options);
    });
  });
});
