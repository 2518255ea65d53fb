import type { BlockCode, BlockStep } from '../contract.js';

const LINE =
  /^\s{0,8}(?<what>Total parameters|Trainable parameters|Trainable percentage): (?<value>\d[\d,]{0,24}(?:\.\d{1,6})?)%?\s{0,4}$/;

export const PEFT_BLOCKS: readonly BlockCode[] = [
  {
    id: 'megatron-bridge.peft-statistics',
    begin(_match, emit) {
      return {
        line(text): BlockStep {
          const groups = LINE.exec(text)?.groups;
          if (groups === undefined) return 'foreign';
          const value = Number((groups['value'] ?? '').replaceAll(',', ''));
          const what = groups['what'] ?? '';
          const isShare = what.endsWith('percentage');
          emit({
            row: 'value',
            name: `peft.${what.toLowerCase().replace(' ', '_')}`,
            value,
            unit: isShare ? '%' : 'elements',
          });
          return isShare ? 'last' : 'taken';
        },
      };
    },
  },
];
