import type { BlockCode, BlockStep, LineCode } from '../contract.js';

/** A name, dots up to column 48, and one figure or two. */
const TIMER =
  /^ {1,8}(?<name>[A-Za-z][\w/ -]{0,80}?) ?\.{0,60}: \(?(?<first>\d{1,12}\.\d{1,4})(?:, (?<last>\d{1,12}\.\d{1,4})\))?\s{0,4}$/;
const NAME = /^ {1,8}(?<name>[A-Za-z][\w/ -]{0,80}):\s{0,4}$/;
const RANK = /^ {1,12}rank {1,8}(?<rank>\d{1,7}): (?<ms>\d{1,12}\.\d{1,4})\s{0,4}$/;

/** Not data, though it could be: a log of all ranks has a line for each timer of each rank. */
export const TIMER_FORMATS: readonly (LineCode | BlockCode)[] = [
  {
    id: 'megatron-core.timers',
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
      };
    },
  },
];
