import type { LineFormat } from '../contract.js';
import { pythonNumber, readFieldList } from '../field-list.js';

const ITERATION = /\biteration (\d{1,12})/;
/** `lm loss value` and `lm loss PPL` (perplexity) of one loss. */
const LOSS = /^(.{1,60}?) (value|PPL)$/;
const SETS: Readonly<Record<string, string>> = { valid: 'validation', validation: 'validation', test: 'test' };

export const EVALUATION_LINES: readonly LineFormat[] = [
  {
    form: 'line',
    id: 'megatron-lm.evaluation',
    title: 'Losses of an evaluation',
    producer: 'Megatron-LM',
    versions: 'all, Megatron Bridge, Megatron-DeepSpeed',
    source: 'megatron/training/training.py: evaluate_and_print_results',
    anchors: [' loss at iteration ', ' loss at the end of training'],
    fields: {
      set: 'valid, validation, test',
      where: 'iteration, and the set where several are evaluated',
      rest: 'value and perplexity of each loss',
    },
    pattern:
      /\b(?<set>valid|validation|test|evaluation) loss at (?<where>(?:iteration|the end of training)[^|\n]{0,160}?) \|(?<rest>(?: [^|\n]{1,150}\|){1,64})/g,
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
