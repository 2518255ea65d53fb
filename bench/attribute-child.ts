/**
 * `node attribute-child.js DB`: the attribution of the first snapshot of a store alone, its history being known; rules
 * are compiled within.
 */

import { compiledRules } from '../src/attribution/built-in-rules.js';
import { attributeDevice } from '../src/derive/attribution/attribute-device.js';
import { deviceHistory } from '../src/derive/trace/device-history.js';
import { openStore } from '../src/store/open-store.js';

const [, , db] = process.argv;
const store = await openStore(db!, { mode: 'read' });
await deviceHistory(store, 1, 0);
const began = performance.now();
const { lives, table } = await attributeDevice(store, { snapshotId: 1, device: 0 }, compiledRules());
const seconds = (performance.now() - began) / 1000;
await store.close();
process.stdout.write(JSON.stringify({ seconds, blocks: lives.count, labels: table.labels.length }));
