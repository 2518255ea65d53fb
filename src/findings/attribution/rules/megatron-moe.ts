/** Mixture of experts in Megatron-Core: router, dispatch, experts. */
import type { AttributionRule, FramePattern } from '../match/rule.js';
import { MOE_CUSTOM, RECOMPUTED_LAYER, source, submodule, wheel } from './megatron-stacks.js';

const DISPATCHER = 'core/transformer/moe/token_dispatcher.py';
const FUSED = 'core/transformer/moe/fused_a2a.py';
const UTILS = 'core/transformer/moe/moe_utils.py';
const EXPERTS = 'core/transformer/moe/experts.py';
const SHARED = 'core/transformer/moe/shared_experts.py';
const LAYER = 'core/transformer/moe/moe_layer.py';
const ROUTER = 'core/transformer/moe/router.py';

/** Shared experts may run inside the dispatcher, to overlap with its communication. */
export const EXPERT_FILES: readonly FramePattern[] = [
  { file: ['transformer/moe/shared_experts.py', 'transformer/moe/experts.py'] },
];
const SHARED_FILE: FramePattern = { file: 'transformer/moe/shared_experts.py' };
const ROUTED = [`routed_experts_compute ${LAYER}`, ...MOE_CUSTOM];
const TE_GROUPED = [
  'forward te/module/grouped_linear.py',
  'apply',
  'forward te/module/grouped_linear.py',
  'call',
  'forward core/extensions/transformer_engine.py',
  'call',
];

export const MOE_OWNERS: readonly AttributionRule[] = [
  {
    id: 'mcore.deepep-buffer',
    component: 'moe_dispatch',
    sub_component: 'deepep_buffer',
    at: [
      {
        file: ['transformer/moe/fused_a2a.py', 'nemo/lightning/pytorch/callbacks/deepep.py'],
        function: ['get_buffer', 'init_hybrid_ep_buffer', 'new_nccl_ep_buffer', 'ensure_nccl_ep_bootstrapped'],
      },
      { file: 'deep_ep/**', function: ['__init__', 'update_template_config', 'update_buffer*', 'allocate_buffer*'] },
    ],
    source: `Megatron-LM ${FUSED} get_buffer, init_hybrid_ep_buffer (02ad939)`,
    samples: [
      {
        frames: source(
          '__init__ /usr/local/lib/python3.12/dist-packages/deep_ep/buffer.py',
          `get_buffer ${FUSED}`,
          `forward ${FUSED}`,
          'apply',
          `fused_dispatch ${FUSED}`,
          `dispatch ${DISPATCHER}`,
          `token_dispatch ${DISPATCHER}`,
          `dispatch ${LAYER}`,
          MOE_CUSTOM,
        ),
        lifetime: 'resident',
        from: `Megatron-LM ${FUSED} get_buffer (19c61eb)`,
      },
      {
        frames: submodule(
          '__init__ /opt/DeepEP/deep_ep/hybrid_ep_buffer.py',
          `init_hybrid_ep_buffer ${FUSED}`,
          `HybridEPDispatch.forward ${FUSED}`,
          'apply',
          `hybrid_ep_dispatch ${FUSED}`,
          `_HybridEPManager.dispatch ${DISPATCHER}`,
          `MoEFlexTokenDispatcher.token_dispatch ${DISPATCHER}`,
          `MoELayer.dispatch ${LAYER}`,
          MOE_CUSTOM,
        ),
        lifetime: 'resident',
        from: `Megatron-LM ${FUSED} init_hybrid_ep_buffer (02ad939)`,
      },
    ],
  },
  {
    id: 'mcore.moe-paged-stash',
    component: 'moe_dispatch',
    sub_component: 'paged_stash',
    at: {
      file: [
        'transformer/moe/paged_stash.py',
        'transformer/moe/ops/paged_stash.py',
        'transformer/moe/kernels/paged_stash.py',
      ],
    },
    source: 'Megatron-LM core/transformer/moe/paged_stash.py PagedStashBuffer (megatron.md 5.2)',
    samples: [
      {
        frames: source(
          '__init__ core/transformer/moe/paged_stash.py',
          'allocate_stash_buffers core/transformer/moe/paged_stash.py',
          'forward_backward_no_pipelining core/pipeline_parallel/schedules.py',
          'train_step training/training.py',
        ),
        from: 'Megatron-LM core/transformer/moe/paged_stash.py PagedStashBuffer.__init__ (not read)',
      },
    ],
  },
  {
    id: 'mcore.moe-dispatch',
    component: 'moe_dispatch',
    sub_component: 'dispatch',
    at: {
      file: [
        'transformer/moe/token_dispatcher.py',
        'transformer/moe/token_dispatcher_inference.py',
        'transformer/moe/legacy_a2a_token_dispatcher.py',
        'transformer/moe/fused_a2a.py',
        'deep_ep/**',
      ],
    },
    without: SHARED_FILE,
    source: `Megatron-LM ${DISPATCHER} MoEAlltoAllTokenDispatcher.dispatch_preprocess, dispatch_all_to_all, combine_postprocess (0014f13), token_unpermutation (bed33f8)`,
    samples: [
      {
        frames: source(
          'forward core/tensor_parallel/mappings.py',
          'apply',
          'all_to_all core/tensor_parallel/mappings.py',
          `token_dispatch ${DISPATCHER}`,
          `dispatch ${LAYER}`,
          MOE_CUSTOM,
        ),
        phase: 'forward',
        from: `Megatron-LM ${DISPATCHER} MoEAlltoAllTokenDispatcher.dispatch_all_to_all (0014f13); ${LAYER} dispatch (0011998)`,
      },
      {
        frames: wheel(`token_unpermutation ${DISPATCHER}`, `custom_forward ${LAYER}`, MOE_CUSTOM.slice(1)),
        from: `Megatron-LM ${DISPATCHER} token_unpermutation (bed33f8, core 0.8)`,
      },
      {
        frames: submodule(
          '_gather_along_first_dim core/tensor_parallel/mappings.py',
          '_GatherFromSequenceParallelRegion.forward core/tensor_parallel/mappings.py',
          'apply',
          'gather_from_sequence_parallel_region core/tensor_parallel/mappings.py',
          `MoEAllGatherTokenDispatcher.token_dispatch ${DISPATCHER}`,
          `MoELayer.dispatch ${LAYER}`,
          MOE_CUSTOM,
        ),
        from: `Megatron-LM ${DISPATCHER} MoEAllGatherTokenDispatcher; ${LAYER} dispatch (0011998)`,
      },
      {
        frames: source(
          'dispatch /usr/local/lib/python3.12/dist-packages/deep_ep/buffer.py',
          `forward ${FUSED}`,
          'apply',
          `fused_dispatch ${FUSED}`,
          `dispatch ${DISPATCHER}`,
          `token_dispatch ${DISPATCHER}`,
          `dispatch ${LAYER}`,
          MOE_CUSTOM,
        ),
        from: `Megatron-LM ${FUSED} FusedDispatch.forward (19c61eb)`,
      },
      {
        frames: source(
          'dispatch_with_permute /opt/DeepEP/deep_ep/hybrid_ep_buffer.py',
          `HybridEPDispatch.forward ${FUSED}`,
          'apply',
          `hybrid_ep_dispatch ${FUSED}`,
          `dispatch ${DISPATCHER}`,
          `token_dispatch ${DISPATCHER}`,
          `dispatch ${LAYER}`,
          `custom_forward ${LAYER}`,
          'backward core/tensor_parallel/random.py',
          'apply',
        ),
        component: 'recompute',
        phase: 'backward',
        from: `Megatron-LM ${FUSED} HybridEPDispatch.forward (02ad939); ${LAYER} moe_layer_recompute (0011998)`,
      },
      {
        frames: source(
          'combine /usr/local/lib/python3.12/dist-packages/deep_ep/buffer.py',
          `backward ${FUSED}`,
          'apply',
        ),
        phase: 'backward',
        from: `Megatron-LM ${FUSED} FusedDispatch.backward (19c61eb)`,
      },
    ],
  },
  {
    id: 'mcore.moe-permute',
    component: 'moe_dispatch',
    sub_component: 'permute',
    at: [
      {
        file: UTILS,
        function: ['permute', 'unpermute', 'sort_chunks_by_idxs', 'maybe_move_tensor_to_cpu'],
      },
      { file: ['core/fusions/fused_indices_converter.py', 'core/fusions/fused_pad_routing_map.py'] },
    ],
    source: `Megatron-LM ${DISPATCHER} dispatch_preprocess calls permute of moe_utils.py (0014f13)`,
    samples: [
      {
        frames: source(
          `permute ${UTILS}`,
          `dispatch_preprocess ${DISPATCHER}`,
          `router_and_preprocess ${LAYER}`,
          MOE_CUSTOM,
        ),
        from: `Megatron-LM ${DISPATCHER} MoEAlltoAllTokenDispatcher.dispatch_preprocess (0014f13)`,
      },
      {
        frames: source(`unpermute ${UTILS}`, `combine_postprocess ${DISPATCHER}`, `combine ${LAYER}`, MOE_CUSTOM),
        from: `Megatron-LM ${DISPATCHER} combine_postprocess (0014f13)`,
      },
    ],
  },
  {
    // The functions of the file that allocate by themselves, not in a helper, are those of the all-to-all; its backward has no dispatcher above it.
    id: 'mcore.all-to-all',
    component: 'moe_dispatch',
    sub_component: 'all_to_all',
    at: { file: 'core/tensor_parallel/mappings.py', function: ['_AllToAll.forward', '_AllToAll.backward'] },
    without: [
      { file: 'core/tensor_parallel/mappings.py', function: ['_gather_*', '_reduce_scatter_*', '_split_*', '_reduce'] },
      { file: ['core/ssm/**', 'transformer/moe/token_dispatcher.py', 'transformer/moe/shared_experts.py'] },
    ],
    source: 'Megatron-LM core/tensor_parallel/mappings.py _AllToAll (00caa53)',
    samples: [
      {
        frames: source(
          'forward core/tensor_parallel/mappings.py',
          'apply',
          'backward core/tensor_parallel/mappings.py',
          'apply',
        ),
        phase: 'backward',
        from: 'Megatron-LM core/tensor_parallel/mappings.py _AllToAll.backward (00caa53)',
      },
    ],
  },
  {
    id: 'mcore.moe-aux-losses',
    component: 'temporary',
    sub_component: 'moe_metrics',
    at: {
      file: [UTILS, 'core/transformer/moe/moe_logging.py'],
      function: [
        'track_moe_metrics',
        'reduce_aux_losses_tracker_across_ranks',
        'save_to_aux_losses_tracker',
        'clear_aux_losses_tracker',
      ],
    },
    source:
      'Megatron-LM training/training.py training_log calls track_moe_metrics (86df799); core/transformer/moe/router.py save_to_aux_losses_tracker (005742f)',
    samples: [
      {
        frames: source(
          `save_to_aux_losses_tracker ${UTILS}`,
          `apply_z_loss ${ROUTER}`,
          `routing ${ROUTER}`,
          `forward ${ROUTER}`,
          'call',
          `router_and_preprocess ${LAYER}`,
          MOE_CUSTOM,
        ),
        from: `Megatron-LM ${ROUTER} TopKRouter.apply_z_loss (005742f)`,
      },
      {
        frames: wheel(`track_moe_metrics ${UTILS}`, 'training_log training/training.py', 'train training/training.py'),
        phase: 'logging',
        from: 'Megatron-LM training/training.py training_log (86df799)',
      },
    ],
  },
];

export const MOE_LAYERS: readonly AttributionRule[] = [
  {
    id: 'mcore.moe-router',
    component: 'activation',
    sub_component: 'moe_router',
    at: [
      { file: ['transformer/moe/router.py', 'transformer/moe/router_replay.py', 'core/fusions/fused_topk_routing.py'] },
      { file: UTILS },
    ],
    source: `Megatron-LM ${ROUTER} TopKRouter.routing, gating (005742f)`,
    samples: [
      {
        frames: source(
          `topk_softmax_with_capacity ${UTILS}`,
          `routing ${ROUTER}`,
          `forward ${ROUTER}`,
          'call',
          `router_and_preprocess ${LAYER}`,
          MOE_CUSTOM,
        ),
        phase: 'forward',
        from: `Megatron-LM ${ROUTER} TopKRouter.routing (005742f)`,
      },
      {
        frames: submodule(
          `RouterGatingLinearFunction.forward ${UTILS}`,
          'apply',
          `router_gating_linear ${UTILS}`,
          `Router.gating ${ROUTER}`,
          `TopKRouter.forward ${ROUTER}`,
          'call',
          `MoELayer.router_and_preprocess ${LAYER}`,
          MOE_CUSTOM.slice(0, 1),
          RECOMPUTED_LAYER,
        ),
        component: 'recompute',
        from: `Megatron-LM ${ROUTER} Router.gating (005742f); core/tensor_parallel/random.py CheckpointFunction.backward (004bfb5)`,
      },
    ],
  },
  {
    id: 'mcore.moe-experts',
    component: 'activation',
    sub_component: 'moe_experts',
    at: {
      file: [
        'transformer/moe/experts.py',
        'transformer/moe/grouped_gemm_util.py',
        'transformer/moe/grouped_mlp.py',
        'transformer/moe/switch_mlp.py',
      ],
    },
    source: `Megatron-LM ${EXPERTS} GroupedMLP.forward, SequentialMLP.forward (00358e5); ${LAYER} routed_experts_compute (0011998)`,
    samples: [
      {
        frames: source(TE_GROUPED, `forward ${EXPERTS}`, 'call', ROUTED),
        phase: 'forward',
        from: `Megatron-LM ${EXPERTS} TEGroupedMLP.forward; TransformerEngine pytorch/module/grouped_linear.py _GroupedLinear.forward (0069563)`,
      },
      {
        frames: wheel(
          'forward core/fusions/fused_bias_swiglu.py',
          'apply',
          'weighted_bias_swiglu_impl core/fusions/fused_bias_swiglu.py',
          `bias_act_func ${EXPERTS}`,
          `forward ${EXPERTS}`,
          'call',
          ROUTED,
        ),
        from: `Megatron-LM ${EXPERTS} TEGroupedMLP.forward`,
      },
      {
        frames: wheel('forward core/transformer/mlp.py', 'call', `forward ${EXPERTS}`, 'call', ROUTED),
        from: `Megatron-LM ${EXPERTS} SequentialMLP.forward (00358e5)`,
      },
    ],
  },
  {
    id: 'mcore.moe-shared-experts',
    component: 'activation',
    sub_component: 'moe_shared_experts',
    at: { file: 'transformer/moe/shared_experts.py' },
    source: `Megatron-LM ${SHARED} SharedExpertMLP.forward, linear_fc1_forward_and_act (0065cf8)`,
    samples: [
      {
        frames: source(
          'forward te/module/linear.py',
          'apply',
          'forward te/module/linear.py',
          'call',
          'forward core/extensions/transformer_engine.py',
          'call',
          'forward core/transformer/mlp.py',
          `forward ${SHARED}`,
          'call',
          `shared_experts_compute ${LAYER}`,
          MOE_CUSTOM,
        ),
        from: `Megatron-LM ${SHARED} SharedExpertMLP.forward (0065cf8)`,
      },
      {
        // Overlapped with the dispatcher's communication.
        frames: submodule(
          'forward te/module/linear.py',
          'apply',
          'forward te/module/linear.py',
          'call',
          'forward core/extensions/transformer_engine.py',
          'call',
          `linear_fc1_forward_and_act ${SHARED}`,
          `dispatch_postprocess ${DISPATCHER}`,
          ROUTED,
        ),
        from: `Megatron-LM ${SHARED} linear_fc1_forward_and_act (0065cf8); ${DISPATCHER} dispatch_postprocess (0014f13)`,
      },
    ],
  },
  {
    id: 'mcore.moe-layer',
    component: 'activation',
    sub_component: 'moe_layer',
    at: { file: ['transformer/moe/moe_layer.py', 'transformer/moe/base_moe_layer.py'] },
    source: `Megatron-LM ${LAYER} MoELayer.forward, combine (0011998)`,
    samples: [
      {
        frames: source(`combine ${LAYER}`, MOE_CUSTOM),
        from: `Megatron-LM ${LAYER} MoELayer.combine adds the shared experts' output (0011998)`,
      },
    ],
  },
];
