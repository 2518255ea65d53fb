/** `torch` and its submodules: the functions that the programs of these repositories call. */
import { record, runBackward } from '../autograd.js';
import type { Machine } from '../machine.js';
import { BFLOAT16, type DType, FLOAT32, List, Native, type NativeBody, Tensor, type Value } from '../values.js';
import { dtypeArgument, listArgument, shapeArgument, tensorArgument } from './arguments.js';
import { FUNCTION } from './autograd-function.js';
import { ENABLE_GRAD, NO_GRAD } from './context-managers.js';
import { DISTRIBUTED } from './distributed.js';
import { asParameter, MODULE } from './modules.js';
import { matmul, pointwise, reduction, viewOf } from './pointwise.js';
import { DTYPES } from './tensor.js';

type Members = ReadonlyMap<string, Value>;

function natives(bodies: Readonly<Record<string, NativeBody>>): [string, Value][] {
  return Object.entries(bodies).map(([name, body]) => [name, new Native(name, body)]);
}

/** `torch.empty` only takes memory, `torch.zeros` and `torch.ones` write it too. */
function factory(writes: boolean, otherwise: DType = FLOAT32): NativeBody {
  return (machine, args, keywords) => {
    const made = machine.tensor(shapeArgument(machine, args), dtypeArgument(keywords, otherwise));
    if (writes) machine.touch(made.bytes);
    return made;
  };
}

function like(machine: Machine, value: Value | undefined, dtype: DType | undefined): Tensor {
  const model = tensorArgument(machine, value);
  const made = machine.tensor(model.shape, dtype ?? model.dtype);
  machine.touch(made.bytes);
  return made;
}

const withoutLast = (shape: readonly number[]): number[] => shape.slice(0, -1);

/** `out=` works in place. */
const exponential: NativeBody = (machine, [input], keywords) => {
  const tensor = tensorArgument(machine, input);
  const out = keywords.get('out');
  if (!(out instanceof Tensor)) return pointwise(machine, [tensor], 'result');
  machine.touch(2 * out.bytes);
  return out;
};

const reduce =
  (saves: 'inputs' | 'nothing'): NativeBody =>
  (machine, [input, dimension]) => {
    const tensor = tensorArgument(machine, input);
    return reduction(machine, tensor, dimension === undefined ? [] : withoutLast(tensor.shape), saves);
  };

const chunk: NativeBody = (machine, [input, count]) => {
  const tensor = tensorArgument(machine, input);
  const parts = Number(count);
  const shape = [...withoutLast(tensor.shape), tensor.width / parts];
  return new List(Array.from({ length: parts }, () => viewOf(machine, tensor, shape)));
};

const concatenate: NativeBody = (machine, [list]) => {
  const parts = listArgument(machine, list).items.map((item) => tensorArgument(machine, item));
  const width = parts.reduce((sum, part) => sum + part.width, 0);
  const made = machine.tensor([...withoutLast(parts[0]!.shape), width], parts[0]!.dtype);
  machine.touch(2 * made.bytes);
  record(machine, made, {
    inputs: parts,
    saved: [],
    backward: () => parts.map((part) => machine.tensor(part.shape, part.dtype)),
  });
  return made;
};

const meanOfList: NativeBody = (machine, [value]) => {
  if (value instanceof Tensor) return reduction(machine, value, [], 'nothing');
  return reduction(machine, tensorArgument(machine, listArgument(machine, value).items[0]), [], 'nothing');
};

const TORCH: Members = new Map<string, Value>([
  ...DTYPES.map((dtype): [string, Value] => [dtype.name.slice('torch.'.length), dtype]),
  ...natives({
    empty: factory(false),
    zeros: factory(true),
    ones: factory(true),
    zeros_like: (machine, [value], keywords) => like(machine, value, keywords.get('dtype') as DType | undefined),
    empty_like: (machine, [value], keywords) => like(machine, value, keywords.get('dtype') as DType | undefined),
    exp: exponential,
    log: (machine, [input]) => pointwise(machine, [tensorArgument(machine, input)], 'inputs'),
    sigmoid: (machine, [input]) => pointwise(machine, [tensorArgument(machine, input)], 'result'),
    sum: reduce('nothing'),
    amax: reduce('inputs'),
    norm: reduce('inputs'),
    mean: meanOfList,
    chunk,
    cat: concatenate,
    matmul: (machine, [a, b]) => matmul(machine, tensorArgument(machine, a), tensorArgument(machine, b)),
    compile: (_machine, [callee = null]) => callee,
    manual_seed: () => null,
  }),
  ['no_grad', NO_GRAD],
  ['enable_grad', ENABLE_GRAD],
]);

const backward: NativeBody = (machine, [output, gradient]) => {
  runBackward(machine, tensorArgument(machine, output), gradient instanceof Tensor ? gradient : null);
  return null;
};

/** A product that adds to the gradient's buffer: no tensor of its own. */
const accumulateWeightGradient: NativeBody = (machine, [input, gradient]) => {
  const [x, dy] = [tensorArgument(machine, input), tensorArgument(machine, gradient)];
  machine.compute(2 * x.rows * x.width * dy.width);
  return null;
};

export const TORCH_MODULES: readonly (readonly [string, Members])[] = [
  ['torch', TORCH],
  [
    'torch.nn',
    new Map<string, Value>([
      ['Module', MODULE],
      ...natives({
        Parameter: (machine, [tensor]) => asParameter(machine, tensor),
        ModuleList: (_machine, [list]) => list ?? new List([]),
      }),
    ]),
  ],
  [
    'torch.nn.functional',
    new Map(
      natives({
        silu: (machine, [input]) => pointwise(machine, [tensorArgument(machine, input)], 'inputs'),
        embedding: embedding,
      }),
    ),
  ],
  ['torch.autograd', new Map<string, Value>([['Function', FUNCTION], ...natives({ backward })])],
  ['torch.distributed', DISTRIBUTED],
  [
    'torch.cuda',
    new Map(
      natives({
        synchronize: (machine) => {
          machine.synchronise();
          return null;
        },
        empty_cache: (machine) => {
          const { reservedBytes } = machine.process.allocator.statistics;
          machine.spend(machine.costs.emptyCacheUsPerByte * reservedBytes.current);
          return null;
        },
      }),
    ),
  ],
  [
    'torch.cuda.memory',
    new Map(
      natives({
        _record_memory_history: () => null,
        _dump_snapshot: (machine) => {
          machine.observer.dump();
          return null;
        },
      }),
    ),
  ],
  [
    'torch._utils',
    new Map(
      natives({
        _flatten_dense_tensors: (machine, [list]) => {
          const parts = listArgument(machine, list).items.map((item) => tensorArgument(machine, item));
          return machine.tensor([parts.reduce((sum, part) => sum + part.elements, 0)], parts[0]?.dtype ?? BFLOAT16);
        },
      }),
    ),
  ],
  ['fused_weight_gradient_mlp_cuda', new Map(natives({ wgrad_gemm_accum_fp32: accumulateWeightGradient }))],
];

function embedding(machine: Machine, [ids, weight]: readonly Value[]): Value {
  const [tokens, table] = [tensorArgument(machine, ids), tensorArgument(machine, weight)];
  const made = machine.tensor([tokens.elements, table.width], table.dtype);
  machine.touch(2 * made.bytes);
  record(machine, made, {
    inputs: [table],
    saved: [tokens],
    backward: (gradient) => {
      machine.touch(2 * gradient.bytes);
      return [null];
    },
  });
  return made;
}
