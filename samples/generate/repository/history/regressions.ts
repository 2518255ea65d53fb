/** Changes that make a run worse, as people make them: a line too many, a line too few, a key. Each is true of its kind only where it is measured to be. */
import type { Component } from '../../../../src/model/vocabulary.js';
import type { ConfigEdit, Edit } from './tree.js';

export const REPOSITORY_KINDS = ['oom', 'memory', 'throughput', 'component'] as const;
export type RepositoryKind = (typeof REPOSITORY_KINDS)[number];

export interface Regression {
  readonly name: string;
  readonly kinds: readonly RepositoryKind[];
  readonly subject: string;
  /** `hunk`: lines come in or change; `deletion`: lines only go; `knob`: a key of the overrides. */
  readonly form: 'hunk' | 'deletion' | 'knob';
  /** The first is the one to blame; the others belong to it, or hide it in the total. */
  readonly edits: readonly [Edit, ...Edit[]];
  /** Of the knob, or that the hunk decides; null where there is none. */
  readonly key: string | null;
  /** Functions whose text the edits look for. */
  readonly functions: readonly string[];
  /** What the overrides must say before. */
  readonly before?: readonly ConfigEdit[];
  /** Which component grows where the kind is `component`. */
  readonly component?: Component;
}

const knob = (key: string, value: ConfigEdit['value']): ConfigEdit => ({ key, value });

/** What hides moments in full precision: gradients in half. */
const HALF_GRADIENTS = knob('ddp.grad_reduce_in_fp32', false);
const FULL_GRADIENTS = knob('ddp.grad_reduce_in_fp32', true);

const MEMORY: readonly Regression[] = [
  {
    name: 'fp32-logits',
    kinds: ['memory', 'oom'],
    subject: 'Compute the fused loss in full precision',
    form: 'hunk',
    edits: [
      {
        find: '        logits_max = torch.amax(vocab_parallel_logits, -1)\n        torch.distributed',
        replace:
          '        vocab_parallel_logits = vocab_parallel_logits.float()\n' +
          '        logits_max = torch.amax(vocab_parallel_logits, -1)\n        torch.distributed',
      },
    ],
    key: null,
    functions: ['forward'],
  },
  {
    name: 'exp-out-of-place',
    kinds: ['memory', 'oom'],
    subject: 'Keep logits intact for metrics',
    form: 'hunk',
    edits: [
      {
        find: 'exp_logits = torch.exp(vocab_parallel_logits, out=vocab_parallel_logits)\n        loss = calculate_loss',
        replace: 'exp_logits = torch.exp(vocab_parallel_logits)\n        loss = calculate_loss',
      },
    ],
    key: null,
    functions: ['forward', 'calculate_loss'],
  },
  {
    name: 'swiglu-saves-twice',
    kinds: ['memory', 'oom'],
    subject: 'Keep the SwiGLU input in full precision for its gradient',
    form: 'hunk',
    edits: [
      {
        find: '        ctx.save_for_backward(input)\n        return swiglu',
        replace: '        ctx.save_for_backward(input, input.float())\n        return swiglu',
      },
    ],
    key: null,
    functions: ['forward', 'swiglu', 'swiglu_back'],
  },
  {
    name: 'staging-buffer',
    kinds: ['memory'],
    subject: 'Stage parameter gathers in a buffer of their own',
    form: 'hunk',
    edits: [
      {
        find: '        self._map_parameters()\n',
        replace:
          '        self._map_parameters()\n        self.gather_staging = torch.empty(self.numel, dtype=param_dtype)\n',
      },
    ],
    key: null,
    functions: ['__init__', '_map_parameters'],
  },
  {
    name: 'fp32-staging-buffer',
    kinds: ['oom'],
    subject: 'Stage gradient reductions in a buffer of their own',
    form: 'hunk',
    edits: [
      {
        find: '        self._map_parameters()\n',
        replace:
          '        self._map_parameters()\n        self.reduce_staging = torch.empty(self.numel, dtype=torch.float32)\n',
      },
    ],
    key: null,
    functions: ['__init__', '_map_parameters'],
  },
  {
    name: 'kept-intermediates',
    kinds: ['oom'],
    subject: 'Collect MLP intermediates for the sparsity report',
    form: 'hunk',
    edits: [
      {
        find: '        output = self.linear_fc2(intermediate_parallel)\n',
        replace:
          '        self.intermediates.append(intermediate_parallel)\n        output = self.linear_fc2(intermediate_parallel)\n',
      },
      {
        find: '        self.linear_fc2 = TERowParallelLinear(config.ffn_hidden_size, config.hidden_size, config)\n',
        replace:
          '        self.linear_fc2 = TERowParallelLinear(config.ffn_hidden_size, config.hidden_size, config)\n        self.intermediates = []\n',
      },
    ],
    key: null,
    functions: ['forward', '__init__'],
  },
  {
    name: 'ema-bf16',
    kinds: ['memory'],
    subject: 'Track an exponential moving average of the weights',
    form: 'hunk',
    edits: [
      {
        find: '    optimizer = setup_optimizer(cfg, model)\n',
        replace:
          '    optimizer = setup_optimizer(cfg, model)\n    model.ema = [param.detach().clone() for param in model.parameters()]\n',
      },
    ],
    key: null,
    functions: ['setup'],
  },
  {
    name: 'ema-fp32',
    kinds: ['oom'],
    subject: 'Track an exponential moving average of the weights in full precision',
    form: 'hunk',
    edits: [
      {
        find: '    optimizer = setup_optimizer(cfg, model)\n',
        replace:
          '    optimizer = setup_optimizer(cfg, model)\n    model.ema = [param.detach().clone().float() for param in model.parameters()]\n',
      },
    ],
    key: null,
    functions: ['setup'],
  },
  {
    name: 'shadow-weights',
    kinds: ['memory', 'oom'],
    subject: 'Keep last known good weights for loss spikes',
    form: 'hunk',
    edits: [
      {
        find: '    optimizer = get_megatron_optimizer(optimizer_config, model)\n',
        replace:
          '    optimizer = get_megatron_optimizer(optimizer_config, model)\n    optimizer.last_good = [shard.clone() for shard in optimizer.shard_fp32_params]\n',
      },
    ],
    key: null,
    functions: ['setup_optimizer'],
  },
  {
    name: 'previous-gradients',
    kinds: ['oom'],
    subject: 'Remember the last gradients for the noise scale',
    form: 'hunk',
    edits: [
      {
        find: '    update_successful, grad_norm = optimizer.step()\n',
        replace:
          '    model.previous_gradients = model.buffers[0].grad_data.clone()\n    update_successful, grad_norm = optimizer.step()\n',
      },
    ],
    key: null,
    functions: ['train_step'],
  },
  {
    name: 'moments-in-fp32',
    kinds: ['memory', 'oom'],
    subject: 'Leave the second moment to the default precision',
    form: 'deletion',
    edits: [{ find: '    cfg.optimizer.exp_avg_sq_dtype = torch.bfloat16\n', replace: '' }],
    key: 'optimizer.exp_avg_sq_dtype',
    functions: ['set_moment_precision'],
  },
  {
    name: 'all-moments-in-fp32',
    kinds: ['oom'],
    subject: 'Drop the precision-aware optimizer from the recipe',
    form: 'deletion',
    edits: [{ find: '    bf16_mixed(cfg)\n    set_moment_precision(cfg)\n', replace: '    bf16_mixed(cfg)\n' }],
    key: 'optimizer.exp_avg_dtype',
    functions: ['_llama3_common', 'set_moment_precision'],
  },
  {
    name: 'unfused-loss-in-recipe',
    kinds: ['memory', 'oom'],
    subject: 'Use the default loss in recipes',
    form: 'deletion',
    edits: [{ find: '    cfg.model.cross_entropy_loss_fusion = True\n', replace: '' }],
    key: 'model.cross_entropy_loss_fusion',
    functions: ['_llama3_common'],
  },
  {
    name: 'weights-beside-the-buffer',
    kinds: ['memory', 'oom'],
    subject: 'Simplify the mapping of parameters',
    form: 'deletion',
    edits: [{ find: '            param.data = self.param_data.narrow(0, offset, param.numel())\n', replace: '' }],
    key: null,
    functions: ['_map_parameters'],
  },
  {
    name: 'knob-no-recompute',
    kinds: ['memory', 'oom'],
    subject: 'Recompute less',
    form: 'knob',
    edits: [knob('model.recompute_granularity', 'selective')],
    key: 'model.recompute_granularity',
    functions: [],
    before: [knob('model.recompute_granularity', 'full')],
  },
  {
    name: 'knob-fp32-gradients',
    kinds: ['memory', 'oom'],
    subject: 'Reduce gradients in full precision',
    form: 'knob',
    edits: [FULL_GRADIENTS],
    key: 'ddp.grad_reduce_in_fp32',
    functions: [],
    before: [HALF_GRADIENTS],
  },
  {
    name: 'knob-first-moment',
    kinds: ['memory', 'oom'],
    subject: 'First moment in full precision',
    form: 'knob',
    edits: [knob('optimizer.exp_avg_dtype', 'torch.float32')],
    key: 'optimizer.exp_avg_dtype',
    functions: [],
    before: [knob('optimizer.exp_avg_dtype', 'torch.bfloat16')],
  },
  {
    name: 'knob-unfused-loss',
    kinds: ['memory', 'oom'],
    subject: 'Turn off loss fusion until the kernel is fixed',
    form: 'knob',
    edits: [knob('model.cross_entropy_loss_fusion', false)],
    key: 'model.cross_entropy_loss_fusion',
    functions: [],
    before: [knob('model.cross_entropy_loss_fusion', true)],
  },
  {
    name: 'knob-replicated-optimizer',
    kinds: ['oom'],
    subject: 'Replicate the optimizer state while sharding is debugged',
    form: 'knob',
    edits: [knob('ddp.use_distributed_optimizer', false)],
    key: 'ddp.use_distributed_optimizer',
    functions: [],
    before: [knob('ddp.use_distributed_optimizer', true)],
  },
];

const THROUGHPUT: readonly Regression[] = [
  {
    name: 'synchronise-layers',
    kinds: ['throughput'],
    subject: 'Time every layer',
    form: 'hunk',
    edits: [
      {
        find: '        output = self._forward_mlp(hidden_states)\n        return output\n',
        replace:
          '        output = self._forward_mlp(hidden_states)\n        torch.cuda.synchronize()\n        return output\n',
      },
      {
        find: 'class TransformerLayer(MegatronModule):\n',
        replace: 'import torch\n\n\nclass TransformerLayer(MegatronModule):\n',
      },
    ],
    key: null,
    functions: ['forward', '_forward_mlp'],
  },
  {
    name: 'loss-item',
    kinds: ['throughput'],
    subject: 'Check the loss of every token block',
    form: 'hunk',
    edits: [
      {
        find: '    return loss.detach().clone()\n',
        replace: '    for block in range(6):\n        assert loss.item() > 0\n    return loss.detach().clone()\n',
      },
    ],
    key: null,
    functions: ['reporting_loss'],
  },
  {
    name: 'wait-for-reduction',
    kinds: ['throughput'],
    subject: 'Reduce gradients without a handle',
    form: 'hunk',
    edits: [
      {
        find: '            shard, self.grad_data, group=group, async_op=self.ddp_config.overlap_grad_reduce\n',
        replace: '            shard, self.grad_data, group=group\n',
      },
      {
        find: '            self.param_data, shard, group=group, async_op=self.ddp_config.overlap_param_gather\n',
        replace: '            self.param_data, shard, group=group\n',
      },
    ],
    key: 'ddp.overlap_grad_reduce',
    functions: ['start_grad_sync', 'start_param_sync'],
  },
  {
    name: 'empty-cache',
    kinds: ['throughput'],
    subject: 'Empty the cache before the optimizer',
    form: 'hunk',
    edits: [
      {
        find: '    update_successful, grad_norm = optimizer.step()\n',
        replace: '    torch.cuda.empty_cache()\n    update_successful, grad_norm = optimizer.step()\n',
      },
    ],
    key: null,
    functions: ['train_step'],
  },
  {
    name: 'garbage-collector',
    kinds: ['throughput'],
    subject: 'Leave garbage collection to Python',
    form: 'deletion',
    edits: [{ find: '        gc.disable()\n', replace: '' }],
    key: null,
    functions: ['train'],
  },
  {
    name: 'garbage-collector-in-recipe',
    kinds: ['throughput'],
    subject: 'Remove manual garbage collection from recipes',
    form: 'deletion',
    edits: [{ find: '    cfg.train.manual_gc = True\n', replace: '' }],
    key: 'train.manual_gc',
    functions: ['_llama3_common'],
  },
  {
    name: 'communication-overlap-in-layers',
    kinds: ['throughput'],
    subject: 'Simplify row-parallel linear layers',
    form: 'deletion',
    edits: [
      {
        find: '            ub_overlap=config.tp_comm_overlap,\n            tp_size=world_size,\n            parallel_mode="row",\n',
        replace: '            tp_size=world_size,\n            parallel_mode="row",\n',
      },
      {
        find: '            ub_overlap=config.tp_comm_overlap,\n            tp_size=world_size,\n            parallel_mode="column",\n',
        replace: '            tp_size=world_size,\n            parallel_mode="column",\n',
      },
    ],
    key: 'model.tp_comm_overlap',
    functions: ['__init__'],
  },
  {
    name: 'knob-communication-overlap',
    kinds: ['throughput'],
    subject: 'Disable userbuffers',
    form: 'knob',
    edits: [knob('model.tp_comm_overlap', false)],
    key: 'model.tp_comm_overlap',
    functions: [],
    before: [knob('model.tp_comm_overlap', true)],
  },
  {
    name: 'knob-gradient-fusion',
    kinds: ['throughput'],
    subject: 'Turn off gradient accumulation fusion',
    form: 'knob',
    edits: [knob('model.gradient_accumulation_fusion', false)],
    key: 'model.gradient_accumulation_fusion',
    functions: [],
    before: [knob('model.gradient_accumulation_fusion', true)],
  },
  {
    name: 'knob-reduce-overlap',
    kinds: ['throughput'],
    subject: 'Turn off the overlap of gradient reduction',
    form: 'knob',
    edits: [knob('ddp.overlap_grad_reduce', false)],
    key: 'ddp.overlap_grad_reduce',
    functions: [],
    before: [knob('ddp.overlap_grad_reduce', true)],
  },
  {
    name: 'knob-empty-memory',
    kinds: ['throughput'],
    subject: 'Return unused memory every step',
    form: 'knob',
    edits: [knob('train.empty_unused_memory_level', 1)],
    key: 'train.empty_unused_memory_level',
    functions: [],
    before: [knob('train.empty_unused_memory_level', 0)],
  },
];

const COMPONENT: readonly Regression[] = [
  {
    name: 'component-knob',
    kinds: ['component'],
    subject: 'Rebalance precision of gradients and moments',
    form: 'knob',
    edits: [knob('optimizer.exp_avg_dtype', 'torch.float32'), HALF_GRADIENTS],
    key: 'optimizer.exp_avg_dtype',
    functions: [],
    before: [knob('optimizer.exp_avg_dtype', 'torch.bfloat16'), FULL_GRADIENTS],
    component: 'optimizer_state',
  },
  {
    name: 'component-hunk-in-core',
    kinds: ['component'],
    subject: 'Keep the first moment in full precision',
    form: 'hunk',
    edits: [
      {
        find: '        exp_avg_dtype=config.exp_avg_dtype,\n',
        replace: '        exp_avg_dtype=torch.float32,\n',
      },
      {
        find: 'from transformer_engine.pytorch.optimizers import FusedAdam\n',
        replace: 'import torch\nfrom transformer_engine.pytorch.optimizers import FusedAdam\n',
      },
      HALF_GRADIENTS,
    ],
    key: 'optimizer.exp_avg_dtype',
    functions: ['_get_megatron_optimizer_based_on_param_groups'],
    before: [FULL_GRADIENTS],
    component: 'optimizer_state',
  },
  {
    name: 'component-hunk-in-recipe',
    kinds: ['component'],
    subject: 'First moment in full precision',
    form: 'hunk',
    edits: [
      {
        find: '    cfg.optimizer.exp_avg_dtype = torch.bfloat16\n',
        replace: '    cfg.optimizer.exp_avg_dtype = torch.float32\n',
      },
      HALF_GRADIENTS,
    ],
    key: 'optimizer.exp_avg_dtype',
    functions: ['set_moment_precision'],
    before: [FULL_GRADIENTS],
    component: 'optimizer_state',
  },
  {
    name: 'component-deletion',
    kinds: ['component'],
    subject: 'Leave the second moment to the default precision',
    form: 'deletion',
    edits: [{ find: '    cfg.optimizer.exp_avg_sq_dtype = torch.bfloat16\n', replace: '' }, HALF_GRADIENTS],
    key: 'optimizer.exp_avg_sq_dtype',
    functions: ['set_moment_precision'],
    before: [FULL_GRADIENTS],
    component: 'optimizer_state',
  },
  {
    name: 'component-gradients',
    kinds: ['component'],
    subject: 'Gradients in full precision, moments in half',
    form: 'knob',
    edits: [FULL_GRADIENTS, knob('optimizer.exp_avg_dtype', 'torch.bfloat16')],
    key: 'ddp.grad_reduce_in_fp32',
    functions: [],
    before: [HALF_GRADIENTS, knob('optimizer.exp_avg_dtype', 'torch.float32')],
    component: 'gradient',
  },
];

export const REGRESSIONS: readonly Regression[] = [...MEMORY, ...THROUGHPUT, ...COMPONENT];
