/** Step lines of trainers that print one line and no memory. */
import type { IterationFinding } from '../../../../src/model/log-rows.js';
import type { LineCode } from '../contract.js';
import { plainNumber } from '../system/findings.js';

type Others = NonNullable<IterationFinding['others']>[number];

function number(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = plainNumber(text);
  return Number.isFinite(value) ? value : undefined;
}

/** Named figures without a column. */
function namedFigures(fields: Readonly<Record<string, string | undefined>>): Others[] {
  return Object.entries(fields).flatMap(([name, text]) =>
    text === undefined ? [] : [{ name, value: number(text) ?? null, text }],
  );
}

const BAR_FIELD =
  /\| {0,4}(?<name>[\w/]{1,24})(?: |: {0,8})(?<text>[-+]?\d[\d,.]{0,20}(?:e[-+]?\d{1,3})?)(?<unit>ms|%|m)?/g;

export const NANOGPT_STEP: LineCode = {
  id: 'nanogpt.step',
  read({ iteration, loss, time, mfu, step, target, fields = '' }, emit) {
    if (iteration !== undefined) {
      emit({
        row: 'iteration',
        iteration: Number(iteration) + 1,
        target: null,
        loss: number(loss),
        stepMs: number(time),
        // nanoGPT prints -100 until it has measured some steps.
        others: namedFigures({ mfu: mfu?.startsWith('-') === true ? undefined : mfu }),
      });
      return;
    }
    const named = new Map<string, string>();
    for (const { groups = {} } of fields.matchAll(BAR_FIELD)) {
      // `total time: 0.00m` and times that are not in ms are not step times.
      if (groups['name'] !== 'dt' || groups['unit'] === 'ms') named.set(groups['name']!, groups['text']!);
    }
    const take = (name: string): number | undefined => {
      const text = named.get(name);
      named.delete(name);
      return number(text);
    };
    emit({
      row: 'iteration',
      iteration: Number(step) + 1,
      target: target === undefined ? null : Number(target),
      stepMs: take('dt'),
      loss: take('loss'),
      learningRate: take('lr'),
      gradNorm: take('norm'),
      others: namedFigures(Object.fromEntries(named)),
    });
  },
};
