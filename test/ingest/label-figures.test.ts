/** Labels are made with what the latest launch prints, in whatever order its files are read. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { ingest } from '../../src/ingest/ingest.js';
import type { Store } from '../../src/store/store.js';
import { newStore } from '../support/new-store.js';
import { recordProgram } from '../support/recorded-program.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const MIB = 2 ** 20;
const RULE = '='.repeat(70);
const summary = (isDistributed: boolean): string =>
  [
    RULE,
    'Configuration Summary (Non-Default Values vs Megatron Core)',
    RULE,
    '',
    '[optimizer] Non-default values (vs Mcore OptimizerConfig):',
    `  use_distributed_optimizer: ${isDistributed ? 'True' : 'False'}  (Mcore default: ${isDistributed ? 'False' : 'True'})`,
    '',
    RULE,
    '',
  ].join('\n');
const snapshot = recordProgram([{ alloc: 'kept', bytes: 4 * MIB, stack: ['log megatron/training/training.py:6'] }], []);

const root = temporaryDirectory();
const read = (store: Store, folder: string) =>
  ingest({ store, parsers: PARSERS, run: 'r', paths: [join(root, folder)], now: new Date(0) });
const figuresOf = async (store: Store): Promise<unknown[]> =>
  (await store.select('SELECT figures FROM labelled_device')).map(({ figures }) => figures);

it.each([
  ['the names of the launches are in another order', 'z-30000001.out', 'a-30000002.out'],
  ['a log has the name of a snapshot', 'a-30000001.out', 'b-30000002.out.pkl'],
])('where %s', async (what, first, second) => {
  const folder = what.replaceAll(' ', '-');
  mkdirSync(join(root, folder));
  writeFileSync(join(root, folder, first), summary(false));
  writeFileSync(join(root, folder, second), summary(true));
  writeFileSync(join(root, folder, 'snapshot_0.pickle'), snapshot);
  const store = await newStore(join(root, `${folder}.duckdb`));
  await read(store, folder);
  expect(await figuresOf(store)).toEqual(['[null,true]']);
  // Nothing is left to be corrected by reading the same again.
  await read(store, folder);
  expect(await figuresOf(store)).toEqual(['[null,true]']);
  await store.close();
});
