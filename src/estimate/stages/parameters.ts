/**
 * Parameters that one rank of a stage holds, tensor by tensor as Megatron-Core builds them, biases and norms included.
 * Upstream: `core/transformer/attention.py`, `multi_latent_attention.py`, `mlp.py`, `moe/`,
 * `multi_token_prediction.py`, `core/models/gpt`.
 */
import type { EstimateInputs } from '../inputs.js';
import type { Stage } from './layout.js';
import type { Settings } from './settings.js';

/** Element counts on one rank. */
export interface ParameterCounts {
  /** Weights of linear layers outside routed experts: 8 bits apply to them, and adapters freeze them. */
  readonly linear: number;
  /** Embeddings, norms, biases, routers. */
  readonly other: number;
  /** Weights of routed experts, whose replicas are others. */
  readonly expert: number;
  /** Of adapters, where there are some. */
  readonly adapter: number;
}

const NONE: ParameterCounts = { linear: 0, other: 0, expert: 0, adapter: 0 };

export function addCounts(counts: readonly ParameterCounts[]): ParameterCounts {
  return counts.reduce(
    (all, one) => ({
      linear: all.linear + one.linear,
      other: all.other + one.other,
      expert: all.expert + one.expert,
      adapter: all.adapter + one.adapter,
    }),
    NONE,
  );
}

/** Key-value heads of one rank: where there are fewer than ranks, each rank holds one. */
export function localGroups({ groups, tp }: EstimateInputs): number {
  return Math.max(1, groups / tp);
}

/** A linear layer from `from` to `to` features, of which this rank holds 1/`cut`. */
interface Linear {
  readonly target: string;
  readonly from: number;
  readonly to: number;
  readonly cut: number;
  readonly bias: number;
}

function attentionLinears(inputs: EstimateInputs): { readonly linears: readonly Linear[]; readonly norms: number } {
  const { hidden, heads, headDim, tp, biasLinear, latentAttention: mla, given } = inputs;
  const norm = inputs.isRmsNorm ? 1 : 2;
  const hasBias = biasLinear ? 1 : 0;
  if (mla !== null) {
    const perQuery = heads * (mla.qkHeadDim + mla.positionDim);
    const query: Linear[] =
      mla.qRank === null
        ? [{ target: 'linear_q_proj', from: hidden, to: perQuery, cut: tp, bias: 0 }]
        : [
            // The down projections are whole on every rank: `parallel_mode="duplicated"`.
            { target: 'linear_q_down_proj', from: hidden, to: mla.qRank, cut: 1, bias: 0 },
            { target: 'linear_q_up_proj', from: mla.qRank, to: perQuery, cut: tp, bias: 0 },
          ];
    return {
      linears: [
        ...query,
        { target: 'linear_kv_down_proj', from: hidden, to: mla.kvRank + mla.positionDim, cut: 1, bias: 0 },
        { target: 'linear_kv_up_proj', from: mla.kvRank, to: heads * (mla.qkHeadDim + mla.vHeadDim), cut: tp, bias: 0 },
        { target: 'linear_proj', from: heads * mla.vHeadDim, to: hidden, cut: tp, bias: hasBias * hidden },
      ],
      norms: norm * (mla.kvRank + (mla.qRank ?? 0)),
    };
  }
  const wide = heads * headDim + 2 * localGroups(inputs) * tp * headDim;
  const qkvBias = biasLinear || given.add_qkv_bias === true ? wide / tp : 0;
  return {
    linears: [
      { target: 'linear_qkv', from: hidden, to: wide, cut: tp, bias: qkvBias },
      { target: 'linear_proj', from: heads * headDim, to: hidden, cut: tp, bias: hasBias * hidden },
    ],
    norms: given.qk_layernorm === true ? 2 * norm * headDim : 0,
  };
}

function mlpLinears({ hidden, gated, biasLinear }: EstimateInputs, ffn: number, cut: number): readonly Linear[] {
  const wide = gated ? 2 * ffn : ffn;
  return [
    { target: 'linear_fc1', from: hidden, to: wide, cut, bias: biasLinear ? wide / cut : 0 },
    { target: 'linear_fc2', from: ffn, to: hidden, cut, bias: biasLinear ? hidden : 0 },
  ];
}

function countsOf(linears: readonly Linear[], { loraRank, loraTargets }: Settings): ParameterCounts {
  let linear = 0;
  let other = 0;
  let adapter = 0;
  for (const { target, from, to, cut, bias } of linears) {
    linear += (from * to) / cut;
    other += bias;
    if (loraRank !== null && loraTargets.has(target)) adapter += (loraRank * (from + to)) / cut;
  }
  return { linear, other, expert: 0, adapter };
}

export function layerParameters(inputs: EstimateInputs, settings: Settings, isMoe: boolean): ParameterCounts {
  const { hidden, tp, experts } = inputs;
  const norm = inputs.isRmsNorm ? 1 : 2;
  const attention = attentionLinears(inputs);
  const shared: ParameterCounts = { ...NONE, other: attention.norms + 2 * norm * hidden };
  if (!isMoe || experts === null)
    return addCounts([
      countsOf(attention.linears, settings),
      countsOf(mlpLinears(inputs, inputs.ffn, tp), settings),
      shared,
    ]);
  const { count, ffn, sharedFfn, sharedGate, latent } = experts;
  const width = latent ?? hidden;
  const routed = (count * (inputs.gated ? 3 : 2) * width * ffn) / (inputs.ep * inputs.etp);
  return addCounts([
    countsOf(attention.linears, settings),
    sharedFfn > 0 ? countsOf(mlpLinears({ ...inputs, biasLinear: false }, sharedFfn, tp), settings) : NONE,
    shared,
    {
      linear: latent === null ? 0 : 2 * hidden * latent,
      other: hidden * count + (inputs.biasLinear ? count : 0) + (sharedFfn > 0 && sharedGate ? hidden : 0),
      expert: routed,
      adapter: expertAdapters(inputs, settings, width, ffn),
    },
  ]);
}

/** One adapter a projection for all experts of the rank, as Bridge shares them. */
function expertAdapters(
  { gated, etp }: EstimateInputs,
  { loraRank, loraTargets }: Settings,
  width: number,
  ffn: number,
) {
  if (loraRank === null) return 0;
  const fc1 = loraTargets.has('linear_fc1') ? width + ffn * (gated ? 2 : 1) : 0;
  const fc2 = loraTargets.has('linear_fc2') ? ffn + width : 0;
  return (loraRank * (fc1 + fc2)) / etp;
}

/** One multi-token-prediction depth: a layer of the last layer's kind, a projection of 2h to h, and three norms. */
export function mtpParameters(inputs: EstimateInputs, settings: Settings): ParameterCounts {
  const { hidden, tp } = inputs;
  const norm = inputs.isRmsNorm ? 1 : 2;
  return addCounts([
    layerParameters(inputs, settings, inputs.isMoeLayer.at(-1) === true),
    { ...NONE, linear: (2 * hidden * hidden) / tp, other: 3 * norm * hidden },
  ]);
}

export function stageParameters(inputs: EstimateInputs, settings: Settings, stage: Stage): ParameterCounts {
  const { hidden, tp, paddedVocab, mtpLayers, given } = inputs;
  const dense = layerParameters(inputs, settings, false);
  const moe = layerParameters(inputs, settings, true);
  const layers = stage.chunks.flat().map((layer) => (inputs.isMoeLayer[layer] === true ? moe : dense));
  const embedding = (hidden * paddedVocab) / tp;
  let other = 0;
  if (stage.isFirst) {
    other += embedding;
    if (given.position_embedding_type === 'learned_absolute')
      other += hidden * (given.max_position_embeddings ?? inputs.seq);
  }
  if (stage.isLast) {
    other += (inputs.isRmsNorm ? 1 : 2) * hidden;
    // A tied output layer on another stage than the embedding is a copy of it, and so is the embedding that MTP reads.
    if (!inputs.tied || !stage.isFirst) other += embedding;
    if (stage.hasMtp && !stage.isFirst && !inputs.tied) other += embedding;
  } else if (stage.hasMtp && !stage.isFirst) other += embedding;
  const mtp = stage.hasMtp ? new Array<ParameterCounts>(mtpLayers).fill(mtpParameters(inputs, settings)) : [];
  return addCounts([...layers, ...mtp, { ...NONE, other }]);
}
