/** The labels of blocks: by the rules that match their stacks, then by size, order, lifetime and pool. */
import { PHASES, type Phase } from '../model/log-rows.js';
import type { Attribution, BlockFacts } from './blocks/attribution.js';
import { backwardPasses } from './blocks/backward-passes.js';
import { type BlockLabel, LabelTable } from './blocks/labels.js';
import { type Lives, stackCount } from './blocks/lives.js';
import type { ClassifiedStack } from './blocks/stack-classes.js';
import { inferBackward } from './infer/backward.js';
import { inferBeforeRecording } from './infer/before-recording.js';
import { inferBuffers } from './infer/buffers.js';
import { inferGradientCopies } from './infer/gradient-copies.js';
import { inferGrownCaches } from './infer/grown-caches.js';
import { inferHeld } from './infer/held.js';
import { inferMoments } from './infer/moments.js';
import { inferOutputHead } from './infer/output-head.js';
import { inferPrivatePools } from './infer/private-pools.js';
import { inferReplacedParameters } from './infer/replaced-parameters.js';
import { inferWorkspaces } from './infer/workspaces.js';
import { labelOf } from './match/classify-stack.js';
import type { Lifetime, PoolKind } from './match/rule.js';

/** In this order: what earlier ones settle, later ones leave alone or build on. Then the backward passes are known. */
const INFERENCES = [inferPrivatePools, inferWorkspaces, inferOutputHead] as const;
const INFERENCES_OF_PASSES = [
  inferBackward,
  inferGradientCopies,
  inferBuffers,
  inferReplacedParameters,
  inferBeforeRecording,
  inferMoments,
  inferGrownCaches,
  inferHeld,
] as const;

/** O(blocks). */
export function attributeLives(facts: BlockFacts): Attribution {
  const table = new LabelTable();
  const labelled = { ...facts, table, label: labelByStack(facts, table) };
  for (const inference of INFERENCES) inference(labelled);
  const of = { ...labelled, passes: backwardPasses(labelled) };
  for (const inference of INFERENCES_OF_PASSES) inference(of);
  return of;
}

function labelByStack({ lives, classes, phases, life }: BlockFacts, table: LabelTable): Int32Array {
  const label = new Int32Array(lives.count);
  const recorded = !nothingRecorded(lives, classes);
  const lifetimeOf = lifetimesByStack(lives, classes, life);
  // By stack + 1: the label of all its blocks where it depends on nothing else.
  const ofAll = new Int32Array(stackCount(lives) + 1).fill(-1);
  // By stack: numbers of its labels, by what else they depend on. A map with a key of all of it costs three times the
  // time.
  const settled: Int32Array[] = [];
  for (let row = 0; row < lives.count; row += 1) {
    const stackId = lives.stackIsOfFree[row] === 1 ? -1 : lives.stackId[row]!;
    const settledForAll = ofAll[stackId + 1]!;
    if (settledForAll >= 0) {
      label[row] = settledForAll;
      continue;
    }
    const stack = classes(stackId);
    const { needs } = stack;
    const code = stack.phase === 'unknown' ? phases.codeOf(row) : -1;
    // Rules with conditions on the size have to look at the block itself.
    let place = -1;
    let known: Int32Array | undefined;
    if (!needs.bytes) {
      const pool = needs.pool ? POOL_KINDS.indexOf(poolKind(lives.pool[row]!)) : 0;
      const lifetime = needs.lifetime ? LIFETIMES.indexOf(lifetimeOf(row)) : 0;
      place = (code + 1) * 2 + (row < lives.starts ? 1 : 0);
      place = (place * POOL_KINDS.length + pool) * LIFETIMES.length + lifetime;
      known = settled[stackId + 1];
      if (known === undefined) {
        known = new Int32Array(LABEL_PLACES).fill(-1);
        settled[stackId + 1] = known;
      }
      const number = known[place]!;
      if (number >= 0) {
        label[row] = number;
        continue;
      }
    }
    const phase = code < 0 ? stack.phase : PHASES[code]!;
    const ofRule = byRule(stack, phase, lives, row, lifetimeOf);
    const number = table.number(ofRule ?? unlabelled(lives, row, phase, recorded));
    if (ofRule !== undefined && code < 0 && !needs.pool && !needs.lifetime && !needs.bytes) ofAll[stackId + 1] = number;
    if (known !== undefined) known[place] = number;
    label[row] = number;
  }
  return label;
}

/**
 * A block that has not lived long enough to show its lifetime is like the others of its stack, where they agree. So is
 * an older block in a trace without the end of a step: the step that it was made in may not be over.
 */
function lifetimesByStack(
  lives: Lives,
  classes: Attribution['classes'],
  life: Attribution['life'],
): Attribution['life']['lifetimeOf'] {
  const seen = new Map<number, Lifetime | undefined>();
  const isAsked = Uint8Array.from({ length: stackCount(lives) }, (_, id) => (classes(id).needs.lifetime ? 1 : 0));
  if (!isAsked.includes(1)) return life.lifetimeOf;
  for (let row = lives.starts; row < lives.count; row += 1) {
    const stackId = lives.stackId[row]!;
    if (isAsked[stackId] !== 1) continue;
    const lifetime = life.lifetimeOf(row);
    if (lifetime === undefined) continue;
    seen.set(stackId, seen.has(stackId) && seen.get(stackId) !== lifetime ? undefined : lifetime);
  }
  const isOpen = life.boundaries.length === 0;
  return (row) => {
    const ofStack = seen.get(lives.stackId[row]!);
    if (row < lives.starts) return isOpen && ofStack === 'transient' ? undefined : life.lifetimeOf(row);
    return life.lifetimeOf(row) ?? ofStack;
  };
}

function byRule(
  stack: ClassifiedStack,
  phase: Phase,
  lives: Lives,
  row: number,
  lifetimeOf: Attribution['life']['lifetimeOf'],
): BlockLabel | undefined {
  const requested = lives.requested[row]!;
  const found = labelOf(stack, {
    pool: poolKind(lives.pool[row]!),
    lifetime: lifetimeOf(row),
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

const POOL_KINDS: readonly (PoolKind | undefined)[] = [undefined, 'default', 'private'];
const LIFETIMES: readonly (Lifetime | undefined)[] = [undefined, 'resident', 'transient'];
const LABEL_PLACES = (PHASES.length + 1) * 2 * POOL_KINDS.length * LIFETIMES.length;

function poolKind(pool: number): PoolKind | undefined {
  return pool < 0 ? undefined : pool === 0 ? 'default' : 'private';
}

/** Where every block of a state without a trace lacks a stack, nothing was recorded: then what is older is unknown. */
function nothingRecorded({ events, stackId }: Lives, classes: Attribution['classes']): boolean {
  return events === 0 && stackId.every((id) => classes(id).kind === 'none');
}

function unlabelled(lives: Lives, row: number, phase: Phase, recorded: boolean): BlockLabel {
  const before = row < lives.starts && recorded;
  return {
    component: before ? 'before_recording' : 'unattributed',
    sub_component: before ? 'no_stack' : recorded ? 'no_rule' : 'no_stacks_recorded',
    phase: before ? 'unknown' : phase,
    by: 'none',
    rules: [],
    confidence: 'low',
  };
}
