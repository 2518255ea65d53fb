/** Moments of a trace: the words a user may write, and the entry each one means. */
import { MbfError } from '../../model/errors.js';

export type Moment =
  | { readonly kind: 'start' | 'peak' | 'oom' | 'end' }
  | { readonly kind: 'seq'; readonly seq: number }
  | { readonly kind: 'time'; readonly timeUs: number }
  | { readonly kind: 'step'; readonly step: number };

/** How a moment is written, for help texts and errors. */
export const MOMENT_FORMS = 'start, peak, oom, end, seq:N, time:MICROSECONDS, step:N';

/**
 * `peak` is the first entry after which the most actual bytes are active, `oom` the state just before the last OOM
 * entry (earlier ones were survived), `seq:N` the state after entry N, `time:T` after the last entry at or before T,
 * `step:N` the peak of step N. Throws MBF1001 on anything else.
 */
export function parseMoment(text: string): Moment {
  const moment = momentOf(text);
  if (moment === undefined)
    throw new MbfError('MBF1001', `invalid moment ${JSON.stringify(text)}; expected one of ${MOMENT_FORMS}`);
  return moment;
}

function momentOf(text: string): Moment | undefined {
  if (text === 'start' || text === 'peak' || text === 'oom' || text === 'end') return { kind: text };
  const match = /^(seq|time|step):(\d{1,16})$/.exec(text);
  const value = Number(match?.[2]);
  if (match === null || !Number.isSafeInteger(value)) return undefined;
  if (match[1] === 'seq') return { kind: 'seq', seq: value };
  return match[1] === 'time' ? { kind: 'time', timeUs: value } : { kind: 'step', step: value };
}

export function momentText(moment: Moment): string {
  switch (moment.kind) {
    case 'seq':
      return `seq:${moment.seq}`;
    case 'time':
      return `time:${moment.timeUs}`;
    case 'step':
      return `step:${moment.step}`;
    default:
      return moment.kind;
  }
}
