import type { LineCode } from '../contract.js';
import { figureFinding, plainNumber } from '../system/findings.js';

/** What is counted, as printed → the word of the unit. */
const THINGS: readonly (readonly [pattern: RegExp, word: string])[] = [
  [/^tok(?:en)?s?$/, 'tokens'],
  [/^samples?$/, 'samples'],
  [/^(?:example|sequence|seq|image|img|batch(?:e)?|step|word|frame|request)s?$/, ''],
  [/^it(?:er(?:ation)?)?s?$/, 'iterations'],
];
const SCALES: Readonly<Record<string, number>> = { k: 1e3, K: 1e3, M: 1e6, G: 1e9 };

const COUNTED =
  '(?:[Tt]ok(?:en)?s?|[Ss]amples?|[Ee]xamples?|[Ss]eq(?:uence)?s?|[Ii]mages?|[Ii]mgs?|[Ww]ords?|[Ii]ter(?:ation)?s?|[Ss]teps?|[Bb]atch(?:es)?)';
const SECOND = '(?: ?/ ?| per |_per_|_p)s(?:ec(?:ond)?s?)?';
const DEVICE = '(?:(?: ?/ ?| per |_per_)(?:GPU|gpu|device|Device|rank|chip))?';
/** The prefix counts 10^12: `TFLOPS`, `TFLOP/s/GPU`, `TFLOPs per GPU`. */
const FLOPS = `[Tt](?:FLOP|flop|Flop)[Ss]?(?:/s(?:ec)?)?${DEVICE}`;
const RATE = `(?:${COUNTED}${DEVICE}${SECOND}${DEVICE}|${FLOPS})(?![\\w/])`;
const TIME =
  '(?:(?:[Aa]vg|[Aa]verage|[Mm]ean|[Tt]rain(?:ing)?)[ _.])?(?:[Ss]tep|[Ii]ter(?:ation)?)[ _.]?[Tt]ime|[Tt]ime (?:per|/) (?:step|iter(?:ation)?)|time/(?:step|iter(?:ation)?)';
const NUMBER = '\\d{1,3}(?:,\\d{3}){1,5}(?:\\.\\d{1,9})?|\\d{1,15}(?:\\.\\d{1,15})?(?:e[-+]\\d{1,2})?';
/** Between a label and its figure: `:`, `=`, ` is `, blanks, quotes, and a unit or a remark in brackets. */
const GAP = '(?:["\')\\]]?(?: {0,2}[([][\\w/ .]{1,24}[)\\]])?["\']?(?: ?[:=] ?| is | {1,8}))';

/** `Tokens/sec/GPU` → `tokens/s/GPU`. */
function rateUnit(printed: string): string {
  const device = /GPU|gpu|device|rank|chip/i.test(printed) ? '/GPU' : '';
  if (/^t(?:flop)/i.test(printed)) return `TFLOP/s${device}`;
  const thing = /^[A-Za-z]+?(?=_|\/| |$)/.exec(printed)?.[0].toLowerCase() ?? '';
  const word = THINGS.find(([pattern]) => pattern.test(thing))?.[1];
  return `${word === undefined || word === '' ? thing : word}/s${device}`;
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
  anchors: [
    ...['tokens/s', 'Tokens/s', 'samples/s', 'Samples/s', 'images/s', 'examples/s', 'sequences/s', 'batches/s'],
    ...['tokens_per_s', 'samples_per_s', 'tokens per s', 'samples per s', ' tok/sec', ' tokens / s', ' samples / s'],
    ...['tokens/GPU', 'tokens/gpu', 'tokens/device', 'iterations/s', 'iter/sec'],
    ...[...'0123456789'].flatMap((digit) => [`${digit} TFLOPs`, `${digit} TFLOPS`]),
    ...[' TFLOP/s', 'TFLOPs: ', 'TFLOPS: ', 'TFLOP/s: ', 'tflops: ', ' tflops=', ' TFLOPS='],
    ...['hroughput', 'step time', 'step_time', 'Step time', 'Step Time', 'Step_time'],
    ...['iter time', 'iter_time', 'iteration time', 'iteration_time', 'Iteration time'],
    ...['time per step', 'time per iter', 'time/step', 'time/iter'],
  ],
  pattern: new RegExp(
    `(?<![\\w.,/-])(?<value>${NUMBER}[kKMG]?) ?(?<unit>${RATE})|` +
      `(?<![\\w])(?<label>${RATE})${GAP}(?<labelled>${NUMBER}[kKMG]?)(?![\\w/.])|` +
      `(?<![\\w])(?<time>${TIME})${GAP}(?<timed>${NUMBER}) ?(?<timeUnit>ms|milliseconds|s|sec|secs|seconds)\\b`,
    'g',
  ),
  read({ value, unit, label, labelled, time, timed, timeUnit }, emit) {
    if (time !== undefined) {
      const isMs = timeUnit?.startsWith('m') === true;
      emit(figureFinding(`printed.${snake(time)}`, plainNumber(timed!), isMs ? 'ms' : 's'));
      return;
    }
    const printed = unit ?? label!;
    const text = value ?? labelled!;
    const scale = SCALES[text.at(-1)!];
    const figure = plainNumber(scale === undefined ? text : text.slice(0, -1)) * (scale ?? 1);
    const name = rateUnit(printed);
    emit(figureFinding(`printed.${snake(name.replaceAll('/s', ' per s').replace('/GPU', ' per gpu'))}`, figure, name));
  },
};
