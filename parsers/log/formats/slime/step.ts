import type { LineCode } from '../contract.js';
import { pythonNumber } from '../field-list.js';

const ENTRY = /'([\w./@-]{1,100})': ([+-]?(?:\d{1,24}(?:\.\d{0,24})?(?:[eE][+-]?\d{1,4})?|nan|inf))(?=[,}])/g;
/** `train/critic-loss`: the critic's own steps would pass for the actor's. */
const CRITIC = /'train\/critic-/;

export const SLIME_STEP: LineCode = {
  id: 'slime.step',
  read({ step, entries = '' }, emit) {
    const iteration = Number(step) + 1;
    const values = new Map<string, { value: number | null; text: string }>();
    for (const [, key = '', text = ''] of `${entries}}`.matchAll(ENTRY))
      values.set(key, { value: pythonNumber(text), text });
    if (CRITIC.test(entries)) {
      for (const [key, { value }] of values) emit({ row: 'value', name: `slime.${key}`, value, unit: null, iteration });
      return;
    }
    const take = (key: string): number | undefined => {
      const value = values.get(key)?.value ?? undefined;
      values.delete(key);
      return value;
    };
    const loss = take('train/loss');
    const gradNorm = take('train/grad_norm');
    const learningRate = take('train/lr-pg_0');
    values.delete('train/step');
    const otherValues = [...values].map(([name, { value, text }]) => ({ name, value, text }));
    emit({ row: 'iteration', iteration, target: null, loss, gradNorm, learningRate, others: otherValues });
  },
};
