import type { IterationFinding } from '../../../../src/model/log-rows.js';
import type { LineFormat } from '../contract.js';
import { pythonNumber } from '../field-list.js';
import { GIB, memoryFigure } from '../units.js';

const FIELD = /\| ([a-z_]{1,40}) ([^|\s]{1,40}(?: GiB)?)/g;

/** Steps of NeMo Automodel: loss, learning rate, peak memory of rank 0, tokens per second. */
export const AUTOMODEL_LINES: readonly LineFormat[] = [
  {
    form: 'line',
    id: 'nemo-automodel.step',
    title: 'Training step of Automodel',
    producer: 'NeMo Automodel',
    versions: '0.1 and later',
    source: 'nemo_automodel/recipes/llm/train_ft.py: log_train_metrics',
    anchors: [' | grad_norm '],
    fields: {
      step: '0-based, as printed',
      rest: '`mem` GiB: peak allocated since the step before, which resets it; `tps` tokens per second of all devices',
    },
    pattern:
      /(?:^|\| |\s)step (?<step>\d{1,9}) (?<rest>\| epoch \d{1,9}(?: \| [a-z_]{1,40} [^|\s]{1,40}(?: GiB)?){1,24})/g,
    read({ step = '', rest = '' }, emit) {
      const iteration = Number(step);
      const otherValues: { name: string; value: number | null; text: string }[] = [];
      const row: { -readonly [Key in keyof IterationFinding]: IterationFinding[Key] } = {
        row: 'iteration',
        iteration,
        target: null,
        others: otherValues,
      };
      let memory: string | undefined;
      for (const [, name = '', text = ''] of rest.matchAll(FIELD)) {
        const value = pythonNumber(text.replace(/\(.*/, ''));
        if (name === 'mem' && text.endsWith(' GiB')) memory = text.slice(0, -4);
        else if (name === 'loss' && value !== null) row.loss = value;
        else if (name === 'grad_norm' && value !== null) row.gradNorm = value;
        else if (name === 'lr' && value !== null) row.learningRate = value;
        else otherValues.push({ name, value, text });
      }
      emit(row);
      if (memory !== undefined && Number.isFinite(Number(memory)))
        emit(memoryFigure('max_allocated', memory, 'GiB', GIB, { iteration, moment: 'since the step before' }));
    },
  },
];
