import type { IterationFinding, MemoryFinding } from '../../../../src/model/log-rows.js';
import type { Emit, LineCode, Tables } from '../contract.js';
import { pythonNumber } from '../field-list.js';
import { halfDigit, memoryFigure } from '../units.js';

type Mutable<Row> = { -readonly [Key in keyof Row]: Row[Key] };

interface Step {
  /** Where the line itself counts: 1-based. */
  readonly position: number;
  readonly target: number | null;
  readonly epoch: string;
  /** Pace of the bar, `1.36s/it` or `2.50it/s`: an average over the steps since it was drawn. */
  readonly pace?: string | undefined;
}

/** Logged metrics of a Lightning trainer to one iteration; `global_step` counts from 0 and over all epochs. */
function emitStep(
  step: Step,
  fields: Iterable<readonly [name: string, text: string]>,
  emit: Emit,
  { metrics, columns }: Tables,
): void {
  const otherValues: { name: string; value: number | null; text: string }[] = [
    { name: 'epoch', value: Number(step.epoch), text: step.epoch },
  ];
  const row: Mutable<IterationFinding> = {
    row: 'iteration',
    iteration: step.position,
    target: step.target,
    others: otherValues,
  };
  const memory: MemoryFinding[] = [];
  for (const [name, text] of fields) {
    const value = pythonNumber(text);
    const metric = metrics!.get(name);
    const column = columns!.get(name);
    if (metric !== undefined && value !== null && Number.isFinite(value)) {
      const precision = value === 0 ? 0 : 0.5 * 10 ** (Math.floor(Math.log10(Math.abs(value))) - 3);
      const figure = memoryFigure(metric, text, 'bytes', 1, { moment: 'after iteration' });
      memory.push({ ...figure, precisionBytes: /e/i.test(text) ? precision : 0 });
      continue;
    }
    if (value !== null) {
      if (name === 'global_step' && Number.isFinite(value)) {
        // `2e+3` may be 2000 or 2001, which the bar itself knows better.
        if (!/e/i.test(text) || Math.abs(value - step.position) > halfDigit(text) + 1)
          row.iteration = Math.round(value) + 1;
      } else if (name === 'train_step_timing in s') row.stepMs = Number((value * 1000).toPrecision(15));
      else if (column !== undefined) row[column as 'loss'] = value;
      else otherValues.push({ name, value, text });
    } else otherValues.push({ name, value, text });
  }
  // Where the bar counts steps; with accumulation it may count micro-batches.
  if (row.stepMs === undefined && step.pace !== undefined && row.iteration === step.position)
    row.stepMs = millisecondsOf(step.pace);
  emit(row);
  for (const figure of memory) emit({ ...figure, iteration: row.iteration });
}

function millisecondsOf(pace: string): number | undefined {
  const value = Number.parseFloat(pace);
  if (!(value > 0)) return undefined;
  return Number((pace.endsWith('s/it') ? value * 1000 : 1000 / value).toPrecision(6));
}

const PACE = /, {1,4}(\d{1,9}(?:\.\d{1,3})?(?:s\/it|it\/s))(?=, |\]|$)/;
const PIPE_FIELD = /\| ([^|:\n]{1,60}): ([^|\s]{1,40})/g;
const BAR_FIELD = /(?:^|, )([A-Za-z_][\w. /-]{0,60})=([^,\]\s]{0,40})/g;

function* pairs(text: string, pattern: RegExp): Generator<readonly [string, string]> {
  for (const [, name = '', value = ''] of text.matchAll(pattern)) yield [name.trim(), value];
}

export const NEMO_ITERATION_LINES: readonly LineCode[] = [
  {
    id: 'nemo.iteration',
    read({ epoch = '', iteration, target, rest = '' }, emit, tables) {
      const step = { position: Number(iteration) + 1, target: Number(target) + 1, epoch };
      emitStep(step, pairs(rest, PIPE_FIELD), emit, tables);
    },
  },
  {
    id: 'nemo.progress-bar',
    read({ epoch = '', done, open, total, rest = '' }, emit, tables) {
      const target = total === undefined ? null : Number(total);
      const pace = PACE.exec(rest)?.[1];
      emitStep({ position: Number(done ?? open), target, epoch, pace }, pairs(rest, BAR_FIELD), emit, tables);
    },
  },
];
