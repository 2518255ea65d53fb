import type { IterationFinding, MemoryFinding } from '../../../../src/model/log-rows.js';
import type { LineFormat } from '../contract.js';
import { pythonNumber } from '../field-list.js';
import { figureFinding } from '../system/findings.js';
import { MIB, memoryFigure } from '../units.js';

const PRODUCER = 'nanotron';

/** Decimal in all versions, though the figures are of memory: 10^9 is `G` until 2025 and `B` since. */
const SCALES: Readonly<Record<string, number>> = { '': 1, K: 1e3, M: 1e6, G: 1e9, B: 1e9, T: 1e12, P: 1e15, E: 1e18 };
const HUMAN = /^(-?\d{1,4}(?:\.\d{1,6})?(?:e[-+]?\d{1,3})?)([KMGBTPE]?)$/;
/**
 * `human_format` keeps three significant digits and then drops trailing zeros: `67.4M`, `1.2K` (which is 1.20K),
 * `520M`.
 */
const SIGNIFICANT = 3;

interface Human {
  readonly text: string;
  readonly scale: string;
  readonly value: number;
}

function human(text: string): Human | null {
  const match = HUMAN.exec(text);
  if (match === null) return null;
  const [, number = '', scale = ''] = match;
  // Not `1.31 * 1e6`, which is 1310000.0000000002 for some.
  const value = Number((Number(number) * SCALES[scale]!).toPrecision(15));
  return Number.isFinite(value) ? { text: number, scale, value } : null;
}

function humanMemory(metric: string, { text, scale }: Human, iteration: number): MemoryFinding {
  const value = Number(text);
  const halfDigit = value === 0 ? 0.5 : 0.5 * 10 ** (Math.floor(Math.log10(Math.abs(value))) + 1 - SIGNIFICANT);
  return memoryFigure(
    metric,
    text,
    scale === '' ? 'bytes' : scale,
    SCALES[scale]!,
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

export const NANOTRON_ITERATION: LineFormat = {
  form: 'line',
  id: 'nanotron.iteration',
  title: 'Training iteration of nanotron',
  producer: PRODUCER,
  versions: '0.1 and later, read up to 2025; memory and disk in the first four iterations and at checkpoints only',
  source:
    'src/nanotron/logging.py (since 2025 logging/base.py), LoggerWriter.add_scalars_from_list and human_format; trainer.py, train_step_logs',
  anchors: ['elapsed_time_per_iteration_ms: ', ' | time_per_iteration_ms: '],
  fields: {
    iteration: '1-based',
    target: 'train_steps',
    rest: 'three significant digits with a decimal K, M, G or B: milliseconds, tokens, TFLOP/s/GPU; memory in bytes: allocated now, highest reserved since the memory line before, which resets it',
  },
  pattern:
    /\biteration: (?<iteration>\d{1,12}) \/ (?<target>\d{1,12})(?<rest>(?: \| [a-z][\w./-]{0,60}: [^\s|]{1,24}){1,64})/g,
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

export const NANOTRON_MEMORY: LineFormat = {
  form: 'line',
  id: 'nanotron.memory',
  title: 'Memory of rank 0',
  producer: PRODUCER,
  versions: '0.1 and later; the moment is on the line before, except for the model build',
  source: 'src/nanotron/logging.py, log_memory; trainer.py, _init_model',
  anchors: ['MiB. Peak allocated'],
  fields: {
    moment: 'what was done, where the same line has it',
    allocated: 'MiB',
    maxAllocated: 'MiB, highest since the line before, which resets it',
    maxReserved: 'MiB, highest since the line before',
  },
  pattern:
    /(?:\[(?<moment>[A-Z][\w ]{2,60})\] )?Memory usage: (?<allocated>\d{1,8}\.\d\d)MiB\. Peak allocated:? (?<maxAllocated>\d{1,8}\.\d\d)MiB\.? Peak reserved: (?<maxReserved>\d{1,8}\.\d\d)MiB/g,
  read({ moment, allocated = '', maxAllocated = '', maxReserved = '' }, emit) {
    const more = moment === undefined ? {} : { moment };
    emit(memoryFigure('allocated', allocated, 'MiB', MIB, more));
    emit(memoryFigure('max_allocated', maxAllocated, 'MiB', MIB, more));
    emit(memoryFigure('max_reserved', maxReserved, 'MiB', MIB, more));
  },
};

export const NANOTRON_PARAMETERS: LineFormat = {
  form: 'line',
  id: 'nanotron.parameters',
  title: 'Parameters of the model and of this rank',
  producer: PRODUCER,
  versions: '0.1 and later',
  source: 'src/nanotron/trainer.py, _init_model',
  anchors: ['Total number of parameters: ', 'Local number of parameters: '],
  fields: {
    which: 'Total: of all ranks of one replica; Local: of this one',
    count: 'elements, three significant digits with a decimal K, M, G or B',
    size: 'MiB of them, in the data type of the model',
  },
  pattern:
    /(?<which>Total|Local) number of parameters: (?<count>\d{1,4}(?:\.\d{1,6})?[KMGBT]?) \((?<size>\d{1,10}\.\d{1,2})MiB\)/g,
  read({ which = '', count = '', size = '' }, emit) {
    const name = which.toLowerCase();
    const figure = human(count);
    if (figure !== null) emit({ ...figureFinding(`parameters.${name}`, figure.value, 'elements'), text: count });
    emit({
      ...figureFinding(`parameters.${name}_bytes`, Math.round(Number(size) * MIB), 'bytes'),
      text: `${size} MiB`,
    });
  },
};
