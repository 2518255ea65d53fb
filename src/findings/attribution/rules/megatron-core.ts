/** Megatron-LM: Megatron-Core and megatron/training. Each rule cites the commit it was read at; its patterns cover older and newer layouts of the same code. */
import type { AttributionRule } from '../match/rule.js';
import { ATTENTION_LAYERS } from './megatron-attention.js';
import { FSDP_OWNERS_OF_MEGATRON } from './megatron-fsdp.js';
import { GRAPH_LAYERS, GRAPH_OWNERS } from './megatron-graphs.js';
import { LOSS_LAYERS } from './megatron-loss.js';
import { MODEL_GENERIC, MODEL_LAYERS } from './megatron-model.js';
import { MOE_LAYERS, MOE_OWNERS } from './megatron-moe.js';
import { OPTIMIZER_OWNERS } from './megatron-optimizer.js';
import { PARALLEL_GENERIC, PARALLEL_LAYERS, PARALLEL_OWNERS } from './megatron-parallel.js';
import { PARAMETER_OWNERS } from './megatron-parameters.js';
import { TRAINING_GENERIC, TRAINING_OWNERS } from './megatron-training.js';

/** Graph pools first: rules that match at the innermost frame are taken in this order. */
export const MEGATRON_OWNERS: readonly AttributionRule[] = [
  ...GRAPH_OWNERS,
  ...PARALLEL_OWNERS,
  ...FSDP_OWNERS_OF_MEGATRON,
  ...OPTIMIZER_OWNERS,
  ...MOE_OWNERS,
  ...PARAMETER_OWNERS,
  ...TRAINING_OWNERS,
];

export const MEGATRON_LAYERS: readonly AttributionRule[] = [
  ...MOE_LAYERS,
  ...ATTENTION_LAYERS,
  ...LOSS_LAYERS,
  ...MODEL_LAYERS,
  ...PARALLEL_LAYERS,
  ...GRAPH_LAYERS,
];

/** What a linear layer, a collective or the training loop allocates where nothing else claims it. Belongs into the generic tier. */
export const MEGATRON_GENERIC: readonly AttributionRule[] = [
  ...MODEL_GENERIC,
  ...PARALLEL_GENERIC,
  ...TRAINING_GENERIC,
];
