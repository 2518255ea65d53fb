/** The attribution of every block that lived during the traces of devices. */
import { attributeLives } from '../../attribution/attribute-lives.js';
import { type Attribution, NO_RUN_FIGURES, type RunFigures } from '../../attribution/blocks/attribution.js';
import { lifeClasses } from '../../attribution/blocks/life-classes.js';
import { type Lives, NEVER } from '../../attribution/blocks/lives.js';
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

export async function attributeDevice(
  store: Store,
  { snapshotId, device }: { readonly snapshotId: number; readonly device: number },
  rules: CompiledRules,
  run: RunFigures = NO_RUN_FIGURES,
): Promise<DeviceAttribution> {
  const history = await deviceHistory(store, snapshotId, device);
  return (await attributeDevices(store, [{ history, run }], rules))[0]!;
}

/**
 * Work per distinct stack and per block; O(entries) in all. The statements are about all devices. `stacks` gets those
 * that it lacks.
 */
export async function attributeDevices(
  store: Store,
  devices: readonly { readonly history: DeviceHistory; readonly run: RunFigures }[],
  rules: CompiledRules,
  stacks = new StackClassifier(rules),
): Promise<DeviceAttribution[]> {
  const all = await livesOf(
    store,
    devices.map(({ history }) => history),
  );
  const missing = distinct(all.map(({ stackId }) => stackId)).filter((id) => !stacks.has(id));
  for (const [id, frames] of await readStacks(store, missing)) stacks.add(id, frames);
  const { classes } = stacks;
  const traces = devices.map(({ history }, i) => {
    const lives = all[i]!;
    return { history, lives, lastEntry: lives.events - 1, phases: phaseWindows(lives, classes) };
  });
  const boundaries = await stepBoundaries(store, traces);
  return traces.map(({ history, lives, phases }, i) => {
    const life = lifeClasses(lives, boundaries[i]!);
    return { history, ...attributeLives({ lives, classes, phases, life, run: devices[i]!.run }) };
  });
}

async function livesOf(store: Store, histories: readonly DeviceHistory[]): Promise<Lives[]> {
  const read = await readLives(store, histories);
  const all = histories.map(({ trace }, i) => read[i]!.lives(trace.events, trace.pools));
  // Rare: a ring lost the allocation, or the history was switched on and off.
  const lost = [...all.keys()].filter((i) => all[i]!.stackId.subarray(0, all[i]!.starts).includes(-1));
  const startStacks = await store.allOf(
    'attribution.start_stacks',
    lost.map((i) => ({ snapshot_id: histories[i]!.trace.snapshotId, device: histories[i]!.trace.device })),
  );
  // What is freed is rarely what the segment was made for.
  for (const [at, i] of lost.entries())
    for (const { block, stack_id } of startStacks[at]!)
      if (all[i]!.freedSeq[block] === NEVER) all[i]!.stackId[block] = stack_id;
  return all;
}

/** Ids are small and few against the blocks. */
function distinct(lists: readonly Int32Array[]): number[] {
  // By index: an iterator takes 40 times as long.
  let most = -1;
  for (const ids of lists) for (let i = 0; i < ids.length; i += 1) if (ids[i]! > most) most = ids[i]!;
  const seen = new Uint8Array(most + 1);
  for (const ids of lists) for (let i = 0; i < ids.length; i += 1) if (ids[i]! >= 0) seen[ids[i]!] = 1;
  return Array.from(seen.keys()).filter((id) => seen[id] === 1);
}
