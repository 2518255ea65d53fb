/** Transformer Engine's layers, whose code is not part of the repository: what they allocate, keep and wait for, and the frames they do it in. */
import { MIB } from '../../../../../src/model/units.js';
import { AUTOGRAD, at, MODULE_CALL, TE } from '../../../simulate/call-sites/sources.js';
import type { CallPath, CodeLine } from '../../../simulate/code-line.js';
import { record } from '../autograd.js';
import type { Machine } from '../machine.js';
import {
  BFLOAT16,
  Class,
  DType,
  FLOAT32,
  type Instance,
  type Keywords,
  Native,
  type NativeBody,
  retain,
  type Tensor,
  type Value,
} from '../values.js';
import { argument, listArgument, numberArgument, tensorArgument } from './arguments.js';
import { tensorParallel } from './distributed.js';
import { asParameter, MODULE } from './modules.js';

const GEMM = at(
  'general_gemm',
  `${TE}cpp_extensions/gemm.py`,
  134,
  'out, bias_grad, gelu_input, extra_output = tex.generic_gemm(*args, **kwargs)',
);
const GATHER = at('gather_along_first_dim', `${TE}distributed.py`, 1389, 'out = torch.empty(');
const SCATTER = at('reduce_scatter_along_first_dim', `${TE}distributed.py`, 876, 'output = torch.empty(');
const NORM = at('apply_normalization', `${TE}module/_common.py`, 186, 'return normalization_func(');
const WORKSPACE = at('get_cublas_workspace', `${TE}cpp_extensions/gemm.py`, 41, 'return torch.empty(');

const normLinear = (name: string, line: number, source: string): CodeLine =>
  at(name, `${TE}module/layernorm_linear.py`, line, source);
const linear = (name: string, line: number, source: string): CodeLine =>
  at(name, `${TE}module/linear.py`, line, source);

/** The autograd function inside a module's forward. */
const NORM_LINEAR_CALL: CallPath = [normLinear('forward', 1542, 'out = linear_fn(*args)')];
const LINEAR_CALL: CallPath = [linear('forward', 1391, 'out = linear_fn(*args)')];

/** Sizes and switches of a layer, as its attributes. */
interface LayerOptions {
  readonly sequenceParallel: boolean;
  readonly fusesWeightGradient: boolean;
  readonly overlaps: boolean;
  readonly ranks: number;
}

function optionsOf(machine: Machine, self: Instance): LayerOptions {
  const flag = (name: string): boolean => self.attributes.get(name) === true;
  const wide = numberArgument(machine, self.attributes.get('tp_size'));
  return {
    sequenceParallel: flag('sequence_parallel') && wide > 1,
    fusesWeightGradient: flag('fuse_wgrad_accumulation'),
    overlaps: flag('ub_overlap'),
    ranks: wide,
  };
}

function keep(self: Instance, name: string, value: Value): void {
  retain(value);
  self.attributes.set(name, value);
}

function initialise(machine: Machine, args: readonly Value[], keywords: Keywords): Instance {
  const self = args[0] as Instance;
  for (const name of ['sequence_parallel', 'fuse_wgrad_accumulation', 'ub_overlap']) {
    self.attributes.set(name, keywords.get(name) ?? false);
  }
  self.attributes.set('tp_size', keywords.get('tp_size') ?? 1);
  self.attributes.set('in_features', numberArgument(machine, args[1]));
  self.attributes.set('out_features', numberArgument(machine, args[2]));
  return self;
}

function weight(machine: Machine, self: Instance, dtype: DType, frames: CallPath): void {
  const sizes = ['out_features', 'in_features'].map((name) => numberArgument(machine, self.attributes.get(name)));
  machine.within(frames, () => keep(self, 'weight', asParameter(machine, machine.tensor(sizes, dtype))));
}

function paramsDtype(keywords: Keywords): DType {
  const dtype = keywords.get('params_dtype') ?? keywords.get('dtype');
  return dtype instanceof DType ? dtype : BFLOAT16;
}

/** cuBLAS' workspace, made by the first product and kept: 32 MiB from Hopper on, plus 1 KiB of flags; 4 MiB before. */
function ensureWorkspace(machine: Machine): void {
  if (machine.persistent.has('te_workspace')) return;
  const bytes = machine.costs.bytesPerUs < 2e6 ? 4 * MIB : 32 * MIB + 1024;
  const tensor = machine.within([WORKSPACE], () => machine.tensor([bytes / 2], BFLOAT16));
  tensor.refs += 1;
  machine.persistent.set('te_workspace', tensor);
}

/** The whole sequence, of which a rank has its part; the caller frees it. */
function gather(machine: Machine, part: Tensor, { ranks, overlaps }: LayerOptions, frames: CallPath): Tensor {
  const whole = machine.within([GATHER, ...frames], () => machine.tensor([part.rows * ranks, part.width], part.dtype));
  tensorParallel(machine, whole, ranks, overlaps);
  return whole;
}

/** The product for the weight's gradient: into its buffer, or into a tensor that is added to it. */
function weightGradient(machine: Machine, self: Instance, rows: number, frames: CallPath): void {
  const own = tensorArgument(machine, self.attributes.get('weight'));
  machine.compute(2 * rows * own.elements);
  if (optionsOf(machine, self).fusesWeightGradient) return;
  const made = machine.within([GEMM, ...frames], () => machine.tensor(own.shape, own.dtype));
  // Written, cast, and added to a buffer in full precision, by kernels that wait for one another.
  machine.touch(4 * made.bytes + 24 * made.elements);
  machine.dispose(made);
}

// ---- LayerNormLinear: a norm and a column-parallel product

const normLinearInit: NativeBody = (machine, args, keywords) => {
  const self = initialise(machine, args, keywords);
  const dtype = paramsDtype(keywords);
  const width = numberArgument(machine, args[1]);
  machine.within([normLinear('__init__', 1262, 'layer_norm_weight = torch.nn.Parameter(')], () =>
    keep(self, 'layer_norm_weight', asParameter(machine, machine.tensor([width], dtype))),
  );
  weight(machine, self, dtype, [normLinear('__init__', 1287, 'weight_tensor = torch.empty(')]);
  return null;
};

const normLinearForward: NativeBody = (machine, [receiver, value]) => {
  const self = receiver as Instance;
  const input = tensorArgument(machine, value);
  const options = optionsOf(machine, self);
  const width = numberArgument(machine, self.attributes.get('out_features'));
  const frame = (line: number, source: string): CallPath => [normLinear('forward', line, source), ...NORM_LINEAR_CALL];
  const normed = machine.within([NORM, ...frame(214, 'ln_out, mu, rsigma = apply_normalization(')], () =>
    machine.tensor(input.shape, input.dtype),
  );
  retain(normed);
  machine.touch(2 * normed.bytes);
  const { sequenceParallel, ranks } = options;
  const gathered = sequenceParallel
    ? gather(machine, normed, options, frame(268, 'ln_out_total, _ = gather_along_first_dim('))
    : null;
  const rows = input.rows * (sequenceParallel ? ranks : 1);
  const output = machine.within([GEMM, ...frame(386, 'gemm_out, *_, reduce_scatter_out = general_gemm(')], () => {
    ensureWorkspace(machine);
    return machine.tensor([rows, width], input.dtype);
  });
  machine.compute(2 * rows * input.width * width);
  machine.dispose(gathered);
  record(machine, output, {
    inputs: [input, tensorArgument(machine, self.attributes.get('weight'))],
    saved: [input, normed],
    backward: (gradient) => {
      const at = (line: number, source: string): CallPath => [normLinear('backward', line, source), ...AUTOGRAD];
      const whole = sequenceParallel
        ? gather(machine, normed, options, at(671, 'ln_out_total, ln_out_total_work = gather_along_first_dim('))
        : null;
      const product = at(802, 'gemm_out, *_, reduce_scatter_out = general_gemm(');
      const wide = machine.within([GEMM, ...product], () => machine.tensor([rows, input.width], input.dtype));
      machine.compute(2 * rows * input.width * width);
      if (sequenceParallel) tensorParallel(machine, wide, ranks, options.overlaps);
      weightGradient(machine, self, rows, product);
      machine.dispose(whole);
      const result = machine.within(at(1017, 'dgrad, dgamma = tex.rmsnorm_bwd('), () =>
        machine.tensor(input.shape, input.dtype),
      );
      machine.touch(3 * result.bytes);
      machine.dispose(wide);
      return [input.requiresGrad && gradient.elements > 0 ? result : null, null];
    },
  });
  machine.release(normed);
  return output;
};

// ---- Linear: a row-parallel product

const linearInit: NativeBody = (machine, args, keywords) => {
  const self = initialise(machine, args, keywords);
  weight(machine, self, paramsDtype(keywords), [linear('__init__', 1121, 'weight_tensor = torch.empty(')]);
  return null;
};

const linearForward: NativeBody = (machine, [receiver, value]) => {
  const self = receiver as Instance;
  const input = tensorArgument(machine, value);
  const options = optionsOf(machine, self);
  const width = numberArgument(machine, self.attributes.get('out_features'));
  const { sequenceParallel, ranks, overlaps } = options;
  const frame = (line: number, source: string): CallPath => [linear('forward', line, source), ...LINEAR_CALL];
  const rows = input.rows;
  const whole = machine.within([GEMM, ...frame(301, 'gemm_out, *_, reduce_scatter_out = general_gemm(')], () => {
    ensureWorkspace(machine);
    return machine.tensor([rows, width], input.dtype);
  });
  machine.compute(2 * rows * input.width * width);
  let output = whole;
  if (sequenceParallel) {
    output = machine.within([SCATTER, ...frame(327, 'out, _ = reduce_scatter_along_first_dim(out, tp_group)')], () =>
      machine.tensor([rows / ranks, width], input.dtype),
    );
    tensorParallel(machine, whole, ranks, overlaps);
    machine.dispose(whole);
  }
  record(machine, output, {
    inputs: [input, tensorArgument(machine, self.attributes.get('weight'))],
    saved: [input],
    backward: (gradient) => {
      const at = (line: number, source: string): CallPath => [linear('backward', line, source), ...AUTOGRAD];
      const preprocess = preprocessing(at(553, ') = TransformerEngineBaseModule.grad_output_preprocess('));
      const total = sequenceParallel ? gather(machine, gradient, options, preprocess) : null;
      const product = at(714, 'gemm_out, *_, reduce_scatter_out = general_gemm(');
      const result = machine.within([GEMM, ...product], () => machine.tensor(input.shape, input.dtype));
      machine.compute(2 * rows * input.width * width);
      weightGradient(machine, self, rows, product);
      machine.dispose(total);
      return [result, null];
    },
  });
  return output;
};

function preprocessing(outer: CallPath): CallPath {
  return [
    at('grad_output_preprocess', `${TE}module/base.py`, 1123, 'grad_output, _ = gather_along_first_dim('),
    ...outer,
  ];
}

// ---- RMSNorm

const normInit: NativeBody = (machine, args, keywords) => {
  const self = args[0] as Instance;
  const width = numberArgument(machine, args[1]);
  machine.within([at('__init__', `${TE}ops/basic/rmsnorm.py`, 84, 'weight = torch.empty(')], () =>
    keep(self, 'weight', asParameter(machine, machine.tensor([width], paramsDtype(keywords)))),
  );
  return null;
};

const normForward: NativeBody = (machine, [receiver, value]) => {
  const self = receiver as Instance;
  const input = tensorArgument(machine, value);
  const forward = [at('op_forward', `${TE}ops/basic/rmsnorm.py`, 201, 'y, _, rstdevs = rmsnorm_fwd('), ...MODULE_CALL];
  const output = machine.within(forward, () => machine.tensor(input.shape, input.dtype));
  machine.touch(2 * output.bytes);
  record(machine, output, {
    inputs: [input, tensorArgument(machine, self.attributes.get('weight'))],
    saved: [input],
    backward: (gradient) => {
      machine.touch(3 * gradient.bytes);
      const frames = [at('op_backward', `${TE}ops/basic/rmsnorm.py`, 244, 'dx, dw = rmsnorm_bwd('), ...AUTOGRAD];
      return [machine.within(frames, () => machine.tensor(input.shape, input.dtype)), null];
    },
  });
  return output;
};

// ---- attention

const attentionInit: NativeBody = (machine, [receiver, heads, groups, channels]) => {
  const self = receiver as Instance;
  for (const [name, value] of Object.entries({ heads, groups, channels })) {
    self.attributes.set(name, numberArgument(machine, value));
  }
  return null;
};

const BACKENDS = `${TE}attention/dot_product_attention/backends.py`;
const ATTENTION_FORWARD: CallPath = [
  at('fused_attn_fwd', `${TE}cpp_extensions/fused_attn.py`, 318, 'output_tensors = tex.fused_attn_fwd('),
  at('forward', BACKENDS, 1102, 'out_, aux_ctx_tensors, *_ = fused_attn_fwd('),
  at(
    'forward',
    `${TE}attention/dot_product_attention/dot_product_attention.py`,
    1371,
    'attn_out = self.fused_attention(',
  ),
];
const ATTENTION_BACKWARD: CallPath = [
  at('fused_attn_bwd', `${TE}cpp_extensions/fused_attn.py`, 497, 'output_tensors = tex.fused_attn_bwd('),
  at('backward', BACKENDS, 1387, 'dq, dk, dv, *rest = fused_attn_bwd('),
  ...AUTOGRAD,
];

/** Queries and keys in one tensor, values in another. */
const attentionForward: NativeBody = (machine, [receiver, first, second]) => {
  const self = receiver as Instance;
  const [queryKey, value] = [tensorArgument(machine, first), tensorArgument(machine, second)];
  const size = (name: string): number => numberArgument(machine, self.attributes.get(name));
  const { rows } = queryKey;
  const [output, statistics] = machine.within(ATTENTION_FORWARD, () => [
    machine.tensor([rows, size('heads') * size('channels')], queryKey.dtype),
    machine.tensor([rows, size('heads')], FLOAT32),
  ]) as [Tensor, Tensor];
  retain(statistics);
  const flops = 2 * rows * rows * size('heads') * size('channels');
  machine.compute(flops);
  record(machine, output, {
    inputs: [queryKey, value],
    saved: [queryKey, value, output, statistics],
    backward: (gradient) => {
      machine.compute(2.5 * flops);
      machine.touch(gradient.bytes);
      return machine.within(ATTENTION_BACKWARD, () =>
        [queryKey, value].map((input) => (input.requiresGrad ? machine.tensor(input.shape, input.dtype) : null)),
      );
    },
  });
  machine.release(statistics);
  return output;
};

/** Rotates queries and keys into a tensor of their own. */
const fusedRope: NativeBody = (machine, [value, , heads, groups]) => {
  const input = tensorArgument(machine, value);
  const parts = numberArgument(machine, heads) + 2 * numberArgument(machine, groups);
  const width = (input.width / parts) * (parts - numberArgument(machine, groups));
  const frames = [at('forward', `${TE}attention/rope.py`, 214, 'output = tex.fused_rope_forward(')];
  const output = machine.within(frames, () => machine.tensor([input.rows, width], input.dtype));
  machine.touch(2 * output.bytes);
  record(machine, output, {
    inputs: [input],
    saved: [],
    backward: (gradient) => {
      machine.touch(2 * gradient.bytes);
      const back = [
        at('backward', `${TE}attention/rope.py`, 251, 'grad_input = tex.fused_rope_backward('),
        ...AUTOGRAD,
      ];
      return [machine.within(back, () => machine.tensor(input.shape, input.dtype))];
    },
  });
  return output;
};

// ---- Adam

const ADAM = `${TE}optimizers/fused_adam.py`;

const adamInit: NativeBody = (_machine, [receiver], keywords) => {
  const self = receiver as Instance;
  for (const name of ['exp_avg_dtype', 'exp_avg_sq_dtype']) self.attributes.set(name, keywords.get(name) ?? FLOAT32);
  self.attributes.set('has_state', false);
  return null;
};

/** The moments are born in the first step and stay. */
const adamStep: NativeBody = (machine, args, keywords) => {
  const self = args[0] as Instance;
  const params = listArgument(machine, argument(args, keywords, 1, 'params'));
  machine.process.annotate('Optimizer.step#FusedAdam.step', () => {
    let bytes = 0;
    for (const item of params.items) {
      const param = tensorArgument(machine, item);
      if (self.attributes.get('has_state') !== true) initialiseState(machine, self, param);
      bytes += 16 * param.elements;
    }
    self.attributes.set('has_state', true);
    machine.touch(bytes);
  });
  return null;
};

function initialiseState(machine: Machine, self: Instance, param: Tensor): void {
  const outer = at('step', ADAM, 586, 'self.initialize_state(p, store_param_remainders)');
  const states = [
    ['exp_avg', at('initialize_state', ADAM, 383, 'self._initialize_state(param, "exp_avg", zero_buffer=True)')],
    ['exp_avg_sq', at('initialize_state', ADAM, 384, 'self._initialize_state(param, "exp_avg_sq", zero_buffer=True)')],
  ] as const;
  for (const [name, line] of states) {
    const dtype = self.attributes.get(`${name}_dtype`);
    const inner = at('_initialize_state', ADAM, 352, 'data = torch.zeros(shape, dtype=dtype, device=param.device)');
    const state = machine.within([inner, line, outer], () =>
      machine.tensor(param.shape, dtype instanceof DType ? dtype : FLOAT32),
    );
    retain(state);
    param.attributes.set(name, state);
  }
}

function layer(name: string, init: NativeBody, forward: NativeBody): Class {
  const made = new Class(name, [MODULE]);
  made.members.set('__init__', new Native('__init__', init));
  made.members.set('forward', new Native('forward', forward));
  return made;
}

const ADAM_CLASS = new Class('FusedAdam', []);
ADAM_CLASS.members.set('__init__', new Native('__init__', adamInit));
ADAM_CLASS.members.set('step', new Native('step', adamStep));

export const TRANSFORMER_ENGINE_MODULES: readonly (readonly [string, ReadonlyMap<string, Value>])[] = [
  [
    'transformer_engine.pytorch',
    new Map<string, Value>([
      ['LayerNormLinear', layer('LayerNormLinear', normLinearInit, normLinearForward)],
      ['Linear', layer('Linear', linearInit, linearForward)],
      ['RMSNorm', layer('RMSNorm', normInit, normForward)],
      ['DotProductAttention', layer('DotProductAttention', attentionInit, attentionForward)],
    ]),
  ],
  [
    'transformer_engine.pytorch.attention.rope',
    new Map<string, Value>([['apply_rotary_pos_emb', new Native('apply_rotary_pos_emb', fusedRope)]]),
  ],
  ['transformer_engine.pytorch.optimizers', new Map<string, Value>([['FusedAdam', ADAM_CLASS]])],
];
