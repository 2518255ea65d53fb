import type { IterationFinding, MemoryFinding } from '../../../../src/model/log-rows.js';
import type { Emit, LineFormat } from '../contract.js';
import { pythonNumber } from '../field-list.js';
import { GIB, memoryFigure } from '../units.js';

/**
 * `gb_free` and `cuda_gb_free` subtract the peak of torch's own allocations from the device's total. They include
 * neither the cache nor other processes, so they are not the driver's free memory and keep their printed names.
 * metaseq's successors ask the driver.
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
  const otherValues: { name: string; value: number | null; text: string }[] = [];
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
    else otherValues.push({ name, value, text });
  }
  if (row.iteration === 0) return;
  row.others = otherValues;
  emit(row);
  for (const figure of memory) emit({ ...figure, iteration: row.iteration });
}

function* pairs(text: string, pattern: RegExp): Generator<readonly [string, string]> {
  for (const [, name = '', value = ''] of text.matchAll(pattern)) yield [name, value];
}

const SIMPLE_FIELD = /(?<![\w/])([a-z][\w/]{0,60})=([^\s,=]{1,32})/g;
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
    const ownFields = [
      ['epoch', epoch],
      ['batch', batch],
      ['batches', batches],
    ] as const;
    emitFields([...ownFields, ...pairs(fields, SIMPLE_FIELD)], emit);
  },
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
};
