/** Logits and loss of Megatron-Core's models. */
import type { AttributionRule } from '../match/rule.js';
import {
  BRIDGE_GPT,
  COLUMN_PARALLEL,
  FORWARD_STEP,
  GPT,
  GPT_MODEL_FILE,
  LINEAR_FILE,
  MTP_FILE,
  SCHEDULE,
  source,
  submodule,
  TE_LINEAR,
  wheel,
} from './megatron-stacks.js';

const LANGUAGE_MODULE = 'core/models/common/language_module/language_module.py';
const CROSS_ENTROPY = 'core/tensor_parallel/cross_entropy.py';

export const LOSS_LAYERS: readonly AttributionRule[] = [
  {
    id: 'mcore.mtp-loss',
    component: 'logits_loss',
    sub_component: 'mtp_logits',
    at: {
      file: MTP_FILE,
      function: [
        'process_mtp_loss',
        '_compute_mtp_acceptance_counts',
        '_vocab_parallel_argmax',
        'save_metrics_to_tracker',
        'save_loss_to_tracker',
      ],
    },
    source: `Megatron-LM ${MTP_FILE} process_mtp_loss (00611e6)`,
    samples: [
      {
        frames: source(COLUMN_PARALLEL, `process_mtp_loss ${MTP_FILE}`, `_postprocess ${GPT_MODEL_FILE}`, GPT),
        phase: 'forward',
        from: `Megatron-LM ${MTP_FILE} process_mtp_loss (00611e6); ${GPT_MODEL_FILE} _postprocess (007562f)`,
      },
      {
        frames: source(
          `save_metrics_to_tracker ${MTP_FILE}`,
          `process_mtp_loss ${MTP_FILE}`,
          `_postprocess ${GPT_MODEL_FILE}`,
          GPT,
        ),
        from: `Megatron-LM ${MTP_FILE} MTPLossLoggingHelper.save_metrics_to_tracker (00611e6)`,
      },
    ],
  },
  {
    id: 'mcore.cross-entropy',
    component: 'logits_loss',
    sub_component: 'cross_entropy',
    at: [
      { file: [CROSS_ENTROPY, 'core/fusions/fused_cross_entropy.py', 'core/fusions/liger_cross_entropy.py'] },
      { file: LANGUAGE_MODULE, function: 'compute_language_model_loss' },
    ],
    source: `Megatron-LM ${CROSS_ENTROPY} VocabParallelCrossEntropy.calculate_logits_max makes the fp32 copy (00611e6); ${LANGUAGE_MODULE} (00c2c0a)`,
    samples: [
      {
        frames: source(
          `calculate_logits_max ${CROSS_ENTROPY}`,
          `forward ${CROSS_ENTROPY}`,
          'apply',
          `vocab_parallel_cross_entropy ${CROSS_ENTROPY}`,
          `compute_language_model_loss ${LANGUAGE_MODULE}`,
          `_postprocess ${GPT_MODEL_FILE}`,
          GPT,
        ),
        phase: 'forward',
        from: `Megatron-LM ${CROSS_ENTROPY} calculate_logits_max (00611e6); ${LANGUAGE_MODULE} compute_language_model_loss (00c2c0a)`,
      },
      {
        frames: submodule(
          'calculate_logits_max core/fusions/fused_cross_entropy.py',
          'forward core/fusions/fused_cross_entropy.py',
          'apply',
          'fused_vocab_parallel_cross_entropy core/fusions/fused_cross_entropy.py',
          `LanguageModule.compute_language_model_loss ${LANGUAGE_MODULE}`,
          `GPTModel._postprocess ${GPT_MODEL_FILE}`,
          BRIDGE_GPT,
        ),
        from: `Megatron-LM ${LANGUAGE_MODULE} compute_language_model_loss, cross_entropy_fusion_impl native (00c2c0a)`,
      },
      {
        frames: source(`prepare_gradient_calculation_operands ${CROSS_ENTROPY}`, `backward ${CROSS_ENTROPY}`, 'apply'),
        phase: 'backward',
        from: `Megatron-LM ${CROSS_ENTROPY} _VocabParallelCrossEntropy.backward (00611e6)`,
      },
    ],
  },
  {
    id: 'mcore.linear-cross-entropy',
    component: 'logits_loss',
    sub_component: 'linear_cross_entropy',
    at: {
      file: [
        'core/fusions/fused_linear_cross_entropy.py',
        'core/fusions/linear_cross_entropy/**',
        'core/transformer/linear_cross_entropy.py',
        'core/models/common/language_module/linear_cross_entropy.py',
      ],
    },
    source: `Megatron-LM core/fusions/fused_linear_cross_entropy.py, ${GPT_MODEL_FILE} _postprocess with use_fused_lce (007562f)`,
    samples: [
      {
        frames: source(
          'forward core/fusions/linear_cross_entropy/blackwell/entry.py',
          'forward core/fusions/fused_linear_cross_entropy.py',
          'apply',
          'linear_cross_entropy core/fusions/fused_linear_cross_entropy.py',
          `_postprocess ${GPT_MODEL_FILE}`,
          GPT,
        ),
        from: `Megatron-LM ${GPT_MODEL_FILE} GPTModel._postprocess (007562f); core/fusions/linear_cross_entropy/blackwell/entry.py (not read)`,
      },
    ],
  },
  {
    id: 'mcore.logits',
    component: 'logits_loss',
    sub_component: 'logits',
    at: [
      { file: 'megatron/core/models/**', function: ['_postprocess', 'shared_embedding_or_output_weight'] },
      // Models from before Megatron-Core, which NeMo 1 and BERT-like scripts took over.
      { file: 'megatron/**', function: ['parallel_lm_logits', 'post_language_model_processing'] },
    ],
    source: `Megatron-LM ${GPT_MODEL_FILE} GPTModel._postprocess (007562f); megatron/model/language_model.py parallel_lm_logits (stored files 22232326738, 38049014353)`,
    samples: [
      {
        frames: source(COLUMN_PARALLEL, `_postprocess ${GPT_MODEL_FILE}`, GPT),
        phase: 'forward',
        from: `Megatron-LM ${GPT_MODEL_FILE} GPTModel._postprocess (007562f); ${LINEAR_FILE} ColumnParallelLinear.forward (000c4ac)`,
      },
      {
        frames: submodule(TE_LINEAR, `GPTModel._postprocess ${GPT_MODEL_FILE}`, BRIDGE_GPT),
        from: `Megatron-LM ${GPT_MODEL_FILE} GPTModel._postprocess (007562f), with TELMHeadColumnParallelLinear`,
      },
      {
        frames: source(
          `forward ${LINEAR_FILE}`,
          'apply',
          `linear_with_grad_accumulation_and_async_allreduce ${LINEAR_FILE}`,
          'parallel_lm_logits megatron/model/language_model.py',
          'post_language_model_processing megatron/model/gpt_model.py',
          'forward megatron/model/gpt_model.py',
          'call',
          FORWARD_STEP,
        ),
        phase: 'forward',
        from: 'Megatron-LM megatron/model/language_model.py parallel_lm_logits (stored file 22232326738)',
      },
    ],
  },
  {
    // Before core 0.13 the output layer was called from `forward` itself.
    id: 'mcore.logits-in-forward',
    component: 'logits_loss',
    sub_component: 'logits',
    at: {
      file: LINEAR_FILE,
      function: ['ColumnParallelLinear.forward', 'linear_with_grad_accumulation_and_async_allreduce'],
    },
    within: {
      file: [
        'core/models/gpt/gpt_model.py',
        'core/models/bert/bert_model.py',
        'core/models/T5/t5_model.py',
        'core/models/mamba/mamba_model.py',
      ],
      function: 'forward',
    },
    without: [
      {
        file: [
          'core/models/common/embeddings/**',
          'core/transformer/transformer_block.py',
          'core/transformer/transformer_layer.py',
          'core/ssm/**',
          MTP_FILE,
        ],
      },
      { file: 'megatron/core/models/**', function: ['_postprocess', '_preprocess'] },
    ],
    source: `Megatron-LM ${GPT_MODEL_FILE} GPTModel.forward (core 0.4 to 0.12; from memory)`,
    samples: [
      {
        frames: wheel(
          `forward ${LINEAR_FILE}`,
          'decorate_fwd torch/cuda/amp/autocast_mode.py',
          'apply',
          `linear_with_grad_accumulation_and_async_allreduce ${LINEAR_FILE}`,
          `forward ${LINEAR_FILE}`,
          'call',
          GPT,
        ),
        phase: 'forward',
        from: `Megatron-LM ${GPT_MODEL_FILE} GPTModel.forward (core 0.4; not read)`,
      },
    ],
  },
  {
    id: 'mcore.fp32-output',
    component: 'logits_loss',
    sub_component: 'fp32_output',
    at: { file: 'core/transformer/module.py', function: ['float16_to_fp32', 'float_conversion'] },
    source: 'Megatron-LM core/transformer/module.py Float16Module.forward, float16_to_fp32 (from memory)',
    samples: [
      {
        frames: source(
          'float_conversion core/transformer/module.py',
          'conversion_helper core/transformer/module.py',
          'float16_to_fp32 core/transformer/module.py',
          'forward core/transformer/module.py',
          'call',
          FORWARD_STEP,
        ),
        from: 'Megatron-LM core/transformer/module.py float16_to_fp32 (not read)',
      },
    ],
  },
  {
    id: 'mcore.loss-reduction',
    component: 'logits_loss',
    sub_component: 'loss_reduction',
    at: [
      {
        file: ['pretrain_*.py', 'core/pipeline_parallel/schedules.py'],
        function: ['loss_func', 'forward_step_calc_loss'],
      },
    ],
    source: 'Megatron-LM core/pipeline_parallel/schedules.py forward_step calls loss_func (4dabc62)',
    samples: [
      {
        frames: source('loss_func pretrain_gpt.py', 'forward_step core/pipeline_parallel/schedules.py', SCHEDULE),
        phase: 'forward',
        from: 'Megatron-LM core/pipeline_parallel/schedules.py forward_step (4dabc62)',
      },
    ],
  },
];
