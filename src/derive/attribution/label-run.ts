/**
 * The labels of all blocks of a run in the store. They depend on what the run's logs and
 * configuration say of its size, so they are made once all files of an ingest are read, and again where that changed.
 */
import { NO_RUN_FIGURES, type RunFigures } from '../../attribution/blocks/attribution.js';
import type { LivesBuilder } from '../../attribution/blocks/lives.js';
import { StackClassifier } from '../../attribution/blocks/stack-classes.js';
import { builtInRules, RULES_VERSION } from '../../attribution/built-in-rules.js';
import type { Store } from '../../store/store.js';
import { type DeviceId, deviceHistories } from '../trace/device-history.js';
import { attributeDevices, type DeviceAttribution, type KnownFacts } from './attribute-device.js';
import { readRunFigures } from './blocks/run-figures.js';
import { appendBlockLabels, labelRows } from './label-rows.js';

/** What an ingest has seen of the blocks it wrote, so that it is not read back. */
export interface SeenBlocks {
  /** By the built-in rules. */
  readonly stacks: StackClassifier;
  /** Gives the lives away: they may be large. */
  take(snapshotId: number, device: number): LivesBuilder | undefined;
}

/** Of devices that are labelled together, however many: so many labels take 12 MB, and a transaction takes more. */
const MOST_BLOCKS = 500_000;

interface StaleDevice extends DeviceId {
  readonly run: RunFigures;
  /** What of the run its labels depend on. */
  readonly stamp: string;
}

/** Labels the devices of a run whose labels are missing, of other rules, or of other facts of the run. */
export async function labelRun(store: Store, runId: number, seen?: SeenBlocks): Promise<void> {
  const devices = await store.all('attribution.devices', { run_id: runId });
  if (devices.length === 0) return;
  const run = await readRunFigures(store, runId);
  const stacks = seen?.stacks ?? new StackClassifier(builtInRules());
  const stale = devices.flatMap(({ snapshot_id, device, rank, rules, figures }): StaleDevice[] => {
    const known = run.figuresOf(rank) ?? NO_RUN_FIGURES;
    const stamp = JSON.stringify([known.rankParameters, known.distributedOptimizer]);
    return rules === RULES_VERSION && figures === stamp ? [] : [{ snapshot_id, device, run: known, stamp }];
  });
  const histories = await deviceHistories(store, stale);
  for (let from = 0, to = 0; from < stale.length; from = to) {
    let blocks = 0;
    do blocks += histories[to++]!.blocks;
    while (to < stale.length && blocks + histories[to]!.blocks <= MOST_BLOCKS);
    const devicesAtOnce = stale.slice(from, to).map((one, i) => ({ ...one, history: histories[from + i]! }));
    const known: KnownFacts = { stacks, lives: (snapshotId, device) => seen?.take(snapshotId, device) };
    // The lives are not held while their labels are written.
    const labelled = (await attributeDevices(store, devicesAtOnce, builtInRules(), known)).map(
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
      devices.flatMap(({ table, snapshot_id, device }) => labelRows({ table }, { snapshot_id, device })),
    );
    await store.insertRows(
      'labelled_device',
      devices.map(({ snapshot_id, device, stamp }) => ({ snapshot_id, device, rules: RULES_VERSION, figures: stamp })),
    );
  });
}
