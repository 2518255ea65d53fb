/** How much of the growth a changed setting, variable or version can explain. */

import { ALLOCATOR_VARIABLES } from '../../knowledge/env-keys.js';
import { loadData } from '../../knowledge/load-data.js';
import { threshold } from '../../knowledge/thresholds/threshold.js';
import type { SubmoduleChange } from '../../model/git.js';
import type { ChangedValue } from '../../model/results/compare.js';
import { sentencesOf, type Text } from '../../model/statement.js';
import type { Cause, Component, Confidence } from '../../model/vocabulary.js';
import { effectOnCause, wayOfAnyCause } from '../settings/cause-effect.js';
import { type KnobEffect, knobEffect, numberOf, type Way, wayOf } from '../settings/knob-effects.js';
import type { Growth } from './growth.js';
import type { Scored } from './score-hunk.js';

const sentence = sentencesOf('suspects');

const MOST_WITHOUT_GROWTH = threshold('suspects.most_without_growth');
/** Longer values are cut in a sentence. */
const VALUE_SHOWN = 60;

/** What ended the newer run and not the older one. */
export interface Failure {
  readonly cause: Cause;
  readonly confidence: Confidence;
  /** Live memory grew by more than the tolerance. */
  readonly isGrown: boolean;
}

/** Of a setting that makes the cause of a failure likelier, by the confidence of that cause. */
const EXPLAINS: Readonly<Record<Confidence, number>> = { proven: 0.95, high: 0.93, medium: 0.88, low: 0.8 };
const BEARS_ON_CAUSE = threshold('suspects.bears_on_cause');
const NO_EFFECT = threshold('suspects.no_effect');
/** Causes that are a matter of live tensors of the device, or may be. */
const OF_LIVE: readonly Cause[] = ['capacity', 'leak', 'undecided'];
const NOT_THE_CAUSE = threshold('suspects.not_the_cause');
const ADDS_TO_CAUSE = threshold('suspects.adds_to_cause');

/** For what is scored by growth; undefined where growth does not explain the failure. */
const growthFactor = ({ cause, isGrown }: Failure): number | undefined =>
  OF_LIVE.includes(cause) ? 1 : cause === 'fragmentation' && isGrown ? ADDS_TO_CAUSE : undefined;

/**
 * A setting of two runs. If the newer one failed, by its effect on the cause of that; else by how much of the growth it
 * can explain.
 */
export function scoreKnob(
  change: ChangedValue,
  growth: Growth,
  direction: 'memory' | 'time',
  failure: Failure | null,
): Scored {
  const onCause = failure === null ? null : effectOnCause(change, failure.cause);
  if (failure === null || direction === 'time') return scoreByGrowth(change, growth, direction);
  if (onCause === null) {
    const scored = scoreByGrowth(change, growth, direction);
    const factor = lowersLive(change, failure) ? undefined : growthFactor(failure);
    return { ...scored, score: factor === undefined ? Math.min(scored.score, NO_EFFECT) : factor * scored.score };
  }
  const score = { up: EXPLAINS[failure.confidence], unknown: BEARS_ON_CAUSE, down: NO_EFFECT }[onCause.way];
  return {
    score,
    reason: sentence('on_cause', { went: wentText(change), effect: onCause.text }),
    cause: onCause.cause,
  };
}

/** It takes less live memory, or has to do with none. */
function lowersLive({ key, a, b }: ChangedValue, { cause }: Failure): boolean {
  const effect = knobEffect(key);
  if (effect === undefined) return false;
  return (effect.components.length === 0 && cause !== 'undecided') || wayOf(effect.memory, a, b) === 'down';
}

/** Of code, which is scored by growth, in a run that failed. */
export function scoreCodeOfFailure(scored: Scored, failure: Failure): Scored {
  const factor = growthFactor(failure);
  if (factor !== undefined) return { ...scored, score: factor * scored.score };
  return { reason: sentence('not_growth', { reason: scored.reason }), score: scored.score * NOT_THE_CAUSE };
}

const wentText = ({ key, a, b }: ChangedValue): Text =>
  sentence('went_only', { key, a: valueText(a), b: valueText(b) });

function scoreByGrowth(change: ChangedValue, growth: Growth, direction: 'memory' | 'time'): Scored {
  const effect = knobEffect(change.key);
  const went = wentText(change);
  if (direction === 'time') return timeWeight(change, effect, went);
  if (ALLOCATOR_VARIABLES.includes(change.key)) return allocatorWeight(change, growth, went);
  if (effect === undefined) {
    const isLike = LIKE_MEMORY.test(change.key);
    return {
      score: isLike ? 0.22 : 0.05,
      reason: isLike ? sentence('like_memory', { went }) : sentence('not_memory', { went }),
    };
  }
  const way = wayOf(effect.memory, change.a, change.b);
  const grown = shareOf(effect, growth);
  if (grown === undefined) {
    const score = way === 'up' ? 0.45 : way === 'down' ? 0.1 : 0.3;
    return { score, reason: sentence('growth_unknown', { went, way: wayText(way) }) };
  }
  let score = grown.share < 0.1 ? 0.08 + 1.2 * grown.share : 0.25 + 0.68 * grown.share;
  score *= way === 'up' ? 1 : way === 'down' ? 0.25 : 0.8;
  const ratio = ratioOf(effect, change, growth);
  if (ratio !== undefined) score *= ratio.fits ? 1.04 : 0.6;
  // A setting that scales everything affects more than one line of the program.
  else if (way === 'up' && effect.components.length > 5 && growth.stacks.length > 0 && growth.spread < 1.3)
    score *= 0.9;
  return {
    score: Math.min(score, 0.97),
    reason: sentence('knob', { went, way: wayText(way), grown: grown.text, ratio: ratio?.text }),
  };
}

const LIKE_MEMORY =
  /buffer|cache|dtype|precision|fp8|fp32|checkpoint_activ|offload|recompute|batch|(?:^|_)len(?:gth)?(?:_|$)|seq|pad|capacity|graph|bucket|chunk|shard|hidden|num_layers|workspace|memory|pin_/i;

function valueText(value: string | null): string | null {
  if (value === null) return null;
  if (value === '') return '(empty)';
  return value.length > VALUE_SHOWN ? `${value.slice(0, VALUE_SHOWN)}…` : value;
}

function wayText(way: Way): Text {
  if (way === 'up') return sentence('more_memory');
  return way === 'down' ? sentence('less_memory') : sentence('bears_on_memory');
}

const UNATTRIBUTED = threshold('suspects.unattributed');

/** How much of what grew is of its components; undefined if nothing is known to have grown. */
function shareOf(
  { components, beyond }: KnobEffect,
  growth: Growth,
): { readonly share: number; readonly text: Text } | undefined {
  if (growth.component_bytes === 0 && growth.beyond === 0) return undefined;
  let ownBytes = 0;
  let largest: Component | undefined;
  let largestBytes = 0;
  for (const component of components) {
    const delta = Math.max(0, growth.components.get(component)?.delta_bytes ?? 0);
    ownBytes += delta;
    if (delta > largestBytes) [largest, largestBytes] = [component, delta];
  }
  const unattributed = components.includes('unattributed')
    ? 0
    : Math.max(0, growth.components.get('unattributed')?.delta_bytes ?? 0);
  const isLive = components.length > 0;
  const live =
    growth.component_bytes === 0 ? 0 : (ownBytes + (isLive ? UNATTRIBUTED * unattributed : 0)) / growth.component_bytes;
  const share = live * (1 - growth.beyond) + (beyond === true ? growth.beyond : 0);
  const beyondText =
    beyond === true && growth.beyond > 0.1
      ? sentence('outside_live', { percent: Math.round(100 * growth.beyond) })
      : null;
  const ofIts =
    ownBytes === 0 || largest === undefined
      ? isLive
        ? sentence('none_grew', { components: listOf(components) })
        : null
      : sentence('grew', {
          component: largest,
          others: ownBytes > largestBytes * 1.05,
          grown_bytes: ownBytes,
          all_bytes: growth.component_bytes,
        });
  const parts = [ofIts, beyondText].filter((part) => part !== null);
  return { share, text: parts.length === 0 ? sentence('not_live') : sentence('parts', { parts }) };
}

function listOf(components: readonly Component[]): string {
  return components.length > 3 ? `${components.slice(0, 3).join(', ')}, …` : components.join(', ');
}

/** Whether the components that a setting is a factor of grew by that factor. */
function ratioOf(
  { factor }: KnobEffect,
  { a, b }: ChangedValue,
  growth: Growth,
): { readonly fits: boolean; readonly text: Text } | undefined {
  const [before, after] = [numberOf(a), numberOf(b)];
  if (factor === undefined || before === undefined || after === undefined || before <= 0 || after <= 0)
    return undefined;
  const ratio = factor.kind === 'linear' ? after / before : before / after;
  if (ratio <= 1) return undefined;
  let old = 0;
  let delta = 0;
  for (const component of factor.of) {
    const sum = growth.components.get(component);
    if (sum === undefined) continue;
    old += sum.a_bytes;
    delta += sum.delta_bytes;
  }
  if (old <= 0) return undefined;
  const part = delta / (old * (ratio - 1));
  const times = (value: number): string => `×${value >= 10 ? value.toFixed(0) : value.toFixed(2)}`;
  return {
    fits: part > 0.3 && part < 3,
    text: sentence('ratio', { grew: times((old + delta) / old), set: times(ratio) }),
  };
}

/** Settings of torch's allocator change what is reserved, never what is live. */
function allocatorWeight(change: ChangedValue, growth: Growth, went: Text): Scored {
  const way = wayOfAnyCause(change);
  if (way === null) return { score: NO_EFFECT, reason: sentence('not_memory', { went }) };
  const isKnown = growth.bytes > 0 || growth.component_bytes > 0 || growth.beyond > 0;
  const text = sentence('fragmentation', { went, way });
  if (isKnown && growth.beyond <= 0.1) return { score: NO_EFFECT, reason: sentence('in_live', { text }) };
  const share = isKnown ? growth.beyond : 0.35;
  const score = (0.12 + 0.75 * share) * { up: 1, down: 0.4, unknown: 0.85 }[way];
  return isKnown
    ? { score, reason: sentence('share_outside', { text, percent: Math.round(100 * share) }) }
    : { score: Math.min(score, MOST_WITHOUT_GROWTH), reason: sentence('fragmentation_unknown', { text }) };
}

function timeWeight(change: ChangedValue, effect: KnobEffect | undefined, went: Text): Scored {
  if (effect === undefined || effect.time === undefined) {
    return {
      score: effect === undefined ? 0.05 : 0.08,
      reason: sentence('not_time', { went }),
    };
  }
  const way = wayOf(effect.time, change.a, change.b);
  const score = way === 'up' ? MOST_WITHOUT_GROWTH : way === 'down' ? 0.1 : 0.35;
  const text = way === 'up' ? sentence('slower') : way === 'down' ? sentence('faster') : sentence('bears_on_time');
  return { score, reason: sentence('time', { went, effect: text }) };
}

const PACKAGES = loadData('packages') as Readonly<
  Record<string, { readonly paths: readonly string[]; readonly components?: readonly Component[] }>
>;

/** The common spelling of a package's name and a submodule's folder. */
const plainName = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]+/g, '_');

export function scoreVersion(change: ChangedValue, growth: Growth, direction: 'memory' | 'time'): Scored {
  const went = wentText(change);
  if (direction === 'time') return { score: 0.2, reason: went };
  const name = plainName(change.key).replace(/_version$|_commit$/, '');
  const known = Object.hasOwn(PACKAGES, name) ? PACKAGES[name]! : { paths: [`${name}/`] };
  const bytes = growth.stacks.reduce((sum, stack) => {
    const isOwn =
      stack.owner === ''
        ? name === 'torch' && stack.b.length === 0
        : known.paths.some((path) => isIn(stack.owner, path));
    return sum + (isOwn ? stack.bytes : 0);
  }, 0);
  if (bytes > 0) return ownWeight(went, bytes, growth);
  const held = (known.components ?? []).reduce(
    (sum, component) => sum + Math.max(0, growth.components.get(component)?.delta_bytes ?? 0),
    0,
  );
  if (held > 0 && growth.component_bytes > 0) {
    const share = held / growth.component_bytes;
    const grew = sentence('held', {
      held_bytes: held,
      all_bytes: growth.component_bytes,
      components: listOf(known.components ?? []),
    });
    return { score: 0.1 + 0.3 * share, reason: sentence('and', { went, grew }) };
  }
  return { score: 0.08 + 0.3 * growth.beyond, reason: sentence('none_of_its', { went }) };
}

const isIn = (file: string, path: string): boolean => file.startsWith(path) || file.includes(`/${path}`);

/** A dependency whose lines grew: its changes are not visible. */
function ownWeight(went: Text, bytes: number, growth: Growth): Scored {
  const grew = sentence('in_its_lines', { grown_bytes: bytes, all_bytes: growth.bytes });
  return { score: 0.1 + 0.5 * (bytes / growth.bytes), reason: sentence('and', { went, grew }) };
}

/** A submodule's pin. If its files are compared, they are suspects themselves. */
export function scorePin(pin: SubmoduleChange, growth: Growth, direction: 'memory' | 'time'): Scored {
  const short = (sha: string | null): string | null => sha?.slice(0, 9) ?? null;
  const went = wentText({ key: pin.path, a: short(pin.from), b: short(pin.to) });
  if (direction === 'time') return { score: pin.is_readable ? 0.1 : 0.25, reason: went };
  const folder = plainName(pin.path.split('/').at(-1)!);
  const paths = Object.hasOwn(PACKAGES, folder) ? PACKAGES[folder]!.paths : [`${folder}/`];
  const bytes = growth.stacks.reduce((sum, stack) => {
    const isOwn =
      paths.some((path) => isIn(stack.owner, path)) ||
      stack.owner.split('/').some((segment, i, all) => i < all.length - 1 && plainName(segment) === folder);
    return sum + (isOwn ? stack.bytes : 0);
  }, 0);
  if (pin.is_readable) {
    return { score: 0.08, reason: sentence('files_listed', { went }) };
  }
  if (bytes === 0) return { score: 0.12, reason: sentence('no_history', { went }) };
  const { score, reason } = ownWeight(went, bytes, growth);
  return { score, reason: sentence('own_no_history', { reason }) };
}
