import type { BlockCode, BlockStep, LineCode } from '../contract.js';
import { MIB } from '../units.js';

const ROW = /^\s{0,4}(?<who>Rank \d{1,7}|Total)(?<figures>(?:[ \t]{1,40}\d{1,12}\.\d{1,4}){1,64})\s{0,4}$/;
const HEADER = /^\s{0,4}Rank(?<names>(?:[ \t]{1,60}[\w.-]{1,60}){1,64})\s{0,4}$/;
const RULE = /^\s{0,4}[-=]{3,400}\s{0,4}$/;

const bytes = (text: string): number => Math.round(Number(text) * MIB);

export const OFFLOAD_FORMATS: readonly (LineCode | BlockCode)[] = [
  {
    id: 'megatron-core.activation-offload',
    begin(_match, emit) {
      let groups: readonly string[] = [];
      return {
        line(text): BlockStep {
          if (RULE.test(text)) return 'taken';
          const row = ROW.exec(text)?.groups;
          if (row !== undefined) {
            const { who = '', figures = '' } = row;
            const isTotal = who === 'Total';
            const rank = isTotal ? {} : { rank: Number(who.slice(5)) };
            figures
              .trim()
              .split(/[ \t]{1,40}/)
              .forEach((figure, column) => {
                const group = groups[column] ?? String(column);
                const name = `offload.activation${isTotal ? '_all_ranks' : ''}[${group.toLowerCase() === 'total' ? 'total' : group}]`;
                emit({ row: 'value', name, value: bytes(figure), unit: 'bytes', ...rank });
              });
            return isTotal ? 'last' : 'taken';
          }
          const header = HEADER.exec(text)?.groups?.['names'];
          if (header === undefined) return 'foreign';
          groups = header.trim().split(/[ \t]{1,60}/);
          return 'taken';
        },
      };
    },
  },
];
