import type { IterationFinding, MemoryFinding } from '../../../../src/model/log-rows.js';
import type { Emit, LineCode } from '../contract.js';
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

export const FAIRSEQ_SIMPLE: LineCode = {
  id: 'fairseq.simple',
  read({ epoch = '', batch = '', batches = '', fields = '' }, emit) {
    const ownFields = [
      ['epoch', epoch],
      ['batch', batch],
      ['batches', batches],
    ] as const;
    emitFields([...ownFields, ...pairs(fields, SIMPLE_FIELD)], emit);
  },
};

export const FAIRSEQ_JSON: LineCode = {
  id: 'fairseq.json',
  read({ fields = '' }, emit) {
    emitFields(pairs(`${fields}}`, JSON_FIELD), emit);
  },
};
