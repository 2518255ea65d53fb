/** Which evidence shows that a setting is in force, by its key. */

import { memoryRank } from '../../derive/run/memory-keys.js';
import { ALLOCATOR_VARIABLES } from '../../knowledge/env-keys.js';
import { loadData } from '../../knowledge/load-data.js';
import type { ChangeKind } from '../../model/results/verify.js';

const OF: ReadonlyMap<string, ChangeKind> = new Map(
  Object.entries(loadData('change-kinds') as Readonly<Record<ChangeKind, readonly string[]>>).flatMap(([kind, keys]) =>
    keys.map((key) => [key, kind as ChangeKind] as const),
  ),
);

const OFFLOAD = /^(?:cpu_offloading|fine_grained_activation_offloading$|offload_modules$|activation_offload)/;
/** Bear on memory or speed without being in the list that `config` shows first. */
const OTHER_KEYS =
  /^(?:overlap_|tp_comm_|cuda_graph|fp8|fp4|moe_|packed_seq|optimizer|decoupled_weight_decay$|pin_cpu_|recompute|cross_entropy|gradient_accumulation|attention_backend|.*_fusion$|nccl_ub|defer_embedding|min_offloaded|peft|lora_|torch_compile$|sequence_parallel_input_regather$|async_save$|num_workers$)/;

/** Undefined: bears on neither memory nor speed. */
export function kindOfSetting(key: string): ChangeKind | undefined {
  const kindOfKey = OF.get(key);
  if (kindOfKey !== undefined) return kindOfKey;
  if (OFFLOAD.test(key)) return 'activation_offload';
  return memoryRank(key) !== undefined || OTHER_KEYS.test(key) ? 'setting' : undefined;
}

/** What is logged, what was built, and how many processes there are: sizes already show the latter. */
const NO_EFFECT =
  /^(?:NCCL_DEBUG|TORCH_LOGS|TORCH_SHOW_CPP|TORCH_FR_|TOKENIZERS_|GIT_|CI_COMMIT|NVIDIA_BUILD|PYTORCH_BUILD|PET_|DGX|(?:LOCAL_)?WORLD_SIZE$|NNODES$|NPROC_PER_NODE$|GPUS_PER_NODE$|PYTORCH_VERSION$|\w+_VERSION$|TORCH_DISTRIBUTED_DEBUG$|NVTX_)/;

/** Undefined: bears on neither memory nor speed. */
export function kindOfVariable(key: string): ChangeKind | undefined {
  if (NO_EFFECT.test(key)) return undefined;
  return ALLOCATOR_VARIABLES.includes(key) ? 'allocator' : 'environment';
}

/** Keys that one decision sets together. */
export function familyOf(key: string, kind: ChangeKind): string {
  if (kind === 'recompute' || kind === 'activation_offload' || kind === 'graphs') return kind;
  if (/^(?:optimizer_(?:cpu_)?offload|overlap_cpu_optimizer|pin_cpu_)/.test(key)) return 'optimizer_offload';
  if (kind === 'gradients') return kind;
  if (kind === 'allocator') return 'allocator';
  return key;
}
