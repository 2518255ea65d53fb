import type { LineCode } from '../contract.js';
import { figureFinding } from '../system/findings.js';

/** `15:19`, `26:02:03` in seconds. */
const seconds = (clock: string): number => clock.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);

/** Other bars count bytes, examples, files: their pace is not a step time. */
const PACE = /^(?:(?:it|step|batch|iter)s?\/s|s\/(?:it|step|batch|iter)s?)$/;

/**
 * A bar counts repetitions without naming the operation: loading shards, mapping a dataset, training. So it yields no
 * iteration, but its pace, under its description, or under the number of repetitions.
 */
export const TQDM_BAR: LineCode = {
  id: 'progress.tqdm',
  read({ what, percent, done = '', unit = '', total = '', elapsed = '', pace, each = '' }, emit) {
    // A figure of a description that changes (`loss: 1.25: 100%|…`) names nothing.
    const named = what !== undefined && !/^\s{0,4}[\d.]/.test(what);
    const text = `${named ? `${what.trim()}: ` : ''}${done}${unit}`;
    if (percent === '100') emit({ ...figureFinding('progress.elapsed_s', seconds(elapsed), 's'), text });
    if (pace === undefined || !PACE.test(each.trim()) || Number(pace) === 0) return;
    const isSeconds = each.startsWith('s/');
    const perUnit = isSeconds ? Number(pace) : Number((1 / Number(pace)).toPrecision(4));
    const name = named ? what.trim() : `of ${total}`;
    emit({ ...figureFinding(`progress.s_per_it[${name}]`, perUnit, 's'), text: `${pace}${each}` });
  },
};
