/** Every snapshot of the corpus, read and written again as JSON, against the pickle. */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ExportResult } from '../../src/model/export-results.js';
import type { PeakResult } from '../../src/model/results.js';
import { buildCli, type Cli } from '../support/cli.js';
import { hasPython, SNAPSHOTS, skipLoudly, snapshotPickles, truthOf } from '../support/corpus.js';
import { snapshotDifferences } from '../support/snapshot-json-truth.js';

const files = snapshotPickles().filter((name) => truthOf(name).valid !== false);

describe('exports of the snapshots of the corpus', () => {
  if (files.length === 0 || !hasPython) {
    skipLoudly('exports of the corpus', files.length === 0 ? 'the corpus (set MBF_CORPUS)' : 'python3');
    return;
  }
  let cli: Cli;
  let directory = '';
  const env = () => ({ env: { XDG_CACHE_HOME: join(directory, 'cache') } });

  beforeAll(() => {
    cli = buildCli('corpus-export');
    directory = mkdtempSync(join(tmpdir(), 'mbf-corpus-export-'));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it.each(files)('%s as JSON is the pickle', (name) => {
    const pickle = join(SNAPSHOTS, name);
    const json = join(directory, 'snapshot.json');
    const args = ['export', pickle, '--as', 'snapshot-json', '-o', json, '--force', '--json'];
    const result = cli.expect(0, args, env()).json<ExportResult>();
    expect(snapshotDifferences(pickle, json)).toEqual([]);
    expect(result.bytes).toBe(statSync(json).size);
    const entries = Object.values(truthOf(name).traces ?? {}).reduce((sum, trace) => sum + trace.entries, 0);
    expect(result.rows).toBe(entries);
  });

  it.each(files)('%s as folded stacks adds up to its peaks', (name) => {
    const pickle = join(SNAPSHOTS, name);
    const peak = cli.expect(0, ['peak', pickle, '--json'], env()).json<PeakResult>();
    const { stdout } = cli.expect(0, ['export', pickle, '--as', 'folded'], env());
    const lines = stdout.split('\n').filter((line) => line !== '');
    const sum = lines.reduce((total, line) => total + Number(/ (\d+)$/.exec(line)![1]), 0);
    expect(sum).toBe(peak.snapshots[0]!.devices.reduce((total, device) => total + device.active_bytes, 0));
  });
});
