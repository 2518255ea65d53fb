/** Lines that are read by templates become the rows that they become without. */
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { isDigitBlind } from '../../parsers/log/formats/digit-blind.js';
import { LOG_FORMATS } from '../../parsers/log/formats/index.js';
import { LineTemplates } from '../../parsers/log/line-template.js';
import { logVocabulary, readLogBytes } from '../../parsers/log/read-log.js';
import { placedRow } from '../../src/model/log-rows.js';
import { samplesOf } from '../support/log-samples.js';

const PLAIN = logVocabulary(LOG_FORMATS, false);
const SEED = 48;

function rowsOf(log: Buffer, vocabulary?: typeof PLAIN): unknown[] {
  const rows: unknown[] = [];
  const tally = readLogBytes(
    log,
    {
      incident: (row) => rows.push(row),
      note: (note) => rows.push(note),
      attempt: (row) => rows.push(row),
      logRow(finding, place) {
        // The text of a number is nowhere used.
        const fields =
          finding.row === 'iteration' ? finding.others?.map((one) => ({ ...one, text: one.value ?? one.text })) : [];
        rows.push({ ...placedRow(finding, place), others: fields });
      },
    },
    vocabulary,
  );
  return [...rows, tally.rank, tally.rankOrigin];
}

function expectEqual(log: Buffer): void {
  expect(rowsOf(log)).toEqual(rowsOf(log, PLAIN));
}

/** How many lines of a log were read by templates. */
function templatesUsed(log: string): number {
  const find = vi.spyOn(LineTemplates.prototype, 'find');
  try {
    rowsOf(Buffer.from(log));
    return find.mock.results.filter(({ value }) => value !== null).length;
  } finally {
    find.mockRestore();
  }
}

const ITERATION = (step: number): string =>
  ` [2026-02-03 04:05:${String(step % 60).padStart(2, '0')}] iteration ${String(step).padStart(8)}/  500000 | consumed samples: ${String(step * 256).padStart(12)} | elapsed time per iteration (ms): ${(900 + (step % 700)) / 10} | learning rate: 1.5${step % 10}0000E-0${step % 9} | lm loss: ${(7 + step / 1000).toExponential(6).toUpperCase()} | grad norm: ${step / 1000} | number of nan iterations:   0 |`;
const BRIDGE = (step: number, rank: number): string =>
  `[Rank ${rank}] (after ${step} iterations) memory (GB) | mem-allocated-gigabytes: ${Number((12 + step / 997).toPrecision(5))} | mem-max-allocated-gigabytes: ${Number((32 + rank / 7).toPrecision(5))} | mem-max-reserved-gigabytes: ${rank % 5 === 0 ? 0.5 : 58.8} | mem-alloc-retires: 0`;
const MEMORY = (step: number, rank: number): string =>
  `[default${rank % 8}]:[Rank ${rank}] (after ${step} iterations) memory (MB) | allocated: ${18_000 + (step * rank) / 2048} | max allocated: 40960.0 | reserved: ${45_056 + (rank % 3) / 4} | max reserved: 47104.0`;

/** What a line may have that its shape has not. */
const CHANGES: readonly ((line: string, number: string, at: number) => string)[] = [
  ...['nan', '-inf', '1,234', '1.5E+05', '2E400', '12345678901234567', '0.00000000000000000000001', '-0.0'].map(
    (figure) => (line: string, number: string) => line.replace(number, figure),
  ),
  (line, number) => line.replace(number, `-${number}`),
  (line, _, at) => line.slice(0, at),
  ...['\r', '\0', '\xff', '\x1b[31m', '\n', '\xef\xbb\xbf', ' | ', 'x'.repeat(9000)].map(
    (text) => (line: string, _: string, at: number) => line.slice(0, at) + text + line.slice(at),
  ),
  (line) => line.replace('MB', 'GB').replace('(ms)', '(s)'),
];

const PREFIXES = ['', '', '[default0]:', '[rank3]:', '  12: ', '2026-01-02 03:04:05,678 - INFO - '];
const SAMPLES = LOG_FORMATS.flatMap((format) =>
  samplesOf(format).flatMap(({ lines }) => lines.flatMap((text) => text.split('\n'))),
).filter((line) => line.length < 2000);

/** A log of a few lines again and again, with other digits and some changes. */
function logOf(seeds: readonly string[], random: readonly number[], lineEnd: string): Buffer {
  let at = 0;
  const next = (below: number): number => (random[at++ % random.length]! + at * 7919) % below;
  const lines = Array.from({ length: 48 }, (_, index) => {
    const line = seeds[index % seeds.length]!.replaceAll(/\d+/g, (digits) =>
      next(12) === 0
        ? String(next(5000))
        : digits.replaceAll(/\d/g, (digit) => (next(3) === 0 ? digit : String(next(10)))),
    );
    if (next(10) > 0) return line;
    const number = /\d+(?:\.\d+)?/.exec(line.slice(next(line.length + 1)))?.[0] ?? '';
    return CHANGES[next(CHANGES.length)]!(line, number, next(line.length + 1));
  });
  return Buffer.from(lines.join(lineEnd), 'latin1');
}

describe('templates of lines', () => {
  it('read nearly all of a dense log', () => {
    const lines: string[] = [];
    for (let step = 1; step <= 300; step += 1)
      lines.push(ITERATION(step), BRIDGE(step, step % 16), MEMORY(step, step % 16));
    for (const end of ['\n', '\r\n']) {
      const log = `${lines.join(end)}${end}`;
      expectEqual(Buffer.from(log));
      expect(templatesUsed(log)).toBeGreaterThan(lines.length * 0.6);
    }
  });

  it('give the rows of lines of all formats with other digits and changes', () => {
    const random = fc.array(fc.nat(1e6), { minLength: 8, maxLength: 64 });
    const line = fc.tuple(fc.constantFrom(...PREFIXES), fc.constantFrom(...SAMPLES)).map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 3 }), random, fc.boolean(), (lines, numbers, isDos) =>
        expectEqual(logOf(lines, numbers, isDos ? '\r\n' : '\n')),
      ),
      { numRuns: 150, seed: SEED },
    );
  });

  it('leave lines before a failure to its message', () => {
    const lines = Array.from({ length: 12 }, (_, step) => BRIDGE(10 + step, 3));
    const failure =
      'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity';
    const log = [...lines, 'torch.', failure, ...lines, failure, ''].join('\n');
    expectEqual(Buffer.from(log));
  });

  it('keep rows of a launch that is not decided', () => {
    const steps = [...Array.from({ length: 20 }, (_, step) => 101 + step), 3, 121, 122, 5000, 123, 124];
    expectEqual(Buffer.from(steps.map((step) => `${ITERATION(step)}\n`).join('')));
  });
});

it.each([
  [String.raw`\d{4}-\d\d [\w.]{1,20} (?<fp16>[^|\n]+)`, true],
  ['[0-9a-f]+ x[^\\d]', true],
  ['bf16', false],
  ['[1-9]', false],
  ['[^0]', false],
  [String.raw`(.)\1`, false],
])('%s: treats all digits alike: %s', (source, isBlind) => {
  expect(isDigitBlind({ source })).toBe(isBlind);
});
