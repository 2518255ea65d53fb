/** Settings by precedence, throughput, step times and doubtful readings, from the text of a log to the screens. */
import { describe, expect, it } from 'vitest';
import type { FormatsExplainResult } from '../../src/model/results/format.js';
import type { ConfigResult, LogResult, LogRun, MemoryResult } from '../../src/model/results/log.js';
import { asker } from '../support/ask.js';
import { wordsOf } from '../support/cli.js';

const { text, json, put } = asker();
let files = 0;

function fileOf(lines: readonly string[]): string {
  files += 1;
  return put(`train-${files}.log`, `${lines.join('\n')}\n`);
}
const logOf = (lines: readonly string[]): LogRun => json<LogResult>('log', fileOf(lines)).runs[0]!;
const settingsOf = (lines: readonly string[]): Record<string, string | null> =>
  Object.fromEntries(json<ConfigResult>('log', 'config', fileOf(lines)).settings.map(({ key, value }) => [key, value]));

const DEEPSPEED = '[2023-05-27 19:49:22,948] [INFO] ';

describe('settings', () => {
  it('of the runtime take precedence over resolved arguments, which are over the command line', () => {
    const settings = settingsOf([
      '+ torchrun --nproc_per_node 8 pretrain_gpt.py --micro-batch-size 4 --seq-length 4096 --num-layers 32',
      '------------------------ arguments ------------------------',
      '  optimizer ....................................... adam',
      '  seq_length ...................................... 2048',
      '-------------------- end of arguments ---------------------',
      `${DEEPSPEED}[logging.py:96:log_dist] [Rank 0] DeepSpeed Basic Optimizer = FusedAdam`,
      `${DEEPSPEED}[logging.py:96:log_dist] [Rank 0] Creating fp16 ZeRO stage 2 optimizer`,
      `${DEEPSPEED}[config.py:953:print] DeepSpeedEngine configuration:`,
      `${DEEPSPEED}[config.py:957:print]   activation_checkpointing_config  {`,
      '    "partition_activations": false, ',
      '    "cpu_checkpointing": false',
      '}',
      `${DEEPSPEED}[config.py:957:print]   optimizer_name ............... None`,
      `${DEEPSPEED}[config.py:957:print]   zero_optimization_stage ...... 2`,
      `${DEEPSPEED}[config.py:957:print]   json = {`,
      '    "train_batch_size": 64',
      '}',
      `${DEEPSPEED}[checkpointing.py:547:forward] Activation Checkpointing Information`,
      `${DEEPSPEED}[checkpointing.py:548:forward] ----Partition Activations True, CPU CHECKPOINTING False`,
    ]);
    expect(settings).toMatchObject({
      ...{ micro_batch_size: '4', seq_length: '2048', optimizer: 'FusedAdam', zero_stage: '2', fp16: 'True' },
      'activation_checkpointing.partition_activations': 'true',
    });
  });

  it('with different units have different names', () => {
    const settings = settingsOf([
      '+ python pretrain_gpt.py --micro-batch-size 2 --num-layers 12 --ddp_bucket_cap_mb 25 --ddp-bucket-size 1000000',
    ]);
    expect(settings).toMatchObject({ ddp_bucket_cap_mb: '25', bucket_size: '1000000' });
  });
});

const STEP = 'titan - INFO - step: ';

describe('the pace of a run', () => {
  it('follows from tokens per second, the batch and the device mesh', () => {
    const run = logOf([
      "titan - INFO - Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]",
      'titan - INFO - Trainer is initialized with local batch size 2, global batch size 8, gradient accumulation steps 1, sequence length 8192, total steps 1000 (warmup 200)',
      `${STEP} 1  loss: 12.2384  memory: 48.66GiB(51.22%)  tps: 812  tflops: 47.16  mfu: 4.77%`,
      `${STEP}10  loss:  6.0388  memory: 49.66GiB(52.28%)  tps: 5,461  tflops: 323.92  mfu: 32.75%`,
      `${STEP}20  loss:  6.0348  memory: 49.66GiB(52.28%)  tps: 5,461  tflops: 339.82  mfu: 34.36%`,
    ]);
    expect(run).toMatchObject({ world_size: 8, parallel: { tp: 2, pp: 1, dp: 4 }, gpu: { count: 8 } });
    expect(run.derived_step?.ms).toBeCloseTo((8 * 8192 * 1000) / (5461 * 8), 6);
    expect(run.rates).toMatchObject([{ name: 'mfu' }, { name: 'tps', median: 5461, count: 3 }]);
  });

  it('is not derived from tokens per second alone, but from the clock of the lines', () => {
    const step = (number: number, time: string) =>
      `[titan] 2025-12-17 01:18:${time} - root - INFO - step:  ${number}  loss: 12.4153  memory: 87.87GiB(62.89%)  tps: 945`;
    expect(logOf([step(1, '10,000'), step(2, '12,000')]).derived_step).toBeNull();
    const run = logOf([step(1, '10,000'), step(2, '12,000'), step(3, '14,500'), step(5, '19,500')]);
    expect(run.derived_step).toMatchObject({ ms: 2500 });
  });

  it('is read from a line that no format knows, and from none that one does', () => {
    const run = logOf([
      '[trainer] speed: 123.5 samples/s, step time: 0.5s',
      'iter 99: loss 4.1250, time 250.50ms, mfu 35.10%',
    ]);
    expect(run.rates.map(({ name, unit, last }) => [name, unit, last])).toEqual([
      ['mfu', null, 35.1],
      ['printed.samples_per_s', 'samples/s', 123.5],
      ['printed.step_time', 's', 0.5],
    ]);
    expect(run.iterations).toMatchObject({ count: 1, median_step_ms: 250.5 });
  });
});

describe('readings that cannot be true', () => {
  it('are noted with their line and left out of all figures', () => {
    const lines = [
      '[Rank 0] (after 10 iterations) memory (MB) | allocated: 1000.0 | max allocated: 2000.0 | reserved: 3000.0 | max reserved: 3000.0',
      '[Rank 0] (after 20 iterations) memory (MB) | allocated: 1000.0 | max allocated: 9000.0 | reserved: 3000.0 | max reserved: 4000.0',
    ];
    const file = fileOf(lines);
    const memory = json<MemoryResult>('log', 'memory', file);
    expect(memory.doubtful).toMatchObject([
      { metric: 'max_allocated', line: 2, value: 9000, reason: 'max allocated above max reserved' },
      { metric: 'max_reserved', line: 2, value: 4000 },
    ]);
    const metrics = Object.fromEntries(memory.ranks[0]!.metrics.map(({ metric, max_bytes }) => [metric, max_bytes]));
    expect(metrics).toMatchObject({ max_allocated: 2000 * 1024 ** 2, max_reserved: 3000 * 1024 ** 2 });
    for (const verb of ['memory', 'log']) {
      const screen = text(...wordsOf(verb), file);
      expect(screen).toMatch(/doubtful, not counted · rank 0: max allocated 9000 MB in .*line 2/);
      expect(screen).not.toContain('8.79 GiB');
    }
  });
});

describe('formats explain', () => {
  const UNREAD = [
    'loaded 4123 shards in 12.5 seconds',
    'the queue holds 3.5 GB',
    'the host link runs at 24.8 GB/s',
    'it draws 350 W at 71 °C',
    'decoder speed: 1200 frames/s',
    'a call takes 15us',
    'optimizer state 12 bytes per element',
    'utilisation 87%',
    'clock 1980 MHz',
    'copy_time_ms: 12',
    'size (MiB): 512',
    'read at /data/run-7/a.bin with --size 80GB',
  ];
  it('reports every line with a number and a unit that no format read', () => {
    const file = fileOf([...UNREAD, 'epoch 7 of gpt-7b v2.1.0 in /data/100GB/x']);
    const result = json<FormatsExplainResult>('explain', 'formats', file);
    expect(result.unmatched.map(({ line }) => line).sort((a, b) => a - b)).toEqual(UNREAD.map((_, index) => index + 1));
  });
});
