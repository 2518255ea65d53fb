import type { IterationFinding, MemoryFinding } from '../../../../src/model/log-rows.js';
import type { Emit, Groups, LineCode, Tables } from '../contract.js';
import { pythonNumber, readFieldList } from '../field-list.js';
import { bytesOf, GIB, memoryFigure, millisecondsOf } from '../units.js';

type Mutable<Row> = { -readonly [Key in keyof Row]: Row[Key] };

/** Primus: this interval's figure, and the average over the run behind a slash. */
const WITH_AVERAGE = /^([\d.]{1,20})\/[\d.]{1,20}$/;
/** Primus: used, free and total of the whole device, printed as GB and divided by 1024³. */
const DEVICE_MEMORY = /^([\d.]{1,12})GB\/([\d.]{1,12})GB\/([\d.]{1,12})GB\//;

/** The same without blanks: a line cut at a blank by a terminal loses it. */
let squashedColumns: ReadonlyMap<string, string> | undefined;
function squashed(columns: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  squashedColumns ??= new Map([...columns].map(([name, column]) => [name.replaceAll(' ', ''), column]));
  return squashedColumns;
}

/** Reads the fields behind `iteration n/ m |`. */
function readIteration(groups: Groups, mark: ':' | '=', emit: Emit, { columns }: Tables): void {
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
    const column = columns!.get(name) ?? squashed(columns!).get(name.replaceAll(' ', ''));
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
    else if (column === 'seconds') row.stepMs = millisecondsOf(value);
    else row[column as 'stepMs'] = value;
  });
  if (fields === 0) return;
  emit(row);
  for (const figure of memory) emit(figure);
}

const BY_SHAPE = [millisecondsOf, bytesOf(GIB)];

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

export const ITERATION_LINES: readonly LineCode[] = [
  {
    id: 'megatron-lm.iteration',
    read: (groups, emit, tables) => readIteration(groups, ':', emit, tables),
    cutAtEnd: isCut,
    byShape: BY_SHAPE,
  },
  {
    id: 'megatron-deepspeed.iteration-keys',
    read: (groups, emit, tables) => readIteration(groups, '=', emit, tables),
    cutAtEnd: isCut,
    byShape: BY_SHAPE,
  },
];
