import type { LineCode } from '../contract.js';
import { pythonNumber, readFieldList } from '../field-list.js';

const ITERATION = /\biteration (\d{1,12})/;
/** `lm loss value` and `lm loss PPL` (perplexity) of one loss. */
const LOSS = /^(.{1,60}?) (value|PPL)$/;
const SETS: Readonly<Record<string, string>> = { valid: 'validation', validation: 'validation', test: 'test' };

export const EVALUATION_LINES: readonly LineCode[] = [
  {
    id: 'megatron-lm.evaluation',
    read({ set = '', where = '', rest = '' }, emit) {
      const step = ITERATION.exec(where)?.[1];
      const more = step === undefined ? {} : { iteration: Number(step) };
      emit({ row: 'phase', phase: 'eval', label: `${set} loss at ${where}`, ...more });
      // Final evaluations name the set at the end of the words: `… for val data`, `… on validation set`.
      const name = SETS[set] === 'validation' && /\btest (?:data|set)\b/.test(where) ? 'test' : (SETS[set] ?? set);
      readFieldList(rest, ':', (field, text) => {
        const loss = LOSS.exec(field);
        emit({
          row: 'value',
          name: `eval.${name}.${loss === null ? field : `${loss[1]}${loss[2] === 'PPL' ? '.ppl' : ''}`}`,
          value: pythonNumber(text),
          unit: null,
          ...more,
        });
      });
    },
  },
];
