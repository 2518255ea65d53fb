/** Comparison of the stages of a pipeline: the edge ones embed and project. */

import { asNumber, isOn } from '../../derive/settings/values.js';
import { threshold } from '../../knowledge/thresholds/threshold.js';
import { maxBy, maxOf } from '../../model/lists.js';
import type { Text } from '../../model/statement.js';
import type { SymptomEvidence } from './evidence.js';
import { ownSplits } from './sizes.js';
import { factOf, placeOfFacts, type SymptomRule } from './symptom.js';

const EDGE_SLOWER = threshold('symptoms_stages.edge_slower');
const HEAVY_VOCABULARY = threshold('symptoms_stages.heavy_vocabulary');

/** Computing time of each stage: of Megatron's timers of every rank, else of exports. */
function stageTimes(
  evidence: SymptomEvidence,
): { readonly times: readonly { readonly stage: number; readonly ms: number }[]; readonly source: Text } | null {
  const { timers, layout, timelines } = evidence;
  const sums = new Map<number, number>();
  let source: Text = '';
  for (const { name, rank, ms, source: line } of timers) {
    if (rank === null || !/^(?:forward|backward)-compute\.ms$/.test(name)) continue;
    sums.set(rank, (sums.get(rank) ?? 0) + ms);
    source = line;
  }
  const ofRanks = [...sums].flatMap(([rank, ms]) => {
    const stage = layout?.position(rank)?.pp;
    return stage === undefined ? [] : [{ stage, ms }];
  });
  const ofExports = timelines.flatMap(({ stage, steps, compute_ns }) =>
    stage === null || steps === 0 ? [] : [{ stage, ms: compute_ns / steps / 1e6 }],
  );
  const chosen = ofRanks.length > 0 ? ofRanks : ofExports;
  if (chosen.length === 0) return null;
  const slowest = new Map<number, number>();
  for (const { stage, ms } of chosen) slowest.set(stage, Math.max(slowest.get(stage) ?? 0, ms));
  return {
    times: [...slowest].map(([stage, ms]) => ({ stage, ms })).sort((a, b) => a.stage - b.stage),
    source: ofRanks.length > 0 ? source : (timelines[0]?.path ?? ''),
  };
}

/**
 * The projection to the vocabulary in layers: both are matrix products over the same tokens. Null if the sizes are
 * unknown.
 */
function vocabularyInLayers({ view }: SymptomEvidence): number | null {
  const number = (key: string): number | null => asNumber(view.setting(key).value);
  const vocabulary = number('padded_vocab_size') ?? number('vocab_size');
  const [hidden, heads] = [number('hidden_size'), number('num_attention_heads')];
  const ffn = number('moe_ffn_hidden_size') ?? number('ffn_hidden_size');
  if (vocabulary === null || hidden === null || heads === null || ffn === null) return null;
  const width = (number('kv_channels') ?? hidden / heads) * heads;
  const groups = number('num_query_groups') ?? heads;
  const gated = isOn(view.setting('gated_linear_unit').value) ? 3 : 2;
  const experts = number('num_moe_experts') === null ? 1 : (number('moe_router_topk') ?? 1);
  const layer = 2 * hidden * width * (1 + groups / heads) + gated * hidden * ffn * experts;
  return (vocabulary * hidden) / layer;
}

/** The most that a rank of these stages holds; logits and their gradients are on the last, embeddings on both edges. */
function peakOf({ own }: SymptomEvidence, isIt: (stage: number) => boolean): number {
  const ranks = own.ranks.filter(({ stage }) => stage !== null && isIt(stage));
  return Math.max(0, maxOf(ranks.map(({ peak_allocated_bytes: bytes }) => bytes ?? 0)));
}

export const STAGE_RULES: Readonly<Record<string, SymptomRule>> = {
  S26: (evidence) => {
    const { view, parallel } = evidence;
    const { pp } = parallel;
    const measured = stageTimes(evidence);
    // With two stages, none is between the edges.
    if (pp === null || pp < 3 || measured === null) return null;
    const isBetween = (stage: number): boolean => stage > 0 && stage < pp - 1;
    const middle = measured.times.filter(({ stage }) => isBetween(stage));
    const slow = maxBy(
      measured.times.filter(({ stage }) => stage === 0 || stage === pp - 1),
      ({ ms }) => ms,
    );
    if (middle.length === 0 || slow === undefined) return null;
    const usual = maxOf(middle.map(({ ms }) => ms));
    if (slow.ms <= (1 + EDGE_SLOWER) * usual) return null;
    const [edge, between] = [peakOf(evidence, (stage) => stage === slow.stage), peakOf(evidence, isBetween)];
    const layers = vocabularyInLayers(evidence);
    const flag = view.setting(
      slow.stage === 0 ? 'account_for_embedding_in_pipeline_split' : 'account_for_loss_in_pipeline_split',
    );
    const splits = ownSplits(view);
    const isAllowed = isOn(flag.value) || splits.length > 0;
    return {
      source: measured.source,
      answer: layers === null ? 'sizes_unknown' : layers < HEAVY_VOCABULARY ? 'light' : isAllowed ? 'allowed' : 'heavy',
      figures: {
        ...{ stage: slow.stage, pp, slow_ms: slow.ms, usual_ms: usual, layers },
        ...(edge === 0 || between === 0 ? {} : { edge_bytes: edge, between_bytes: between }),
        splits: [flag, ...splits].filter(({ value }) => value !== null).map(factOf),
        ...{ flag: flag.key, flag_value: flag.value, flag_place: placeOfFacts([flag]) || null },
      },
    };
  },
};
