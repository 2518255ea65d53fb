import type { BlockFormat, BlockStep, LineFormat } from '../contract.js';

/** A name, dots up to column 48, and one figure or two. */
const TIMER =
  /^ {1,8}(?<name>[A-Za-z][\w/ -]{0,80}?) ?\.{0,60}: \(?(?<first>\d{1,12}\.\d{1,4})(?:, (?<last>\d{1,12}\.\d{1,4})\))?\s{0,4}$/;
const NAME = /^ {1,8}(?<name>[A-Za-z][\w/ -]{0,80}):\s{0,4}$/;
const RANK = /^ {1,12}rank {1,8}(?<rank>\d{1,7}): (?<ms>\d{1,12}\.\d{1,4})\s{0,4}$/;

const ONE_LINE_FIELD = /\| ([A-Za-z][\w/ -]{0,80}): (\d{1,12}\.\d{1,4})/g;

export const TIMER_FORMATS: readonly (LineFormat | BlockFormat)[] = [
  {
    form: 'line',
    id: 'megatron-lm.timers-line',
    title: 'Timers of the last rank on one line',
    producer: 'Megatron-LM',
    versions: 'until 2022, Megatron-DeepSpeed',
    source: 'megatron/timers.py: Timers.log',
    anchors: ['time (ms) |'],
    fields: { timers: '`| name: milliseconds`, averages over the logging interval' },
    // `[Rank 0] time (ms) |` is DeepSpeed's own.
    pattern: /(?<!\] )time \(ms\) (?<timers>(?:\| [A-Za-z][\w/ -]{0,80}: \d{1,12}\.\d{1,4} ?){1,64})/g,
    read(groups, emit) {
      for (const [, name = '', ms = ''] of (groups['timers'] ?? '').matchAll(ONE_LINE_FIELD)) {
        emit({ row: 'value', name: `timer.${name}.ms`, value: Number(ms), unit: 'ms' });
      }
    },
    samples: [
      {
        text: 'time (ms) | forward-compute: 12.50 | train/valid/test data iterators: 7.25',
        rows: [
          { row: 'value', name: 'timer.forward-compute.ms', value: 12.5, unit: 'ms' },
          { row: 'value', name: 'timer.train/valid/test data iterators.ms', value: 7.25, unit: 'ms' },
        ],
      },
      { text: '[Rank 0] time (ms) | fwd: 1.00 | bwd: 2.00', rows: [] },
      { text: 'time (ms)[Rank 7] time (ms) | fwd: 1.00', rows: [] },
    ],
  },
  {
    form: 'block',
    id: 'megatron-core.timers',
    title: 'Timers: slowest and fastest rank, slowest only, or every rank',
    producer: 'Megatron-LM',
    versions: 'since 2023, Megatron Bridge',
    source: 'megatron/core/timers.py: Timers.get_all_timers_string',
    anchors: ['time across ranks (ms):', 'times across ranks (ms):'],
    fields: {
      min: 'milliseconds of the fastest rank, average over the logging interval',
      max: 'milliseconds of the slowest rank',
      ms: 'milliseconds of one rank',
    },
    opens: /(?:^|[\s:])(?:\(min, max\) time|max time|times) across ranks \(ms\):/,
    mostForeign: 4,
    mostLines: 65_536,
    begin(match, emit) {
      const onlyMax = match[0].includes('max time');
      let timer: string | null = null;
      return {
        line(text): BlockStep {
          const rank = timer === null ? undefined : RANK.exec(text)?.groups;
          if (rank !== undefined) {
            const { ms } = rank;
            emit({
              row: 'value',
              name: `timer.${timer}.ms`,
              value: Number(ms),
              unit: 'ms',
              rank: Number(rank['rank']),
            });
            return 'taken';
          }
          const both = TIMER.exec(text)?.groups;
          if (both !== undefined) {
            const { name, first, last } = both;
            if (last === undefined) {
              emit({ row: 'value', name: `timer.${name}.max_ms`, value: Number(first), unit: 'ms' });
            } else {
              emit({ row: 'value', name: `timer.${name}.min_ms`, value: Number(first), unit: 'ms' });
              emit({ row: 'value', name: `timer.${name}.max_ms`, value: Number(last), unit: 'ms' });
            }
            return 'taken';
          }
          const name = onlyMax ? undefined : NAME.exec(text)?.groups?.['name'];
          if (name !== undefined) {
            timer = name;
            return 'taken';
          }
          return text.includes('across ranks (ms):') ? 'over' : 'foreign';
        },
        end() {},
      };
    },
    samples: [
      {
        lines: [
          '(min, max) time across ranks (ms):',
          '    forward-backward ...............................: (1250.50, 1300.25)',
          '    train/valid/test-data-iterators-setup ..........: (3.00, 4.50)',
          'done with setup ...',
        ],
        rows: [
          { row: 'value', name: 'timer.forward-backward.min_ms', value: 1250.5, unit: 'ms' },
          { row: 'value', name: 'timer.forward-backward.max_ms', value: 1300.25, unit: 'ms' },
          { row: 'value', name: 'timer.train/valid/test-data-iterators-setup.min_ms', value: 3, unit: 'ms' },
          { row: 'value', name: 'timer.train/valid/test-data-iterators-setup.max_ms', value: 4.5, unit: 'ms' },
        ],
      },
      {
        lines: ['max time across ranks (ms):', '    optimizer ......................................: 45.75'],
        rows: [{ row: 'value', name: 'timer.optimizer.max_ms', value: 45.75, unit: 'ms' }],
      },
      {
        lines: ['times across ranks (ms):', '  optimizer:', '     rank  0: 45.50', '     rank 11: 46.25'],
        rows: [
          { row: 'value', name: 'timer.optimizer.ms', value: 45.5, unit: 'ms', rank: 0 },
          { row: 'value', name: 'timer.optimizer.ms', value: 46.25, unit: 'ms', rank: 11 },
        ],
      },
    ],
  },
];
