/**
 * Labels of blocks that ingest did not label (`src/ingest/derive/label-trace.ts`), or labelled from other facts: labels
 * depend on figures from the logs and configuration.
 */
import { figuresStamp, type RunFigures } from '../../attribution/blocks/attribution.js';
import { labelRows } from '../../attribution/blocks/labels.js';
import { StackClassifier } from '../../attribution/blocks/stack-classes.js';
import { builtInRules, RULES_VERSION } from '../../attribution/built-in-rules.js';
import type { Store } from '../../store/store.js';
import { type DeviceId, deviceHistories } from '../trace/device-history.js';
import { attributeDevices, type DeviceAttribution } from './attribute-device.js';
import { readRunFigures } from './blocks/run-figures.js';
import { appendBlockLabels } from './label-rows.js';

/** Of devices that are labelled together, however many: so many labels take 12 MB, and a transaction takes more. */
const MOST_BLOCKS = 500_000;

interface StaleDevice extends DeviceId {
  readonly run: RunFigures;
  /** What of the run its labels depend on. */
  readonly stamp: string;
}

/** Labels the devices of a run whose labels are missing, or were made with other rules or facts. */
export async function labelRun(store: Store, runId: number): Promise<void> {
  const devices = await store.all('attribution.devices', { run_id: runId });
  if (devices.length === 0) return;
  const run = await readRunFigures(store, runId);
  const stale = devices.flatMap(({ snapshot_id, device, rank, rules, figures }): StaleDevice[] => {
    const own = run.figuresOf(rank);
    const stamp = figuresStamp(own);
    return rules === RULES_VERSION && figures === stamp ? [] : [{ snapshot_id, device, run: own, stamp }];
  });
  const histories = await deviceHistories(store, stale);
  const stacks = new StackClassifier(builtInRules());
  for (let from = 0, to = 0; from < stale.length; from = to) {
    let blocks = 0;
    do blocks += histories[to++]!.blocks;
    while (to < stale.length && blocks + histories[to]!.blocks <= MOST_BLOCKS);
    const devicesAtOnce = stale.slice(from, to).map((one, i) => ({ ...one, history: histories[from + i]! }));
    // The lives are not held while their labels are written.
    const labelled = (await attributeDevices(store, devicesAtOnce, builtInRules(), stacks)).map(
      ({ table, label }, i): LabelledDevice => ({ ...devicesAtOnce[i]!, table, label }),
    );
    await writeLabels(store, labelled);
  }
}

type LabelledDevice = Pick<DeviceAttribution, 'table' | 'label'> & DeviceId & Pick<StaleDevice, 'stamp'>;

/** Replaces the labels of devices, which are in the order of their snapshots. */
function writeLabels(store: Store, devices: readonly LabelledDevice[]): Promise<void> {
  const of = devices.map(({ snapshot_id, device }) => `(${snapshot_id}, ${device})`).join(', ');
  const [first, last] = [devices[0]!.snapshot_id, devices.at(-1)!.snapshot_id];
  return store.transaction(async () => {
    for (const stale of ['labelled_device', 'label'])
      await store.run(`DELETE FROM ${stale} WHERE (snapshot_id, device) IN (${of})`);
    await appendBlockLabels(store, devices);
    // A column of block_life, so that no question has to join millions of rows.
    await store.run(
      `UPDATE block_life SET label = fresh.label FROM block_label_staging AS fresh
       WHERE block_life.snapshot_id BETWEEN $first AND $last AND block_life.snapshot_id = fresh.snapshot_id
         AND block_life.device = fresh.device AND block_life.block = fresh.block`,
      { first, last },
    );
    await store.run('DELETE FROM block_label_staging');
    await store.insertRows(
      'label',
      devices.flatMap(({ table, snapshot_id, device }) => labelRows(table.labels, { snapshot_id, device })),
    );
    await store.insertRows(
      'labelled_device',
      devices.map(({ snapshot_id, device, stamp }) => ({ snapshot_id, device, rules: RULES_VERSION, figures: stamp })),
    );
  });
}
