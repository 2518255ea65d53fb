/** CUDA graphs: what environment and packages must be for them, and what weight gradients computed late need. */
import {
  all,
  any,
  before,
  capabilityBelow,
  envHas,
  given,
  has,
  isNot,
  not,
  notKnown,
  off,
  on,
  since,
} from '../../settings/condition.js';
import type { LintRule, Sample } from '../rule.js';
import { captured, EXPANDABLE, GRAPHS, graphsOf, LAYER_GRAPHS, REGISTERS } from './activation-terms.js';
import { ARG, CG, MBO } from './sources.js';

const TE: Sample['config'] = { cuda_graph_impl: 'transformer_engine' };
const LOCAL: Sample['config'] = { cuda_graph_impl: 'local' };
const expandable = { PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True' };
const quiet = { ...expandable, NCCL_GRAPH_REGISTER: '0' };

const delayed = (config: Sample['config']): Sample['config'] => ({
  ...TE,
  cuda_graph_modules: ['attn'],
  delay_wgrad_compute: true,
  overlap_moe_expert_parallel_comm: true,
  overlap_grad_reduce: false,
  transformer_impl: 'transformer_engine',
  gradient_accumulation_fusion: true,
  add_bias_linear: false,
  add_qkv_bias: false,
  moe_shared_expert_intermediate_size: null,
  moe_shared_expert_overlap: false,
  ...config,
});

/** Graphs hold weight gradients: of attention, or of shared experts beside the router. */
const WGRAD_CAPTURED = all(
  GRAPHS,
  any(
    has('cuda_graph_modules', 'attn'),
    all(
      has('cuda_graph_modules', 'moe_router'),
      given('moe_shared_expert_intermediate_size'),
      off('moe_shared_expert_overlap'),
    ),
  ),
);

export const GRAPH_ENVIRONMENT_RULES: readonly LintRule[] = [
  {
    id: 'graph-nccl-te',
    severity: 'error',
    message:
      'CUDA graphs with expandable segments need NCCL_GRAPH_REGISTER=0 ({NCCL_GRAPH_REGISTER}), else memory accesses are illegal.',
    when: all(
      graphsOf('transformer_engine'),
      EXPANDABLE,
      REGISTERS,
      // There the pair is refused altogether.
      notKnown(all(since('megatron_core', '0.14'), before('megatron_core', '0.16'))),
    ),
    fix: 'export NCCL_GRAPH_REGISTER=0',
    error: 'Setting NCCL_GRAPH_REGISTER=0 to avoid illegal memory access when using CUDA Graph',
    source: `${CG} TECudaGraphHelper; ${ARG}`,
    evidence: 'asserted',
    statements: ['mem.expandable-graphs', 'mem.verify-env'],
    fails: [
      { config: TE, env: expandable },
      { config: TE, env: { ...expandable, NCCL_GRAPH_REGISTER: '1' }, versions: { megatron_core: '0.19.0' } },
      { config: { external_cuda_graph: true }, env: expandable },
    ],
    passes: [
      { config: TE, env: quiet },
      { config: TE },
      { config: { cuda_graph_impl: 'none' }, env: expandable },
      { config: TE, env: { PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:False' } },
      { config: TE, env: expandable, versions: { megatron_core: '0.15.0' } },
    ],
    unknown: [{ config: TE, env: 'unknown' }],
  },
  {
    id: 'graph-nccl-local',
    severity: 'error',
    message:
      'CUDA graphs with expandable segments need NCCL_GRAPH_REGISTER=0 ({NCCL_GRAPH_REGISTER}) before Blackwell ({device}).',
    when: all(graphsOf('local'), EXPANDABLE, REGISTERS, capabilityBelow(10)),
    versions: [{ package: 'megatron_core', from: '0.16', before: '0.19' }],
    fix: 'export NCCL_GRAPH_REGISTER=0',
    // The text is the same as that of `graph-nccl-te`.
    error: 'Setting NCCL_GRAPH_REGISTER=0 to avoid illegal memory access when using CUDA Graph',
    source: `${CG} CudaGraphManager`,
    evidence: 'asserted',
    statements: ['mem.expandable-graphs'],
    fails: [{ config: LOCAL, env: expandable, versions: { megatron_core: '0.17.0' }, gpu: 'h100-80gb' }],
    passes: [
      { config: LOCAL, env: quiet, versions: { megatron_core: '0.17.0' }, gpu: 'h100-80gb' },
      { config: LOCAL, env: expandable, versions: { megatron_core: '0.17.0' }, gpu: 'b200' },
      { config: LOCAL, env: expandable, versions: { megatron_core: '0.19.0' }, gpu: 'h100-80gb' },
    ],
    unknown: [
      { config: LOCAL, env: expandable, versions: { megatron_core: '0.17.0' } },
      { config: LOCAL, env: expandable, gpu: 'h100-80gb' },
    ],
  },
  {
    id: 'graph-nccl-alias',
    severity: 'error',
    message:
      'Expandable segments are set in PYTORCH_ALLOC_CONF, where Megatron-Core does not see them; with CUDA graphs and NCCL_GRAPH_REGISTER {NCCL_GRAPH_REGISTER} memory accesses are illegal.',
    when: all(LAYER_GRAPHS, envHas('PYTORCH_ALLOC_CONF', 'expandable_segments:True'), not(EXPANDABLE), REGISTERS),
    fix: 'export NCCL_GRAPH_REGISTER=0, and set PYTORCH_CUDA_ALLOC_CONF, which Megatron-Core checks.',
    error: null,
    source: `${CG}, which reads PYTORCH_CUDA_ALLOC_CONF only; PyTorch's allocator takes the alias too`,
    evidence: 'documented',
    statements: ['mem.expandable-graphs', 'mem.expandable-env-only', 'mem.verify-env'],
    fails: [
      { config: TE, env: { PYTORCH_ALLOC_CONF: 'expandable_segments:True' } },
      { config: LOCAL, env: { PYTORCH_ALLOC_CONF: 'expandable_segments:True', NCCL_GRAPH_REGISTER: '1' } },
    ],
    passes: [
      { config: TE, env: { PYTORCH_ALLOC_CONF: 'expandable_segments:True', NCCL_GRAPH_REGISTER: '0' } },
      { config: TE, env: { PYTORCH_ALLOC_CONF: 'expandable_segments:True', ...expandable } },
      { config: { cuda_graph_impl: 'none' }, env: { PYTORCH_ALLOC_CONF: 'expandable_segments:True' } },
    ],
    unknown: [{ config: TE, env: 'unknown' }],
  },
  {
    id: 'graph-expand-old',
    severity: 'error',
    message: 'Megatron-Core 0.14 and 0.15 refuse expandable segments with CUDA graphs.',
    when: all(GRAPHS, EXPANDABLE),
    versions: [{ package: 'megatron_core', from: '0.14', before: '0.16' }],
    fix: 'Drop expandable_segments:True or the graphs, or upgrade Megatron-Core to 0.16 and set NCCL_GRAPH_REGISTER=0.',
    error: 'expandable_segments:True may not be safe when using CUDA Graphs',
    source: `${CG}; ${ARG}`,
    evidence: 'asserted',
    statements: ['mem.expandable-graphs'],
    fails: [
      { config: { enable_cuda_graph: true }, env: quiet, versions: { megatron_core: '0.14.0' } },
      { config: TE, env: quiet, versions: { megatron_core: '0.15.3' } },
    ],
    passes: [
      { config: TE, env: quiet, versions: { megatron_core: '0.16.0rc0' } },
      { config: TE, env: quiet, versions: { megatron_core: '0.13.1' } },
      { config: TE, versions: { megatron_core: '0.14.0' } },
    ],
    unknown: [{ config: TE, env: quiet }],
  },
  {
    id: 'graph-wgrad',
    severity: 'error',
    message:
      'delay_wgrad_compute needs overlap of expert communication and Transformer Engine layers; in CUDA graphs also fused gradient accumulation, and attention without bias.',
    when: all(
      on('delay_wgrad_compute'),
      any(
        off('overlap_moe_expert_parallel_comm'),
        isNot('transformer_impl', 'transformer_engine'),
        all(WGRAD_CAPTURED, off('gradient_accumulation_fusion')),
        all(captured('attn'), has('cuda_graph_modules', 'attn'), any(on('add_bias_linear'), on('add_qkv_bias'))),
      ),
    ),
    fix: 'Set overlap_moe_expert_parallel_comm and gradient_accumulation_fusion, add_bias_linear=False and add_qkv_bias=False; or delay_wgrad_compute=False.',
    error: 'CUDA graph with delay_wgrad_compute requires gradient_accumulation_fusion to be enabled.',
    source: `${ARG}; ${MBO}`,
    evidence: 'asserted',
    statements: ['guide.fusions'],
    fails: [
      { config: delayed({ overlap_moe_expert_parallel_comm: false }) },
      { config: delayed({ transformer_impl: 'local' }) },
      { config: delayed({ gradient_accumulation_fusion: false }) },
      {
        config: delayed({
          cuda_graph_modules: ['moe_router'],
          moe_shared_expert_intermediate_size: 2048,
          gradient_accumulation_fusion: false,
        }),
      },
      { config: delayed({ add_bias_linear: true }) },
      { config: delayed({ add_qkv_bias: true }) },
    ],
    passes: [
      { config: delayed({}) },
      { config: delayed({ cuda_graph_impl: 'none', gradient_accumulation_fusion: false, add_qkv_bias: true }) },
      { config: delayed({ cuda_graph_modules: ['moe_router'], gradient_accumulation_fusion: false }) },
      { config: delayed({ delay_wgrad_compute: false, gradient_accumulation_fusion: false }) },
    ],
  },
  {
    // Apart from its neighbour, so that an unknown version leaves only this one undecided.
    id: 'graph-wgrad-te',
    severity: 'error',
    message:
      'delay_wgrad_compute needs a newer Transformer Engine ({transformer_engine}): 2.12 in CUDA graphs of attention, 2.8 with overlap_grad_reduce, 2.7 without fused gradient accumulation.',
    when: all(
      on('delay_wgrad_compute'),
      any(
        all(WGRAD_CAPTURED, before('transformer_engine', '2.12')),
        all(on('overlap_grad_reduce'), before('transformer_engine', '2.8')),
        all(off('gradient_accumulation_fusion'), before('transformer_engine', '2.7')),
      ),
    ),
    fix: 'Upgrade Transformer Engine, or set delay_wgrad_compute=False.',
    error: 'CUDA graph with delay_wgrad_compute requires TE version >= 2.12.0.',
    source: `${ARG}; ${MBO}`,
    evidence: 'asserted',
    statements: [],
    fails: [
      { config: delayed({}), versions: { transformer_engine: '2.11.0' } },
      {
        config: delayed({ cuda_graph_impl: 'none', overlap_grad_reduce: true }),
        versions: { transformer_engine: '2.7.0' },
      },
      {
        config: delayed({ cuda_graph_impl: 'none', gradient_accumulation_fusion: false }),
        versions: { transformer_engine: '2.6.0' },
      },
    ],
    passes: [
      { config: delayed({}), versions: { transformer_engine: '2.12.0' } },
      { config: delayed({ cuda_graph_impl: 'none' }), versions: { transformer_engine: '2.5.0' } },
      { config: delayed({ delay_wgrad_compute: false }) },
    ],
    unknown: [{ config: delayed({}) }],
  },
];
