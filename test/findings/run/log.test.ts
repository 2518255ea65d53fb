/** From text rows to results: what `log`, `iterations`, `memory` show of rows written by hand, in `log.yaml`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { describeIterations } from '../../../src/derive/run/iterations.js';
import { readLogFacts } from '../../../src/derive/run/log-facts.js';
import { describeMemory } from '../../../src/derive/run/memory.js';
import { describeLog } from '../../../src/findings/run/describe-log.js';
import type { LogRun } from '../../../src/model/results/log.js';
import { GIB, MIB } from '../../../src/model/units.js';
import { documentJson } from '../../../src/report/render/json.js';
import { documentText } from '../../../src/report/render/text.js';
import { logDocument } from '../../../src/report/run/log-document.js';
import { memoryDocument } from '../../../src/report/run/memory-document.js';
import { worded } from '../../../src/report/words/worded.js';
import type { Store } from '../../../src/store/store.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { openTextRuns, RUN, type TextSource } from '../../support/text-run.js';

type Size = string | number;
interface WrittenIncident {
  readonly bytes?: Readonly<Record<string, Size | readonly [Size, precision: number]>>;
  readonly processes?: readonly (readonly [pid: number, bytes: Size])[];
}
interface Case {
  readonly case: string;
  readonly files: Readonly<Record<string, NonNullable<TextSource['rows']>>>;
  readonly incidents?: Readonly<Record<string, readonly WrittenIncident[]>>;
  readonly attempts?: TextSource['attempts'];
  /** Of the file; or the one that is asked about. */
  readonly rank?: number;
  readonly asks?: 'memory';
  readonly is?: object;
  readonly equals?: Readonly<Record<string, unknown>>;
  readonly unknown?: 'versions';
}

const GROUPS = parse(readFileSync(new URL('log.yaml', import.meta.url), 'utf8')) as Record<string, readonly Case[]>;
const CASES = Object.values(GROUPS).flat();

const sizeOf = (size: Size): number =>
  typeof size === 'number' ? size : Number.parseFloat(size) * (size.endsWith('GiB') ? GIB : MIB);
const printed = (size: Size, precisionBytes = 0) => ({
  bytes: sizeOf(size),
  text: String(sizeOf(size)),
  precisionBytes,
});

const incidentOf = ({ bytes = {}, processes = [], ...rest }: WrittenIncident) => ({
  ...rest,
  bytes: Object.fromEntries(
    Object.entries(bytes).map(([name, figure]) => [
      name,
      Array.isArray(figure) ? printed(figure[0], figure[1]) : printed(figure as Size),
    ]),
  ),
  processes: processes.map(([pid, size]) => ({ pid, printed: printed(size) })),
});

const sourcesOf = ({ files, incidents = {}, attempts = [], rank, asks }: Case): TextSource[] =>
  Object.entries(files).map(([path, rows]) => ({
    ...{ path, rows, attempts, incidents: (incidents[path] ?? []).map(incidentOf) },
    ...(rank === undefined || asks === 'memory' ? {} : { rank }),
  }));

/** Sizes and patterns in what is expected. */
function expected(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(expected);
  if (typeof value === 'string') {
    if (/^\d+[GM]iB$/.test(value)) return sizeOf(value);
    if (/^\/.*\/$/.test(value)) return expect.stringMatching(new RegExp(value.slice(1, -1)));
    return value.startsWith('~') ? expect.closeTo(Number(value.slice(1))) : value;
  }
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, expected(inner)]));
}

const FIFTY = Array.from({ length: 50 }, (_, i) => `iteration ${i + 1} ${100 + i}`);
function* thousandRanks(): Generator<string> {
  for (let at = 1; at <= 20; at += 1)
    for (let rank = 0; rank < 1024; rank += 1)
      for (const metric of ['allocated', 'max_allocated', 'reserved', 'max_reserved'])
        yield `memory ${rank} ${at} ${metric} ${GIB + rank * 1024 + at}`;
}

let store: Store;
beforeAll(async () => {
  const more = [FIFTY, [...thousandRanks()]].map((rows) => [{ path: 'a.log', rows }]);
  store = await openTextRuns(join(temporaryDirectory(), 'log.duckdb'), [...CASES.map(sourcesOf), ...more]);
});
afterAll(() => store.close());

async function logOf(runId: number): Promise<LogRun> {
  const result = await describeLog(store, runId, RUN);
  const lines = documentText(logDocument(result)).split('\n');
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
  expect(lines.length).toBeLessThanOrEqual(41);
  expect(documentJson(logDocument(result))).toMatchObject({ run: RUN });
  expect(documentText(logDocument(result))).not.toMatch(/undefined|NaN|\[object/);
  expect(JSON.parse(JSON.stringify(result))).toEqual(result);
  return result.runs[0]!;
}

async function memoryOf(runId: number, rank: number | undefined) {
  const { layout, layoutOrigin } = await readLogFacts(store, runId);
  const result = worded(await describeMemory(store, runId, RUN, { layout, origin: layoutOrigin }, { rank }));
  const text = documentText(memoryDocument(result));
  expect(documentJson(memoryDocument(result))).toMatchObject({ run: RUN });
  expect(text).not.toMatch(/undefined|NaN|\[object/);
  expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(130);
  return result;
}

describe.each(Object.entries(GROUPS))('%s', (_, cases) => {
  it.each(cases)('$case', async (one) => {
    const runId = CASES.indexOf(one) + 1;
    const result = one.asks === 'memory' ? await memoryOf(runId, one.rank) : await logOf(runId);
    expect(result).toMatchObject(expected(one.is ?? {}) as object);
    for (const [name, value] of Object.entries(one.equals ?? {}))
      expect(result[name as keyof typeof result], name).toEqual(expected(value));
    if (one.unknown !== undefined)
      expect(new Set(Object.values((result as LogRun)[one.unknown]))).toEqual(new Set([null]));
  });
});

it('iterations are listed in order, the last ones where rows are limited', async () => {
  const result = await describeIterations(store, CASES.length + 1, RUN, { newest: 3 });
  expect(result.rows.map((row) => row.iteration)).toEqual([48, 49, 50]);
  expect(result.rows[0]).toMatchObject({ step_ms: 147, file: 'a.log', line: 48, attempt: 1, loss: null });
  expect(result.rows_left_out).toBe(47);
  expect(result.attempts).toMatchObject([{ attempt: 1, count: 50, monotonic: true }]);
});

it('memory of a thousand ranks and many samples is one page', async () => {
  const result = await describeLog(store, CASES.length + 2, RUN, { mostMemoryRecords: 10 });
  const text = documentText(logDocument(result));
  expect(result.runs[0]).toMatchObject({ memory_records: 81_920, ranks_seen: 1024 });
  expect(result.runs[0]!.memory.length).toBe(10);
  expect(text.split('\n').length).toBeLessThanOrEqual(41);
  expect(text).toContain('0-1023');
});
