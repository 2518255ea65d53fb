/** Beginnings of files and lines of logs made to slow a reader down, and lists as long as the input. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { HOSTILE_LINES } from '../../bench/hostile-lines.js';
import { PARSERS } from '../../parsers/index.js';
import { LiteralScanner } from '../../parsers/log/literal-scanner.js';
import { readLogBytes } from '../../parsers/log/read-log.js';
import { maxOf, minOf, pushAll } from '../../src/model/lists.js';
import { cpuMs } from '../support/cpu-time.js';

type Lists = Readonly<Record<'units' | 'leads' | 'led', readonly (readonly string[])[]>>;
const { units, leads, led } = parse(readFileSync(join(import.meta.dirname, 'hostile-heads.yaml'), 'utf8')) as Lists;
const HEADS = [
  ...units.flat().map((unit) => ['', unit]),
  ...leads.flat().flatMap((lead) => led[0]!.map((u) => [lead, u])),
];
const HEAD_BYTES = 65_536;
/** All parsers together take 10 ms for nearly all heads, and 50 ms for the worst. A square hangs for seconds. */
const HANG_MS = 1500;
const NAMES = ['a', 'a.json', 'a.log', 'a.yaml', 'a.csv'];

function sniffMs(bytes: Uint8Array, name: string): number {
  const before = cpuMs();
  for (const parser of PARSERS) parser.sniff({ bytes, name, sizeBytes: 2 ** 20 });
  return cpuMs() - before;
}

it('no beginning of a file keeps detection busy', () => {
  expect(HEADS.length).toBe(192);
  const hangs = HEADS.filter(([lead, unit], index) => {
    const text = lead + unit!.repeat(Math.ceil(HEAD_BYTES / unit!.length));
    const bytes = Buffer.from(text.slice(0, HEAD_BYTES), 'latin1');
    const name = NAMES[index % NAMES.length]!;
    // Once more: the first call compiles.
    return sniffMs(bytes, name) > HANG_MS && sniffMs(bytes, name) > HANG_MS;
  });
  expect(hangs).toEqual([]);
});

function incidentsIn(text: string): number {
  let count = 0;
  const incident = (): number => count++;
  readLogBytes(Buffer.from(text), { incident, note() {} });
  return count;
}

it('lines of Killed are not scanned once more for each of them', () => {
  const next = vi.spyOn(LiteralScanner.prototype, 'next');
  try {
    expect(incidentsIn(`a\n${'Killed\n'.repeat(2000)}`)).toBe(2000);
    expect(next.mock.calls.length).toBeLessThan(20);
  } finally {
    next.mockRestore();
  }
});

it('only the failures among hostile lines are kept', () => {
  const withFailures = Object.entries(HOSTILE_LINES)
    .filter(([, unit]) => incidentsIn(unit.repeat(Math.ceil(20_000 / unit.length))) > 0)
    .map(([name]) => name);
  const failures = ['CUDA out of memory, \\r', 'failure lines', 'failure lines of 512 ranks', 'tracebacks'];
  expect(withFailures).toEqual([...failures, 'lines of Killed']);
});

it('lists of a million elements are appended and searched', () => {
  const list = [3];
  pushAll(
    list,
    Array.from({ length: 1_000_000 }, (_, i) => i),
  );
  expect(list).toHaveLength(1_000_001);
  expect([maxOf(list), minOf(list)]).toEqual([999_999, 0]);
  expect([maxOf([]), minOf([])]).toEqual([Math.max(), Math.min()]);
  expect(maxOf([1, Number.NaN])).toBeNaN();
});
