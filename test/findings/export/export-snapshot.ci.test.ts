/**
 * Snapshots written again as JSON: generated pickles with every key and value that the reader knows, and states at
 * moments.
 */
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PARSERS } from '../../../parsers/index.js';
import { exportSnapshot } from '../../../src/findings/export/export-snapshot.js';
import { ingest } from '../../../src/ingest/ingest.js';
import type { Store } from '../../../src/store/store.js';
import { hasPython, skipLoudly } from '../../support/corpus.js';
import { generatePickles } from '../../support/generate-pickles.js';
import { newStore } from '../../support/new-store.js';
import { python } from '../../support/python-truth.js';
import { snapshotDifferences } from '../../support/snapshot-json-truth.js';

const SMALL_SIZES = `
import pickle, sys
for path in sys.argv[1:]:
    with open(path, 'rb') as f: top = pickle.load(f)
    for trace in top.get('device_traces', []) if isinstance(top, dict) else []:
        for e in trace:
            if 'size' in e: e['size'] %= 2**33 + 1
    with open(path, 'wb') as f: pickle.dump(top, f, 4)
`;

describe('generated snapshots as JSON', () => {
  if (!hasPython) {
    skipLoudly('snapshots as JSON', 'python3');
    return;
  }
  let directory = '';
  let store: Store;
  let names: string[] = [];

  beforeAll(async () => {
    directory = realpathSync(mkdtempSync(join(tmpdir(), 'mbf-export-json-')));
    // Of those that hold the same values in other opcodes, one is enough.
    const encodings = /^(?:big|batch|length|pure|optimized|unshared)|-[235]$/;
    names = generatePickles(directory, 11).filter((name) => !encodings.test(name) || name === 'length-c-1001');
    // The sizes are made to try a decoder; a store refuses traces that add up to more than 2^53 bytes.
    python(
      SMALL_SIZES,
      names.map((name) => join(directory, `${name}.pickle`)),
    );
    store = await newStore(join(directory, 'store.duckdb'));
    const paths = names.map((name) => join(directory, `${name}.pickle`));
    const { sources } = await ingest({
      rowsOnly: true,
      store,
      parsers: PARSERS,
      paths,
      now: new Date(),
      run: 'generated',
    });
    expect(sources.filter((source) => source.status !== 'ingested')).toEqual([]);
  });
  afterAll(async () => {
    await store.close();
    rmSync(directory, { recursive: true, force: true });
  });

  it('are what was read', async () => {
    const snapshots = await store.all('snapshot.list');
    expect(snapshots).toHaveLength(names.length);
    const wrong: Record<string, readonly string[]> = {};
    for (const row of snapshots) {
      const target = {
        snapshotId: row.snapshot_id,
        path: row.display_path,
        handle: row.handle,
        rank: null,
        form: row.form,
        device: undefined,
      };
      const json = join(directory, 'snapshot.json');
      writeFileSync(json, await text(store, target));
      const differences = snapshotDifferences(join(directory, row.display_path), json);
      if (differences.length > 0) wrong[row.display_path] = differences;
    }
    expect(wrong).toEqual({});
  });
});

async function text(store: Store, target: Parameters<typeof exportSnapshot>[1]): Promise<string> {
  const exported = await exportSnapshot(store, target, undefined);
  const pieces: string[] = [];
  for await (const piece of exported.pieces) pieces.push(piece);
  return pieces.join('');
}
