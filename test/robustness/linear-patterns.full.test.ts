import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { buildCli } from '../support/cli.js';
import { hostileUnits, literalPatterns, type Pattern, searchMs, superLinear } from './patterns.js';

/** Nearly all patterns search this much in less than a millisecond; the others are tried with a longer text. */
const FIRST_CHARS = 2048;
const FIRST_MS = 1;
/** Linear with 200 steps a character, this takes 20 ms. With a square, 2 s. */
const CHARS = 32_768;
const MOST_MS = 400;
/** A text four times as long takes 4 times as long where the search is linear, 16 times where it is a square. */
const MOST_GROWTH = 8;

/** By a part of the pattern: why its text is short. */
const SHORT_TEXTS: readonly (readonly [part: string, reason: string])[] = [
  [String.raw`\B(?=(\d{3})+(?!\d))`, 'a number'],
  [String.raw`\/.*\.py\W*$`, 'a source of our own rules'],
  [String.raw`\(.*\)$`, 'a type of our own queries'],
  [String.raw`^--\s*`, 'our own queries'],
  [String.raw`\$\1\$`, 'our own queries'],
  [String.raw`\b([a-z_]\w*)\s*\(`, 'our own queries'],
  [String.raw`[;\s]*$`, 'the statement of the user'],
  ['(?:raw|mem(?:ory)?|timeline)(?=[._-])[^/]*', 'the name of a file'],
  [`'(?:[^']|'')*'|`, 'the statement of the user'],
  ['^(?:(?!.*lora).*(?:mem|snap|oom).*[-_.])?r', 'the name of a file'],
  [' (.).*$', 'a size of our own words'],
];

let built: Pattern[];
const literals = literalPatterns(process.cwd());
beforeAll(() => {
  buildCli();
  const script = join(import.meta.dirname, 'built-patterns.mjs');
  const output = execFileSync(process.execPath, [script, join(process.cwd(), 'dist')], { maxBuffer: 2 ** 26 });
  built = (JSON.parse(output.toString()) as Pattern[]).map((pattern) => ({ ...pattern, at: 'new RegExp' }));
});

it('no pattern of data files, and none put together, takes more than linear time by its form', () => {
  expect(built.length).toBeGreaterThan(300);
  expect(built.flatMap((pattern) => superLinear(pattern).map((why) => `/${pattern.source}/: ${why}`))).toEqual([]);
});

it('no pattern is slow on texts made from it', () => {
  const slow: string[] = [];
  for (const pattern of [...literals, ...built]) {
    if (SHORT_TEXTS.some(([part]) => pattern.source.includes(part))) continue;
    const expression = new RegExp(pattern.source, pattern.flags);
    for (const { lead, unit } of hostileUnits(pattern)) {
      const textOf = (chars: number): string => lead + unit.repeat(Math.ceil(chars / unit.length));
      const ms = (chars: number): number => searchMs(expression, textOf(chars), 5000);
      if (ms(FIRST_CHARS) < FIRST_MS) continue;
      const whole = Math.min(ms(CHARS), ms(CHARS));
      if (whole < MOST_MS || whole < MOST_GROWTH * ms(CHARS / 4)) continue;
      slow.push(`${pattern.at} /${pattern.source}/ on ${JSON.stringify(lead)} and ${JSON.stringify(unit)} repeated`);
      break;
    }
  }
  expect(slow).toEqual([]);
});
