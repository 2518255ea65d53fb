/** Comparison of the stages of a pipeline: the edge ones embed and project. */

import { asNumber, isOn } from '../../derive/settings/values.js';
import { threshold } from '../../knowledge/thresholds/threshold.js';
import { maxOf } from '../../model/lists.js';
import { formatBytes } from '../../model/units.js';
import type { SymptomEvidence } from './evidence.js';
import { ownSplits } from './sizes.js';
import { confirmed, type Judged, refuted, type Symptom, symptom, untested } from './symptom.js';
import { factText, placeOfFacts } from './words.js';

const EDGE_SLOWER = threshold('symptoms_stages.edge_slower');
const HEAVY_VOCABULARY = threshold('symptoms_stages.heavy_vocabulary');

/** Computing time of each stage: of Megatron's timers of every rank, else of exports. */
function stageTimes(
  evidence: SymptomEvidence,
): { readonly times: readonly { readonly stage: number; readonly ms: number }[]; readonly source: string } | null {
  const { timers, layout, timelines } = evidence;
  const sums = new Map<number, number>();
  let source = '';
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

export const S26: Symptom = symptom('S26', (evidence) => {
  const pp = evidence.parallel.pp;
  const measured = stageTimes(evidence);
  // With two stages, none is between the edges.
  if (pp === null || pp < 3 || measured === null) return null;
  const middle = measured.times.filter(({ stage }) => stage > 0 && stage < pp - 1);
  const edges = measured.times.filter(({ stage }) => stage === 0 || stage === pp - 1);
  if (middle.length === 0 || edges.length === 0) return null;
  const usual = maxOf(middle.map(({ ms }) => ms));
  const slow = edges.reduce((most, edge) => (edge.ms > most.ms ? edge : most));
  if (slow.ms <= (1 + EDGE_SLOWER) * usual) return null;
  return {
    seen: `stage ${slow.stage} of ${pp} computes ${slow.ms.toFixed(1)} ms, of those between the edges none more than ${usual.toFixed(1)} ms${stagePeaks(evidence, slow.stage, pp)}`,
    source: measured.source,
    ...vocabularyIsHeavy(
      evidence,
      slow.stage === 0 ? 'account_for_embedding_in_pipeline_split' : 'account_for_loss_in_pipeline_split',
    ),
  };
});

/** Logits and their gradients are on the last stage, embeddings on both. */
function stagePeaks({ own }: SymptomEvidence, stage: number, pp: number): string {
  const most = (wanted: (stage: number) => boolean): number =>
    Math.max(
      0,
      maxOf(
        own.ranks.map((rank) => (rank.stage !== null && wanted(rank.stage) ? (rank.peak_allocated_bytes ?? 0) : 0)),
      ),
    );
  const [edge, between] = [most((one) => one === stage), most((one) => one > 0 && one < pp - 1)];
  return edge === 0 || between === 0
    ? ''
    : `; it holds ${formatBytes(edge)} at its peak, the others at most ${formatBytes(between)}`;
}

function vocabularyIsHeavy(evidence: SymptomEvidence, flag: string): Judged {
  const { view } = evidence;
  const layers = vocabularyInLayers(evidence);
  const flagSetting = view.setting(flag);
  const splitSettings = ownSplits(view);
  if (layers === null)
    return untested(
      "vocab_size, hidden_size, ffn_hidden_size or num_attention_heads is unknown: add the run's configuration",
    );
  const figure = `the projection to the vocabulary is worth ${layers.toFixed(2)} layers`;
  if (layers < HEAVY_VOCABULARY) return refuted(`${figure}: too little to unbalance a stage`);
  if (isOn(flagSetting.value) || splitSettings.length > 0)
    return refuted(
      `${figure}, but the split allows for it already (${[flagSetting, ...splitSettings]
        .filter(({ value }) => value !== null)
        .map(factText)
        .join(', ')})`,
    );
  return confirmed(
    `${figure}, and no split allows for it (${flag} ${flagSetting.value ?? 'not set'}${placeOfFacts([flagSetting]) === '' ? '' : `, ${placeOfFacts([flagSetting])}`})`,
  );
}
