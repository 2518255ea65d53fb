/**
 * The judge of `git bisect run`: what it takes for good, bad and neither, and that nothing else ever looks like one of
 * them.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { TriageResult } from '../../src/model/results/compare.js';
import { asker } from '../support/ask.js';
import { NIGHTLY, sampled } from '../support/level.js';
import { NCCL_TIMEOUT, oomLines, type TrainingLog, writeTraining } from '../support/training-log.js';

const PEAKS = [{ rank: 0, first: 50_000, later: 57_000 }];
const BASE: TrainingLog = { iterations: 12, peaks: PEAKS, stepMs: (i) => (i === 1 ? 9000 : 1000 + (i % 5)) };
const scaled = (factor: number) =>
  PEAKS.map(({ rank, first, later }) => ({ rank, first: factor * first, later: factor * later }));
const CODE = { good: 0, bad: 1, skip: 125 } as const;

describe('triage', () => {
  const { cwd, mbf, ends } = asker();
  let number = 0;
  const write = (log: TrainingLog): string => {
    number += 1;
    return writeTraining(cwd, `run-${number}`, { ...BASE, ...log });
  };
  const judge = (
    runs: readonly string[],
    on: string,
    judgement: keyof typeof CODE,
    ...more: string[]
  ): TriageResult => {
    const args = ['bisect', 'triage', ...runs, '--golden', 'base', '--on', on, '--json=full', ...more];
    const result = ends(CODE[judgement], ...args).json<TriageResult>();
    expect(result).toMatchObject({ schema: 'mbforensics/triage@1', judgement, criterion: on });
    return result;
  };
  const triage = (log: TrainingLog, on: string, judgement: keyof typeof CODE, ...more: string[]) =>
    judge([write(log)], on, judgement, ...more);
  beforeAll(() => {
    writeTraining(cwd, 'base', BASE);
    mbf('golden', 'add', 'base', '--name', 'base');
  });

  const oom = { iterations: 5, target: 12, finished: false, after: oomLines(0) };

  it('oom: bad if it ran out of memory, good if it finished, neither if it failed otherwise', () => {
    triage(oom, 'oom', 'bad');
    triage({}, 'oom', 'good');
    expect(triage({ iterations: 5, target: 12, finished: false, after: NCCL_TIMEOUT }, 'oom', 'skip').reason).toMatch(
      /another reason/,
    );
    expect(triage({ iterations: 5, target: 12, finished: false }, 'oom', 'skip').reason).toMatch(/without a word/);
    triage({ iterations: 0, finished: false }, 'oom', 'skip');
    // As far as the golden run came, without a line that it ended.
    triage({ finished: false }, 'oom', 'good');
  });

  it('oom: another OOM than the hunted one is not the hunted one', () => {
    const fragmentation = oomLines(0, 2, 60, 15);
    const hunted = write({ ...oom, after: fragmentation });
    triage({ ...oom, after: fragmentation }, 'oom', 'bad', '--like', hunted);
    expect(triage(oom, 'oom', 'skip', '--like', hunted).reason).toMatch(/different OOM/);
    const oomLogs = oomLines(0).map((line) =>
      line.replace(
        'of which',
        'of which 0.80 GiB is free. Process 4711 has 30.00 GiB memory in use. Process 99 has 48.00 GiB memory in use. Of these',
      ),
    );
    expect(oomLogs.join('\n')).toContain('Process 4711');
    triage(
      {
        iterations: 3,
        target: 12,
        finished: false,
        after: [
          'slurmstepd: error: Detected 1 oom_kill event in StepId=77.0. Some of the step tasks have been OOM Killed.',
        ],
      },
      'oom',
      'skip',
    );
  });

  it('cause: only that cause is bad', () => {
    const fragmentation = oomLines(0, 2, 60, 15);
    triage({ ...oom, after: fragmentation }, 'cause:fragmentation', 'bad');
    triage(oom, 'cause:fragmentation', 'skip');
    triage({}, 'cause:fragmentation', 'good');
  });

  it('memory: by the peak, with the noise', () => {
    triage({ peaks: scaled(1.06) }, 'memory', 'bad');
    triage({ peaks: scaled(1.01) }, 'memory', 'good');
    triage({ peaks: scaled(0.9) }, 'memory', 'good');
    triage({ peaks: [] }, 'memory', 'skip');
    triage({ peaks: scaled(1.06), after: NCCL_TIMEOUT, finished: false, iterations: 6, target: 12 }, 'memory', 'skip');
    // It ran out with more than the golden run ever had; and with less, of something else.
    triage({ ...oom, peaks: scaled(1.2) }, 'memory', 'bad');
    triage({ ...oom, peaks: scaled(0.9) }, 'memory', 'skip');
    // Half of what the hunted run has more is where good ends.
    const hunted = write({ peaks: scaled(1.015) });
    triage({ peaks: scaled(1.012) }, 'memory', 'bad', '--like', hunted);
    triage({ peaks: scaled(1.004) }, 'memory', 'good', '--like', hunted);
  });

  it('throughput: a straggler is not attributed to a commit', () => {
    const slow = { stepMs: (i: number) => (i === 1 ? 9000 : 1100 + (i % 5)) };
    triage(slow, 'throughput', 'bad');
    triage({}, 'throughput', 'good');
    const straggler = [
      'STRAGGLER DETECTION WARNING: Some GPUs have worse relative performance. Affected ranks: {12, 3}',
    ];
    expect(triage({ ...slow, before: straggler }, 'throughput', 'skip').reason).toMatch(/straggler/);
    triage(oom, 'throughput', 'skip');
    triage({ stepMs: (i) => (i % 2 === 0 ? 700 : 1500) }, 'throughput', 'skip');
    // Of several runs, those that were not disturbed count.
    judge([write({ ...slow, before: straggler }), write({})], 'throughput', 'good');
    judge([write({ ...slow, before: straggler }), write(slow)], 'throughput', 'bad');
  });

  it('several runs: disagreement gives no judgement; runs without a judgement do not count', () => {
    const [dead, fine, lost] = [write(oom), write({}), write({ finished: false, after: NCCL_TIMEOUT })];
    expect(judge([dead, fine], 'oom', 'skip').reason).toMatch(/disagree/);
    judge([lost, fine], 'oom', 'good');
    judge([lost, dead], 'oom', 'bad');
  });

  const SIZES = {
    world_size: 8,
    tensor_model_parallel_size: 1,
    seq_length: 4096,
    micro_batch_size: 1,
    hidden_size: 512,
  };
  const sized = (more: Readonly<Record<string, string | number>> = {}): TrainingLog => ({
    arguments: { ...SIZES, ...more },
  });

  it.each([
    ['device', { world_size: 16 }],
    ['model', { hidden_size: 1024 }],
    ['workload', { seq_length: 8192 }],
    ['workload', { micro_batch_size: 2 }],
    ['precision', { fp8: 'hybrid' }],
    ['layout', { tensor_model_parallel_size: 2 }],
  ])('a run of another %s is neither good nor bad, unless that is allowed', (group, change) => {
    const golden = write({ ...sized({ fp8: 'e4m3' }) });
    const worse = write({ ...sized({ fp8: 'e4m3', ...change }), peaks: scaled(1.3) });
    const on = (...more: string[]) => [
      'bisect',
      'triage',
      worse,
      '--golden',
      golden,
      '--on',
      'memory',
      '--json=full',
      ...more,
    ];
    const { why, reason } = ends(125, ...on()).json<TriageResult>();
    expect(why.code).toBe('not_comparable');
    expect(reason).toMatch(/^not comparable with the golden run: /);
    for (const allowed of sampled([group, Object.keys(change)[0]!], 2)) {
      const judged = ends(1, ...on('--allow-change', allowed)).json<TriageResult>();
      expect(judged.evidence.map(({ text }) => text).join()).toContain('settings differ from the golden run');
    }
    if (!NIGHTLY && group !== 'model') return;
    const oomed = write({ ...oom, ...sized({ fp8: 'e4m3', ...change }) });
    ends(125, 'bisect', 'triage', oomed, '--golden', golden);
  });

  it('a good run with a setting that saves memory is called weaker evidence', () => {
    const golden = write(sized());
    const saving = write({ ...sized({ recompute_granularity: 'full' }), peaks: scaled(0.95) });
    const args = ['--golden', golden, '--on', 'memory', '--json=full'];
    const good = ends(0, 'bisect', 'triage', saving, ...args).json<TriageResult>();
    expect(good.settings).toEqual([
      { key: 'recompute_granularity', golden: null, current: 'full', way: 'down', is_contract: false },
    ]);
    expect(good.evidence.map(({ text }) => text).join()).toMatch(
      /weaker evidence.*recompute_granularity not set → full/,
    );
    // Not the hunted growth: the hunted run recomputes as the golden one does.
    const recomputing = write(sized({ recompute_granularity: 'full' }));
    const like = ['--like', write({ ...sized({ recompute_granularity: 'full' }), peaks: scaled(1.1) })];
    const without = write({ ...sized(), peaks: scaled(1.3) });
    const bare = ['bisect', 'triage', without, '--golden', recomputing, '--on', 'memory', '--json=full'];
    ends(1, ...bare);
    const skipped = ends(125, ...bare, ...like).json<TriageResult>();
    expect(skipped.why.code).toBe('other_setting');
  });

  it('cannot judge what cannot be read, and gives the reason', () => {
    const place = (name: string, content: string | Buffer | undefined): string => {
      number += 1;
      const directory = join(cwd, `broken-${number}`);
      mkdirSync(directory);
      if (content !== undefined) writeFileSync(join(directory, name), content);
      return directory;
    };
    const pickle = Buffer.from([0x80, 0x04, 0x95, 0xff, 0x00, 0x00]);
    for (const [output, expected] of [
      [place('train.log', ''), /cannot be read: .*is empty/],
      [place('train.log', undefined), /cannot be read: /],
      [place('oom_rank0.pickle', pickle), /oom_rank0\.pickle/],
      [join(cwd, 'never-written'), /does not exist/],
    ] as const) {
      const { reason } = triageOf([output]);
      expect(reason).toMatch(expected);
    }
    // A damaged snapshot next to a log is named.
    const damaged = write({});
    writeFileSync(join(damaged, 'oom_rank0.pickle'), pickle);
    expect(
      judge([damaged], 'memory', 'good')
        .evidence.map(({ text }) => text)
        .join(),
    ).toContain('oom_rank0.pickle');
  });
  const triageOf = (runs: readonly string[]) => judge(runs, 'memory', 'skip');

  it('prints the judgement last, and in words', () => {
    const { stdout } = ends(1, 'bisect', 'triage', write(oom), '--golden', 'base');
    expect(stdout).toMatch(/^bad /m);
    expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/bad|out of memory/);
  });
});
