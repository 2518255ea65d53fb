/** Common attempts that do not help here. Each has its reason, with this run's own figures where it has any. */

import { expandableConstraint } from '../../derive/lint/expandable-constraint.js';
import type { Looked } from '../../derive/settings/facts.js';
import { loadData } from '../../knowledge/load-data.js';
import { sourceText } from '../../knowledge/sources.js';
import type { NonFix } from '../../model/results/advise.js';
import { type Sentence, sentencesOf, type Unworded } from '../../model/statement.js';
import { measured } from './experiments.js';
import { type FixContext, hasFlashAttention, isSet, isUnset } from './fix.js';
import { allocatorSetting, hasExpandable } from './fixes/allocator.js';
import { checkpointing } from './fixes/any-trainer.js';
import { isMoe, modulesInForce } from './fixes/recompute.js';
import { idleBytes } from './situation.js';

const reasonText = sentencesOf('advice', 'non_fixes');

interface NonFixData {
  readonly id: string;
  readonly title: string;
  readonly source: string;
  readonly experiments?: readonly string[];
  readonly why?: string;
}

/** `--gradient_checkpointing=True, train.log line 3`. */
function setBy(looked: Looked | undefined): Sentence | null {
  const explicit = looked?.explicit ?? null;
  if (explicit === null || explicit.file === '') return null;
  const { raw_key: key, value, file, line } = explicit;
  return sentencesOf('advice', 'figures')('set_by', { key, value: String(value), file, line });
}

const isMemory = ({ situation: { verdict } }: FixContext): boolean =>
  verdict.cause === 'fragmentation' || verdict.cause === 'capacity' || verdict.cause === 'undecided';

/** Figures of why it does not help here; true: as `fixes.yaml` has it; false and null: the question does not arise. */
export const NON_FIX_REASONS: Readonly<Record<string, (context: FixContext) => object | Sentence | boolean | null>> = {
  vpp(context) {
    const { pp, vpp } = context.config;
    return isMemory(context) && pp !== null && pp >= 2 && { vpp };
  },
  'recompute-layernorm'(context) {
    const modules = modulesInForce(context);
    return isMemory(context) && modules !== null && { in_force: modules.includes('layernorm') };
  },
  'recompute-core-attn'(context) {
    const modules = modulesInForce(context);
    if (!isMemory(context) || modules === null || !hasFlashAttention(context.view)) return null;
    const { by, value } = context.view.setting('attention_backend');
    return { in_force: modules.includes('core_attn'), backend: by === 'told' ? value : null };
  },
  'recompute-mlp-core-attn'(context) {
    const modules = modulesInForce(context);
    return isMemory(context) && modules !== null && hasFlashAttention(context.view);
  },
  'recompute-mlp-experts'(context) {
    return isMemory(context) && isMoe(context);
  },
  'tp-experts'(context) {
    return isMemory(context) && isMoe(context);
  },
  'expandable-segments'(context) {
    const { situation } = context;
    const { cause } = situation.verdict;
    const constraint = expandableConstraint(context.view.facts);
    // PyTorch's own message recommends them, and with them the engine does not start.
    if (constraint?.rule === 'sleep-expand' && (cause === 'external_pressure' || cause === 'undecided'))
      return reasonText('sleep_mode', { constraint: constraint.text, source: constraint.source });
    if (cause !== 'capacity') return null;
    if (hasExpandable(context)) return reasonText('expandable_on', { set_by: setBy(allocatorSetting(context)) });
    const replayed = situation.verdict.what_if.filter(({ setting }) => setting.startsWith('expandable_segments:True'));
    if (replayed.length > 0 && replayed.every(({ outcome }) => outcome === 'fits'))
      return situation.verdict.detail === 'whole_step' ? reasonText('expandable_served') : null;
    if (replayed.length > 0 && replayed.every(({ outcome }) => outcome !== 'fits'))
      return reasonText('expandable_fails');
    const idle = idleBytes(situation);
    return reasonText('expandable_idle', { idle_bytes: idle, constraint: constraint?.text });
  },
  'smaller-batch'({ situation, view }) {
    const size = view.setting('micro_batch_size');
    if (situation.verdict.cause !== 'capacity' || situation.isMegatron || Number(size.value) !== 1) return null;
    return { set_by: setBy(size) };
  },
  'activation-checkpointing'(context) {
    const { situation } = context;
    const setting = checkpointing(context);
    if (situation.verdict.cause !== 'capacity' || situation.isMegatron || setting === undefined) return null;
    return { set_by: setBy(setting) };
  },
  'activation-offload-pp'(context) {
    const { pp } = context.config;
    return isMemory(context) && pp !== null && pp >= 2 && { pp };
  },
  'activation-offload-moe'(context) {
    const { pp, experts, layers, hidden } = context.config;
    if (!isMemory(context) || !experts || pp !== 1 || layers === null || hidden === null || layers < 40) return null;
    return { layers };
  },
  'distributed-optimizer-dp1'(context) {
    const { dp, cp } = context.config;
    const isAlone = dp !== null && dp * (cp ?? 1) <= 1;
    return isMemory(context) && isAlone && isUnset(context.view, 'use_distributed_optimizer');
  },
  'layout-against-leak'({ situation }) {
    return situation.verdict.cause === 'leak';
  },
  'model-against-outside'({ situation }) {
    return situation.verdict.cause === 'external_pressure' && situation.verdict.detail !== 'nccl';
  },
  'optimizer-offload-fraction-0'(context) {
    const fraction = Number(context.view.setting('optimizer_offload_fraction').value ?? 0);
    return isSet(context.view, 'optimizer_cpu_offload') && !(fraction > 0);
  },
};

const NON_FIXES = (loadData('fixes') as { readonly non_fixes: readonly NonFixData[] }).non_fixes;

/** Of every trainer; the others are settings of Megatron. */
const OF_ANY_TRAINER: ReadonlySet<string> = new Set([
  'expandable-segments',
  'smaller-batch',
  'activation-checkpointing',
  'layout-against-leak',
  'model-against-outside',
]);

export function nonFixesOf(context: FixContext): Unworded<NonFix, 'why' | 'text'>[] {
  const known = NON_FIXES.filter(({ id }) => context.situation.isMegatron || OF_ANY_TRAINER.has(id));
  return known.flatMap(({ id, title, source, experiments = [], why }) => {
    const reason = NON_FIX_REASONS[id]!(context);
    if (reason === null || reason === false) return [];
    const text = reason === true ? why! : 'sentence' in reason ? (reason as Sentence) : reasonText(id, reason);
    return [{ id, title, why: text, evidence: experiments.map(measured), source: sourceText(source) }];
  });
}
