import type { LineFormat } from '../contract.js';
import { figureFinding } from '../system/findings.js';

/** `15:19`, `26:02:03` in seconds. */
const seconds = (clock: string): number => clock.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);

/**
 * States at 10 %, 20 %, …, 100 %: a bar is drawn again after every step, by every rank, and may be most of a log.
 */
const TENTHS = ['0%|██', ' 10%|█', '0%|#####'];

/** Other bars count bytes, examples, files: their pace is not a step time. */
const PACE = /^(?:(?:it|step|batch|iter)s?\/s|s\/(?:it|step|batch|iter)s?)$/;

/**
 * A bar counts repetitions without naming the operation: loading shards, mapping a dataset, training. So it yields no
 * iteration, but its pace, under its description, or under the number of repetitions.
 */
export const TQDM_BAR: LineFormat = {
  form: 'line',
  id: 'progress.tqdm',
  title: 'A progress bar at each tenth, and its pace',
  producer: 'tqdm',
  versions: '4.x',
  source: 'tqdm/std.py, tqdm.format_meter',
  anchors: TENTHS,
  fields: {
    what: 'its description, where it has one',
    percent: 'done, rounded',
    done: 'units done',
    unit: 'K, M, G: decimal, of bars that scale their units',
    total: 'units in all',
    elapsed: '[hours:]minutes:seconds',
    pace: 'units per second or seconds per unit, smoothed, but of a full bar the average; `?` before the first one',
    each: '`it/s`, `s/it`, or another word for a step',
  },
  pattern:
    /(?<![\d.])(?<percent>100|\d0)%\|(?<=(?:(?<what>[^|:%\n]{1,60}):[ ]{1,4})?(?:100|\d0)%\|)[^|\n]{0,300}\|[ ]{1,8}(?<done>\d{1,12}(?:\.\d{1,3})?)(?<unit>[kKMGT]?)\/(?<total>\d{1,12}(?:\.\d{1,3})?[kKMGT]?) \[(?<elapsed>\d{1,4}:\d\d(?::\d\d)?)<(?:[^,\]\n]{1,24}, {1,4}(?<pace>\d{1,9}(?:\.\d{1,3})?)(?<each>[A-Za-z ]{1,16}\/[A-Za-z ]{1,16}))?/g,
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
