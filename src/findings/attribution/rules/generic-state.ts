/** What plain user code keeps or feeds: parameters, optimizer states, gradients, batches, caches. */
import type { AttributionRule } from '../match/rule.js';
import { CONDA, DIST, moduleCall, SCRIPT, VENV } from './sample-tails.js';

/** `step` of somebody's own optimizer: torch wraps it, or its file says so. */
const OPTIMIZER_FILES = [
  '*optimizer*.py',
  '*Optimizer*.py',
  'optim.py',
  'optim_*.py',
  '*_optim.py',
  '**/optim/*.py',
  '*adam*.py',
  '*Adam*.py',
  'lion.py',
  'lion_*.py',
  '*_lion*.py',
  '*muon*.py',
  '*sgd*.py',
  '*adagrad*.py',
  '*adafactor*.py',
  '*shampoo*.py',
  'soap.py',
  '*_soap.py',
  'lamb.py',
  '*_lamb.py',
];
const OPTIMIZER_STEP = [
  { file: OPTIMIZER_FILES, function: ['step', '_step', 'update', 'update_step', 'init_state'] },
] as const;
const CLOSURE = [{ function: ['closure', '_wrap_closure', 'forward', '_call_impl'] }];
const TORCH_STEP_WRAPPER = {
  file: 'torch/optim/optimizer.py',
  function: ['wrapper', 'profile_hook_step', '_use_grad'],
};

export const GENERIC_STATE: readonly AttributionRule[] = [
  {
    id: 'generic.optimizer-state',
    component: 'optimizer_state',
    sub_component: 'moments',
    at: [...OPTIMIZER_STEP, TORCH_STEP_WRAPPER],
    without: CLOSURE,
    when: { lifetime: 'resident' },
    phase: 'optimizer_step',
    source: 'torch/optim/optimizer.py profile_hook_step wraps the step of every subclass, torch 2.14.1 wheel',
    samples: [
      {
        frames: ['step /home/user/project/my_adamw.py', `wrapper ${VENV}/torch/optim/optimizer.py`, ...SCRIPT],
        from: 'torch/optim/optimizer.py Optimizer.profile_hook_step, torch 2.14.1 wheel, around a made-up step',
        lifetime: 'resident',
        phase: 'optimizer_step',
      },
    ],
  },
  {
    id: 'generic.optimizer-temporary',
    component: 'temporary',
    sub_component: 'optimizer_step_temporary',
    at: [...OPTIMIZER_STEP, TORCH_STEP_WRAPPER],
    without: CLOSURE,
    phase: 'optimizer_step',
    source: 'torch/optim/optimizer.py profile_hook_step wraps the step of every subclass, torch 2.14.1 wheel',
    samples: [
      {
        frames: [
          'newton_schulz /home/user/project/muon_utils.py',
          'step /home/user/project/trainer/opt.py',
          `decorate_context ${DIST}/torch/utils/_contextlib.py`,
          `wrapper ${DIST}/torch/optim/optimizer.py`,
          ...SCRIPT,
        ],
        from: 'torch/optim/optimizer.py Optimizer.profile_hook_step, torch 2.14.1 wheel, around a made-up step',
        lifetime: 'transient',
      },
      {
        frames: [
          'newton_schulz /home/user/project/muon.py',
          'step /home/user/project/muon.py',
          `wrapper ${CONDA}/torch/optim/optimizer.py`,
          `_optimizer_step ${CONDA}/deepspeed/runtime/zero/stage_1_and_2.py`,
          `step ${CONDA}/deepspeed/runtime/zero/stage_1_and_2.py`,
          `_take_model_step ${CONDA}/deepspeed/runtime/engine.py`,
          `step ${CONDA}/deepspeed/runtime/engine.py`,
          ...SCRIPT,
        ],
        from: 'deepspeed/runtime/zero/stage_1_and_2.py _optimizer_step, DeepSpeed 02aa38c, around a made-up step',
        lifetime: 'transient',
        phase: 'optimizer_step',
      },
    ],
  },
  {
    id: 'generic.optimizer-built-state',
    component: 'optimizer_state',
    sub_component: 'moments',
    at: { file: OPTIMIZER_FILES, function: '__init__' },
    without: CLOSURE,
    phase: 'optimizer_build',
    source: 'torch/optim/adagrad.py Adagrad.__init__ makes its sums at once, torch 2.14.1 wheel',
    samples: [
      {
        frames: [`__init__ ${VENV}/torch/optim/adagrad.py`, ...SCRIPT],
        from: 'torch/optim/adagrad.py Adagrad.__init__, torch 2.14.1 wheel',
      },
      {
        frames: ['__init__ /home/user/project/my_adamw.py', ...SCRIPT],
        from: "made up: an optimizer of one's own that makes its states when it is built, as torch/optim/adagrad.py does",
      },
    ],
  },
  {
    id: 'generic.grad-norm',
    component: 'temporary',
    sub_component: 'grad_norm',
    at: {
      function: [
        'clip_grad*',
        'gradient_clip*',
        '*_clip_grad*',
        'clip_gradient*',
        'zero_grad',
        'unscale_gradients',
        'get_grad_norm*',
        'compute_grad_norm*',
        'grad_norm',
      ],
    },
    phase: 'optimizer_step',
    source: 'clip_grad_norm_ of torch/nn/utils/clip_grad.py, torch 2.14.1 wheel, and names derived from it',
    samples: [
      {
        frames: ['gradient_clipping /home/user/project/utils.py', ...SCRIPT],
        from: 'made up: a function named after torch/nn/utils/clip_grad.py clip_grad_norm_',
      },
    ],
  },
  {
    id: 'generic.batch',
    component: 'input',
    sub_component: 'batch',
    at: [
      {
        function: [
          'get_batch',
          'get_batch_*',
          'load_batch',
          'next_batch',
          'sample_batch',
          'make_batch',
          'prepare_batch',
          '*_batch_to_device',
          'batch_to_device',
          'move_to_device',
          'to_device',
          'collate',
          '*_collate',
          'collate_fn',
          '*_collate_fn',
          'data_loading',
          'get_data',
          'load_data',
          'prepare_inputs',
        ],
      },
      {
        file: [
          '*dataloader*.py',
          '*data_loader*.py',
          '*dataset*.py',
          'data.py',
          'torch_geometric/data/**',
          'torch_geometric/loader/**',
          'torch_geometric/nn/data_parallel.py',
          'lightning/**/apply_func.py',
          '*/utilities/apply_func.py',
        ],
      },
    ],
    without: { file: 'torch/nn/modules/module.py', function: '_apply' },
    source:
      'collate_fn of torch/utils/data, torch 2.14.1 wheel; torch_geometric/data/data.py Data.to, torch_geometric 2.8.0; get_batch as in nanoGPT and Megatron',
    samples: [
      {
        frames: ['get_batch /home/user/project/train.py', ...SCRIPT],
        from: 'made up: get_batch of train.py, the name of nanoGPT',
      },
      {
        frames: [
          `<lambda> ${CONDA}/torch_geometric/data/data.py`,
          `recursive_apply ${CONDA}/torch_geometric/data/storage.py`,
          `apply ${CONDA}/torch_geometric/data/storage.py`,
          `apply ${CONDA}/torch_geometric/data/data.py`,
          `to ${CONDA}/torch_geometric/data/data.py`,
          ...SCRIPT,
        ],
        from: 'torch_geometric/data/data.py Data.to, torch_geometric 2.8.0',
      },
    ],
  },
  {
    // A data set's, unless a model indexes something of its own.
    id: 'generic.indexed-sample',
    component: 'input',
    sub_component: 'batch',
    at: { function: '__getitem__' },
    without: { function: ['forward', '_call_impl'] },
    source: 'torch/utils/data/dataset.py Dataset.__getitem__, torch 2.14.1 wheel',
    samples: [
      {
        frames: ['__getitem__ /home/user/project/images.py', ...SCRIPT],
        from: 'made up: a data set that lies on the device, as torch/utils/data/dataset.py TensorDataset may',
      },
    ],
  },
  {
    id: 'generic.collective',
    component: 'communication',
    sub_component: 'collective',
    at: {
      file: ['torch/distributed/distributed_c10d.py', 'torch/distributed/nn/functional.py', 'deepspeed/comm/*.py'],
    },
    source: 'torch/distributed/distributed_c10d.py all_gather, all_gather_object, torch 2.14.1 wheel',
    samples: [
      {
        frames: [
          `_object_to_tensor ${CONDA}/torch/distributed/distributed_c10d.py`,
          `all_gather_object ${CONDA}/torch/distributed/distributed_c10d.py`,
          `wrapper ${CONDA}/torch/distributed/c10d_logger.py`,
          ...SCRIPT,
        ],
        from: 'torch/distributed/distributed_c10d.py all_gather_object, torch 2.14.1 wheel',
      },
    ],
  },
  {
    id: 'generic.kv-cache',
    component: 'kv_cache',
    sub_component: 'kv_cache',
    at: [
      {
        function: [
          '*kv_cache*',
          'init_cache*',
          'store_cache*',
          'load_cache*',
          'allocate_cache*',
          '*KVCache*',
          'setup_caches',
        ],
      },
      { file: 'sglang/srt/mem_cache/memory_pool*.py', function: ['__init__', '_create_buffers'] },
    ],
    source: 'transformers/cache_utils.py, transformers 5.17.0, and names that inference projects give to the same',
    samples: [
      {
        frames: ['init_kv_cache /home/user/project/engine.py', 'generate /home/user/project/engine.py', ...SCRIPT],
        from: 'made up: a cache of an inference project, as transformers/cache_utils.py StaticLayer makes it',
      },
      {
        frames: [
          '_create_buffers /workspace/sglang/python/sglang/srt/mem_cache/memory_pool.py',
          '__init__ /workspace/sglang/python/sglang/srt/mem_cache/memory_pool.py',
          'init_memory_pool /workspace/sglang/python/sglang/srt/model_executor/model_runner.py',
        ],
        from: 'sglang/srt/mem_cache/memory_pool.py MHATokenToKVPool._create_buffers, sglang 000ccdb',
      },
    ],
  },
  {
    // There are caches of all kinds: one that a model updates while it runs is this.
    id: 'generic.kv-cache-update',
    component: 'kv_cache',
    sub_component: 'kv_cache',
    at: { function: ['update_cache', '_update_cache'] },
    within: { file: 'torch/nn/modules/module.py', function: ['_call_impl', '__call__'] },
    source: 'names that inference projects give to transformers/cache_utils.py Cache.update, transformers 5.17.0',
    samples: [
      {
        frames: [
          '_update_cache /home/user/project/model.py',
          'forward /home/user/project/model.py',
          ...moduleCall(VENV),
          'generate /home/user/project/generate.py',
          ...SCRIPT,
        ],
        from: 'made up: as transformers/cache_utils.py DynamicLayer.update is called',
      },
    ],
  },
  {
    id: 'generic.checkpoint',
    component: 'checkpoint',
    sub_component: 'checkpoint',
    at: {
      function: [
        'save_checkpoint',
        '_save_checkpoint',
        'load_checkpoint',
        '_load_checkpoint',
        'resume_from_checkpoint',
        'state_dict',
      ],
    },
    without: { function: ['forward', '_call_impl'] },
    source:
      'names of torch/serialization.py and torch/nn/modules/module.py state_dict, torch 2.14.1 wheel, with checkpoint for their object',
    samples: [
      {
        frames: ['save_checkpoint /home/user/project/utils.py', ...SCRIPT],
        from: 'made up: a function named after what torch/serialization.py save is called for',
        phase: 'checkpoint_save',
      },
    ],
  },
  {
    id: 'generic.loaded-weight',
    component: 'parameter',
    sub_component: 'loaded_weights',
    at: {
      function: [
        'init_*weight*',
        '_init_weights',
        'load_weight',
        'load_weights',
        'load_model',
        'load_pretrained*',
        'from_pretrained',
        'build_model',
        'create_model',
        'get_model',
      ],
    },
    without: { function: ['forward', '_call_impl'] },
    phase: 'model_build',
    source: 'names that loaders give; from_pretrained as in transformers/modeling_utils.py, transformers 5.17.0',
    samples: [
      {
        frames: [
          'allocate /home/user/project/backend.py',
          'load_weights /home/user/project/engine.py',
          '__init__ /home/user/project/engine.py',
          ...SCRIPT,
        ],
        from: 'made up: a loader named as transformers/modeling_utils.py names its own',
      },
    ],
  },
  {
    id: 'generic.construction',
    component: 'parameter',
    sub_component: 'module_init',
    // Also an optimizer's or a data set's constructor, were it not that those seldom take device memory and mostly have a name of their own. Whole words of a
    // file's name only: there is a net in planet.py, an nn in runner.py, rms in transforms.py and rope in properties.py.
    at: {
      function: '__init__',
      file: [
        'model.py',
        'models.py',
        'model_*.py',
        '*_model.py',
        '*_models.py',
        '*Model.py',
        'modeling*.py',
        'modelling*.py',
        'module.py',
        'modules.py',
        '*_module.py',
        '*_modules.py',
        'layer.py',
        'layers.py',
        '*_layer.py',
        '*_layers.py',
        '*Layer.py',
        'net.py',
        'nets.py',
        '*_net.py',
        '*_nets.py',
        '*Net.py',
        '*resnet*.py',
        '*unet*.py',
        'alexnet*.py',
        'lenet*.py',
        '*mobilenet*.py',
        '*densenet*.py',
        '*efficientnet*.py',
        'pointnet*.py',
        '*network.py',
        '*networks.py',
        '*transformer*.py',
        '*Transformer*.py',
        '*attention*.py',
        '*embedding*.py',
        '*mlp*.py',
        '*ffn*.py',
        '*swiglu*.py',
        'linear.py',
        '*_linear.py',
        'linear_*.py',
        '*Linear.py',
        'norm.py',
        'norms.py',
        '*_norm.py',
        '*_norms.py',
        '*layernorm*.py',
        '*batchnorm*.py',
        '*rmsnorm*.py',
        '*Norm.py',
        'rope.py',
        'rope_*.py',
        '*_rope.py',
        '*rotary*.py',
        'block.py',
        'blocks.py',
        '*_block.py',
        '*_blocks.py',
        '*gpt*.py',
        '*llama*.py',
        'vit.py',
        'vit_*.py',
        '*_vit.py',
        '*encoder*.py',
        '*decoder*.py',
        'nn.py',
        '*_nn.py',
        '*cnn*.py',
        '*rnn*.py',
        '*gnn*.py',
        '*lstm*.py',
        '**/modules/*.py',
        '**/models/*.py',
        '**/layers/*.py',
        '**/nn/*.py',
        '**/model/*.py',
      ],
    },
    without: [
      { function: ['forward', '_call_impl'] },
      // Inference servers keep their inputs in the object that runs the model.
      { file: '*runner*.py', function: '__init__' },
    ],
    phase: 'model_build',
    source:
      'torch/nn/modules/linear.py Linear.__init__, torch 2.14.1 wheel: modules make their parameters when they are constructed',
    samples: [
      {
        frames: [
          '__init__ /home/user/project/modules/rmsnorm.py',
          '__init__ /home/user/project/modules/block.py',
          '__init__ /home/user/project/model.py',
          ...SCRIPT,
        ],
        from: "made up: a parameter of a module of one's own, as in torch/nn/modules/normalization.py RMSNorm.__init__",
        phase: 'model_build',
      },
    ],
  },
  {
    id: 'generic.autograd-function',
    component: 'activation',
    sub_component: 'activation_gradient',
    at: [
      { function: 'backward' },
      { file: 'torch/autograd/graph.py', function: '_engine_run_backward' },
      { file: 'torch/autograd/__init__.py', function: ['_make_grads', 'backward', 'grad'] },
    ],
    phase: 'backward',
    source:
      'torch/autograd/function.py BackwardCFunction.apply calls backward; torch/autograd/graph.py _engine_run_backward, torch 2.14.1 wheel',
    samples: [
      {
        frames: ['backward /home/user/project/flash.py', `apply ${CONDA}/torch/autograd/function.py`],
        from: 'torch/autograd/function.py BackwardCFunction.apply, torch 2.14.1 wheel',
        phase: 'backward',
      },
      {
        // The reentrant checkpoint has run its forward: what is made here is of its backward.
        frames: [
          `_engine_run_backward ${VENV}/torch/autograd/graph.py`,
          `backward ${VENV}/torch/autograd/__init__.py`,
          `backward ${VENV}/torch/utils/checkpoint.py`,
          `apply ${VENV}/torch/autograd/function.py`,
        ],
        from: 'torch/utils/checkpoint.py CheckpointFunction.backward, torch 2.14.1 wheel',
        phase: 'backward',
      },
    ],
  },
  {
    id: 'generic.autograd-node',
    component: 'activation',
    sub_component: 'activation_gradient',
    // Gradients of parameters come from the same nodes; lifetime and size tell them apart later.
    at: {
      function: [
        'torch::autograd::generated::*Backward*',
        'torch::autograd::CopyBackwards*',
        'torch::autograd::CopySlices*',
        'torch::autograd::Engine::*',
        'torch::autograd::PyNode::*',
        'torch::autograd::InputBuffer::*',
      ],
    },
    phase: 'backward',
    source: 'torch/csrc/autograd/engine.h, functions/tensor.h CopyBackwards, torch 2.14.1 wheel',
    samples: [
      {
        frames: [
          'at::_ops::mm::call(at::Tensor const&, at::Tensor const&)',
          'torch::autograd::generated::details::mm_mat2_backward(at::Tensor const&, at::Tensor const&, c10::ArrayRef<c10::SymInt>, c10::ArrayRef<c10::SymInt>, c10::Layout, c10::Scalar const&) ',
          'torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor, std::allocator<at::Tensor> >&&)',
          'torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> const&)',
        ],
        from: 'torch/csrc/autograd/engine.h Engine::thread_main, torch 2.14.1 wheel; the node from tools/autograd (not read)',
        phase: 'backward',
      },
    ],
  },
  {
    id: 'generic.checkpointed-input',
    component: 'activation',
    sub_component: 'checkpointed_input',
    at: {
      file: 'torch/utils/checkpoint.py',
      function: ['forward', 'get_device_states', 'backward', 'recompute_fn', 'unpack_hook', 'pack_hook'],
    },
    without: { function: '_call_impl' },
    source: 'torch/utils/checkpoint.py CheckpointFunction.forward, torch 2.14.1 wheel',
    samples: [
      {
        frames: [
          'block /home/user/project/functional_model.py',
          `recompute_fn ${DIST}/torch/utils/checkpoint.py`,
          `unpack_hook ${DIST}/torch/utils/checkpoint.py`,
        ],
        from: 'torch/utils/checkpoint.py _checkpoint_without_reentrant_generator, torch 2.14.1 wheel',
        component: 'recompute',
        phase: 'backward',
      },
    ],
  },
];
