/**
 * Configurations that Megatron refuses, or that have no layout: an estimate of them would be about nothing. Upstream:
 * the assertions of `TransformerConfig.__post_init__`, `ModelParallelConfig`, `OptimizerConfig` and `arguments.py`; ids
 * as in our table of constraints.
 */
import { MbfError } from '../../model/errors.js';
import type { EstimateInputs } from '../inputs.js';

interface Rule {
  readonly id: string;
  isBroken(inputs: EstimateInputs): boolean;
  fact(inputs: EstimateInputs): string;
}

const RULES: readonly Rule[] = [
  {
    id: 'offload-pp',
    isBroken: ({ given, pp }) => given.cpu_offloading === true && pp > 1,
    fact: () => 'cpu_offloading works only with pp 1: offload the optimizer, or use fine_grained_activation_offloading',
  },
  {
    id: 'offload-recompute',
    isBroken: ({ given, recompute }) => given.cpu_offloading === true && recompute !== null,
    fact: () => 'cpu_offloading does not work with activation recompute: pick one',
  },
  {
    id: 'offload-layers',
    isBroken: ({ given, layers }) => given.cpu_offloading === true && (given.cpu_offloading_num_layers ?? 0) >= layers,
    fact: ({ layers }) => `cpu_offloading_num_layers must be below num_layers ${layers}`,
  },
  {
    id: 'offload-fine',
    isBroken: ({ given }) => given.cpu_offloading === true && given.fine_grained_activation_offloading === true,
    fact: () => 'fine_grained_activation_offloading cannot be combined with cpu_offloading',
  },
  {
    id: 'rc-layers',
    isBroken: ({ given, recompute }) => recompute === 'selective' && given.recompute_num_layers !== undefined,
    fact: () => 'recompute_num_layers is for full recompute; selective recompute takes recompute_modules',
  },
  {
    id: 'rc-mla',
    isBroken: ({ given, recompute, latentAttention }) =>
      recompute === 'selective' &&
      given.recompute_modules?.includes('mla_up_proj') === true &&
      latentAttention === null,
    fact: () => 'recompute module mla_up_proj needs multi-latent attention',
  },
  {
    id: 'rc-moeact',
    isBroken: ({ given, recompute }) =>
      recompute === 'selective' &&
      given.recompute_modules?.includes('moe_act') === true &&
      given.moe_grouped_gemm === false,
    fact: () => 'recompute module moe_act needs moe_grouped_gemm',
  },
  {
    id: 'rc-shared',
    isBroken: ({ given, recompute }) =>
      recompute === 'selective' &&
      given.recompute_modules?.includes('shared_experts') === true &&
      given.moe_shared_expert_overlap === true,
    fact: () => 'recompute module shared_experts cannot work with moe_shared_expert_overlap',
  },
  {
    id: 'rc-dist-sp',
    isBroken: ({ given, sequenceParallel }) => given.distribute_saved_activations === true && sequenceParallel,
    fact: () => 'distribute_saved_activations must be off with sequence_parallel',
  },
  {
    id: 'rc-fp8',
    isBroken: ({ given, recompute }) =>
      recompute === 'selective' &&
      given.fp8 !== undefined &&
      (given.fp8_recipe ?? 'delayed') === 'delayed' &&
      given.recompute_modules?.some((name) => name === 'moe_act' || name === 'layernorm') === true,
    fact: () => 'fp8 with delayed scaling does not support recompute of moe_act or layernorm',
  },
  {
    id: 'vpp-pp',
    isBroken: ({ vpp, pp }) => vpp !== null && vpp > 1 && pp === 1,
    fact: ({ vpp }) => `vpp ${vpp} needs pp > 1`,
  },
  {
    id: 'embed-split',
    isBroken: ({ given }) =>
      (given.account_for_embedding_in_pipeline_split === true || given.account_for_loss_in_pipeline_split === true) &&
      (given.num_layers_in_first_pipeline_stage !== undefined || given.num_layers_in_last_pipeline_stage !== undefined),
    fact: () => 'account_for_*_in_pipeline_split cannot be combined with numbers of layers for the first or last stage',
  },
  {
    id: 'pp-layers',
    isBroken: ({ layers, pp, vpp, given }) =>
      given.pipeline_model_parallel_layout === undefined &&
      // Embedding and loss may have a chunk of their own.
      layers +
        (given.account_for_embedding_in_pipeline_split === true ? 1 : 0) +
        (given.account_for_loss_in_pipeline_split === true ? 1 : 0) <
        pp * (vpp ?? 1),
    fact: ({ layers, pp, vpp }) => `${layers} layers do not fill ${pp} stages of ${vpp ?? 1} chunks`,
  },
  {
    id: 'heads-tp',
    isBroken: ({ heads, tp }) => heads % tp !== 0,
    fact: ({ heads, tp }) => `num_attention_heads ${heads} is not a multiple of tp ${tp}`,
  },
  {
    id: 'groups-tp',
    isBroken: ({ groups, tp, latentAttention }) => latentAttention === null && groups % tp !== 0 && tp % groups !== 0,
    fact: ({ groups, tp }) => `num_query_groups ${groups} and tp ${tp} do not divide each other`,
  },
  {
    id: 'cp-seq',
    isBroken: ({ seq, cp }) => cp > 1 && seq % (2 * cp) !== 0,
    fact: ({ seq, cp }) => `seq_length ${seq} is not a multiple of 2 × cp = ${2 * cp}`,
  },
  {
    id: 'experts-ep',
    isBroken: ({ experts, ep }) => experts !== null && experts.count % ep !== 0,
    fact: ({ experts, ep }) => `num_moe_experts ${experts?.count} is not a multiple of ep ${ep}`,
  },
  {
    id: 'world-experts',
    isBroken: ({ experts, world, etp, ep, pp }) => experts !== null && world % (etp * ep * pp) !== 0,
    fact: ({ world, etp, ep, pp }) => `world ${world} is not a multiple of etp × ep × pp = ${etp * ep * pp}`,
  },
  {
    id: 'world-dense',
    isBroken: ({ world, tp, pp, cp, dp }) => world !== tp * pp * cp * dp,
    fact: ({ world, tp, pp, cp, dp }) => `world ${world} is not tp × pp × cp × dp = ${tp * pp * cp * dp}`,
  },
  {
    id: 'moe-topk',
    isBroken: ({ experts }) => experts !== null && experts.topk > experts.count,
    fact: ({ experts }) => `moe_router_topk ${experts?.topk} is more than the ${experts?.count} experts`,
  },
  {
    id: 'do-pao',
    isBroken: ({ given, distributedOptimizer }) =>
      given.use_precision_aware_optimizer === true && !distributedOptimizer && given.use_megatron_fsdp !== true,
    fact: () => 'use_precision_aware_optimizer needs the distributed optimizer',
  },
  {
    id: 'do-dtypes',
    isBroken: ({ given }) =>
      given.use_precision_aware_optimizer !== true &&
      [given.main_grads_dtype, given.main_params_dtype, given.exp_avg_dtype, given.exp_avg_sq_dtype].some(
        (dtype) => dtype !== undefined && !/^(?:torch\.)?(?:fp32|float32|float)$/.test(dtype),
      ),
    fact: () => 'dtypes of the optimizer state other than fp32 need use_precision_aware_optimizer',
  },
  {
    id: 'oo-fraction',
    isBroken: ({ given }) => given.optimizer_cpu_offload === true && given.use_torch_fsdp2 === true,
    fact: () => 'optimizer_cpu_offload needs the distributed optimizer, which torch FSDP2 is not',
  },
  {
    id: 'fsdp2',
    isBroken: ({ given, pp, ep, distributedOptimizer }) =>
      given.use_torch_fsdp2 === true && (pp > 1 || ep > 1 || distributedOptimizer),
    fact: () => 'torch FSDP2 works neither with pp > 1, nor with ep > 1, nor with the distributed optimizer',
  },
  {
    id: 'fsdp-both',
    isBroken: ({ given }) => given.use_torch_fsdp2 === true && given.use_megatron_fsdp === true,
    fact: () => 'Megatron FSDP and torch FSDP2 exclude each other',
  },
];

export function isHybrid({ given }: EstimateInputs): boolean {
  return given.is_hybrid_model === true || given.hybrid_override_pattern !== undefined;
}

/**
 * State-space layers lack a formula, here and upstream. Upstream: `report_theoretical_memory` of Megatron-LM refuses
 * such models; Bridge's estimator does not look for them.
 */
export function refuseHybrid(inputs: EstimateInputs): void {
  if (!isHybrid(inputs)) return;
  throw new MbfError(
    'MBF1001',
    'memory of hybrid Mamba-Transformer models is not modelled. Megatron-LM prints "Theoretical memory footprints not yet supported for hybrid Mamba-Transformer models."; Megatron Bridge prints a figure as if every layer were a transformer layer (--model megatron-bridge)',
  );
}

/** Throws MBF1001 naming every rule that the configuration breaks. */
export function refuseForbidden(inputs: EstimateInputs): void {
  const broken = RULES.filter((rule) => rule.isBroken(inputs));
  if (broken.length === 0) return;
  throw new MbfError('MBF1001', broken.map((rule) => `${rule.fact(inputs)} (${rule.id})`).join('; '));
}
