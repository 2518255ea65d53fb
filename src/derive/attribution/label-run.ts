/**
 * The labels of all blocks of a run in the store. They depend on what the run's logs and
 * configuration say of its size, so they are made once all files of an ingest are read, and again where that changed.
 */
import { NO_RUN_FIGURES } from '../../attribution/blocks/attribution.js';
import type { LivesBuilder } from '../../attribution/blocks/lives.js';
import { StackClassifier } from '../../attribution/blocks/stack-classes.js';
import { builtInRules, RULES_VERSION } from '../../attribution/built-in-rules.js';
import type { Store } from '../../store/store.js';
import { attributeDevice } from './attribute-device.js';
import { readRunFigures } from './blocks/run-figures.js';
import { appendBlockLabels, labelRows } from './label-rows.js';

/** What an ingest has seen of the blocks it wrote, so that it is not read back. */
export interface SeenBlocks {
  /** By the built-in rules. */
  readonly stacks: StackClassifier;
  /** Gives the lives away: they may be large. */
  take(snapshotId: number, device: number): LivesBuilder | undefined;
}

/** Labels the devices of a run whose labels are missing, of other rules, or of other facts of the run. */
export async function labelRun(store: Store, runId: number, seen?: SeenBlocks): Promise<void> {
  const devices = await store.all('attribution.devices', { run_id: runId });
  if (devices.length === 0) return;
  const run = await readRunFigures(store, runId);
  const stacks = seen?.stacks ?? new StackClassifier(builtInRules());
  for (const { snapshot_id, device, rank, rules, figures } of devices) {
    const known = run.figuresOf(rank) ?? NO_RUN_FIGURES;
    const stamp = JSON.stringify([known.rankParameters, known.distributedOptimizer]);
    if (rules === RULES_VERSION && figures === stamp) continue;
    // The lives are not held while their labels are written.
    const { table, label } = await attributeDevice(store, { snapshotId: snapshot_id, device }, builtInRules(), known, {
      stacks,
      lives: seen?.take(snapshot_id, device),
    });
    const id = { snapshot_id, device };
    await store.transaction(async () => {
      for (const stale of ['labelled_device', 'label'])
        await store.run(`DELETE FROM ${stale} WHERE snapshot_id = $snapshot_id AND device = $device`, id);
      await appendBlockLabels(store, { label }, id);
      // A column of block_life, so that no question has to join millions of rows.
      await store.run(
        `UPDATE block_life SET label = fresh.label FROM block_label_staging AS fresh
         WHERE block_life.snapshot_id = $snapshot_id AND block_life.device = $device AND block_life.block = fresh.block`,
        id,
      );
      await store.run('DELETE FROM block_label_staging');
      await store.insertRows('label', labelRows({ table }, id));
      await store.insertRows('labelled_device', [{ ...id, rules: RULES_VERSION, figures: stamp }]);
    });
  }
}
