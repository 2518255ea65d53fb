import type { IterationFinding, MemoryFinding } from '../../../../src/model/log-rows.js';
import type { Emit, LineFormat } from '../contract.js';
import { pythonNumber } from '../field-list.js';
import { GIB, memoryFigure } from '../units.js';

/**
 * What `gb_free` and `cuda_gb_free` subtract from the device's total is the peak of torch's own allocations: neither the cache nor other
 * processes are in it, so that it is no free memory of the driver and keeps its printed name. metaseq's successors ask the driver.
 */
const MEMORY: Readonly<Record<string, string>> = {
  cuda_gb_allocated: 'max_allocated',
  cuda_gb_reserved: 'max_reserved',
  cuda_gb_free: 'cuda_gb_free',
  gb_free: 'gb_free',
};
/** `round=1`, and then zeros dropped: `19` is 19.0. */
const HALF_DIGIT = 0.05;

type Known = 'loss' | 'learningRate' | 'gradNorm' | 'lossScale' | 'globalBatchSize';
const KNOWN: Readonly<Record<string, Known>> = {
  loss: 'loss',
  lr: 'learningRate',
  gnorm: 'gradNorm',
  loss_scale: 'lossScale',
  bsz: 'globalBatchSize',
};

function emitFields(fields: Iterable<readonly [name: string, text: string]>, emit: Emit): void {
  const others: { name: string; value: number | null; text: string }[] = [];
  const row: { -readonly [Key in keyof IterationFinding]: IterationFinding[Key] } = {
    row: 'iteration',
    iteration: 0,
    target: null,
  };
  const memory: MemoryFinding[] = [];
  for (const [name, text] of fields) {
    const value = pythonNumber(text);
    const finite = value !== null && Number.isFinite(value);
    const known = KNOWN[name];
    const metric = MEMORY[name];
    if (name === 'num_updates' && finite) row.iteration = value;
    else if (metric !== undefined && finite)
      memory.push(memoryFigure(metric, text, 'GB', GIB, { moment: 'since the print before' }, HALF_DIGIT));
    else if (known !== undefined && value !== null) row[known] = value;
    else others.push({ name, value, text });
  }
  if (row.iteration === 0) return;
  row.others = others;
  emit(row);
  for (const figure of memory) emit({ ...figure, iteration: row.iteration });
}

function* pairs(text: string, pattern: RegExp): Generator<readonly [string, string]> {
  for (const [, name = '', value = ''] of text.matchAll(pattern)) yield [name, value];
}

const SIMPLE_FIELD = /([a-z][\w/]{0,60})=([^\s,=]{1,32})/g;
const JSON_FIELD = /"([a-z][\w/]{0,60})": "?([^",{}]{1,32})"?(?=[,}])/g;

export const FAIRSEQ_SIMPLE: LineFormat = {
  form: 'line',
  id: 'fairseq.simple',
  title: 'Training update of fairseq, log-format simple or tqdm',
  producer: 'fairseq',
  versions: '0.9 and later; gb_free since 0.10',
  source:
    'fairseq/logging/progress_bar.py, SimpleProgressBar.log and TqdmProgressBarWrapper.log; trainer.py, train_step',
  anchors: [' num_updates=', ', num_updates='],
  fields: {
    epoch: '1-based',
    batch: 'of the epoch',
    batches: 'of the epoch',
    fields:
      '`num_updates` optimizer steps; `wps` tokens per second, `ups` updates per second, `wpb` tokens and `bsz` samples per update; `train_wall`, `wall` s; `gb_free` GiB: total of the device less the peak that torch had allocated',
  },
  pattern:
    /epoch (?<epoch>\d{1,6}):(?: {1,4}\d{1,3}%\|[^|\n]{0,300}\|)?[ ]{1,8}(?<batch>\d{1,9})(?: \/ |\/)(?<batches>\d{1,9})(?: \[[^,\]\n]{0,60})?,? (?<fields>[a-z][\w/]{0,60}=[^\s,=]{1,32}(?:, [a-z][\w/]{0,60}=[^\s,=]{1,32}){1,63})/g,
  read({ epoch = '', batch = '', batches = '', fields = '' }, emit) {
    const own = [
      ['epoch', epoch],
      ['batch', batch],
      ['batches', batches],
    ] as const;
    emitFields([...own, ...pairs(fields, SIMPLE_FIELD)], emit);
  },
  samples: [
    {
      text: 'epoch 001:    100 / 1000 loss=14.5, ppl=23170.5, wps=25000.5, ups=1.5, wpb=16384, bsz=32, num_updates=100, lr=1.25e-05, gnorm=3.25, loss_scale=64, train_wall=60, gb_free=9.3, wall=75',
      rows: [
        {
          row: 'iteration',
          iteration: 100,
          target: null,
          loss: 14.5,
          learningRate: 1.25e-5,
          gradNorm: 3.25,
          lossScale: 64,
          globalBatchSize: 32,
          others: [
            { name: 'epoch', value: 1, text: '001' },
            { name: 'batch', value: 100, text: '100' },
            { name: 'batches', value: 1000, text: '1000' },
            { name: 'ppl', value: 23_170.5, text: '23170.5' },
            { name: 'wps', value: 25_000.5, text: '25000.5' },
            { name: 'ups', value: 1.5, text: '1.5' },
            { name: 'wpb', value: 16_384, text: '16384' },
            { name: 'train_wall', value: 60, text: '60' },
            { name: 'wall', value: 75, text: '75' },
          ],
        },
        memoryFigure('gb_free', '9.3', 'GB', GIB, { moment: 'since the print before', iteration: 100 }, 0.05),
      ],
    },
  ],
};

export const FAIRSEQ_JSON: LineFormat = {
  form: 'line',
  id: 'fairseq.json',
  title: 'Training update of fairseq or metaseq, log-format json',
  producer: 'fairseq, metaseq',
  versions: 'fairseq 0.9 and later; metaseq and the moe branch with cuda_gb_*',
  source: 'fairseq/logging/progress_bar.py, JsonProgressBar.log; metaseq/trainer.py, _log_gpu_mem_stats',
  anchors: ['"num_updates": "'],
  fields: {
    fields:
      'as in log-format simple, every figure but the first two in quotes; `cuda_gb_allocated`, `cuda_gb_reserved` GiB: peaks since the print before, which resets them; `cuda_gb_free` total less the allocated peak',
  },
  // Keys of the validation and of a whole epoch carry a prefix (`train_num_updates`).
  pattern: /\{(?<fields>"epoch": \d{1,6}, "update": [^{}\n]{1,4000})\}/g,
  read({ fields = '' }, emit) {
    emitFields(pairs(`${fields}}`, JSON_FIELD), emit);
  },
  samples: [
    {
      text: '{"epoch": 1, "update": 0.007, "loss": "16.194", "wps": "16606.5", "num_updates": "20", "lr": "1.4e-05", "gnorm": "30.01", "loss_scale": "16", "train_wall": "62", "cuda_gb_allocated": "10.4", "cuda_gb_reserved": "19", "cuda_gb_free": "21.4", "wall": "68"}',
      rows: [
        {
          row: 'iteration',
          iteration: 20,
          target: null,
          loss: 16.194,
          learningRate: 1.4e-5,
          gradNorm: 30.01,
          lossScale: 16,
          others: [
            { name: 'epoch', value: 1, text: '1' },
            { name: 'update', value: 0.007, text: '0.007' },
            { name: 'wps', value: 16_606.5, text: '16606.5' },
            { name: 'train_wall', value: 62, text: '62' },
            { name: 'wall', value: 68, text: '68' },
          ],
        },
        ...(
          [
            ['max_allocated', '10.4'],
            ['max_reserved', '19'],
            ['cuda_gb_free', '21.4'],
          ] as const
        ).map(([metric, text]) =>
          memoryFigure(metric, text, 'GB', GIB, { moment: 'since the print before', iteration: 20 }, 0.05),
        ),
      ],
    },
  ],
};
