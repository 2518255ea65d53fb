import type { IterationFinding, MemoryFinding } from '../../../../src/model/log-rows.js';
import type { LineCode } from '../contract.js';
import { decimal, type Human, human } from '../conversions.js';
import { pythonNumber } from '../field-list.js';
import { figureFinding } from '../system/findings.js';
import { memoryFigure } from '../units.js';

/**
 * Decimal in all versions, though the figures are of memory. `human_format` keeps three significant digits and then
 * drops trailing zeros: `67.4M`, `1.2K` (which is 1.20K), `520M`.
 */
const SIGNIFICANT = 3;

function humanMemory(metric: string, { text, scale }: Human, iteration: number): MemoryFinding {
  const value = Number(text);
  const halfDigit = value === 0 ? 0.5 : 0.5 * 10 ** (Math.floor(Math.log10(Math.abs(value))) + 1 - SIGNIFICANT);
  return memoryFigure(
    metric,
    text,
    scale === '' ? 'bytes' : scale,
    decimal(scale),
    { iteration, moment: 'after iteration' },
    halfDigit,
  );
}

const FIELD = /\| ([a-z][\w./-]{0,60}): ([^\s|]{1,24})/g;
const MEMORY: Readonly<Record<string, string>> = {
  cuda_memory_allocated: 'allocated',
  cuda_max_memory_reserved: 'max_reserved',
};
/** Bytes of the file system that contains `/`, whatever the tag. */
const DISK: Readonly<Record<string, string>> = {
  hd_total_memory_tb: 'disk.total',
  hd_used_memory_tb: 'disk.used',
  hd_free_memory_tb: 'disk.free',
};
type Known = 'stepMs' | 'loss' | 'learningRate' | 'gradNorm' | 'tflopsPerGpu' | 'globalBatchSize';
const KNOWN: Readonly<Record<string, Known>> = {
  elapsed_time_per_iteration_ms: 'stepMs',
  time_per_iteration_ms: 'stepMs',
  lm_loss: 'loss',
  lr: 'learningRate',
  grad_norm: 'gradNorm',
  model_tflops_per_gpu: 'tflopsPerGpu',
  global_batch_size: 'globalBatchSize',
};

export const NANOTRON_ITERATION: LineCode = {
  id: 'nanotron.iteration',
  read({ iteration: printed = '', target, rest = '' }, emit) {
    const iteration = Number(printed);
    const otherValues: { name: string; value: number | null; text: string }[] = [];
    const row: { -readonly [Key in keyof IterationFinding]: IterationFinding[Key] } = {
      row: 'iteration',
      iteration,
      target: Number(target),
    };
    const memory: MemoryFinding[] = [];
    const disk: [string, number][] = [];
    for (const [, name = '', text = ''] of rest.matchAll(FIELD)) {
      const figure = human(text);
      const known = KNOWN[name];
      if (figure === null) otherValues.push({ name, value: pythonNumber(text), text });
      else if (MEMORY[name] !== undefined) memory.push(humanMemory(MEMORY[name], figure, iteration));
      else if (DISK[name] !== undefined) disk.push([DISK[name], figure.value]);
      else if (known !== undefined) row[known] = figure.value;
      else otherValues.push({ name, value: figure.value, text });
    }
    row.others = otherValues;
    emit(row);
    for (const figure of memory) emit(figure);
    for (const [name, value] of disk) emit(figureFinding(name, value, 'bytes', { iteration }));
  },
};
