import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { buildCli } from '../support/cli.js';
import { hostileUnits, literalPatterns, type Pattern, searchMs, superLinear } from './patterns.js';

/** Longer than most bounded parts. Patterns that take more time are tried with a longer text. */
const FIRST_CHARS = 5000;
const FIRST_MS = 2;
/** Few patterns match the second: one that matched all of the repeated text tries its other ways. */
const TAILS = ['', '\u0001"'];
const CHARS = 32_768;
/** Linear, with 200 steps a character at most; a pattern may take {@link MOST_TIMES} as long. */
const LINEAR = /a{0,200}b/;
const MOST_TIMES = 5;

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
  [String.raw`^(?:DROP VIEW (\w+)|`, 'our own queries'],
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
    const tried = hostileUnits(pattern).flatMap((text) => TAILS.map((tail) => ({ ...text, tail })));
    for (const { lead, unit, tail } of tried) {
      const textOf = (chars: number): string => lead + unit.repeat(Math.ceil(chars / unit.length)) + tail;
      const ms = (chars: number): number => searchMs(expression, textOf(chars), 5000);
      if (ms(FIRST_CHARS) < FIRST_MS) continue;
      // Measured in turns: the machine may be busy.
      const linear = searchMs(LINEAR, 'a'.repeat(CHARS), 5000);
      if (Math.min(ms(CHARS), ms(CHARS)) < MOST_TIMES * linear) continue;
      slow.push(`${pattern.at} /${pattern.source}/ on ${JSON.stringify(lead)} and ${JSON.stringify(unit)} repeated`);
      break;
    }
  }
  expect(slow).toEqual([]);
});
