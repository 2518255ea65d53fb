/**
 * What advice is based on: a verdict, the configuration of the run, and every figure that shows what a change would
 * save. Plain data, so that advice is a pure function of it.
 */

import type { Circumstances } from '../../derive/circumstances.js';
import { TRAINER_KEY } from '../../knowledge/trainers.js';
import { sumOf } from '../../model/lists.js';
import { sentencesOf, type Text } from '../../model/statement.js';
import type { Verdict } from '../../model/verdict.js';
import type { Component, WholeStepOutcome } from '../../model/vocabulary.js';

export interface Situation extends Circumstances {
  readonly run: string;
  readonly verdict: Pick<
    Verdict,
    | 'rank'
    | 'cause'
    | 'detail'
    | 'confidence'
    | 'tests'
    | 'evidence'
    | 'request'
    | 'what_if'
    | 'replay'
    | 'accounting'
    | 'steps'
  >;
  /** Live bytes of the failing rank by component; null without a snapshot. */
  readonly components: ReadonlyMap<Component, number> | null;
}

/** Of an inference engine that serves the trainer. */
const ENGINE_SETTINGS: ReadonlySet<string> = new Set([
  'enable_sleep_mode',
  'colocated_engine',
  'gpu_memory_utilization',
]);

/** Layout and data type of a job, which its launcher and banners print: they show nothing of the model. */
const LAYOUT =
  /^(?:world_size|bf16|fp16|params_dtype|nnodes|nproc_per_node|ntasks\w*|(?:\w+_)?(?:data|tensor|pipeline|context|expert)\w*_parallel_size)$/;

/** Whether any setting of the trainer was read. */
export function isConfigured({ facts }: Situation): boolean {
  return [...facts.settings.keys()].some(
    (key) => !ENGINE_SETTINGS.has(key) && key !== TRAINER_KEY && !LAYOUT.test(key),
  );
}

const shortfallText = sentencesOf('advice', 'shortfall');

/** Bytes by which a request failed, and how that is known. */
export interface Shortfall {
  readonly bytes: number | null;
  readonly text: Text;
}

/** Sums of the cause tests, whichever has them: all are made of the same figures. */
export function figure({ verdict }: Situation, name: string): number | null {
  for (const { numbers } of verdict.tests) {
    const value = numbers[name];
    if (value !== undefined) return value;
  }
  return null;
}

/**
 * Of a full device what live and asked bytes exceed; of a fragmented one what the driver would have had to give more.
 */
export function shortfallOf(situation: Situation): Shortfall {
  const { verdict } = situation;
  const of = (bytes: number | null, code: string): Shortfall => ({ bytes, text: shortfallText(code) });
  const request = verdict.request?.bytes ?? figure(situation, 'request_bytes');
  if (verdict.cause === 'fragmentation' || verdict.cause === 'synchronisation' || verdict.cause === 'graph_pools') {
    const short = verdict.replay?.layout_short_bytes ?? null;
    const free = deviceFreeBytes(situation);
    if (short !== null) return of(short, 'replayed');
    return request !== null && free !== null ? of(Math.max(0, request - free), 'beyond_free') : of(null, 'neither');
  }
  const short = figure(situation, 'short_bytes');
  if (short !== null) return of(short, verdict.detail === 'whole_step' ? 'whole_step' : 'live');
  const [live, limit] = [figure(situation, 'live_bytes'), figure(situation, 'limit_bytes')];
  if (live !== null && limit !== null && request !== null && live + request > limit)
    return of(live + request - limit, 'live');
  return of(null, 'unknown');
}

/** Whether a step like the last whole one fits; null where none precedes the OOM in its trace. */
export function wholeStepOf({ verdict }: Situation): WholeStepOutcome | null {
  const step = verdict.evidence.find(({ kind }) => kind === 'whole_step');
  return step === undefined ? null : (step.names['outcome'] as WholeStepOutcome);
}

/** Bytes live when it failed, with the request; null where not in the evidence. */
export function neededBytes(situation: Situation): number | null {
  const live = figure(situation, 'live_bytes');
  const request = situation.verdict.request?.bytes ?? figure(situation, 'request_bytes');
  return live === null || request === null ? null : live + request;
}

/** What the driver could still have given; null where not known. */
export function deviceFreeBytes({ verdict }: Situation): number | null {
  const parts = verdict.accounting.filter(({ part }) => part === 'device_free' || part === 'above_limit');
  return parts.length === 0 ? null : sumOf(parts.map(({ bytes }) => bytes));
}

/** Bytes reserved by PyTorch and not in use when the request failed, outside private pools; null where not known. */
export function idleBytes(situation: Situation): number | null {
  const parts = situation.verdict.accounting.filter(({ part }) => part === 'cached' || part.startsWith('cached_'));
  return parts.length > 0 ? sumOf(parts.map(({ bytes }) => bytes)) : figure(situation, 'cached_bytes');
}
