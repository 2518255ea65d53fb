import type { BlockCode, BlockStep, LineCode } from '../contract.js';

const METRICS: Readonly<Record<string, { readonly name: string; readonly unit: string }>> = {
  Rtt: { name: 'round_trip', unit: 'ms' },
  Pwr: { name: 'power', unit: 'W' },
  Tmp: { name: 'temperature', unit: '°C' },
  Utl: { name: 'utilisation', unit: '%' },
  Clk: { name: 'clock', unit: 'MHz' },
  DRtt: { name: 'batch_load', unit: 'ms' },
  Etpt: { name: 'throughput', unit: 'TFLOP/s' },
};
const FIELD = /M([nx])([A-Z][A-Za-z]{2,4})\/Rnk: (\d{1,12}(?:\.\d{1,6})?)[A-Za-z%]{0,4}\/(\d{1,7})/g;
/** No GPU draws that many watts: `torch.cuda.power_draw` gives milliwatts, which Megatron-LM labels W. */
const MOST_WATTS = 5000;

const RANK_IN_SET = /(?:\brank=|[{[, ])(\d{1,7})(?=[,\]} ])/g;
const SCORE =
  /^\s{0,8}Rank=(?<rank>\d{1,7}) Node=(?<node>[^\s]{1,128}) Score=(?<score>\d{1,6}(?:\.\d{1,6})?|nan)\s{0,4}$/;
const CAPTION = /^\s{0,8}(?:Worst|Best) performing \d{1,7}\/\d{1,7} ranks:\s{0,4}$/;

export const STRAGGLER_FORMATS: readonly (LineCode | BlockCode)[] = [
  {
    id: 'megatron-core.straggler',
    read(groups, emit) {
      for (const [, end, key = '', text = '', rank = ''] of (groups['figures'] ?? '').matchAll(FIELD)) {
        const metric = METRICS[key];
        const value = Number(text);
        emit({
          row: 'value',
          name: `straggler.${end === 'n' ? 'min' : 'max'}_${metric?.name ?? key}`,
          value: key === 'Pwr' && value > MOST_WATTS ? value / 1000 : value,
          unit: metric?.unit ?? null,
          rank: Number(rank),
        });
      }
    },
  },
  {
    id: 'nvrx.straggler-warning',
    read({ what = '', ranks = '' }, emit) {
      const name = `straggler.detected_${what.includes('relative') ? 'relative' : 'individual'}`;
      const stragglers = [...ranks.matchAll(RANK_IN_SET)].map(([, rank]) => Number(rank));
      if (stragglers.length === 0) emit({ row: 'value', name, value: null, unit: null, text: ranks });
      for (const rank of stragglers) emit({ row: 'value', name, value: null, unit: null, rank });
    },
  },
  {
    id: 'nvrx.straggler-scores',
    begin(match, emit) {
      const name = `straggler.score.${match.groups?.['what']}`;
      return {
        line(text): BlockStep {
          const row = SCORE.exec(text)?.groups;
          if (row !== undefined) {
            emit({
              row: 'value',
              name,
              value: Number(row['score']),
              unit: 'ratio',
              text: row['node'],
              rank: Number(row['rank']),
            });
            return 'taken';
          }
          if (CAPTION.test(text)) return 'taken';
          return text.includes(' performance:') ? 'over' : 'foreign';
        },
      };
    },
  },
];
