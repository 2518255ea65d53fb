/** The attribution of every block that lived during a device's trace. */
import { attributeLives } from '../../attribution/attribute-lives.js';
import { type Attribution, NO_RUN_FIGURES, type RunFigures } from '../../attribution/blocks/attribution.js';
import { lifeClasses } from '../../attribution/blocks/life-classes.js';
import type { LivesBuilder } from '../../attribution/blocks/lives.js';
import { phaseWindows } from '../../attribution/blocks/phase-windows.js';
import { StackClassifier } from '../../attribution/blocks/stack-classes.js';
import type { CompiledRules } from '../../attribution/match/compile-rules.js';
import type { Store } from '../../store/store.js';
import { readStacks } from '../stacks/read-stacks.js';
import { type DeviceHistory, deviceHistory } from '../trace/device-history.js';
import { readLives } from './blocks/read-lives.js';
import { stepBoundaries } from './blocks/step-boundaries.js';

export interface DeviceAttribution extends Attribution {
  readonly history: DeviceHistory;
}

/** What is known already and need not be read from the store. */
export interface KnownFacts {
  /** By the same rules; gets the stacks that it lacks. */
  readonly stacks?: StackClassifier | undefined;
  readonly lives?: LivesBuilder | undefined;
}

/** Work per distinct stack and per block; O(entries) in all. */
export async function attributeDevice(
  store: Store,
  snapshot: { readonly snapshotId: number; readonly device: number },
  rules: CompiledRules,
  run: RunFigures = NO_RUN_FIGURES,
  known: KnownFacts = {},
): Promise<DeviceAttribution> {
  const history = await deviceHistory(store, snapshot.snapshotId, snapshot.device);
  const lives = known.lives?.lives(history.trace.events, history.trace.pools) ?? (await readLives(store, history));
  // Rare: a ring lost the allocation, or the history was switched on and off.
  if (lives.stackId.subarray(0, lives.starts).includes(-1)) {
    const id = { snapshot_id: snapshot.snapshotId, device: snapshot.device };
    for (const { block, stack_id } of await store.all('attribution.start_stacks', id)) lives.stackId[block] = stack_id;
  }
  const stacks = known.stacks ?? new StackClassifier(rules);
  const missing = distinct(lives.stackId).filter((id) => !stacks.has(id));
  for (const [id, frames] of await readStacks(store, missing)) stacks.add(id, frames);
  const { classes } = stacks;
  const phases = phaseWindows(lives, classes);
  const life = lifeClasses(lives, await stepBoundaries(store, snapshot, lives.events - 1, phases));
  return { history, ...attributeLives({ lives, classes, phases, life, run }) };
}

/** Ids are small and few against the blocks. */
function distinct(ids: Int32Array): number[] {
  // By index: an iterator takes 40 times as long.
  let most = -1;
  for (let i = 0; i < ids.length; i += 1) if (ids[i]! > most) most = ids[i]!;
  const seen = new Uint8Array(most + 1);
  for (let i = 0; i < ids.length; i += 1) if (ids[i]! >= 0) seen[ids[i]!] = 1;
  return Array.from(seen.keys()).filter((id) => seen[id] === 1);
}
