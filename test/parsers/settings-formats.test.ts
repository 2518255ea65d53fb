import { describe, expect, it } from 'vitest';
import { applyBlock, applyLine } from '../../parsers/log/formats/apply.js';
import { YamlLines } from '../../parsers/log/formats/settings/yaml-lines.js';
import { SETTINGS_FORMATS } from '../../parsers/log/formats/settings.js';
import { logParser } from '../../parsers/log/index.js';
import { type LogRow, placedRow } from '../../src/model/log-rows.js';
import { strictSink } from '../support/collect-rows.js';
import { bytesSource } from '../support/decode.js';
import { samplesOf } from '../support/log-samples.js';

async function readLog(text: string): Promise<LogRow[]> {
  const rows: LogRow[] = [];
  const ignore = (): void => {};
  const sink = strictSink({
    note: ignore,
    incident: ignore,
    attempt: ignore,
    logRow: (finding, place) => rows.push(placedRow(finding, place)),
  });
  await logParser.parse(bytesSource(Buffer.from(text)), sink, { name: 'train.log' });
  return rows;
}

const settings = (rows: readonly LogRow[]): string[] =>
  rows.flatMap((row) =>
    row.row === 'config' || row.row === 'env' ? [`${row.key}=${row.value}@${row.line} ${row.origin}`] : [],
  );

describe('settings in logs', () => {
  it('follow their own writer', async () => {
    const text = [
      '[default0]:_target_: megatron.bridge.training.config.ConfigContainer',
      '[default1]:NCCL version 2.27.3+cuda12.9',
      '[default0]:model:',
      '[default0]:  num_layers: 30',
      '[default1]:  num_layers: 99',
      '[default0]:  recompute_modules:',
      '[default0]:  - core_attn',
      '[default0]:  seq_length: 2048',
      '[default0]:training ...',
      '[default0]:[Rank 0] (after 1 iterations) something else',
    ].join('\n');
    expect(settings(await readLog(text))).toEqual([
      '_target_=megatron.bridge.training.config.ConfigContainer@1 log yaml',
      'num_layers=30@4 log yaml',
      'recompute_modules=["core_attn"]@8 log yaml',
      'seq_length=2048@8 log yaml',
    ]);
  });

  it('end where the block ends', async () => {
    const rows = await readLog(
      [
        '------------------------ arguments ------------------------',
        '  num_layers ...................................... 30',
        '-------------------- end of arguments ---------------------',
        '  hidden_size ..................................... 99',
      ].join('\n'),
    );
    expect(settings(rows)).toEqual(['num_layers=30@2 log dump']);
  });

  it('are not made of advice, code or usage texts', async () => {
    const text = [
      'torch.OutOfMemoryError: CUDA out of memory. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.',
      'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.',
      '  File "/code/pretrain_gpt.py", line 3, in main',
      '    ddp = DistributedDataParallelConfig(grad_reduce_in_fp32=args.a, overlap_grad_reduce=args.b, bucket_size=args.c)',
      'usage: pretrain_gpt.py [-h] [--num-layers N] [--hidden-size N]',
      'pretrain_gpt.py: error: argument --num-layers: expected one argument --hidden-size 3 --seq-length 4',
      'AssertionError: Setting NCCL_GRAPH_REGISTER=0 to avoid illegal memory access when using CUDA Graph',
    ].join('\n');
    expect(settings(await readLog(text))).toEqual([]);
  });

  it('are read from a shell trace and from a printed script', async () => {
    const text = [
      '+ export NCCL_NVLS_ENABLE=0',
      '++ TP=2',
      '+ srun --nodes=3 torchrun --nproc-per-node 4 /c/pretrain_gpt.py --num-layers 30 --hidden-size 512',
      '#SBATCH --gpus-per-node=4',
      'export TORCH_NCCL_AVOID_RECORD_STREAMS=1',
    ].join('\n');
    expect(settings(await readLog(text))).toEqual([
      'NCCL_NVLS_ENABLE=0@1 script',
      'nnodes=3@3 command line',
      'nproc_per_node=4@3 command line',
      'num_layers=30@3 command line',
      'hidden_size=512@3 command line',
      'gpus_per_node=4@4 command line',
      'TORCH_NCCL_AVOID_RECORD_STREAMS=1@5 script',
    ]);
  });
});

describe('YAML by lines', () => {
  function read(lines: readonly string[]): (readonly [string, string | null])[] {
    const rows: (readonly [string, string | null])[] = [];
    const yaml = new YamlLines((path, value) => rows.push([path.join('.'), value]));
    for (const line of lines) yaml.line(line);
    yaml.end();
    return rows;
  }

  it('reads nested sections, lists of sections, folded and flow values', () => {
    expect(
      read([
        'trainer:',
        '  callbacks:',
        '  - _target_: a.B',
        '    every: 3',
        '  - every: 4',
        '  devices: 8',
        '  long: [1, 2,',
        '    3]',
        "  text: 'it''s'",
        '  note: |',
        '    key: no setting',
        '  after: null',
        'last:',
        '- x',
      ]),
    ).toEqual([
      ['trainer.callbacks.0._target_', 'a.B'],
      ['trainer.callbacks.0.every', '3'],
      ['trainer.callbacks.1.every', '4'],
      ['trainer.devices', '8'],
      ['trainer.long', '[1,2,3]'],
      ['trainer.text', "it's"],
      ['trainer.after', null],
      ['last', '["x"]'],
    ]);
  });

  it('gives back lines that are not part of it', () => {
    const yaml = new YamlLines(() => {});
    expect(yaml.line('model:')).toBe(true);
    expect(yaml.line('  a: 1')).toBe(true);
    for (const line of ['training ...', 'WARNING: no such thing', 'Saved to: /x y z', '> padded vocab']) {
      expect(yaml.line(line), line).toBe(false);
    }
  });
});

describe('hostile lines', () => {
  const lines = [
    '('.repeat(8000),
    `OptimizerConfig(a=${'['.repeat(8000)}`,
    'OptimizerConfig('.repeat(500),
    `+ ${'"$('.repeat(2700)}`,
    `torchrun ${'x.py --num-layers '.repeat(450)}`,
    `${'a'.repeat(4000)}.py ${'b='.repeat(2000)}`,
    `  name ${'.'.repeat(7990)}`,
    `PYTORCH_CUDA_ALLOC_CONF=${'x'.repeat(7900)}`,
    `Overriding config: ${'a=b,'.repeat(1900)}`,
    `key: ${'[ '.repeat(4000)}`,
    `${' '.repeat(8000)}- x`,
  ];

  it('stall no format', () => {
    for (const format of SETTINGS_FORMATS) {
      for (const line of lines) {
        if (format.form === 'line') applyLine(format, line, () => {});
        else {
          const first = samplesOf(format)[0]!.lines[0]!;
          applyBlock(format, [first, ...Array.from({ length: 50 }, () => line)], () => {});
        }
      }
    }
  });
});
