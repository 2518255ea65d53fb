/**
 * Changes held against what they were for: the published case, and small runs in which a change did not take effect.
 */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { VerifyChange, VerifyFixResult } from '../../src/model/results/verify.js';
import { type Answer, buildCli } from '../support/cli.js';
import { NIGHTLY } from '../support/level.js';
import { smallSnapshot } from '../support/small-snapshot.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { oomLines, type TrainingLog, writeTraining } from '../support/training-log.js';

const cli = buildCli();
const cwd = temporaryDirectory();
const env = { XDG_CACHE_HOME: join(cwd, 'cache') };

const SAMPLES = join(import.meta.dirname, '..', '..', 'samples');
const sample = (name: string): string => join(SAMPLES, `llama3-70b-${name}`);

function ask(status: number, before: string, after: string, ...more: readonly string[]): Answer {
  return cli.expect(status, ['verify-fix', before, after, ...more], { cwd, env });
}

function verify(status: number, before: string, after: string, ...more: readonly string[]): VerifyFixResult {
  return ask(status, before, after, '--json', '--exit-code', ...more).json<VerifyFixResult>();
}

const change = ({ changes }: VerifyFixResult, key: string): VerifyChange => changes.find((one) => one.key === key)!;
const about = ({ judgement }: VerifyFixResult, topic: string) => judgement.find((one) => one.about === topic);

describe('the published case', () => {
  it('expandable segments: in force, the OOM gone, the step as fast', () => {
    const result = verify(0, sample('fragmentation'), sample('expandable'));
    expect(result).toMatchObject({ schema: 'mbforensics/verify-fix@1', verdict: 'fixed', unfair: [] });
    expect(result.changes).toHaveLength(1);
    expect(change(result, 'PYTORCH_CUDA_ALLOC_CONF')).toMatchObject({
      fix: 'expandable-segments',
      fix_complete: true,
      credited: true,
      effect: { outcome: 'active', ranks: { active: [0], inactive: [] } },
    });
    expect(result.beside.map(({ key }) => key)).toContain('exit_interval');
    expect(result.before).toMatchObject({ ending: 'oom', cause: 'fragmentation', rank: 0, iteration: 3 });
    expect(result.after).toMatchObject({ ending: 'completed', last_iteration: 6 });
    // The gain is the idle memory, not the peak.
    expect(about(result, 'memory')).toBeUndefined();
    expect(about(result, 'fragmentation')).toMatchObject({ outcome: 'better' });
    expect(result.measured.cached.delta).toBeLessThan(-16 * 2 ** 30);
    expect(Math.abs(result.measured.peak_allocated.percent!)).toBeLessThan(2);
    expect(about(result, 'time')).toMatchObject({ outcome: 'as_expected' });
    expect(result.bottleneck).toMatchObject({ kind: 'memory', component: 'optimizer_state', rank: 0, stage: 0 });
    expect(result.bottleneck.headroom_bytes).toBeGreaterThan(2 ** 31);
  });

  it.each([
    ['pp8', 'pp-8', 'pipeline_model_parallel_size', 5.1],
    ['tp8', 'tp-8', 'tensor_model_parallel_size', 27.7],
  ])('%s: fixed at a cost, and something cheaper was enough', (name, fix, key, lost) => {
    const result = verify(0, sample('fragmentation'), sample(name));
    expect(result).toMatchObject({ verdict: 'fixed', unfair: [], expected: { fix } });
    expect(change(result, key)).toMatchObject({ fix, credited: true, effect: { outcome: 'active' } });
    expect(result.measured.tflops.percent).toBeCloseTo(-lost, 1);
    // Published peaks are of the first memory line: compared with the later ones they would look wrong.
    expect(about(result, 'memory')).toMatchObject({ outcome: 'as_expected' });
    expect(about(result, 'time')).toMatchObject({ outcome: 'as_expected' });
    expect(about(result, 'change')!.text).toContain('expandable-segments would have been enough at no cost');
    expect(result.contract.map(({ key: one }) => one)).toContain('dp');
  });

  it('two changes at once: expandable segments did it, not the virtual stages', () => {
    const result = verify(0, sample('fragmentation'), sample('vpp10'));
    expect(result.verdict).toBe('fixed');
    expect(change(result, 'PYTORCH_CUDA_ALLOC_CONF')).toMatchObject({ credited: true, fix: 'expandable-segments' });
    expect(change(result, 'virtual_pipeline_model_parallel_size')).toMatchObject({
      credited: false,
      fix: null,
      non_fix: 'vpp',
      effect: { outcome: 'active' },
    });
    expect(about(result, 'change')!.text).toMatch(
      /one change at a time.*virtual_pipeline_model_parallel_size does not fix this failure/,
    );
    expect(result.summary).toContain('by PYTORCH_CUDA_ALLOC_CONF');
  });

  it('a run against itself: nothing changed', () => {
    const result = verify(1, sample('fragmentation'), sample('fragmentation'));
    expect(result).toMatchObject({ verdict: 'no_effect', changes: [], judgement: [] });
    expect(result.bottleneck).toMatchObject({ kind: 'failure', cause: 'fragmentation', rank: 0 });
  });

  it('a change that brings the OOM is worse, and has earned nothing', () => {
    const result = verify(1, sample('expandable'), sample('fragmentation'));
    expect(result.verdict).toBe('worse');
    expect(change(result, 'PYTORCH_CUDA_ALLOC_CONF')).toMatchObject({ to: null, credited: false });
  });

  it('refuses to judge runs of other models, and fixes that there are not', () => {
    const result = verify(3, join(SAMPLES, 'capacity'), join(SAMPLES, 'leak'));
    expect(result.verdict).toBe('undecided');
    expect(result.unfair.join()).toContain('hidden_size 5120 → 4096');
    const wrong = cli.run(['verify-fix', sample('fragmentation'), sample('pp8'), '--fix', 'pp-9'], { cwd, env });
    expect([wrong.status, wrong.stdout]).toEqual([2, '']);
    expect(wrong.stderr).toContain('MBF1001');
    const otherModel = verify(0, sample('fragmentation'), sample('pp8'), '--fix', 'expandable-segments');
    expect(otherModel.expected).toBeNull();
    expect(about(otherModel, 'change')!.text).toContain('expandable-segments was not done');
  });

  it('fits a screen of 100 columns, the verdict first', () => {
    const { stdout } = ask(0, sample('fragmentation'), sample('vpp10'));
    expect(stdout).toMatch(/^VERDICT {2}fixed\n/);
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
    expect(stdout).toContain('ACTIVE');
  });
});

const SIZES = {
  world_size: 4,
  tensor_model_parallel_size: 1,
  pipeline_model_parallel_size: 1,
  context_parallel_size: 1,
  num_layers: 16,
  hidden_size: 4096,
  seq_length: 4096,
  micro_batch_size: 2,
  global_batch_size: 32,
  bf16: 'True',
  accumulate_allreduce_grads_in_fp32: 'True',
  optimizer: 'adam',
  use_distributed_optimizer: 'False',
};
const peaks = (mib: number) => [0, 1, 2, 3].map((rank) => ({ rank, first: 0.8 * mib, later: mib }));
const DIED: TrainingLog = {
  arguments: SIZES,
  iterations: 3,
  target: 20,
  peaks: peaks(70_000),
  after: oomLines(0),
  finished: false,
};
const RUNS: TrainingLog = { arguments: SIZES, iterations: 20, peaks: peaks(70_000) };

describe.runIf(NIGHTLY)('small runs', () => {
  const script = (directory: string, line: string): void =>
    writeFileSync(
      join(directory, 'launch.sbatch'),
      `#!/bin/bash\n#SBATCH --nodes=1\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\n${line}\nsrun python pretrain_gpt.py\n`,
    );
  const environ = (directory: string, rank: number, more: readonly string[]): void =>
    writeFileSync(
      join(directory, `environ-rank${rank}`),
      ['PATH=/usr/bin', 'CUDA_DEVICE_MAX_CONNECTIONS=1', 'WORLD_SIZE=4', `RANK=${rank}`, ...more]
        .map((one) => `${one}\0`)
        .join(''),
    );
  const ON = 'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True';
  const died = (name: string, log: TrainingLog = DIED): string => {
    const directory = writeTraining(cwd, name, log);
    script(directory, '');
    return directory;
  };

  it('a setting that the script exports and one rank lacks', () => {
    const before = died('env-before');
    const after = writeTraining(cwd, 'env-partly', { ...DIED, after: oomLines(3) });
    script(after, `export ${ON}`);
    for (const rank of [0, 1, 2]) environ(after, rank, [ON]);
    environ(after, 3, []);
    const result = verify(1, before, after);
    expect(change(result, 'PYTORCH_CUDA_ALLOC_CONF').effect).toMatchObject({
      outcome: 'partly',
      ranks: { active: [0, 1, 2], inactive: [3] },
    });
    // The rank that lacks it failed.
    expect(result).toMatchObject({ verdict: 'not_active', after: { rank: 3 } });
    expect(result.summary).toContain('rank 3');
  });

  it('a setting that no process has', () => {
    const before = died('env-before-2');
    const after = writeTraining(cwd, 'env-none', DIED);
    script(after, `export ${ON}`);
    for (const rank of [0, 1, 2, 3]) environ(after, rank, ['PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512']);
    const result = verify(1, before, after);
    expect(result.verdict).toBe('not_active');
    expect(change(result, 'PYTORCH_CUDA_ALLOC_CONF')).toMatchObject({
      to: 'expandable_segments:True',
      effect: { outcome: 'inactive', ranks: { active: [], inactive: [0, 1, 2, 3] } },
    });
  });

  it('a setting that only a script means is untested, and the cure still one', () => {
    const before = died('env-before-3');
    const after = writeTraining(cwd, 'env-script', RUNS);
    script(after, `export ${ON}`);
    const result = verify(0, before, after);
    expect(change(result, 'PYTORCH_CUDA_ALLOC_CONF').effect).toMatchObject({ outcome: 'untested' });
    expect(result.summary).toContain('not recorded');
    expect(result.missing.join()).toContain('/proc/PID/environ');
  });

  it('an OOM that moved to another rank or a later iteration is progress and no pass', () => {
    const before = died('moved-before');
    const smaller = { ...SIZES, micro_batch_size: 1 };
    const rank = writeTraining(cwd, 'moved-rank', { ...DIED, arguments: smaller, after: oomLines(2) });
    script(rank, '');
    const result = verify(1, before, rank);
    expect(result).toMatchObject({ verdict: 'progress', before: { rank: 0 }, after: { rank: 2 } });
    expect(result.summary).toContain('progress, no pass');
    expect(result.bottleneck).toMatchObject({ kind: 'failure', rank: 2 });
    expect(result.unfair).toEqual([]);
    const later = writeTraining(cwd, 'moved-later', { ...DIED, arguments: smaller, iterations: 9 });
    script(later, '');
    expect(verify(1, before, later).verdict).toBe('progress');
    const unmoved = writeTraining(cwd, 'moved-not', { ...DIED, arguments: smaller });
    script(unmoved, '');
    expect(verify(1, before, unmoved).verdict).toBe('no_effect');
  });

  it('a few iterations are not a pass', () => {
    const before = died('few-before');
    const few = (name: string, iterations: number): string => {
      const after = writeTraining(cwd, name, {
        arguments: { ...SIZES, micro_batch_size: 1 },
        iterations,
        target: 20,
        peaks: peaks(50_000),
        finished: false,
      });
      script(after, '');
      return after;
    };
    expect(verify(3, before, few('few-3', 3)).summary).toContain('not past it');
    expect(verify(0, before, few('few-6', 6)).verdict).toBe('fixed');
    const early = died('few-early', { ...DIED, iterations: 0, peaks: [] });
    expect(verify(1, early, few('few-2', 2))).toMatchObject({ verdict: 'progress' });
  });

  it('recompute that is set but without frames', () => {
    const before = died('frames-before');
    const asked = { ...SIZES, recompute_granularity: 'full', recompute_method: 'uniform', recompute_num_layers: 1 };
    const forward = [
      'linear_fc1 /opt/megatron/core/transformer/mlp.py:150',
      'forward /opt/megatron/core/transformer/mlp.py:99',
    ];
    const block = ['forward /opt/megatron/core/transformer/transformer_block.py:500'];
    const write = (name: string, stack: readonly string[]): string => {
      const after = writeTraining(cwd, name, { ...DIED, arguments: asked });
      script(after, '');
      const addr = 0x7f00_0000_0000;
      writeFileSync(
        join(after, 'snapshot_rank0.pickle'),
        smallSnapshot({
          segments: [[{ size: 2 ** 21, stack }]],
          entries: [
            { action: 'segment_alloc', addr, size: 2 ** 21, stack },
            { action: 'alloc', addr, size: 2 ** 21, stack },
          ],
        }),
      );
      return after;
    };
    const result = verify(1, before, write('frames-none', [...forward, ...block]));
    expect(change(result, 'recompute_granularity').effect).toMatchObject({
      outcome: 'inactive',
      ranks: { inactive: [0] },
    });
    expect(result.verdict).toBe('not_active');
    const checkpointed = [
      ...forward,
      'forward /opt/megatron/core/tensor_parallel/random.py:400',
      'checkpoint /opt/megatron/core/tensor_parallel/random.py:480',
      '_checkpointed_forward /opt/megatron/core/transformer/transformer_block.py:420',
      ...block,
    ];
    const active = verify(1, before, write('frames-full', checkpointed));
    expect(change(active, 'recompute_granularity').effect).toMatchObject({ outcome: 'active', ranks: { active: [0] } });
    expect(active.verdict).toBe('no_effect');
  });

  it('an optimizer that is sharded, and one that is not', () => {
    const before = died('optimizer-before');
    const sharded = { ...SIZES, use_distributed_optimizer: 'True' };
    // bf16 weights, fp32 gradients, fp32 master and moments: 18 bytes a parameter, 9 on four replicas.
    const saved = writeTraining(cwd, 'optimizer-sharded', { ...RUNS, arguments: sharded, peaks: peaks(35_000) });
    script(saved, '');
    const good = verify(0, before, saved);
    expect(change(good, 'use_distributed_optimizer').effect).toMatchObject({ outcome: 'active' });
    const unsharded = writeTraining(cwd, 'optimizer-whole', { ...DIED, arguments: sharded });
    script(unsharded, '');
    const bad = verify(1, before, unsharded);
    expect(change(bad, 'use_distributed_optimizer').effect).toMatchObject({ outcome: 'inactive' });
    expect(bad.verdict).toBe('not_active');
  });

  it('a flag of the command line that the run does not print is overruled', () => {
    const before = died('flag-before');
    const after = died('flag-after');
    writeFileSync(
      join(after, 'launch.sbatch'),
      '#!/bin/bash\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\nsrun python pretrain_gpt.py --micro-batch-size 1\n',
    );
    const result = verify(1, before, after);
    expect(change(result, 'micro_batch_size')).toMatchObject({ from: '2', to: '1', effect: { outcome: 'inactive' } });
    expect(result.verdict).toBe('not_active');
  });

  it('takes two runs of one store', () => {
    mkdirSync(join(cwd, 'one'), { recursive: true });
    const db = join(cwd, 'one', 'store.duckdb');
    cpSync(died('kept-before'), join(cwd, 'one', 'kept-before'), { recursive: true });
    const after = writeTraining(join(cwd, 'one'), 'kept-after', {
      ...RUNS,
      arguments: { ...SIZES, micro_batch_size: 1 },
    });
    script(after, '');
    cli.expect(0, ['ingest', join(cwd, 'one', 'kept-before'), after, '--each', '--db', db], { cwd, env });
    const result = verify(0, 'kept-before', 'kept-after', '--db', db);
    expect(result).toMatchObject({ verdict: 'fixed', before: { run: 'kept-before' }, after: { run: 'kept-after' } });
  });
});
