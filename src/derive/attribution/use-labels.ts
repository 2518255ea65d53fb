/**
 * The labels by which a question is answered: those of the store, or where they are of other rules or missing, labels
 * made for the question. These are in TEMP objects with the names of the tables, so that the same queries read them,
 * also where the store cannot be written.
 */
import { labelRows } from '../../attribution/blocks/labels.js';
import { builtInRules, RULES_VERSION } from '../../attribution/built-in-rules.js';
import type { CompiledRules } from '../../attribution/match/compile-rules.js';
import type { Store } from '../../store/store.js';
import { attributeDevice } from './attribute-device.js';
import { readRunFigures } from './blocks/run-figures.js';
import { appendBlockLabels } from './label-rows.js';

/** What the TEMP labels of a store were made by, and for which devices. */
const made = new WeakMap<Store, { readonly rules: CompiledRules; readonly devices: Set<string> }>();

/** To be called before a query on `label` or `block_life`: it then finds labels of the device by these rules. */
export async function useLabels(
  store: Store,
  snapshotId: number,
  device: number,
  rules: CompiledRules = builtInRules(),
): Promise<void> {
  const id = { snapshot_id: snapshotId, device };
  const key = `${snapshotId} ${device}`;
  const before = made.get(store);
  if (before !== undefined && before.rules !== rules) {
    for (const table of ['block_life', 'label', 'block_label_staging']) await store.unshadow(table);
    made.delete(store);
  }
  const temporary = made.get(store);
  if (temporary?.devices.has(key)) return;
  if (rules === builtInRules() && (await store.one('attribution.labelled', { ...id, rules: RULES_VERSION }))) return;
  const run = await store.one('replay.run_of_snapshot', { snapshot_id: snapshotId });
  const figures = run === undefined ? undefined : (await readRunFigures(store, run.run_id)).figuresOf(run.rank);
  const of = await attributeDevice(store, { snapshotId, device }, rules, figures);
  if (temporary === undefined) {
    await store.shadow('label');
    await store.shadow('block_label_staging');
    await store.shadowColumn('block_life', 'label', 'block_label_staging', ['snapshot_id', 'device', 'block']);
  }
  await store.transaction(async () => {
    await store.run('DELETE FROM label WHERE snapshot_id = $snapshot_id AND device = $device', id);
    await appendBlockLabels(store, [{ ...id, label: of.label }]);
    await store.insertRows('label', labelRows(of.table.labels, id));
  });
  if (temporary === undefined) made.set(store, { rules, devices: new Set([key]) });
  else temporary.devices.add(key);
}
