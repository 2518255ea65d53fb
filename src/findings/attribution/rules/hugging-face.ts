/** transformers, accelerate, peft, bitsandbytes, trl and diffusers: what is loaded, quantised, offloaded, cached and fed. Their layers are in `hugging-face-models.ts`. */
import type { AttributionRule } from '../match/rule.js';
import { DIFFUSERS_LAYERS } from './diffusers.js';
import { TRANSFORMERS_LAYERS } from './hugging-face-models.js';
import { CONDA, DIST, moduleCall, SCRIPT, trainerLoop, trainerStep, VENV } from './sample-tails.js';
import { KERNEL_LAYERS } from './third-party-kernels.js';

const TRANSFORMERS = 'transformers 5.17.0';
const BOTH = 'transformers 4.57.6 and 5.17.0';
const ACCELERATE = 'accelerate 1.15.0';

function generate(packages: string): readonly string[] {
  return [
    `_sample ${packages}/transformers/generation/utils.py`,
    `generate ${packages}/transformers/generation/utils.py`,
    `decorate_context ${packages}/torch/utils/_contextlib.py`,
    ...SCRIPT,
  ];
}

function decoder(packages: string, model: string): readonly string[] {
  const file = `${packages}/transformers/models/${model}/modeling_${model}.py`;
  return [
    `forward ${file}`,
    ...moduleCall(packages),
    `__call__ ${packages}/transformers/modeling_layers.py`,
    `forward ${file}`,
    `wrapper ${packages}/transformers/utils/generic.py`,
    ...moduleCall(packages),
    `forward ${file}`,
    `wrapper ${packages}/transformers/utils/generic.py`,
    ...moduleCall(packages),
  ];
}

export const HUGGING_FACE_OWNERS: readonly AttributionRule[] = [
  {
    id: 'hf.kv-cache',
    component: 'kv_cache',
    sub_component: 'kv_cache',
    at: { file: ['transformers/cache_utils.py', 'transformers/generation/continuous_batching/cache.py'] },
    source: `transformers/cache_utils.py DynamicLayer.update, StaticLayer.lazy_initialization, ${BOTH}`,
    samples: [
      {
        frames: [
          `update ${CONDA}/transformers/cache_utils.py`,
          `update ${CONDA}/transformers/cache_utils.py`,
          `forward ${CONDA}/transformers/models/qwen2/modeling_qwen2.py`,
          ...moduleCall(CONDA),
          ...decoder(CONDA, 'qwen2'),
          ...generate(CONDA),
        ],
        from: `transformers/cache_utils.py DynamicLayer.update (torch.cat), ${TRANSFORMERS}`,
      },
      {
        frames: [
          `lazy_initialization ${VENV}/transformers/cache_utils.py`,
          `update ${VENV}/transformers/cache_utils.py`,
          `update ${VENV}/transformers/cache_utils.py`,
          `forward ${VENV}/transformers/models/llama/modeling_llama.py`,
          ...moduleCall(VENV),
          ...decoder(VENV, 'llama'),
          ...generate(VENV),
        ],
        from: `transformers/cache_utils.py StaticLayer.lazy_initialization, ${TRANSFORMERS}`,
      },
    ],
  },
  {
    id: 'hf.accelerate-offload',
    component: 'offload_buffer',
    sub_component: 'weights_streamed_in',
    at: { file: 'accelerate/utils/modeling.py', function: 'set_module_tensor_to_device' },
    within: { file: 'accelerate/hooks.py', function: 'pre_forward' },
    source: `accelerate/hooks.py AlignDevicesHook.pre_forward, ${ACCELERATE}`,
    samples: [
      {
        frames: [
          `set_module_tensor_to_device ${DIST}/accelerate/utils/modeling.py`,
          `pre_forward ${DIST}/accelerate/hooks.py`,
          `new_forward ${DIST}/accelerate/hooks.py`,
          ...moduleCall(DIST),
          `forward ${DIST}/transformers/models/opt/modeling_opt.py`,
          `new_forward ${DIST}/accelerate/hooks.py`,
          ...moduleCall(DIST),
          ...generate(DIST),
        ],
        from: `accelerate/hooks.py AlignDevicesHook.pre_forward, ${ACCELERATE}`,
      },
    ],
  },
  {
    id: 'hf.quantized-weight',
    component: 'parameter',
    sub_component: 'quantized_weight',
    at: [
      { file: 'bitsandbytes/nn/modules.py', function: ['_quantize', 'to', 'cuda', 'from_prequantized'] },
      { file: 'transformers/integrations/bitsandbytes.py', function: 'convert' },
      { file: 'transformers/quantizers/**' },
    ],
    without: { file: 'torch/nn/modules/module.py', function: '_call_impl' },
    phase: 'checkpoint_load',
    source: `bitsandbytes/nn/modules.py Params4bit._quantize, bitsandbytes 005a63c; transformers/integrations/bitsandbytes.py Bnb4bitQuantize, ${TRANSFORMERS}`,
    samples: [
      {
        frames: [
          `quantize_4bit ${CONDA}/bitsandbytes/functional.py`,
          `_quantize ${CONDA}/bitsandbytes/nn/modules.py`,
          `to ${CONDA}/bitsandbytes/nn/modules.py`,
          `create_quantized_param ${CONDA}/transformers/quantizers/quantizer_bnb_4bit.py`,
          `_load_state_dict_into_meta_model ${CONDA}/transformers/modeling_utils.py`,
          `load_shard_file ${CONDA}/transformers/modeling_utils.py`,
          `_load_pretrained_model ${CONDA}/transformers/modeling_utils.py`,
          `from_pretrained ${CONDA}/transformers/modeling_utils.py`,
          ...SCRIPT,
        ],
        from: 'bitsandbytes/nn/modules.py Params4bit._quantize, bitsandbytes 005a63c; transformers/modeling_utils.py, transformers 4.57.6',
      },
    ],
  },
  {
    id: 'hf.loaded-weights',
    component: 'parameter',
    sub_component: 'loaded_weights',
    at: [
      {
        file: 'transformers/modeling_utils.py',
        function: [
          'load_state_dict',
          '_load_state_dict_into_meta_model',
          '_load_parameter_into_model',
          'load_shard_file',
          '_load_pretrained_model',
          '_move_missing_keys_from_meta_to_device',
          '_move_missing_keys_from_meta_to_cpu',
          '_initialize_missing_keys',
          'from_pretrained',
        ],
      },
      { file: 'transformers/core_model_loading.py' },
      {
        file: 'accelerate/utils/modeling.py',
        function: ['load_state_dict', 'load_checkpoint_in_model', 'set_module_tensor_to_device'],
      },
      {
        file: ['diffusers/models/model_loading_utils.py', 'diffusers/models/modeling_utils.py'],
        function: ['load_*', '_load_*', 'from_pretrained'],
      },
      // What is not quantised is cast to fp32.
      { file: 'peft/utils/other.py', function: ['prepare_model_for_kbit_training', 'prepare_model_for_int8_training'] },
    ],
    without: { file: 'torch/nn/modules/module.py', function: '_call_impl' },
    phase: 'checkpoint_load',
    source: `transformers/modeling_utils.py _load_pretrained_model, ${BOTH}; transformers/core_model_loading.py, ${TRANSFORMERS}; accelerate/utils/modeling.py, ${ACCELERATE}`,
    samples: [
      {
        frames: [
          `_load_state_dict_into_meta_model ${VENV}/transformers/modeling_utils.py`,
          `decorate_context ${VENV}/torch/utils/_contextlib.py`,
          `load_shard_file ${VENV}/transformers/modeling_utils.py`,
          `_load_pretrained_model ${VENV}/transformers/modeling_utils.py`,
          `from_pretrained ${VENV}/transformers/modeling_utils.py`,
          `_wrapper ${VENV}/transformers/modeling_utils.py`,
          `from_pretrained ${VENV}/transformers/models/auto/auto_factory.py`,
          ...SCRIPT,
        ],
        from: 'transformers/modeling_utils.py _load_state_dict_into_meta_model, transformers 4.57.6',
      },
      {
        frames: [
          `_materialize_copy ${DIST}/transformers/core_model_loading.py`,
          `_job ${DIST}/transformers/core_model_loading.py`,
          'run /usr/lib/python3.12/concurrent/futures/thread.py',
          '_worker /usr/lib/python3.12/concurrent/futures/thread.py',
          'run /usr/lib/python3.12/threading.py',
          '_bootstrap /usr/lib/python3.12/threading.py',
        ],
        from: `transformers/core_model_loading.py spawn_materialize, ${TRANSFORMERS}`,
      },
    ],
  },
  {
    id: 'hf.allocator-warmup',
    component: 'temporary',
    sub_component: 'allocator_warmup',
    at: { file: 'transformers/modeling_utils.py', function: 'caching_allocator_warmup' },
    phase: 'checkpoint_load',
    source: `transformers/modeling_utils.py caching_allocator_warmup, ${BOTH}`,
    samples: [
      {
        frames: [
          `caching_allocator_warmup ${CONDA}/transformers/modeling_utils.py`,
          `_load_pretrained_model ${CONDA}/transformers/modeling_utils.py`,
          `from_pretrained ${CONDA}/transformers/modeling_utils.py`,
          ...SCRIPT,
        ],
        from: `transformers/modeling_utils.py caching_allocator_warmup, ${BOTH}`,
      },
    ],
  },
  {
    id: 'hf.bitsandbytes-optimizer-state',
    component: 'optimizer_state',
    sub_component: 'quantized_moments',
    at: { file: 'bitsandbytes/optim/*.py', function: ['init_state', 'get_state_buffer', 'to_gpu', 'fill_qmap'] },
    phase: 'optimizer_step',
    source: 'bitsandbytes/optim/optimizer.py Optimizer2State.init_state, get_state_buffer, bitsandbytes 06029dd',
    samples: [
      {
        frames: [
          `get_state_buffer ${CONDA}/bitsandbytes/optim/optimizer.py`,
          `init_state ${CONDA}/bitsandbytes/optim/optimizer.py`,
          `decorate_context ${CONDA}/torch/utils/_contextlib.py`,
          `step ${CONDA}/bitsandbytes/optim/optimizer.py`,
          `decorate_context ${CONDA}/torch/utils/_contextlib.py`,
          `wrapper ${CONDA}/torch/optim/optimizer.py`,
          `step ${CONDA}/accelerate/optimizer.py`,
          ...trainerLoop(CONDA),
        ],
        from: 'bitsandbytes/optim/optimizer.py Optimizer2State.init_state, bitsandbytes 06029dd',
      },
    ],
  },
  {
    id: 'hf.dequantized-weight',
    component: 'temporary',
    sub_component: 'dequantized_weight',
    at: [
      {
        file: ['bitsandbytes/functional.py', 'bitsandbytes/_ops.py', 'bitsandbytes/backends/**'],
        function: ['dequantize_*', '_dequantize_*', 'int8_vectorwise_dequant', 'int8_mm_dequant'],
      },
      { file: 'transformers/integrations/*.py', function: ['dequantize*', 'convert_moe_packed_tensors'] },
    ],
    source:
      'bitsandbytes/functional.py dequantize_4bit, called by autograd/_functions.py MatMul4Bit and backends/cuda/ops.py (not read)',
    samples: [
      {
        frames: [
          `dequantize_4bit ${VENV}/bitsandbytes/functional.py`,
          `forward ${VENV}/bitsandbytes/autograd/_functions.py`,
          `apply ${VENV}/torch/autograd/function.py`,
          `matmul_4bit ${VENV}/bitsandbytes/autograd/_functions.py`,
          `forward ${VENV}/bitsandbytes/nn/modules.py`,
          ...moduleCall(VENV),
          `forward ${VENV}/peft/tuners/lora/bnb.py`,
          ...moduleCall(VENV),
          ...decoder(VENV, 'mistral'),
          ...trainerStep(VENV),
        ],
        from: 'bitsandbytes/nn/modules.py Linear4bit.forward (bnb.matmul_4bit), bitsandbytes 005a63c',
      },
    ],
  },
  {
    id: 'hf.adapter-weight',
    component: 'parameter',
    sub_component: 'adapter',
    at: {
      file: 'peft/tuners/**',
      function: [
        '__init__',
        'update_layer',
        'reset_lora_parameters',
        '*_init',
        '_move_adapter_to_device_of_base_layer',
      ],
    },
    without: { file: 'torch/nn/modules/module.py', function: '_call_impl' },
    phase: 'model_build',
    source: 'peft/tuners/lora/layer.py LoraLayer.update_layer, reset_lora_parameters, peft 0.21.0',
    samples: [
      {
        frames: [
          `_move_adapter_to_device_of_base_layer ${CONDA}/peft/tuners/tuners_utils.py`,
          `update_layer ${CONDA}/peft/tuners/lora/layer.py`,
          `__init__ ${CONDA}/peft/tuners/lora/layer.py`,
          `_create_new_module ${CONDA}/peft/tuners/lora/model.py`,
          `_create_and_replace ${CONDA}/peft/tuners/lora/model.py`,
          `inject_adapter ${CONDA}/peft/tuners/tuners_utils.py`,
          `__init__ ${CONDA}/peft/peft_model.py`,
          `get_peft_model ${CONDA}/peft/mapping_func.py`,
          ...SCRIPT,
        ],
        from: 'peft/tuners/lora/layer.py LoraLayer.update_layer, peft 0.21.0',
      },
    ],
  },
  {
    id: 'hf.adapter-merge',
    component: 'temporary',
    sub_component: 'adapter_merge',
    at: { file: 'peft/tuners/**', function: ['get_delta_weight', 'merge', 'unmerge', 'merge_and_unload'] },
    source: 'peft/tuners/lora/layer.py Linear.get_delta_weight, peft 0.21.0',
    samples: [
      {
        frames: [
          `get_delta_weight ${VENV}/peft/tuners/lora/layer.py`,
          `merge ${VENV}/peft/tuners/lora/layer.py`,
          `_unload_and_optionally_merge ${VENV}/peft/tuners/tuners_utils.py`,
          `merge_and_unload ${VENV}/peft/tuners/tuners_utils.py`,
          ...SCRIPT,
        ],
        from: 'peft/tuners/lora/layer.py Linear.merge, peft 0.21.0',
      },
    ],
  },
  {
    id: 'hf.batch',
    component: 'input',
    sub_component: 'batch',
    at: [
      { file: 'transformers/trainer.py', function: ['_prepare_input', '_prepare_inputs', 'get_batch_samples'] },
      { file: 'accelerate/data_loader.py' },
      { file: 'transformers/data/data_collator.py' },
      // `tokenizer(…).to('cuda')`
      { file: ['transformers/tokenization_utils_base.py', 'transformers/feature_extraction_utils.py'], function: 'to' },
    ],
    source: `transformers/trainer.py _prepare_input, ${BOTH}; accelerate/data_loader.py DataLoaderShard.__iter__, ${ACCELERATE}`,
    samples: [
      {
        frames: [
          `_send_to_device ${CONDA}/accelerate/utils/operations.py`,
          `send_to_device ${CONDA}/accelerate/utils/operations.py`,
          `__iter__ ${CONDA}/accelerate/data_loader.py`,
          `get_batch_samples ${CONDA}/transformers/trainer.py`,
          ...trainerLoop(CONDA),
        ],
        from: `accelerate/data_loader.py DataLoaderShard.__iter__, ${ACCELERATE}`,
      },
      {
        frames: [
          `_prepare_input ${DIST}/transformers/trainer.py`,
          `<dictcomp> ${DIST}/transformers/trainer.py`,
          `_prepare_input ${DIST}/transformers/trainer.py`,
          `_prepare_inputs ${DIST}/transformers/trainer.py`,
          `training_step ${DIST}/transformers/trainer.py`,
          ...trainerLoop(DIST),
        ],
        from: `transformers/trainer.py _prepare_input, ${BOTH}`,
      },
      {
        frames: [
          `<dictcomp> ${CONDA}/transformers/tokenization_utils_base.py`,
          `to ${CONDA}/transformers/tokenization_utils_base.py`,
          ...SCRIPT,
        ],
        from: 'transformers/tokenization_utils_base.py BatchEncoding.to (stored file 45423127152)',
      },
    ],
  },
  {
    id: 'hf.evaluation-logits',
    component: 'logits_loss',
    sub_component: 'evaluation_logits',
    // Predictions of the whole evaluation set, kept on the device until `eval_accumulation_steps` moves them.
    at: [
      {
        file: 'transformers/trainer_pt_utils.py',
        function: [
          'nested_concat',
          'torch_pad_and_concatenate',
          'nested_detach',
          'nested_gather',
          'distributed_concat',
        ],
      },
      {
        file: 'accelerate/utils/operations.py',
        function: ['_gpu_gather*', 'gather', 'pad_across_processes', '_pad_across_processes', 'concatenate'],
      },
    ],
    within: {
      file: 'transformers/trainer.py',
      function: ['evaluation_loop', 'prediction_loop', 'evaluate', 'predict'],
    },
    phase: 'eval',
    source: `transformers/trainer_pt_utils.py nested_concat, trainer.py evaluation_loop, ${BOTH}`,
    samples: [
      {
        frames: [
          `torch_pad_and_concatenate ${VENV}/transformers/trainer_pt_utils.py`,
          `nested_concat ${VENV}/transformers/trainer_pt_utils.py`,
          `add ${VENV}/transformers/trainer_pt_utils.py`,
          `evaluation_loop ${VENV}/transformers/trainer.py`,
          `evaluate ${VENV}/transformers/trainer.py`,
          ...trainerLoop(VENV),
        ],
        from: `transformers/trainer_pt_utils.py EvalLoopContainer.add, ${BOTH}`,
      },
    ],
  },
];

export const HUGGING_FACE_LAYERS: readonly AttributionRule[] = [
  ...TRANSFORMERS_LAYERS,
  ...DIFFUSERS_LAYERS,
  ...KERNEL_LAYERS,
];
