/** What a stack was doing: from functions and files, the outer frame distinguishing saving from loading. */
import { expect, it } from 'vitest';
import { activityOf } from '../../../src/derive/stacks/activity.js';

const GATHER = 'get_parameter_state_dp_zero /opt/megatron/core/optimizer/distrib_optimizer.py';

it.each<[string, ...string[]]>([
  ['checkpoint_save', GATHER],
  ['checkpoint_save', GATHER, 'save_checkpoint /w/training/checkpointing.py'],
  ['checkpoint_load', GATHER, 'load_checkpoint /w/training/checkpointing.py'],
  ['checkpoint_load', '_load_tensor /x/torch/distributed/checkpoint/default_planner.py'],
  ['logits_loss', 'calculate_logits_max /m/core/tensor_parallel/cross_entropy.py'],
  ['logits_loss', 'forward /m/core/tensor_parallel/layers.py', '_postprocess /m/core/models/gpt/gpt_model.py'],
  ['optimizer_init', '_initialize_state /te/pytorch/optimizers/fused_adam.py'],
  ['optimizer_init', '_init_group /x/torch/optim/adamw.py'],
  ['none', 'forward /m/core/transformer/mlp.py'],
  // Activation checkpointing is not a checkpoint.
  ['none', 'checkpoint /m/core/tensor_parallel/random.py'],
  ['none', 'checkpoint /x/torch/utils/checkpoint.py'],
  ['none'],
])('%s: %s %s', (activity, ...stack) => {
  const frames = stack.map((text) => ({ name: text.split(' ')[0]!, filename: text.split(' ')[1]! }));
  expect(activityOf(frames) ?? 'none').toBe(activity);
});
