/** Lines that are read by templates become the rows that they become without. */
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { isDigitBlind, withAnyWidth } from '../../parsers/log/formats/digit-blind.js';
import { LOG_FORMATS } from '../../parsers/log/formats/index.js';
import { LineTemplates } from '../../parsers/log/line-template.js';
import { type LogOutput, logVocabulary, readLog, readLogBytes } from '../../parsers/log/read-log.js';
import { bytesSource } from '../support/decode.js';
import { placedRow } from '../support/launches/log-row.js';
import { samplesOf } from '../support/log-samples.js';

const PLAIN = logVocabulary(LOG_FORMATS, false);
const SEED = 48;

function collect(rows: unknown[]): LogOutput {
  return {
    incident: (row) => rows.push(row),
    note: (note) => rows.push(note),
    attempt: (row) => rows.push(row),
    logRow(finding, place) {
      // The text of a number is nowhere used.
      const fields =
        finding.row === 'iteration' ? finding.others?.map((one) => ({ ...one, text: one.value ?? one.text })) : [];
      rows.push({ ...placedRow(finding, place), others: fields });
    },
  };
}

function rowsOf(log: Buffer, vocabulary?: typeof PLAIN): unknown[] {
  const rows: unknown[] = [];
  const tally = readLogBytes(log, collect(rows), vocabulary);
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

/** A log of a few lines again and again, with other digits, widths and some changes. */
function logOf(seeds: readonly string[], random: readonly number[], lineEnd: string): Buffer {
  let at = 0;
  const next = (below: number): number => (random[at++ % random.length]! + at * 7919) % below;
  const numberOf = (blanks: string, digits: string): string => {
    const length = next(4) > 0 ? digits.length : 1 + next(next(6) > 0 ? 6 : 18);
    const changed = Array.from({ length }, () => (next(6) === 0 ? 0 : next(10))).join('');
    const padding = blanks.length + digits.length - length;
    return (blanks.length < 2 || next(8) === 0 ? blanks : ' '.repeat(Math.max(0, padding))) + changed;
  };
  // A form is learned when it was read for a while.
  const lines = Array.from({ length: 96 * seeds.length }, (_, index) => {
    const seed = seeds[index % seeds.length]!;
    const line = seed.replaceAll(/( *)(\d+)/g, (_all, blanks: string, digits: string) => numberOf(blanks, digits));
    if (next(16) > 0) return line;
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
      fc.property(fc.array(line, { minLength: 1, maxLength: 2 }), random, fc.boolean(), (lines, numbers, isDos) =>
        expectEqual(logOf(lines, numbers, isDos ? '\r\n' : '\n')),
      ),
      { numRuns: 150, seed: SEED },
    );
  });

  it.each([1000, 70_000, 300_000])('read a log in parts of %i bytes as without', async (partBytes) => {
    const lines = Array.from({ length: 6000 }, (_, step) => {
      const line = [ITERATION, BRIDGE, MEMORY][step % 3]!(step * 7, (step * step) % 512);
      if (step % 5 > 0) return `${PREFIXES[3]} ${line}`;
      return `${CHANGES[(step / 5) % CHANGES.length]!(line, '1', step % 97)}\n  GET /metrics 200 ${step} ❱ µs`;
    });
    const log = Buffer.from(lines.join('\n'));
    const [fast, plain]: [unknown[], unknown[]] = [[], []];
    await readLog(bytesSource(log, partBytes), collect(fast));
    await readLog(bytesSource(log, partBytes), collect(plain), PLAIN);
    expect(plain.length).toBeGreaterThan(15_000);
    const texts = (rows: unknown[]): string[] =>
      rows.map((row) =>
        JSON.stringify(Object.entries(row as object).toSorted(([one], [other]) => (one < other ? -1 : 1))),
      );
    const expected = texts(plain);
    // Not `toEqual` of all, which takes seconds.
    expect(texts(fast).filter((text, at) => text !== expected[at])).toEqual([]);
    expect(fast.length).toBe(plain.length);
  });

  it.each([
    [
      '[5104-79-80 14:90:4] [Megatron-FSDP] Registering buffers',
      '[5104-12-10 14:10:04] [Megatron-FSDP] Registering buffers',
    ],
    [
      '0390-79-39  06:8805:39,728 - INFO - Total steps: 6036, x: 0',
      '2026-01-02 03:04:05,678 - INFO - Total steps: 6036, x: 0',
    ],
    [
      '[Rank 1] (after 20 iterations) memory (MB) | allocated: 1.5 | max allocated: 2.125 | reserved: 3.5',
      '[Rank 1] (after 20 iterations) memory (MB) | allocated: 1.25 | max allocated: 2.25 | reserved: 3.25',
    ],
    [
      'DEBUG 08-06 10:51390:59 [gpu_worker.py:278] Memory profiling takes 7.26 seconds. Total non KV cache memory: 2.78GiB; torch peak memory increase:  0.45GiB; non-torch forward increase memory: -0.020009GiB; weights memory: 2.32GiB.',
      'DEBUG 08-06 10:17:28 [gpu_worker.py:278] Memory profiling takes 7.26 seconds. Total non KV cache memory: 2.78GiB; torch peak memory increase: 0.45GiB; non-torch forward increase memory: -0.02GiB; weights memory: 2.32GiB.',
    ],
    [
      '[after megatron is initialized] datetime: 6036-   907-97 81:6:62009066 ',
      '[after megatron is initialized] datetime: 2026-02-03 04:05:06 ',
    ],
  ])(
    'of lines that differ from what a pattern finds in several widths leave them to the reader: %s',
    (learned, other) => {
      const log = [...Array.from({ length: 120 }, () => learned), other, learned, other, ''].join('\n');
      expectEqual(Buffer.from(log));
      expectEqual(Buffer.from(log.replaceAll(learned, '#').replaceAll(other, learned).replaceAll('#', other)));
    },
  );

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

it.each([
  [String.raw`\d{4}-\d\d (?<a>[ \d]\d:\d{2,3})`, '20260-1  1:1'],
  [String.raw`x[ \t](?<a>\d{1,3}(?:\.\d{2})?)y`, 'x  1234.5y'],
  ['(?:a|b){2} [^|]{1,3}\\|', 'ab  12345|'],
])('%s with any width finds %s', (source, text) => {
  expect(new RegExp(source).test(text)).toBe(false);
  expect(withAnyWidth(new RegExp(`^(?:${source})$`)).test(text)).toBe(true);
});
