import type { LineCode } from '../contract.js';
import { figureFinding, plainNumber } from '../system/findings.js';

const SCALES: Readonly<Record<string, number>> = { k: 1e3, K: 1e3, M: 1e6, G: 1e9 };

/** `Tokens/sec/GPU` → `tokens/s/GPU`. */
function rateUnit(printed: string, words: ReadonlyMap<string, string>): string {
  const device = /GPU|gpu|device|rank|chip/i.test(printed) ? '/GPU' : '';
  if (/^t(?:flop)/i.test(printed)) return `TFLOP/s${device}`;
  const thing = /^[A-Za-z]+?(?=_|\/| |$)/.exec(printed)?.[0].toLowerCase() ?? '';
  return `${words.get(thing) ?? thing}/s${device}`;
}

const snake = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z\d]+/g, '_')
    .replaceAll(/^_|_$/g, '');

/**
 * Throughput and step times of trainers without a format of their own: only what carries its unit, or the word for it.
 */
export const PRINTED_RATES: LineCode = {
  id: 'printed.rates',
  isFallback: true,
  read({ value, unit, label, labelled, time, timed, timeUnit }, emit, { words }) {
    if (time !== undefined) {
      const isMs = timeUnit?.startsWith('m') === true;
      emit(figureFinding(`printed.${snake(time)}`, plainNumber(timed!), isMs ? 'ms' : 's'));
      return;
    }
    const printed = unit ?? label!;
    const text = value ?? labelled!;
    const scale = SCALES[text.at(-1)!];
    const figure = plainNumber(scale === undefined ? text : text.slice(0, -1)) * (scale ?? 1);
    const name = rateUnit(printed, words!);
    emit(figureFinding(`printed.${snake(name.replaceAll('/s', ' per s').replace('/GPU', ' per gpu'))}`, figure, name));
  },
};
