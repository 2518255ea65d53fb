import type { IterationFinding, MemoryFinding } from '../../../../src/model/log-rows.js';
import type { Emit, Groups, LineCode } from '../contract.js';
import { pythonNumber, readFieldList } from '../field-list.js';
import { GIB, memoryFigure } from '../units.js';

type Mutable<Row> = { -readonly [Key in keyof Row]: Row[Key] };
type Slot = Exclude<
  keyof { [Key in keyof IterationFinding as number extends IterationFinding[Key] ? Key : never]: true },
  'iteration' | 'rank'
>;

interface Known {
  readonly slot: Slot;
  readonly factor: number;
}
const known = (slot: Slot, factor = 1): Known => ({ slot, factor });

/**
 * Printed names that have a column. `TFLOPs` of Megatron-DeepSpeed counts recomputation (hardware FLOPs), Megatron-LM's
 * throughput does not.
 */
const KNOWN: ReadonlyMap<string, Known> = new Map([
  ['consumed samples', known('consumedSamples')],
  ['consumed_samples', known('consumedSamples')],
  ['elapsed time per iteration (ms)', known('stepMs')],
  ['elapsed time per iteration (s)', known('stepMs', 1000)],
  ['elapsed_time_per_iteration_ms', known('stepMs')],
  ['throughput per GPU (TFLOP/s/GPU)', known('tflopsPerGpu')],
  ['throughput (TFLOP/s/GPU)', known('tflopsPerGpu')],
  ['TFLOPs', known('tflopsPerGpu')],
  ['approx flops per GPU', known('tflopsPerGpu')],
  ['[LM]-TFLOPs', known('tflopsPerGpu')],
  ['learning rate', known('learningRate')],
  ['learning_rate', known('learningRate')],
  ['global batch size', known('globalBatchSize')],
  ['global_batch_size', known('globalBatchSize')],
  ['lm loss', known('loss')],
  ['lm-loss', known('loss')],
  ['lm_loss', known('loss')],
  ['loss scale', known('lossScale')],
  ['loss_scale', known('lossScale')],
  ['grad norm', known('gradNorm')],
  ['grad_norm', known('gradNorm')],
  ['number of skipped iterations', known('skippedIterations')],
  ['number_of_skipped_iterations', known('skippedIterations')],
  ['number of nan iterations', known('nanIterations')],
  ['number_of_nan_iterations', known('nanIterations')],
]);
/** The same without blanks: a line cut at a blank by a terminal loses it. */
const KNOWN_SQUASHED: ReadonlyMap<string, Known> = new Map(
  [...KNOWN].map(([name, slot]): [string, Known] => [name.replaceAll(' ', ''), slot]),
);

/** Primus: this interval's figure, and the average over the run behind a slash. */
const WITH_AVERAGE = /^([\d.]{1,20})\/[\d.]{1,20}$/;
/** Primus: used, free and total of the whole device, printed as GB and divided by 1024³. */
const DEVICE_MEMORY = /^([\d.]{1,12})GB\/([\d.]{1,12})GB\/([\d.]{1,12})GB\//;

/** Reads the fields behind `iteration n/ m |`. */
function readIteration(groups: Groups, mark: ':' | '=', emit: Emit): void {
  const otherValues: { name: string; value: number | null; text: string }[] = [];
  const row: Mutable<IterationFinding> = {
    row: 'iteration',
    iteration: Number(groups['iteration']),
    target: Number(groups['target']),
    timeText: groups['time'],
    stepMs: undefined,
    consumedSamples: undefined,
    globalBatchSize: undefined,
    tflopsPerGpu: undefined,
    learningRate: undefined,
    loss: undefined,
    lossScale: undefined,
    gradNorm: undefined,
    skippedIterations: undefined,
    nanIterations: undefined,
    others: otherValues,
  };
  const memory: MemoryFinding[] = [];
  let fields = 0;
  readFieldList(groups['rest'] ?? '', mark, (name, text) => {
    fields += 1;
    const column = KNOWN.get(name) ?? KNOWN_SQUASHED.get(name.replaceAll(' ', ''));
    // GPT-NeoX prints the unit behind the figure.
    const value = pythonNumber(text.endsWith('TFLOPS') ? text.slice(0, -6) : (WITH_AVERAGE.exec(text)?.[1] ?? text));
    const device = name.startsWith('hip mem usage/free/total') ? DEVICE_MEMORY.exec(text) : null;
    if (device !== null) {
      const more = { iteration: row.iteration, moment: 'after iteration' };
      (['device_used', 'device_free', 'device_total'] as const).forEach((metric, index) => {
        memory.push(memoryFigure(metric, device[index + 1]!, 'GB', GIB, more));
      });
      return;
    }
    if (column === undefined || value === null) otherValues.push({ name, value, text });
    // 105.22 s are 105220 ms, not 105219.99999999999.
    else row[column.slot] = column.factor === 1 ? value : Number((value * column.factor).toPrecision(15));
  });
  if (fields === 0) return;
  emit(row);
  for (const figure of memory) emit(figure);
}

/** Another rank's words; `[LM]-TFLOPs` is a field. */
const GLUED = /^\[(?:Rank |\d{4}-|[a-z])/;

/** Whether the last record of a line ends before its bar. */
function isCut(text: string, head: RegExp): boolean {
  if (text.endsWith('|')) return false;
  let end = -1;
  head.lastIndex = 0;
  for (let match = head.exec(text); match !== null; match = head.exec(text)) end = head.lastIndex;
  if (end < 0) return false;
  const remainingText = text.slice(end).trim();
  return remainingText !== '' && remainingText.length <= 150 && !GLUED.test(remainingText);
}

const TIME = String.raw`\[(?<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?)\] `;
/** Closed fields, up to whatever else is glued to the line. */
const FIELDS = String.raw`(?<rest>(?: (?!iteration )(?!\[\d{4}-)[^|\n]{1,150}\|){0,64})`;
const PIPES = new RegExp(
  String.raw`(?:${TIME})?\biteration[ ]{1,12}(?<iteration>\d{1,12})\/[ ]{0,12}(?<target>\d{1,12}) \|${FIELDS}`,
  'g',
);
const KEYS = new RegExp(
  String.raw`\biteration=[ ]{0,12}(?<iteration>\d{1,12})\/[ ]{0,12}(?<target>\d{1,12}) \|${FIELDS}`,
  'g',
);

export const ITERATION_LINES: readonly LineCode[] = [
  {
    id: 'megatron-lm.iteration',
    pattern: PIPES,
    read: (groups, emit) => readIteration(groups, ':', emit),
    cutAtEnd: (text) => isCut(text, PIPES),
  },
  {
    id: 'megatron-deepspeed.iteration-keys',
    pattern: KEYS,
    read: (groups, emit) => readIteration(groups, '=', emit),
    cutAtEnd: (text) => isCut(text, KEYS),
  },
];
