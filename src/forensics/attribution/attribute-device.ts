/** The attribution of every block that lived during a device's trace: rules by stack, then what sizes, order, lifetimes and pools tell beyond. */
import { PHASES, type Phase } from '../../model/log-rows.js';
import type { Store } from '../../store/store.js';
import { deviceHistory } from '../history/device-history.js';
import { labelOf } from './classify-stack.js';
import type { CompiledRules } from './compile-rules.js';
import { type DeviceAttribution, NO_RUN_FIGURES, type RunFigures } from './device-attribution.js';
import { inferBackward } from './infer/backward.js';
import { inferBeforeRecording } from './infer/before-recording.js';
import { inferBuffers } from './infer/buffers.js';
import { inferHeld } from './infer/held.js';
import { inferMoments } from './infer/moments.js';
import { inferOutputHead } from './infer/output-head.js';
import { inferPrivatePools } from './infer/private-pools.js';
import { inferReplacedParameters } from './infer/replaced-parameters.js';
import { inferSegmentStacks } from './infer/segment-stacks.js';
import { inferWorkspaces } from './infer/workspaces.js';
import { type BlockLabel, LabelTable } from './labels.js';
import { lifeClasses } from './life-classes.js';
import { type Lives, readLives } from './lives.js';
import { phaseWindows } from './phase-windows.js';
import type { PoolKind } from './rule.js';
import { type ClassifiedStack, readStackClasses } from './stack-classes.js';

/** In this order: what earlier ones settle, later ones leave alone or build on. */
const INFERENCES = [
  inferPrivatePools,
  inferWorkspaces,
  inferOutputHead,
  inferBackward,
  inferBuffers,
  inferReplacedParameters,
  inferBeforeRecording,
  inferMoments,
  inferHeld,
] as const;

/** Work per distinct stack and per block; O(entries) in all. */
export async function attributeDevice(
  store: Store,
  snapshot: { readonly snapshotId: number; readonly device: number },
  rules: CompiledRules,
  run: RunFigures = NO_RUN_FIGURES,
): Promise<DeviceAttribution> {
  const history = await deviceHistory(store, snapshot.snapshotId, snapshot.device);
  const lives = await readLives(store, history);
  await inferSegmentStacks(store, history, lives);
  const classes = await readStackClasses(store, rules, new Set(lives.stackId));
  const phases = phaseWindows(lives, classes);
  const life = await lifeClasses(store, snapshot, lives, phases);
  const table = new LabelTable();
  const of: DeviceAttribution = {
    history,
    lives,
    classes,
    phases,
    life,
    table,
    label: labelByStack(lives, classes, phases, life, table),
    run,
  };
  for (const inference of INFERENCES) inference(of);
  return of;
}

function labelByStack(
  lives: Lives,
  classes: DeviceAttribution['classes'],
  phases: DeviceAttribution['phases'],
  life: DeviceAttribution['life'],
  table: LabelTable,
): Int32Array {
  const label = new Int32Array(lives.count);
  const settled = new Map<number, number>();
  for (let row = 0; row < lives.count; row += 1) {
    const stackId = lives.stackIsOfFree[row] === 1 ? -1 : lives.stackId[row]!;
    const stack = classes(stackId);
    const phase = stack.phase === 'unknown' ? phases.phaseAt(lives.allocSeq[row]!) : stack.phase;
    // Rules with conditions on the size have to look at the block itself.
    if (stack.needs.bytes) {
      label[row] = table.number(byRule(stack, phase, lives, row, life) ?? unlabelled(lives, row, phase));
      continue;
    }
    let key = ((stackId + 1) * PHASES.length + PHASES.indexOf(phase)) * 2 + (row < lives.starts ? 1 : 0);
    if (stack.needs.block) {
      const lifetime = life.lifetimeOf(row);
      key = key * 9 + (lives.pool[row]! > 0 ? 2 : lives.pool[row]! < 0 ? 1 : 0) * 3;
      key += lifetime === undefined ? 0 : lifetime === 'resident' ? 1 : 2;
    } else key *= 9;
    let number = settled.get(key);
    if (number === undefined) {
      number = table.number(byRule(stack, phase, lives, row, life) ?? unlabelled(lives, row, phase));
      settled.set(key, number);
    }
    label[row] = number;
  }
  return label;
}

function byRule(
  stack: ClassifiedStack,
  phase: Phase,
  lives: Lives,
  row: number,
  life: DeviceAttribution['life'],
): BlockLabel | undefined {
  const requested = lives.requested[row]!;
  const found = labelOf(stack, {
    pool: poolKind(lives.pool[row]!),
    lifetime: life.lifetimeOf(row),
    bytes: requested < 0 ? undefined : requested,
  });
  if (found === undefined) return undefined;
  return {
    component: found.component,
    sub_component: found.sub_component,
    phase: found.phase === 'unknown' ? phase : found.phase,
    by: 'rule',
    rules: [found.rule.id],
    // Names that all programs have in common are a convention, not a fact of one source.
    confidence: found.candidate.tier === 'generic' ? 'medium' : 'high',
  };
}

function poolKind(pool: number): PoolKind | undefined {
  return pool < 0 ? undefined : pool === 0 ? 'default' : 'private';
}

function unlabelled(lives: Lives, row: number, phase: Phase): BlockLabel {
  const before = row < lives.starts;
  return {
    component: before ? 'before_recording' : 'unattributed',
    sub_component: before ? 'no_stack' : 'no_rule',
    phase: before ? 'unknown' : phase,
    by: 'none',
    rules: [],
    confidence: 'low',
  };
}
