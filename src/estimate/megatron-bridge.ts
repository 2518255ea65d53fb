/**
 * Megatron Bridge's estimate, operation by operation. Upstream: `training/utils/theoretical_memory_utils.py` at 067f987
 * (2026-08-22), adapted there from ISEEKYAN's mbridge. It knows neither latent attention nor kinds of norms, and cuts
 * replicated weights by TP too.
 */
import { maxOf } from '../model/lists.js';
import type { EstimateInputs } from './inputs.js';
import { type StageSplit, unevenStages } from './pipeline-split.js';
import { fixed, pythonSum } from './python-numbers.js';
import {
  bytesPerParameter,
  PRINTED_MB,
  printedMb,
  scheduleFactor,
  type UpstreamEstimate,
  usesSequenceParallelFormula,
} from './upstream.js';

export interface BridgeComponent {
  readonly name: string;
  readonly parameterCount: number;
  readonly parameterCountPerGpu: number;
  readonly bytesPerParameter: number;
  readonly bytes: number;
}

export interface BridgeEstimate extends UpstreamEstimate {
  readonly modelState: readonly BridgeComponent[];
  /** `format_training_memory_estimate(estimate)`. */
  readonly apiLine: string;
}

/** Parameters by layer, MTP layers last. */
interface Parameters {
  readonly denseByLayer: readonly number[];
  readonly routedByLayer: readonly number[];
  readonly dense: number;
  readonly routed: number;
  readonly finalNorm: number;
  readonly embedding: number;
}

export function estimateMegatronBridge(inputs: EstimateInputs): BridgeEstimate {
  const parameters = countParameters(inputs);
  const split = unevenSplit(inputs);
  const densePerGpu = densePerShard(inputs, parameters, split);
  const denseBytes = bytesPerParameter(inputs.distributedOptimizer, Math.max(1, inputs.dp * inputs.cp));
  const embeddings = inputs.tied ? parameters.embedding : parameters.embedding + parameters.embedding;
  const modelState: BridgeComponent[] = [
    {
      name: 'dense parameters and optimizer',
      parameterCount: parameters.dense + embeddings,
      parameterCountPerGpu: densePerGpu,
      bytesPerParameter: denseBytes,
      bytes: densePerGpu * denseBytes,
    },
  ];
  if (parameters.routed > 0) {
    const routedPerGpu = routedPerShard(inputs, parameters, split);
    const shards = Math.floor((inputs.dp * inputs.tp * inputs.cp) / Math.max(1, inputs.ep * inputs.etp));
    const routedBytes = bytesPerParameter(inputs.distributedOptimizer, Math.max(1, shards));
    modelState.push({
      name: 'routed expert parameters and optimizer',
      parameterCount: parameters.routed,
      parameterCountPerGpu: routedPerGpu,
      bytesPerParameter: routedBytes,
      bytes: routedPerGpu * routedBytes,
    });
  }
  const activationBytes = activation(inputs);
  const weightAndOptimizer = pythonSum(modelState.map(({ bytes }) => bytes));
  const totalParameters = parameters.dense + parameters.routed + embeddings;
  return {
    modelState,
    activationBytes,
    assumptions: assumptionsOf(inputs, parameters.routed > 0),
    lines: [...parameterLines(modelState, totalParameters), logLine(inputs, weightAndOptimizer, activationBytes)],
    apiLine: `Theoretical memory footprints: ${[
      ...modelState.map(({ name, bytes }) => `${name}=${printedMb(bytes)}`),
      `activation=${printedMb(activationBytes)}`,
      `total=${printedMb(weightAndOptimizer + activationBytes)}`,
    ].join(', ')}`,
    figures: {
      total_parameters: totalParameters,
      weight_and_optimizer_bytes: weightAndOptimizer,
    },
  };
}

/** Layers by stage if either end has a number of its own; null for an even split, which upstream never lays out. */
function unevenSplit(inputs: EstimateInputs): StageSplit | null {
  const { num_layers_in_first_pipeline_stage: first, num_layers_in_last_pipeline_stage: last } = inputs.given;
  if (first === undefined && last === undefined) return null;
  return unevenStages({ layers: inputs.layers, pp: inputs.pp, vpp: inputs.vpp, first, last });
}

function countParameters(inputs: EstimateInputs): Parameters {
  const { hidden, heads, groups, experts } = inputs;
  // SwiGLU has a third projection.
  const projections = inputs.swiglu ? 3 : 2;
  const ratio = (inputs.headDim * heads) / hidden;
  const attention = 2 * hidden * hidden * ((1 + groups / heads) * ratio);
  const norms = 4 * hidden;
  const finalNorm = 2 * hidden;
  const denseMlp = projections * hidden * inputs.ffn;
  const pattern = layerPattern(inputs);
  let shared = 0;
  let routed = 0;
  let latentProjections = 0;
  if (experts !== null) {
    shared = projections * hidden * experts.sharedFfn;
    routed = projections * (experts.latent ?? hidden) * experts.ffn * experts.count;
    latentProjections = experts.latent === null ? 0 : 2 * hidden * experts.latent;
  }
  const denseByLayer = pattern.map((isMoe) => attention + norms + (isMoe ? shared + latentProjections : denseMlp));
  const routedByLayer = pattern.map((isMoe) => (isMoe ? routed : 0));
  return {
    denseByLayer,
    routedByLayer,
    dense: pythonSum(denseByLayer) + finalNorm,
    routed: pythonSum(routedByLayer),
    finalNorm,
    embedding: hidden * inputs.bridgeVocab,
  };
}

/** MTP layers are further layers of the last layer's kind. */
function layerPattern({ isMoeLayer, mtpLayers }: EstimateInputs): readonly boolean[] {
  return [...isMoeLayer, ...new Array<boolean>(mtpLayers).fill(isMoeLayer.at(-1) === true)];
}

function densePerShard(inputs: EstimateInputs, p: Parameters, split: StageSplit | null): number {
  const { pp, tp, tied } = inputs;
  if (split === null) {
    let embedding = p.embedding / tp;
    if (!tied && pp === 1) embedding += p.embedding / tp;
    return p.dense / (pp * tp) + embedding;
  }
  const stages = sumsByStage(split, p.denseByLayer);
  stages[stages.length - 1]! += pythonSum(p.denseByLayer.slice(inputs.layers));
  stages[stages.length - 1]! += p.finalNorm;
  stages[0]! += p.embedding;
  stages[stages.length - 1]! += p.embedding;
  return maxOf(stages) / tp;
}

function routedPerShard(inputs: EstimateInputs, p: Parameters, split: StageSplit | null): number {
  const { pp, ep, etp } = inputs;
  if (split === null) return p.routed / (pp * ep * etp);
  const stages = sumsByStage(split, p.routedByLayer);
  stages[stages.length - 1]! += pythonSum(p.routedByLayer.slice(inputs.layers));
  return maxOf(stages) / (ep * etp);
}

function sumsByStage(split: StageSplit, byLayer: readonly number[]): number[] {
  return split.map((chunks) => pythonSum(chunks.flat().map((layer) => byLayer[layer]!)));
}

/** Table 2 of https://arxiv.org/abs/2205.05198 with the FFN width averaged over dense and expert layers. */
function activation(inputs: EstimateInputs): number {
  const { seq, microBatch, hidden, pp, experts } = inputs;
  const pattern = layerPattern(inputs);
  const moeLayers = pattern.filter(Boolean).length;
  const denseFfn = (pattern.length - moeLayers) * inputs.ffn;
  const moeFfn = experts === null ? 0 : moeLayers * (experts.ffn * experts.topk + experts.sharedFfn);
  const ratio = (denseFfn + moeFfn) / (pattern.length * hidden);
  let bytes = seq * microBatch * hidden * (18 + 4 * ratio);
  bytes *= pattern.length;
  bytes += 8 * seq * microBatch * pp;
  bytes += seq * microBatch * hidden * pp;
  bytes *= scheduleFactor(inputs).factor;
  if (pp === 1) bytes += seq * microBatch * hidden * 4 * (1 + inputs.bridgeVocab / hidden);
  return bytes / (inputs.tp * inputs.cp);
}

function parameterLines(modelState: readonly BridgeComponent[], total: number): string[] {
  const [dense, routed] = modelState;
  const billions = (count: number, digits: number): string => fixed(count / 1e9, digits);
  const lines = [
    `Number of dense and embedding parameters in billions: ${billions(dense!.parameterCount, 2)}`,
    ...(routed === undefined
      ? []
      : [`Number of routed expert parameters in billions: ${billions(routed.parameterCount, 2)}`]),
    `Total number of parameters in billions: ${billions(total, 2)}`,
    `Number of dense and embedding parameters in most loaded shard in billions: ${billions(dense!.parameterCountPerGpu, 4)}`,
  ];
  if (routed !== undefined)
    lines.push(
      `Number of routed expert parameters in most loaded shard in billions: ${billions(routed.parameterCountPerGpu, 4)}`,
    );
  return lines;
}

/** The log has activations only under the conditions that the formula assumes; the API gives them always. */
function logLine(inputs: EstimateInputs, weightAndOptimizer: number, activationBytes: number): string {
  const start = `Theoretical memory footprints: weight and optimizer=${printedMb(weightAndOptimizer)}`;
  if (!usesSequenceParallelFormula(inputs)) return start;
  const total = weightAndOptimizer / PRINTED_MB + activationBytes / PRINTED_MB;
  return `${start}, activation=${printedMb(activationBytes)}, total=${fixed(total, 2)} MB`;
}

/** Upstream's own sentences. */
function assumptionsOf({ cp }: EstimateInputs, hasExperts: boolean): string[] {
  return [
    'Reports the most-loaded GPU shard; runtime allocator, kernel workspace, and CUDA graph buffers are excluded.',
    'Weight/optimizer bytes use the Megatron Bridge Adam estimate: 18 B/parameter without distributed optimizer, otherwise 6 B plus 12 B sharded over the relevant optimizer group.',
    'Embedding parameters are assigned to first/last pipeline stages; untied embeddings double-count only when PP=1.',
    ...(hasExperts
      ? [
          'Routed MoE expert parameters are sharded by expert_model_parallel_size and expert_tensor_parallel_size; routed expert optimizer state uses the expert data-parallel shard size.',
        ]
      : []),
    ...(cp > 1 ? ['Dense optimizer state and activations are divided across context parallel ranks.'] : []),
    'Activation estimates assume sequence parallelism and selective activation recomputation; full recompute, CPU offload, token imbalance, and dispatcher workspace are not modeled.',
  ];
}
