import { expect, it } from 'vitest';
import { activityOfText, type CodeFrame, failingActivity } from '../../../src/derive/stacks/failing-activity.js';
import { activityData } from '../../../src/knowledge/activities.js';

/** `function file`, or `function file | line of code`; innermost first. */
function framesOf(text: string): CodeFrame[] {
  return text.split('\n').flatMap((line) => {
    const [place, source] = line.trim().split(' | ');
    const [name, filename] = (place ?? '').split(' ');
    if (name === undefined || filename === undefined) return [];
    return [{ name, filename, line: 1, ...(source === undefined ? {} : { source }) }];
  });
}

const SITE = '/usr/lib/python3/site-packages';
const MODULE = `_call_impl ${SITE}/torch/nn/modules/module.py | return forward_call(*args, **kwargs)`;

/** Names of the public sources: Megatron-Core, Transformer Engine, transformers, TRL, DeepSpeed, FSDP, verl, vLLM. */
const STACKS: readonly (readonly [activity: string | null, stack: string])[] = [
  // Weights are created.
  [
    'model_construction',
    `__init__ ${SITE}/transformer_engine/pytorch/module/grouped_linear.py
     __init__ ${SITE}/megatron/core/transformer/moe/experts.py
     <module> /opt/train/pretrain.py`,
  ],
  [
    'model_construction',
    `__init__ ${SITE}/megatron/core/tensor_parallel/layers.py\n get_model /m/megatron/training/training.py`,
  ],
  [
    'model_construction',
    `__init__ ${SITE}/torch/nn/modules/linear.py | torch.empty((out_features, in_features), **factory_kwargs)
     __init__ ${SITE}/transformers/models/llama/modeling_llama.py`,
  ],
  ['model_construction', `reset_parameters /srv/model.py\n __init__ /srv/model.py\n main /srv/train.py`],
  // Weights are loaded or moved to the device.
  ['weight_loading', `load_model /srv/tune/run.py | model = whole_model(config)`],
  [
    'weight_loading',
    `_load_state_dict_into_meta_model ${SITE}/transformers/modeling_utils.py
     _load_pretrained_model ${SITE}/transformers/modeling_utils.py
     from_pretrained ${SITE}/transformers/modeling_utils.py`,
  ],
  [
    'weight_loading',
    `caching_allocator_warmup ${SITE}/transformers/modeling_utils.py\n from_pretrained ${SITE}/transformers/modeling_utils.py`,
  ],
  [
    'weight_loading',
    `convert ${SITE}/torch/nn/modules/module.py
     _apply ${SITE}/torch/nn/modules/module.py
     to ${SITE}/torch/nn/modules/module.py
     main /srv/train.py | model.to(device)`,
  ],
  [
    'weight_loading',
    `load_weights ${SITE}/vllm/model_executor/models/llama.py\n load_model ${SITE}/vllm/model_executor/model_loader/default_loader.py`,
  ],
  [
    'weight_loading',
    `_move_model_to_device ${SITE}/transformers/trainer.py\n __init__ ${SITE}/transformers/trainer.py`,
  ],
  ['weight_loading', `run /srv/tune/workflow.py | model = load_model(tokenizer, args)`],
  ['weight_loading', `dispatch /srv/tune/x.py | net = load_checkpoint_and_dispatch(net, path)`],
  ['weight_loading', `setup /srv/tune/x.py | module.to_empty(device=device)`],
  ['weight_loading', `__init__ /srv/tune/trainer.py | self._move_model_to_device(model, args.device)`],
  // Gradients.
  [
    'gradient_buffers',
    `__init__ ${SITE}/megatron/core/distributed/param_and_grad_buffer.py\n __init__ ${SITE}/megatron/core/distributed/distributed_data_parallel.py`,
  ],
  [
    'gradient_buffers',
    `_ddp_init_helper ${SITE}/torch/nn/parallel/distributed.py | self.reducer = dist.Reducer(\n __init__ ${SITE}/torch/nn/parallel/distributed.py`,
  ],
  // The optimizer.
  [
    'optimizer_init',
    `initialize_state ${SITE}/transformer_engine/pytorch/optimizers/fused_adam.py\n step ${SITE}/transformer_engine/pytorch/optimizers/fused_adam.py`,
  ],
  [
    'optimizer_init',
    `_init_group ${SITE}/torch/optim/adam.py | state["exp_avg_sq"] = torch.zeros_like(\n step ${SITE}/torch/optim/adam.py`,
  ],
  [
    'optimizer_init',
    `initialize_optimizer_states ${SITE}/deepspeed/runtime/zero/stage_1_and_2.py\n __init__ ${SITE}/deepspeed/runtime/zero/stage_1_and_2.py`,
  ],
  [
    'optimizer_step',
    `_multi_tensor_adam ${SITE}/torch/optim/adam.py | exp_avg_sq_sqrt = torch._foreach_sqrt(device_exp_avg_sqs)\n step ${SITE}/torch/optim/adamw.py`,
  ],
  // Checkpoints.
  [
    'checkpoint_save',
    `get_parameter_state_dp_zero ${SITE}/megatron/core/optimizer/distrib_optimizer.py\n save_checkpoint ${SITE}/megatron/training/checkpointing.py`,
  ],
  [
    'checkpoint_load',
    `load ${SITE}/megatron/core/dist_checkpointing/serialization.py\n load_checkpoint ${SITE}/megatron/training/checkpointing.py`,
  ],
  // Attention.
  [
    'attention',
    `forward ${SITE}/transformer_engine/pytorch/attention/dot_product_attention/backends.py\n ${MODULE}\n forward ${SITE}/megatron/core/transformer/attention.py`,
  ],
  [
    'attention',
    `forward ${SITE}/megatron/core/transformer/dot_product_attention.py\n ${MODULE}\n forward ${SITE}/megatron/core/transformer/attention.py`,
  ],
  [
    'attention',
    `eager_attention_forward ${SITE}/transformers/models/llama/modeling_llama.py | attn_weights = nn.functional.softmax(attn_weights, dim=-1)
     forward ${SITE}/transformers/models/llama/modeling_llama.py\n ${MODULE}`,
  ],
  [
    'attention',
    `forward /srv/model.py | scores = q @ k.transpose(-2, -1)\n ${MODULE}\n forward /srv/model.py | x = x + self.attn(self.norm(x))`,
  ],
  // Mixture of experts.
  [
    'moe_dispatch',
    `permute ${SITE}/megatron/core/transformer/moe/moe_utils.py\n token_permutation ${SITE}/megatron/core/transformer/moe/token_dispatcher.py`,
  ],
  [
    'moe_dispatch',
    `forward ${SITE}/megatron/core/transformer/moe/experts.py\n ${MODULE}\n forward ${SITE}/megatron/core/transformer/moe/moe_layer.py`,
  ],
  ['moe_dispatch', `top2gating ${SITE}/deepspeed/moe/sharded_moe.py\n forward ${SITE}/deepspeed/moe/sharded_moe.py`],
  // The MLP.
  [
    'mlp',
    `forward ${SITE}/megatron/core/transformer/mlp.py\n ${MODULE}\n forward ${SITE}/megatron/core/transformer/transformer_layer.py`,
  ],
  [
    'mlp',
    `forward ${SITE}/torch/nn/modules/linear.py | return F.linear(input, self.weight, self.bias)\n ${MODULE}
     forward ${SITE}/transformers/models/llama/modeling_llama.py | down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))`,
  ],
  // Logits, loss, log-probabilities.
  ['logits_loss', `token_log_probs /srv/rl/loss.py | lp = gather_log_probs(full_logits.clone(), ids, group)`],
  [
    'logits_loss',
    `calculate_logits_max ${SITE}/megatron/core/tensor_parallel/cross_entropy.py\n forward ${SITE}/megatron/core/tensor_parallel/cross_entropy.py`,
  ],
  [
    'logits_loss',
    `selective_log_softmax ${SITE}/trl/trainer/utils.py\n _get_per_token_logps_and_entropies ${SITE}/trl/trainer/grpo_trainer.py`,
  ],
  [
    'logits_loss',
    `ForCausalLMLoss ${SITE}/transformers/loss/loss_utils.py | logits = logits.float()\n forward ${SITE}/transformers/models/qwen2/modeling_qwen2.py`,
  ],
  [
    'logits_loss',
    `forward ${SITE}/torch/nn/modules/linear.py | return F.linear(input, self.weight, self.bias)\n ${MODULE}
     forward ${SITE}/transformers/models/llama/modeling_llama.py | logits = self.lm_head(hidden_states[:, slice_indices, :])`,
  ],
  [
    'logits_loss',
    `entropy_from_logits ${SITE}/verl/utils/torch_functional.py\n _forward_micro_batch ${SITE}/verl/workers/actor/dp_actor.py`,
  ],
  ['logits_loss', `forward /srv/train.py | loss = F.cross_entropy(logits.view(-1, V), y.view(-1))`],
  // Recompute, collectives, backward.
  [
    'recompute',
    `forward ${SITE}/megatron/core/transformer/mlp.py\n ${MODULE}\n backward ${SITE}/megatron/core/tensor_parallel/random.py`,
  ],
  [
    'collectives',
    `_alloc_padded_unsharded_flat_param ${SITE}/torch/distributed/fsdp/_flat_param.py\n unshard ${SITE}/torch/distributed/fsdp/_flat_param.py`,
  ],
  ['collectives', `all_gather_into_tensor ${SITE}/torch/distributed/distributed_c10d.py\n helper /srv/x.py`],
  [
    'backward',
    `_engine_run_backward ${SITE}/torch/autograd/graph.py\n backward ${SITE}/torch/autograd/__init__.py\n main /srv/train.py | loss.backward()`,
  ],
  // What is around decides.
  [
    'engine_wakeup',
    `create_and_map ${SITE}/vllm/device_allocator/cumem.py\n wake_up ${SITE}/vllm/device_allocator/cumem.py\n wake_up ${SITE}/vllm/v1/worker/gpu_worker.py`,
  ],
  ['engine_wakeup', `resume_memory_occupation ${SITE}/sglang/srt/managers/scheduler.py`],
  [
    'evaluation',
    `forward ${SITE}/transformers/models/llama/modeling_llama.py | logits = self.lm_head(x)\n prediction_step ${SITE}/transformers/trainer.py\n evaluation_loop ${SITE}/transformers/trainer.py`,
  ],
  [
    'data_loading',
    `send_to_device ${SITE}/accelerate/utils/operations.py\n __iter__ ${SITE}/accelerate/data_loader.py`,
  ],
  // A model that is called with its result named logits; a constructor around a forward pass; nothing known.
  [null, `run /srv/x.py | logits = net(x)`],
  [null, `forward /srv/net.py | y = self.block(x)\n __init__ /srv/serve.py`],
  [null, 'main /srv/train.py'],
  [null, ''],
];

it.each(STACKS)('%s: %s', (activity, stack) => {
  expect(failingActivity(framesOf(stack))).toBe(activity);
});

it('every activity has a stack', () => {
  const tested = new Set(STACKS.map(([activity]) => activity));
  expect(
    activityData()
      .map(({ id }) => id)
      .filter((id) => !tested.has(id)),
  ).toEqual([]);
});

it('the words of a warning name a checkpoint', () => {
  expect(activityOfText('UserWarning: Failed to clone() tensor with name a.b on rank 3. This may mean')).toBe(
    'checkpoint_save',
  );
  expect(activityOfText('torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB')).toBeNull();
});
