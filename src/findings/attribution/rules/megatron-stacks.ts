/**
 * Call chains that the samples of the Megatron rules share, innermost first: `source(…)` writes them as a given installation would record them.
 *
 * What the `from` of a sample cites was read there, unless it says otherwise; the callers further out are the usual ones, not each looked up for each version.
 *
 * A stack of backward ends at autograd's `apply`: the engine runs on a thread of its own, above which there is no `train_step`.
 */

interface Installation {
  /** Folder that holds `megatron/` and the scripts. */
  readonly megatron: string;
  readonly site: string;
}

type Frames = string | readonly string[];

const CALL: readonly string[] = [
  '_call_impl torch/nn/modules/module.py',
  '_wrapped_call_impl torch/nn/modules/module.py',
];

/** Frames with short paths: `core/…`, `training/…` of Megatron, `te/…` of Transformer Engine, `bridge/…`; the word `call` is a module that is called, `apply` an autograd function. */
function written(installation: Installation, frames: readonly Frames[]): string[] {
  return frames.flat().flatMap((frame) => {
    if (frame === 'call') return CALL.map((call) => written(installation, [call])[0]!);
    if (frame === 'apply') return written(installation, ['apply torch/autograd/function.py']);
    const space = frame.lastIndexOf(' ');
    return `${frame.slice(0, space)} ${fullPath(installation, frame.slice(space + 1))}`;
  });
}

function fullPath({ megatron, site }: Installation, path: string): string {
  const [folder] = path.split('/', 1);
  switch (folder) {
    case '':
      return path;
    case 'core':
    case 'training':
    case 'legacy':
      return `${megatron}megatron/${path}`;
    case 'te':
      return `${site}transformer_engine/pytorch/${path.slice(3)}`;
    case 'bridge':
      return `/opt/Megatron-Bridge/src/megatron/${path}`;
    case 'torch':
    case 'apex':
    case 'flash_attn':
    case 'lightning':
    case 'mamba_ssm':
    case 'nvidia_resiliency_ext':
      return `${site}${path}`;
    case 'nemo':
    case 'scripts':
      return `/opt/${folder === 'nemo' ? 'NeMo' : 'Megatron-Bridge'}/${path}`;
    default:
      return `${megatron}${path}`;
  }
}

function stacksOf(installation: Installation): (...frames: Frames[]) => string[] {
  return (...frames) => written(installation, frames);
}

/** A checkout of Megatron-LM. */
export const source = stacksOf({
  megatron: '/workspace/Megatron-LM/',
  site: '/usr/local/lib/python3.12/dist-packages/',
});

/** The submodule of Megatron Bridge. */
export const submodule = stacksOf({
  megatron: '/opt/Megatron-Bridge/3rdparty/Megatron-LM/',
  site: '/opt/venv/lib/python3.12/site-packages/',
});

/** megatron-core from a wheel. */
export const wheel = stacksOf({
  megatron: '/usr/local/lib/python3.10/dist-packages/',
  site: '/usr/local/lib/python3.10/dist-packages/',
});

const NO_GRAD = 'decorate_context torch/utils/_contextlib.py';

/** megatron/training. */
export const PRETRAIN = ['pretrain training/training.py', '<module> pretrain_gpt.py'];
export const TRAIN_STEP = ['train_step training/training.py', 'train training/training.py', ...PRETRAIN];
export const SCHEDULE = ['forward_backward_no_pipelining core/pipeline_parallel/schedules.py', ...TRAIN_STEP];
export const PIPELINE = [
  'forward_backward_pipelining_without_interleaving core/pipeline_parallel/schedules.py',
  ...TRAIN_STEP,
];
export const FORWARD_STEP = [
  'forward_step pretrain_gpt.py',
  'forward_step core/pipeline_parallel/schedules.py',
  ...SCHEDULE,
];
const WRAPPERS = [
  'call',
  'forward core/transformer/module.py',
  'call',
  'forward core/distributed/data_parallel_base.py',
  'call',
];
export const GPT = ['forward core/models/gpt/gpt_model.py', ...WRAPPERS, ...FORWARD_STEP];
export const BLOCK = [
  'call',
  '__call__ core/transformer/transformer_layer.py',
  'forward core/transformer/transformer_block.py',
  'call',
  '__call__ core/transformer/transformer_block.py',
  ...GPT,
];
const LAYER = ['forward core/transformer/transformer_layer.py', ...BLOCK];
export const ATTENTION = [
  'forward core/transformer/attention.py',
  'call',
  '_forward_attention core/transformer/transformer_layer.py',
  ...LAYER,
];
export const FORWARD_MLP = ['_forward_mlp core/transformer/transformer_layer.py', ...LAYER];
export const MLP = ['forward core/transformer/mlp.py', 'call', ...FORWARD_MLP];
export const MOE = ['forward core/transformer/moe/moe_layer.py', 'call', ...FORWARD_MLP];
export const MOE_CUSTOM = ['custom_forward core/transformer/moe/moe_layer.py', ...MOE];

/** Transformer Engine's linear layers below Megatron's wrappers of them. */
export const TE_LINEAR = [
  'forward te/module/linear.py',
  'apply',
  'forward te/module/linear.py',
  'call',
  'forward core/extensions/transformer_engine.py',
  'call',
];
export const TE_LAYERNORM_LINEAR = [
  'forward te/module/layernorm_linear.py',
  'apply',
  'forward te/module/layernorm_linear.py',
  'call',
  'forward core/extensions/transformer_engine.py',
  'call',
];

/** A checkpoint that runs its layers again; what follows is the engine's thread. */
export const RECOMPUTE = [
  'custom_forward core/transformer/transformer_block.py',
  'backward core/tensor_parallel/random.py',
  'apply',
];
export const RECOMPUTED_LAYER = [
  'forward core/transformer/transformer_layer.py',
  'call',
  '__call__ core/transformer/transformer_layer.py',
  ...RECOMPUTE,
];

export const OPTIMIZER_STEP = ['step core/optimizer/optimizer.py', NO_GRAD, ...TRAIN_STEP];
export const READY_GRADS = [
  'step_with_ready_grads core/optimizer/distrib_optimizer.py',
  NO_GRAD,
  'step_with_ready_grads core/optimizer/optimizer.py',
  NO_GRAD,
  ...OPTIMIZER_STEP,
];
export const SETUP = ['setup_model_and_optimizer training/training.py', ...PRETRAIN];
export const GET_MODEL = ['get_model training/training.py', ...SETUP];
export const BUILD_LAYERS = [
  'build_module core/transformer/spec_utils.py',
  '__init__ core/transformer/transformer_layer.py',
  'build_module core/transformer/spec_utils.py',
  'build_layer core/transformer/transformer_block.py',
  '_build_layers core/transformer/transformer_block.py',
  '__init__ core/transformer/transformer_block.py',
  '__init__ core/models/gpt/gpt_model.py',
  'model_provider pretrain_gpt.py',
  ...GET_MODEL,
];
export const GET_OPTIMIZER = [
  '_get_megatron_optimizer_based_on_param_groups core/optimizer/__init__.py',
  'get_megatron_optimizer core/optimizer/__init__.py',
  ...SETUP,
];
export const SAVE = [
  'save_checkpoint training/checkpointing.py',
  'save_checkpoint_and_time training/training.py',
  'train training/training.py',
  ...PRETRAIN,
];
export const LOAD = ['load_checkpoint training/checkpointing.py', ...SETUP];
export const EVALUATE = [
  'evaluate training/training.py',
  'evaluate_and_print_results training/training.py',
  'train training/training.py',
  ...PRETRAIN,
];

/** Megatron Bridge. */
export const BRIDGE_PRETRAIN = [
  '_pretrain bridge/training/pretrain.py',
  'pretrain bridge/training/pretrain.py',
  '<module> scripts/performance/run_script.py',
];
export const BRIDGE_STEP = [
  'train_step bridge/training/train.py',
  'train bridge/training/train.py',
  ...BRIDGE_PRETRAIN,
];
export const BRIDGE_FORWARD_STEP = [
  '_forward_step_common bridge/training/gpt_step.py',
  'forward_step bridge/training/gpt_step.py',
  'forward_step core/pipeline_parallel/schedules.py',
  'forward_backward_no_pipelining core/pipeline_parallel/schedules.py',
  ...BRIDGE_STEP,
];
export const BRIDGE_GPT = ['forward core/models/gpt/gpt_model.py', ...WRAPPERS, ...BRIDGE_FORWARD_STEP];
export const BRIDGE_SETUP = ['setup bridge/training/setup.py', ...BRIDGE_PRETRAIN];

/** Files that several lists name. */
export const LINEAR_FILE = 'core/tensor_parallel/layers.py';
export const GPT_MODEL_FILE = 'core/models/gpt/gpt_model.py';
export const CHECKPOINT_FILE = 'core/tensor_parallel/random.py';
export const MTP_FILE = 'core/transformer/multi_token_prediction.py';

/** What a column-parallel linear layer of Megatron-Core calls, up to its module. */
export const COLUMN_PARALLEL = [
  `forward ${LINEAR_FILE}`,
  'decorate_fwd torch/amp/autocast_mode.py',
  'apply',
  `linear_with_grad_accumulation_and_async_allreduce ${LINEAR_FILE}`,
  `forward ${LINEAR_FILE}`,
  'call',
];
