import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { alignLaunches, type MetricsSpan } from '../../src/ingest/finish/align-launches.js';
import { ingest } from '../../src/ingest/ingest.js';
import { METRICS_FORMATS } from '../../src/model/vocabulary.js';
import { loadQuery } from '../../src/store/load-queries.js';
import { scratchDirectory } from '../store/scratch.js';
import { SEED } from '../support/level.js';
import { newStore } from '../support/new-store.js';

const HOUR = 3_600_000_000;
const span = (sourceId: number, from: number, to: number): MetricsSpan => ({
  sourceId,
  firstUs: from * HOUR,
  lastUs: to * HOUR,
});
/** Of an hour each. */
const three = (...starts: [number, number, number]): MetricsSpan[] =>
  starts.map((start, i) => span(i + 1, start, start + 1));

const UNTIMED: MetricsSpan = { sourceId: 9, firstUs: null, lastUs: null };

describe('metrics next to logs', () => {
  // The spans, the launches that trained, and the newest launch; `attempts` by source, `shift` of the others.
  it.each([
    ['of the only launch are the only launch', [span(7, 0, 1)], [1], 1, { 7: 1 }, 0],
    // The second of four launches failed before its first iteration and left no metrics.
    ['go with the launches that trained, newest with newest', three(0, 5, 8), [1, 3, 4], 4, { 1: 1, 2: 3, 3: 4 }, 0],
    ['that overlap are of one', [span(1, 0, 4), span(2, 1, 3), span(3, 5, 6)], [1, 2], 2, { 1: 1, 2: 1, 3: 2 }, 0],
    ['without their logs come before, and move the others up', three(0, 2, 4), [1], 1, { 1: 1, 2: 2, 3: 3 }, 2],
    ['without a log that trained go with the newest launch', [span(1, 0, 1)], [], 3, { 1: 3 }, 0],
    ['without a log that trained, of two', [span(1, 0, 1), span(2, 2, 3)], [], 1, { 1: 1, 2: 2 }, 1],
    ['without times go with the newest', [span(1, 0, 1), UNTIMED], [1, 2], 2, { 1: 2, 9: 2 }, 0],
    ['without times, alone', [UNTIMED], [1], 1, { 9: 1 }, 0],
    ['that are none at all move nothing', [], [1, 2], 2, {}, 0],
  ] as const)('%s', (_, spans, trained, newest, attempts, shift) => {
    const aligned = alignLaunches(spans, trained, newest);
    expect([Object.fromEntries(aligned.attempts), aligned.shift]).toEqual([attempts, shift]);
  });

  it('never get a launch below the first, keep their order, and move the others only as far as needed', () => {
    const unique = (min: number, max: number, most: { minLength?: number; maxLength: number }) =>
      fc.uniqueArray(fc.integer({ min, max }), most);
    const property = fc.property(
      unique(0, 50, { minLength: 1, maxLength: 8 }),
      unique(1, 9, { maxLength: 6 }),
      fc.integer({ min: 0, max: 3 }),
      (starts, launches, beyond) => {
        const trained = launches.sort((a, b) => a - b);
        const newest = (trained.at(-1) ?? 1) + beyond;
        const spans = starts.map((start, index) => span(index, start * 2, start * 2 + 1));
        const { attempts, shift } = alignLaunches(spans, trained, newest);
        const byStart = [...spans].sort((a, b) => a.firstUs! - b.firstUs!);
        const inOrder = byStart.map(({ sourceId }) => attempts.get(sourceId)!);
        expect(inOrder.every((attempt, i) => attempt >= 1 && (i === 0 || attempt > inOrder[i - 1]!))).toBe(true);
        expect(inOrder.at(-1)).toBe((trained.at(-1) ?? newest) + shift);
        if (shift > 0) expect(inOrder[0]).toBe(1);
      },
    );
    fc.assert(property, { seed: SEED });
  });

  it('are numbered with the logs of a run when it is ingested, and again when one more comes', async () => {
    const directory = scratchDirectory();
    const run = join(directory, 'run');
    mkdirSync(run);
    const log = (job: number): void =>
      writeFileSync(
        join(run, `slurm-${job}.out`),
        ' iteration        1/     100 | consumed samples:           16 | elapsed time per iteration (ms): 9876.5 | learning rate: 1.000000E-04 | global batch size:    16 | lm loss: 7.100000E+00 | loss scale: 1.0 | grad norm: 1.000 | number of skipped iterations:   0 | number of nan iterations:   0 |\n',
      );
    const curve = (launch: number): void => {
      const rows = [1, 2, 3].map((step) => `${1_760_000_000 + launch * 10_000 + step},${step},${10 - step}`);
      writeFileSync(join(run, `run-${launch}-tag-lm loss.csv`), `Wall time,Step,Value\n${rows.join('\n')}\n`);
    };
    const store = await newStore(join(directory, 'store.duckdb'));
    const attempts = async (): Promise<Record<string, number>> => {
      await ingest({ rowsOnly: true, store, parsers: PARSERS, paths: [run], now: new Date() });
      const rows = await store.select('SELECT display_path, attempt FROM source ORDER BY display_path');
      return Object.fromEntries(rows.map((row) => [String(row['display_path']), Number(row['attempt'])]));
    };
    try {
      log(1000);
      log(2000);
      curve(1);
      expect(await attempts()).toEqual({ 'run-1-tag-lm loss.csv': 2, 'slurm-1000.out': 1, 'slurm-2000.out': 2 });
      curve(2);
      curve(3);
      expect(await attempts()).toEqual({
        'run-1-tag-lm loss.csv': 1,
        'run-2-tag-lm loss.csv': 2,
        'run-3-tag-lm loss.csv': 3,
        'slurm-1000.out': 2,
        'slurm-2000.out': 3,
      });
    } finally {
      await store.close();
    }
  });

  it('are of the formats that the queries take for metrics', () => {
    const { statement } = loadQuery('library.metrics_sources');
    expect([...statement.matchAll(/'([^']+)'/g)].map(([, format]) => format)).toEqual([...METRICS_FORMATS]);
  });
});
