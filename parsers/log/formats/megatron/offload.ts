import type { BlockFormat, BlockStep, LineFormat } from '../contract.js';
import { MIB } from '../units.js';

const ROW = /^\s{0,4}(?<who>Rank \d{1,7}|Total)(?<figures>(?:[ \t]{1,40}\d{1,12}\.\d{1,4}){1,64})\s{0,4}$/;
const HEADER = /^\s{0,4}Rank(?<names>(?:[ \t]{1,60}[\w.-]{1,60}){1,64})\s{0,4}$/;
const RULE = /^\s{0,4}[-=]{3,400}\s{0,4}$/;

const bytes = (text: string): number => Math.round(Number(text) * MIB);

export const OFFLOAD_FORMATS: readonly (LineFormat | BlockFormat)[] = [
  {
    form: 'block',
    id: 'megatron-core.activation-offload',
    title: 'Activations offloaded to the host, per group of modules and rank',
    producer: 'Megatron-LM',
    versions: 'core ≥ 0.16, Megatron Bridge',
    source: 'megatron/core/pipeline_parallel/fine_grained_activation_offload.py: print_offload_summary_table',
    anchors: ['Activation Offload Summary (MB)'],
    fields: { group: 'MiB of each group, printed as MB; rank 0 prints all ranks' },
    opens: /Activation Offload Summary \(MB\)/,
    mostForeign: 4,
    mostLines: 65_536,
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
        end() {},
      };
    },
  },
];
