/** Snapshots of the corpus, read and written again as JSON, against the pickle. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import type { PeakResult } from '../../src/model/results/common.js';
import type { ExportResult } from '../../src/model/results/export.js';
import { buildCli } from '../support/cli.js';
import { hasPython, SNAPSHOTS, truthOf } from '../support/corpus.js';
import { sampled } from '../support/level.js';
import { snapshotDifferences } from '../support/snapshot-json-truth.js';
import { corpusStore, validSnapshots } from '../support/stores.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { askCorpus, corpusSuite, sum, THE_CORPUS } from './corpus-suite.js';

const files = validSnapshots();

const why = files.length === 0 ? THE_CORPUS : 'python3';

corpusSuite('exports of the snapshots of the corpus', hasPython ? files : [], whenThere, why);

function whenThere(): void {
  const directory = temporaryDirectory();
  /** Handle and peaks by file. */
  let peaks = new Map<string, PeakResult['snapshots'][number]>();

  beforeAll(() => {
    const { snapshots } = askCorpus<PeakResult>('peak');
    peaks = new Map(snapshots.map((snapshot) => [snapshot.path, snapshot]));
  });

  it.each(sampled(files, 6))('%s as JSON is the pickle', (name) => {
    const json = join(directory, 'snapshot.json');
    const output = ['--db', corpusStore(), '--as', 'snapshot-json', '-o', json, '--force', '--json=full'];
    const result = buildCli()
      .expect(0, ['export', peaks.get(name)!.handle, ...output])
      .json<ExportResult>();
    expect(snapshotDifferences(join(SNAPSHOTS, name), json)).toEqual([]);
    expect(result.bytes).toBe(statSync(json).size);
    const entries = Object.values(truthOf(name).traces ?? {}).reduce((sum, trace) => sum + trace.entries, 0);
    expect(result.rows).toBe(entries);
  });

  it.each(sampled(files, 6))('%s as folded stacks adds up to its peaks', (name) => {
    const peak = peaks.get(name)!;
    const { stdout } = buildCli().expect(0, [
      'export',
      peak.handle,
      '--device',
      'all',
      '--db',
      corpusStore(),
      '--as',
      'folded',
    ]);
    const lines = stdout.split('\n').filter((line) => line !== '');
    const bytes = lines.map((line) => Number(/ (\d+)$/.exec(line)![1]));
    expect(sum(bytes)).toBe(sum(peak.devices.map((device) => device.active_bytes)));
  });
}
