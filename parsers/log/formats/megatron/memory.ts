import type { LineFormat } from '../contract.js';
import { memoryFigures, memoryHead, memoryLineIsCut, memoryLinePattern } from '../memory-line.js';
import { halfDigit, MIB, memoryFigure } from '../units.js';

/** Printed names of `report_memory`; `cached` is what torch called reserved before 1.4. */
const METRICS: ReadonlyMap<string, string> = new Map([
  ['allocated', 'allocated'],
  ['max allocated', 'max_allocated'],
  ['reserved', 'reserved'],
  ['max reserved', 'max_reserved'],
  ['cached', 'reserved'],
  ['max cached', 'max_reserved'],
  ['total device memory used', 'device_used'],
]);

const COUNTER = /\b(?:retries|retires|count|ooms)$/;

/** Names of `torch_memory_saver`-style lines of RL. */
const SAVER_METRICS: Readonly<Record<string, string>> = {
  alloc: 'allocated',
  private: 'private_pools',
  resv: 'reserved',
  dev_mem: 'device_used',
};

export const MEMORY_LINES: readonly LineFormat[] = [
  {
    form: 'line',
    id: 'megatron-lm.memory',
    title: 'Memory of one rank after an iteration or around a checkpoint',
    producer: 'Megatron-LM',
    versions:
      'all since 2019, Megatron Bridge 0.1 and Megatron-DeepSpeed; two decimals and device memory since core 0.16; without rank before 2021',
    source: 'megatron/training/utils.py: report_memory',
    anchors: ['memory (MB) |'],
    fields: {
      rank: 'global rank; only ranks of data-parallel rank 0 print',
      name: '`(after N iterations)`, `(before save_checkpoint for iteration N)`',
      bare: 'the same where no rank is printed',
      rest: 'figures in MiB, printed as MB: allocated, max allocated, reserved, max reserved, total device memory used',
    },
    pattern: memoryLinePattern('MB'),
    read(groups, emit) {
      const figures = memoryFigures(groups['rest'] ?? '');
      const head = memoryHead(groups['rank'], groups['name'] ?? groups['bare'] ?? '');
      // `.2f` since January 2026; before, a float's shortest text, from which whole bytes follow.
      const rounded = figures.every(({ text }) => text.length - text.indexOf('.') === 3);
      for (const { key, text } of figures) {
        // Forks add counters behind the sizes.
        if (COUNTER.test(key)) emit(memoryFigure(key.replaceAll(/[ -]/g, '_'), text, 'count', 1, head, 0));
        else emit(memoryFigure(METRICS.get(key) ?? key, text, 'MB', MIB, head, rounded ? halfDigit(text) : 0));
      }
    },
    cutAtEnd: (text) => memoryLineIsCut(text, 'memory (MB) |'),
    samples: [
      {
        text: '[Rank 5] (after 10 iterations) memory (MB) | allocated: 18321.5009765625 | max allocated: 40960.0 | reserved: 45056.0 | max reserved: 47104.0',
        rows: [
          memoryFigure('allocated', '18321.5009765625', 'MB', MIB, memoryHead('5', '(after 10 iterations) '), 0),
          memoryFigure('max_allocated', '40960.0', 'MB', MIB, memoryHead('5', '(after 10 iterations) '), 0),
          memoryFigure('reserved', '45056.0', 'MB', MIB, memoryHead('5', '(after 10 iterations) '), 0),
          {
            row: 'memory',
            metric: 'max_reserved',
            bytes: 49_392_123_904,
            value: 47104,
            unit: 'MB',
            precisionBytes: 0,
            iteration: 10,
            moment: 'after iteration',
            rank: 5,
          },
        ],
      },
      {
        text: '[Rank 0] (before save_checkpoint for iteration 500) memory (MB) | allocated: 100.25 | max allocated: 200.50 | reserved: 300.00 | max reserved: 400.00 | total device memory used: 512.75',
        rows: [
          ...(
            [
              ['allocated', '100.25'],
              ['max_allocated', '200.50'],
              ['reserved', '300.00'],
              ['max_reserved', '400.00'],
            ] as const
          ).map(([metric, text]) =>
            memoryFigure(metric, text, 'MB', MIB, { iteration: 500, moment: 'before save_checkpoint', rank: 0 }),
          ),
          {
            row: 'memory',
            metric: 'device_used',
            bytes: 537_657_344,
            value: 512.75,
            unit: 'MB',
            precisionBytes: 0.005 * MIB,
            iteration: 500,
            moment: 'before save_checkpoint',
            rank: 0,
          },
        ],
      },
      {
        // Before 2021, and torch 1.3.
        text: 'after 5 iterations memory (MB) | allocated: 1024.5 | max allocated: 2048.0 | cached: 4096.0 | max cached: 4096.0',
        rows: (
          [
            ['allocated', '1024.5'],
            ['max_allocated', '2048.0'],
            ['reserved', '4096.0'],
            ['max_reserved', '4096.0'],
          ] as const
        ).map(([metric, text]) =>
          memoryFigure(metric, text, 'MB', MIB, { iteration: 5, moment: 'after iteration' }, 0),
        ),
      },
      {
        // Two ranks on one line.
        text: '[Rank 9] (after 2 iterations) memory (MB) | allocated: 1.0 | max reserved: 2.0[Rank 8] (after 2 iterations) memory (MB) | allocated: 3.0 | max reserved: 4.5',
        rows: (
          [
            [9, 'allocated', '1.0'],
            [9, 'max_reserved', '2.0'],
            [8, 'allocated', '3.0'],
            [8, 'max_reserved', '4.5'],
          ] as const
        ).map(([rank, metric, text]) =>
          memoryFigure(metric, text, 'MB', MIB, { iteration: 2, moment: 'after iteration', rank }, 0),
        ),
      },
    ],
  },
  {
    form: 'line',
    id: 'megatron-lm.memory-saver',
    title: 'Memory in MiB with private pools, around offloading between training and inference',
    producer: 'Megatron-LM',
    versions: 'RL code of core ≥ 0.15',
    source: 'megatron/rl/rl_utils.py',
    anchors: ['MiB resv-alloc='],
    fields: {
      alloc: 'allocated, MiB',
      private: 'in pools other than the default one, MiB',
      resv: 'reserved, MiB',
      device: 'used of the whole device, MiB',
    },
    pattern:
      /alloc=(?<alloc>\d{1,9})MiB private=(?<private>\d{1,9})MiB resv-alloc=-?\d{1,9}MiB resv=(?<resv>\d{1,9})MiB(?: dev_mem=(?<device>\d{1,9})MiB)?/g,
    read(groups, emit) {
      for (const [name, key] of [
        ['alloc', 'alloc'],
        ['private', 'private'],
        ['resv', 'resv'],
        ['device', 'dev_mem'],
      ] as const) {
        const text = groups[name];
        if (text !== undefined) emit(memoryFigure(SAVER_METRICS[key]!, text, 'MiB', MIB));
      }
    },
    samples: [
      {
        text: 'alloc=10240MiB private=512MiB resv-alloc=2048MiB resv=12288MiB dev_mem=14000MiB',
        rows: [
          memoryFigure('allocated', '10240', 'MiB', MIB),
          memoryFigure('private_pools', '512', 'MiB', MIB),
          memoryFigure('reserved', '12288', 'MiB', MIB),
          memoryFigure('device_used', '14000', 'MiB', MIB),
        ],
      },
    ],
  },
];
