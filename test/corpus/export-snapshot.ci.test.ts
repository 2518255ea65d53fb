/** Snapshots of the corpus, read and written again as JSON, against the pickle. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { PeakResult } from '../../src/model/results/common.js';
import type { ExportResult } from '../../src/model/results/export.js';
import { buildCli, type Cli } from '../support/cli.js';
import { hasPython, SNAPSHOTS, skipLoudly, truthOf } from '../support/corpus.js';
import { sampled } from '../support/level.js';
import { snapshotDifferences } from '../support/snapshot-json-truth.js';
import { corpusStore, validSnapshots } from '../support/stores.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const files = validSnapshots();

describe('exports of the snapshots of the corpus', () => {
  if (files.length === 0 || !hasPython) {
    skipLoudly('exports of the corpus', files.length === 0 ? 'the corpus (set MBF_CORPUS)' : 'python3');
    return;
  }
  let cli: Cli;
  const directory = temporaryDirectory();
  let db = '';
  /** Handle and peaks by file. */
  let peaks = new Map<string, PeakResult['snapshots'][number]>();

  beforeAll(() => {
    cli = buildCli();
    db = corpusStore();
    const { snapshots } = cli.expect(0, ['peak', 'corpus', '--json', '--db', db]).json<PeakResult>();
    peaks = new Map(snapshots.map((snapshot) => [snapshot.path, snapshot]));
  });

  it.each(sampled(files, 2))('%s as JSON is the pickle', (name) => {
    const json = join(directory, 'snapshot.json');
    const args = [
      'export',
      peaks.get(name)!.handle,
      '--db',
      db,
      '--as',
      'snapshot-json',
      '-o',
      json,
      '--force',
      '--json',
    ];
    const result = cli.expect(0, args).json<ExportResult>();
    expect(snapshotDifferences(join(SNAPSHOTS, name), json)).toEqual([]);
    expect(result.bytes).toBe(statSync(json).size);
    const entries = Object.values(truthOf(name).traces ?? {}).reduce((sum, trace) => sum + trace.entries, 0);
    expect(result.rows).toBe(entries);
  });

  it.each(files)('%s as folded stacks adds up to its peaks', (name) => {
    const peak = peaks.get(name)!;
    const { stdout } = cli.expect(0, ['export', peak.handle, '--db', db, '--as', 'folded']);
    const lines = stdout.split('\n').filter((line) => line !== '');
    const sum = lines.reduce((total, line) => total + Number(/ (\d+)$/.exec(line)![1]), 0);
    expect(sum).toBe(peak.devices.reduce((total, device) => total + device.active_bytes, 0));
  });
});
