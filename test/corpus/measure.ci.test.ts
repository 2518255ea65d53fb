/**
 * Whatever the corpus holds can be measured and compared with itself: it adds up, survives its JSON, and is never worse
 * than itself.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PARSERS, readGolden } from '../../parsers/index.js';
import { compareRuns } from '../../src/findings/compare/compare-runs.js';
import { measureRun } from '../../src/findings/flows/measure-run.js';
import { ingest } from '../../src/ingest/ingest.js';
import type { Measurement } from '../../src/model/measurement.js';
import { compareText } from '../../src/report/compare/compare-text.js';
import { wordedComparison } from '../../src/report/compare/worded-comparison.js';
import { summaryText } from '../../src/report/verdict/cause-words.js';
import { openStore, openWithoutTables } from '../../src/store/open-store.js';
import { scratchDirectory } from '../store/scratch.js';
import { CORPUS, SNAPSHOTS, skipLoudly, snapshotPickles, truthOf } from '../support/corpus.js';
import { sampled } from '../support/level.js';
import { newStore } from '../support/new-store.js';

const LOGS = join(CORPUS, 'logs');
const logs = existsSync(LOGS) ? readdirSync(LOGS).filter((name) => !name.endsWith('.meta.json')) : [];
const snapshots = snapshotPickles().filter((name) => truthOf(name).valid !== false);
const paths = [...logs.map((name) => join(LOGS, name)), ...snapshots.map((name) => join(SNAPSHOTS, name))];

async function measured(path: string): Promise<Measurement | undefined> {
  const file = join(scratchDirectory(), 'store.duckdb');
  const written = await newStore(file);
  await ingest({ store: written, parsers: PARSERS, paths: [path], now: new Date() });
  await written.close();
  const store = await openStore(file, { mode: 'read' });
  try {
    const [run] = await store.all('store.runs', { run_id: null });
    return run === undefined ? undefined : await measureRun(store, run.run_id, run.name, { summaryOf: summaryText });
  } finally {
    await store.close();
  }
}

const rules = openWithoutTables();

describe('measuring the corpus', () => {
  if (paths.length === 0) skipLoudly('measuring', 'the reference corpus (MBF_CORPUS)');
  it.each(sampled(paths, 2).map((path) => [path.slice(path.lastIndexOf('/') + 1), path]))('%s', async (_, path) => {
    const run = await measured(path!);
    if (run === undefined) return;
    for (const peak of run.peaks) {
      const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
      expect(sum(peak.sites.map(({ bytes }) => bytes)) + peak.rest_bytes).toBe(peak.active_bytes);
      expect(sum(Object.values(peak.components))).toBe(peak.active_bytes);
    }
    const document = JSON.stringify({
      schema: 'mbforensics/golden@1',
      name: 'x',
      written_at: '2026-01-01',
      runs: [run],
    });
    const read = readGolden(document, 'x.json');
    expect(read).toMatchObject({ kind: 'document', document: { runs: [JSON.parse(JSON.stringify(run))] } });
    const side = { goldenName: 'itself', goldenOrigin: 'run', currentOrigin: 'run' } as const;
    const result = wordedComparison(
      await compareRuns(await rules, {
        ...side,
        golden: [run],
        current: [run],
        tolerances: {},
        allowed: [],
        isWithoutSettings: false,
        force: false,
      }),
    );
    // A log without a single setting shows nothing that it has in common with any other run.
    const hasGround = result.contract.some(({ group, golden }) => group !== 'revision' && golden !== null);
    if (!hasGround && run.peaks.length === 0) return expect(result.refused).toContain('no setting is known');
    expect(result.refused).toBeNull();
    expect(result.contract.every(({ same }) => same)).toBe(true);
    expect([result.sites, result.config, result.env]).toEqual([[], [], []]);
    for (const { name, delta, status } of result.checks) {
      expect(delta ?? 0, name).toBe(0);
      // A run that failed did so twice.
      if (name !== 'status' && name !== 'loss') expect(status, name).not.toBe('regression');
    }
    expect(compareText(result)).not.toMatch(/undefined|NaN/);
  });
});
