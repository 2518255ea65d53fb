import type { IterationFinding, MemoryFinding } from '../../../../src/model/log-rows.js';
import type { Emit, Groups, LineFormat } from '../contract.js';
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
 * Printed names that have a column. `TFLOPs` of Megatron-DeepSpeed counts recomputation (hardware FLOPs), Megatron-LM's throughput
 * does not.
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
  const others: { name: string; value: number | null; text: string }[] = [];
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
    others,
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
    if (column === undefined || value === null) others.push({ name, value, text });
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
  const rest = text.slice(end).trim();
  return rest !== '' && rest.length <= 150 && !GLUED.test(rest);
}

const HEAD_FIELDS = {
  iteration: 'number, 1-based',
  target: 'iterations the run is meant to reach',
  rest: 'the fields behind it: steps in ms (`(s)` in Megatron-DeepSpeed), averages over the logging interval',
};
const TIME = String.raw`\[(?<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?)\] `;
/** Closed fields, up to whatever else is glued to the line. */
const REST = String.raw`(?<rest>(?: (?!iteration )(?!\[\d{4}-)[^|\n]{1,150}\|){0,64})`;
const PIPES = new RegExp(
  String.raw`(?:${TIME})?\biteration[ ]{1,12}(?<iteration>\d{1,12})\/[ ]{0,12}(?<target>\d{1,12}) \|${REST}`,
  'g',
);
const KEYS = new RegExp(
  String.raw`\biteration=[ ]{0,12}(?<iteration>\d{1,12})\/[ ]{0,12}(?<target>\d{1,12}) \|${REST}`,
  'g',
);

export const ITERATION_LINES: readonly LineFormat[] = [
  {
    form: 'line',
    id: 'megatron-lm.iteration',
    title: 'Training iteration: step time, throughput, loss, learning rate, gradient norm',
    producer: 'Megatron-LM',
    versions:
      'all since 2019, Megatron Bridge, Megatron-DeepSpeed, GPT-NeoX; time in front since core 0.6, with fractions since core 0.16',
    source: 'megatron/training/training.py: training_log (megatron/training.py before core 0.6)',
    anchors: ['elapsed time per iteration (', '| consumed samples:'],
    fields: { time: 'wall clock of the last rank, without zone', ...HEAD_FIELDS },
    pattern: PIPES,
    read: (groups, emit) => readIteration(groups, ':', emit),
    cutAtEnd: (text) => isCut(text, PIPES),
    samples: [
      {
        text: ' [2026-02-03 04:05:06.123456] iteration       12/     400 | consumed samples:         3072 | elapsed time per iteration (ms): 2345.6 | throughput per GPU (TFLOP/s/GPU): 612.3 | learning rate: 1.500000E-04 | global batch size:   256 | lm loss: 7.654321E+00 | load_balancing_loss: 1.012345E+00 | loss scale: 1.0 | grad norm: 1.234 | num zeros: 17 | number of skipped iterations:   0 | number of nan iterations:   0 |',
        rows: [
          {
            row: 'iteration',
            iteration: 12,
            target: 400,
            timeText: '2026-02-03 04:05:06.123456',
            stepMs: 2345.6,
            consumedSamples: 3072,
            globalBatchSize: 256,
            tflopsPerGpu: 612.3,
            learningRate: 1.5e-4,
            loss: 7.654321,
            lossScale: 1,
            gradNorm: 1.234,
            skippedIterations: 0,
            nanIterations: 0,
            others: [
              { name: 'load_balancing_loss', value: 1.012345, text: '1.012345E+00' },
              { name: 'num zeros', value: 17, text: '17' },
            ],
          },
        ],
      },
      {
        // Megatron-LM of 2020: neither samples nor batch size, and no loss while the loss scale falls.
        text: ' iteration        5/  120000 | elapsed time per iteration (ms): 1812.5 | learning rate: 0.000E+00 | loss scale: 268435456.0 | number of skipped iterations:   5 | number of nan iterations:   0 |',
        rows: [
          {
            row: 'iteration',
            iteration: 5,
            target: 120000,
            stepMs: 1812.5,
            learningRate: 0,
            lossScale: 268435456,
            skippedIterations: 5,
            nanIterations: 0,
            others: [],
          },
        ],
      },
      {
        // Megatron-LM of 2019.
        text: ' iteration      100/  320000 | elapsed time per iteration (ms): 453.7 | learning rate 1.500E-04 | lm loss 9.125000E+00 | loss scale 4096.0 |',
        rows: [
          {
            row: 'iteration',
            iteration: 100,
            target: 320000,
            stepMs: 453.7,
            learningRate: 1.5e-4,
            loss: 9.125,
            lossScale: 4096,
            others: [],
          },
        ],
      },
      {
        // Megatron-DeepSpeed: seconds, tokens, and a throughput at the end.
        text: ' iteration     2100/  114000 | consumed samples:      4300800 | consumed tokens:   8808038400 | elapsed time per iteration (s): 101.25 | learning rate: 6.000E-05 | global batch size:  2048 | lm loss: NAN | grad norm: inf | number of skipped iterations:   0 | number of nan iterations:   1 | samples per second: 20.227 | TFLOPs: 151.20 |',
        rows: [
          {
            row: 'iteration',
            iteration: 2100,
            target: 114000,
            stepMs: 101250,
            consumedSamples: 4300800,
            globalBatchSize: 2048,
            tflopsPerGpu: 151.2,
            learningRate: 6e-5,
            loss: Number.NaN,
            gradNorm: Number.POSITIVE_INFINITY,
            skippedIterations: 0,
            nanIterations: 1,
            others: [
              { name: 'consumed tokens', value: 8808038400, text: '8808038400' },
              { name: 'samples per second', value: 20.227, text: '20.227' },
            ],
          },
        ],
      },
      {
        // GPT-NeoX.
        text: ' samples/sec: 21.250 | iteration       30/  143000 | elapsed time per iteration (ms): 4819.3 | learning rate: 1.200E-05 | approx flops per GPU: 48.2TFLOPS | lm_loss: 9.812345E+00 | loss scale: 4096.0 | number of skipped iterations:   1 | number of nan iterations:   0 |',
        rows: [
          {
            row: 'iteration',
            iteration: 30,
            target: 143000,
            stepMs: 4819.3,
            tflopsPerGpu: 48.2,
            learningRate: 1.2e-5,
            loss: 9.812345,
            lossScale: 4096,
            skippedIterations: 1,
            nanIterations: 0,
            others: [],
          },
        ],
      },
      {
        // Primus on AMD devices.
        text: 'iteration       12/     400 | consumed samples:         1536 | elapsed time per iteration (ms): 2345.6/2400.1 | hip mem usage/free/total/usage_ratio: 100.50GB/91.25GB/191.75GB/52.41% | throughput per GPU (TFLOP/s/GPU): 512.5/500.0 | lm loss: 7.5E+00 |',
        rows: [
          {
            row: 'iteration',
            iteration: 12,
            target: 400,
            stepMs: 2345.6,
            consumedSamples: 1536,
            tflopsPerGpu: 512.5,
            loss: 7.5,
            others: [],
          },
          ...(
            [
              ['device_used', '100.50'],
              ['device_free', '91.25'],
              ['device_total', '191.75'],
            ] as const
          ).map(([metric, text]) =>
            memoryFigure(metric, text, 'GB', GIB, { iteration: 12, moment: 'after iteration' }),
          ),
        ],
      },
      {
        // Two ranks without a line feed between them, the second cut off.
        text: ' iteration        1/      50 | consumed samples:           32 | elapsed time per iteration (ms): 900.1 | lm-loss: 1.200000E+01 |[2026-02-03 04:05:06] iteration        2/      50 | consumed samples:           64 | elapsed time per iteration (ms): 450.2 | lm loss: 1.1',
        rows: [
          {
            row: 'iteration',
            iteration: 1,
            target: 50,
            stepMs: 900.1,
            consumedSamples: 32,
            loss: 12,
            others: [],
          },
          {
            row: 'iteration',
            iteration: 2,
            target: 50,
            timeText: '2026-02-03 04:05:06',
            stepMs: 450.2,
            consumedSamples: 64,
            others: [],
          },
        ],
      },
    ],
  },
  {
    form: 'line',
    id: 'megatron-deepspeed.iteration-keys',
    title: 'Training iteration as key=value',
    producer: 'Megatron-DeepSpeed',
    versions: 'argonne-lcf fork, 2024',
    source: 'megatron/training_log.py: training_log',
    anchors: ['elapsed_time_per_iteration_ms=', '| consumed_samples='],
    fields: HEAD_FIELDS,
    pattern: KEYS,
    read: (groups, emit) => readIteration(groups, '=', emit),
    cutAtEnd: (text) => isCut(text, KEYS),
    samples: [
      {
        text: ' iteration=       3/    2000 | consumed_samples=        1152 | consumed_tokens=     4718592 | elapsed_time_per_iteration_ms=9876.5 | learning_rate=3e-06 | global_batch_size=  384 | lm loss=10.987654 | loss_scale=1.0 | actual_seqlen= 4096 | number_of_skipped_iterations=  0 | number_of_nan_iterations=  0 | samples_per_second=38.880 | [LM]-TFLOPs=55.10 | [DS]-TFLOPs=80.20 |',
        rows: [
          {
            row: 'iteration',
            iteration: 3,
            target: 2000,
            stepMs: 9876.5,
            consumedSamples: 1152,
            globalBatchSize: 384,
            tflopsPerGpu: 55.1,
            learningRate: 3e-6,
            loss: 10.987654,
            lossScale: 1,
            skippedIterations: 0,
            nanIterations: 0,
            others: [
              { name: 'consumed_tokens', value: 4718592, text: '4718592' },
              { name: 'actual_seqlen', value: 4096, text: '4096' },
              { name: 'samples_per_second', value: 38.88, text: '38.880' },
              { name: '[DS]-TFLOPs', value: 80.2, text: '80.20' },
            ],
          },
        ],
      },
    ],
  },
];
