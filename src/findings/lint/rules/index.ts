/** Every rule, in the order of the catalogue: the one list to read. */
import type { LintRule } from '../rule.js';
import { ALLOCATOR_RULES } from './allocator.js';
import { COMMUNICATION_RULES } from './communication.js';
import { CONTEXT_PARALLEL_RULES } from './context-parallel.js';
import { DATA_RULES } from './data.js';
import { ENVIRONMENT_RULES } from './environment.js';
import { EXPERT_OVERLAP_RULES } from './expert-overlap.js';
import { EXPERT_RULES } from './experts.js';
import { FINE_GRAINED_RULES } from './fine-grained.js';
import { FSDP_RULES } from './fsdp.js';
import { GRAPH_ENVIRONMENT_RULES } from './graph-environment.js';
import { GRAPH_RULES } from './graphs.js';
import { GUIDE_RULES } from './guides.js';
import { OFFLOAD_RULES } from './offload.js';
import { OPTIMIZER_RULES } from './optimizer.js';
import { PARALLEL_RULES } from './parallel.js';
import { PIPELINE_RULES } from './pipeline.js';
import { PRECISION_RULES } from './precision.js';
import { PROFILING_RULES } from './profiling.js';
import { RECOMPUTE_RULES } from './recompute.js';
import { RECOMPUTE_MODULE_RULES } from './recompute-modules.js';
import { SOFT_RECOMPUTE_RULES } from './soft-activations.js';
import { SOFT_GRAPH_RULES } from './soft-graphs.js';
import { SOFT_OFFLOAD_RULES } from './soft-offload.js';

export const RULES: readonly LintRule[] = [
  // Offload, recompute and CUDA graphs.
  ...OFFLOAD_RULES,
  ...FINE_GRAINED_RULES,
  ...RECOMPUTE_RULES,
  ...RECOMPUTE_MODULE_RULES,
  ...EXPERT_OVERLAP_RULES,
  ...GRAPH_RULES,
  ...GRAPH_ENVIRONMENT_RULES,
  // Sharding, the optimizer, parallel sizes and experts; data and profilers.
  ...FSDP_RULES,
  ...OPTIMIZER_RULES,
  ...PRECISION_RULES,
  ...PARALLEL_RULES,
  ...PIPELINE_RULES,
  ...CONTEXT_PARALLEL_RULES,
  ...EXPERT_RULES,
  ...DATA_RULES,
  ...PROFILING_RULES,
  // Communication and the environment; what only the guides say.
  ...COMMUNICATION_RULES,
  ...ALLOCATOR_RULES,
  ...ENVIRONMENT_RULES,
  ...GUIDE_RULES,
  // Nothing refuses these.
  ...SOFT_RECOMPUTE_RULES,
  ...SOFT_OFFLOAD_RULES,
  ...SOFT_GRAPH_RULES,
];

const BY_ID = new Map(RULES.map((rule) => [rule.id, rule]));

export function ruleOf(id: string): LintRule | undefined {
  return BY_ID.get(id);
}
