/** Small runs in which a change did not take effect, or moved the failure. */
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { VerifyFixResult } from '../../src/model/results/verify.js';
import { asker } from '../support/ask.js';
import { smallSnapshot } from '../support/small-snapshot.js';
import { oomLines, type TrainingLog, writeTraining } from '../support/training-log.js';

const { cwd, mbf, ends } = asker();
const verify = (status: number, ...args: readonly string[]) =>
  ends(status, 'verify-fix', ...args, '--json=full', '--exit-code').json<VerifyFixResult>();
const change = ({ changes }: VerifyFixResult, key: string) => changes.find((one) => one.key === key)!;

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

describe('small runs', () => {
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
    const db = join(cwd, 'one', 'store.duckdb');
    cpSync(died('kept-before'), join(cwd, 'one', 'kept-before'), { recursive: true });
    const after = writeTraining(join(cwd, 'one'), 'kept-after', {
      ...RUNS,
      arguments: { ...SIZES, micro_batch_size: 1 },
    });
    script(after, '');
    mbf('ingest', join(cwd, 'one', 'kept-before'), after, '--each', '--db', db);
    const result = verify(0, 'kept-before', 'kept-after', '--db', db);
    expect(result).toMatchObject({ verdict: 'fixed', before: { run: 'kept-before' }, after: { run: 'kept-after' } });
  });
});
