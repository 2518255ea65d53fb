/** Runs in which thousands of ranks fail: every failure is counted, few are described. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { failingRanksLog } from '../../bench/failing-ranks-log.js';
import { PARSERS } from '../../parsers/index.js';
import { derive, STEPS } from '../../src/derive/derive.js';
import { diagnose } from '../../src/findings/flows/diagnose.js';
import { describeLog } from '../../src/findings/run/describe-log.js';
import { type DroppedIncidents, deriving } from '../../src/ingest/derive/derive-snapshot.js';
import { ingest } from '../../src/ingest/ingest.js';
import { allFailures } from '../../src/model/all-failures.js';
import { CONCLUDED_TABLES } from '../../src/model/derived-tables.js';
import type { DiagnoseResult } from '../../src/model/results/common.js';
import type { IncidentRow } from '../../src/model/tables.js';
import { documentText } from '../../src/report/render/text.js';
import { logDocument } from '../../src/report/run/log-document.js';
import { wordDiagnosis } from '../../src/report/verdict/word-verdict.js';
import type { Store } from '../../src/store/store.js';
import { newStore } from '../support/new-store.js';
import { diagnoseText } from '../support/screen.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const root = temporaryDirectory();
const opened: Store[] = [];
afterAll(() => Promise.all(opened.map((store) => store.close())));

async function storeOf(name: string, log: string): Promise<Store> {
  const directory = join(root, name);
  mkdirSync(directory);
  writeFileSync(join(directory, 'train.log'), log);
  const store = await newStore(`${directory}.duckdb`);
  opened.push(store);
  await ingest({ store, parsers: PARSERS, paths: [directory], now: new Date() });
  return store;
}

async function answerOf(store: Store): Promise<DiagnoseResult> {
  return wordDiagnosis(await diagnose(store, 1, 'run'));
}

const numberOf = async (store: Store, sql: string): Promise<number> =>
  Number(Object.values((await store.select(sql))[0]!)[0]);

describe('ten thousand failing ranks', () => {
  const RANKS = 10_000;
  let store: Store;
  let result: DiagnoseResult;
  beforeAll(async () => {
    store = await storeOf('crowd', failingRanksLog(RANKS));
    result = await answerOf(store);
  }, 120_000);

  it('have a failure each', async () => {
    expect(await numberOf(store, 'SELECT count(*) FROM incident')).toBe(RANKS);
    expect(await numberOf(store, 'SELECT count(*) FROM incident_dropped')).toBe(0);
    expect(await numberOf(store, 'SELECT count(*) FROM rank_summary WHERE printed_ooms = 1')).toBe(RANKS);
    expect(await numberOf(store, 'SELECT printed_ooms FROM run_summary')).toBe(RANKS);
    expect(await numberOf(store, 'SELECT count(DISTINCT rank) FROM verdict')).toBe(RANKS);
  });

  it('are described by one of each kind, and the first ones', async () => {
    const failures = allFailures(result.verdicts);
    expect(new Set(failures.map(({ rank }) => rank)).size).toBe(RANKS);
    expect(failures).toHaveLength(RANKS);
    // The sixteen first ones are of the first of eight pipeline stages.
    expect(result.verdicts).toHaveLength(16 + 7);
    expect(result.verdicts[0]).toMatchObject({ rank: 0, cause: 'capacity' });
    const numbers = result.verdicts.flatMap(({ also }, i) => [i + 1, ...also.map(({ number }) => number)]);
    expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: RANKS }, (_, i) => i + 1));
    expect(await numberOf(store, 'SELECT count(DISTINCT verdict) FROM evidence')).toBe(16 + 7);
  });

  it('are counted only with one of the same verdict, tests, request and stage', async () => {
    const different = `
      SELECT count(*)
      FROM verdict AS counted
      JOIN verdict AS other ON other.number = counted.counted_with
      JOIN oom_fact AS fact ON fact.failure = counted.failure
      JOIN oom_fact AS other_fact ON other_fact.failure = other.failure
      WHERE other.counted_with IS NOT NULL OR counted.rank // 1250 <> other.rank // 1250
        OR fact.request_bytes <> other_fact.request_bytes
        OR (counted.cause, counted.detail, counted.confidence, counted.reason, counted.doubts, counted.untested_rivals)
          IS DISTINCT FROM (other.cause, other.detail, other.confidence, other.reason, other.doubts, other.untested_rivals)
        OR (SELECT list((cause, outcome, reason) ORDER BY place) FROM cause_test AS test WHERE test.failure = counted.failure)
          IS DISTINCT FROM (SELECT list((cause, outcome, reason) ORDER BY place) FROM cause_test AS test WHERE test.failure = other.failure)`;
    expect(await numberOf(store, different)).toBe(0);
  });

  it('are all on the screens', async () => {
    const text = diagnoseText(result, { full: true });
    expect(text).toContain('10,000 verdicts');
    expect(text).toContain('other ranks or devices: the same verdict (9,999)');
    expect(text).toContain('ranks 1-9999: the same verdict, confidence medium');
    expect(text).not.toContain('not kept');
  });
});

describe('failing ranks of different kinds', () => {
  it('are each described', async () => {
    const lines = failingRanksLog(64).split('\n');
    // One whose GPU is smaller, and one with another request.
    const changed = lines.map((line) =>
      /^\[rank7\].*OutOfMemory/.test(line)
        ? line.replaceAll('79.10 GiB', '79.20 GiB')
        : /^\[rank61\].*OutOfMemory/.test(line)
          ? line.replace(/allocate \S+ [GM]iB/, 'allocate 9.00 GiB')
          : line,
    );
    const { verdicts } = await answerOf(await storeOf('kinds', changed.join('\n')));
    const described = verdicts.map(({ rank }) => rank);
    // The first ones, with the smaller GPU among them; the first of each further stage; the one with another request.
    expect(described).toEqual([...Array(16).keys(), 16, 24, 32, 40, 48, 56, 61]);
    expect(verdicts.find(({ rank }) => rank === 61)?.also).toEqual([]);
    expect(allFailures(verdicts)).toHaveLength(64);
  });
});

describe('messages that are not kept', () => {
  const line = (rank: number): string =>
    `[rank${rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n`;

  it('are counted by rank, and are a line of the screens', async () => {
    const ranks = Array.from({ length: 3000 }, (_, rank) => line(rank)).join('');
    const store = await storeOf('repeated', ranks.repeat(3));
    expect(await numberOf(store, 'SELECT count(*) FROM incident')).toBe(4096);
    expect(await numberOf(store, 'SELECT count(*) FROM rank_summary WHERE printed_ooms = 3')).toBe(3000);
    expect(await numberOf(store, 'SELECT printed_ooms FROM run_summary')).toBe(9000);
    const result = await answerOf(store);
    expect(result.messages_dropped).toBe(9000 - 4096);
    expect(diagnoseText(result).replaceAll(/\s+/g, ' ')).toContain('4,904 further messages are counted and not kept');
    expect(documentText(logDocument(await describeLog(store, 1, 'run')))).toContain(
      '4,904 further messages are counted and not kept',
    );
  });

  it('of more ranks than are counted make their number unknown, not 0', async () => {
    const rows: DroppedIncidents[] = [];
    let kept = 0;
    const ignore = (): never => {
      throw new Error('not expected');
    };
    const sink = deriving({
      note: () => undefined,
      incident: () => {
        kept += 1;
      },
      droppedIncidents: (dropped) => void rows.push(...dropped),
      ...{ textRows: ignore, textRow: ignore, attempt: ignore, snapshot: ignore, nsys: undefined },
    });
    const incident = { kind: 'cuda_oom', attempt: 1, device: 0, bytes: {}, processes: [] } as unknown as IncidentRow;
    for (let rank = 0; rank < 70_000; rank += 1) sink.incident({ ...incident, rank, line: rank });
    sink.end();
    expect(kept).toBe(16_384);
    expect(rows).toHaveLength(65_536 - 16_384 + 1);
    expect(rows.at(-1)).toMatchObject({ kind: null, rank: null, isOom: true, count: 70_000 - 65_536 });

    const store = await storeOf('unknown', `${line(0)}${line(1)}`);
    await store.transaction(() => store.insertRows('incident_dropped', [{ source_id: 1, ...rows.at(-1)! }]));
    await derive(store, [1]);
    const summary = await store.select('SELECT rank, printed_ooms FROM rank_summary ORDER BY rank');
    expect(summary).toEqual([0, 1].map((rank) => ({ rank, printed_ooms: null })));
    expect((await store.select('SELECT printed_ooms FROM run_summary'))[0]).toEqual({ printed_ooms: null });
    const pictured = await store.all('picture.ranks', { run: 'unknown' });
    expect(pictured.map(({ ooms }) => ooms)).toEqual([null, null]);
    expect((await answerOf(store)).messages_dropped).toBe(70_000 - 65_536);
  });
});

it('knows the tables that steps write', () => {
  expect([...CONCLUDED_TABLES].sort()).toEqual(
    STEPS.slice(1)
      .flatMap(({ tables }) => tables)
      .sort(),
  );
});
