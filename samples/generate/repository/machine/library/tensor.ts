/** Attributes and methods of tensors. */
import type { Machine } from '../machine.js';
import {
  BFLOAT16,
  BOOL,
  Bound,
  DType,
  FLOAT32,
  INT64,
  type Keywords,
  List,
  Native,
  retain,
  Tensor,
  type Value,
} from '../values.js';
import { numberArgument, shapeArgument, tensorArgument } from './arguments.js';
import { matmul, pointwise, reduction, viewOf } from './pointwise.js';

type Method = (machine: Machine, self: Tensor, args: readonly Value[], keywords: Keywords) => Value;

function cast(machine: Machine, self: Tensor, dtype: DType): Tensor {
  return self.dtype === dtype ? self : pointwise(machine, [self], 'nothing', dtype);
}

/** In place: reads and writes what is there. */
const inPlace: Method = (machine, self, args) => {
  const others = args.filter((value): value is Tensor => value instanceof Tensor);
  machine.touch(2 * self.bytes + others.reduce((sum, other) => sum + other.bytes, 0));
  return self;
};

const METHODS: Readonly<Record<string, Method>> = {
  float: (machine, self) => cast(machine, self, FLOAT32),
  bfloat16: (machine, self) => cast(machine, self, BFLOAT16),
  to: (machine, self, [dtype]) => (dtype instanceof DType ? cast(machine, self, dtype) : self),
  clone: (machine, self) => pointwise(machine, [self], 'nothing'),
  contiguous: (_machine, self) => self,
  detach: (machine, self) => machine.view(self, self.shape),
  requires_grad_: (_machine, self) => {
    self.requiresGrad = true;
    return self;
  },
  // Gradients of views are not followed where the view is a parameter's.
  view: (machine, self, args) => {
    const shape = shapeArgument(machine, args);
    const known = shape.filter((size) => size >= 0).reduce((product, size) => product * size, 1);
    return viewOf(
      machine,
      self,
      shape.map((size) => (size < 0 ? self.elements / known : size)),
    );
  },
  narrow: (machine, self, [, , length]) => viewOf(machine, self, [numberArgument(machine, length)]),
  t: (machine, self) => machine.view(self, self.shape.toReversed()),
  matmul: (machine, self, [other]) => matmul(machine, self, tensorArgument(machine, other)),
  numel: (_machine, self) => self.elements,
  dim: (_machine, self) => self.shape.length,
  size: (machine, self, [dimension]) => self.shape[numberArgument(machine, dimension)] ?? 1,
  cuda: (machine, self) => {
    const copy = machine.tensor(self.shape, self.dtype);
    machine.spend(6);
    return copy;
  },
  cpu: (machine, self) => {
    machine.synchronise();
    return machine.hostTensor(self.shape, self.dtype);
  },
  item: (machine) => {
    machine.synchronise();
    return 1;
  },
  isnan: (machine, self) => pointwise(machine, [self], 'nothing', BOOL),
  any: (machine, self) => reduction(machine, self, [], 'nothing'),
  sum: (machine, self) => reduction(machine, self, [], 'nothing'),
  norm: (machine, self) => reduction(machine, self, [], 'inputs'),
  square: (machine, self) => pointwise(machine, [self], 'inputs'),
  add_: inPlace,
  mul_: inPlace,
  copy_: inPlace,
  zero_: inPlace,
};

const NATIVES = new Map(
  Object.entries(METHODS).map(([name, method]) => [
    name,
    new Native(name, (machine, [self, ...args], keywords) => method(machine, self as Tensor, args, keywords)),
  ]),
);

/** Undefined where there is no such attribute. */
export function attributeOfTensor(machine: Machine, of: Value, name: string): Value | undefined {
  if (of instanceof List) return attributeOfList(of, name);
  if (!(of instanceof Tensor)) return undefined;
  const own = of.attributes.get(name);
  if (own !== undefined) return own;
  switch (name) {
    case 'shape':
      return new List(of.shape);
    case 'dtype':
      return of.dtype;
    case 'data':
      return machine.view(of, of.shape);
    case 'grad':
      return null;
    case 'requires_grad':
      return of.requiresGrad;
  }
  const method = NATIVES.get(name);
  return method === undefined ? undefined : new Bound(of, method);
}

export function setAttributeOfTensor(machine: Machine, of: Tensor, name: string, value: Value): void {
  if (name === 'data') {
    machine.alias(of, tensorArgument(machine, value));
    machine.dispose(value);
    return;
  }
  retain(value);
  const old = of.attributes.get(name);
  of.attributes.set(name, value);
  if (old !== undefined) machine.release(old);
}

const LIST_METHODS: Readonly<Record<string, (machine: Machine, self: List, args: readonly Value[]) => Value>> = {
  append: (_machine, self, [item = null]) => {
    retain(item);
    self.items.push(item);
    return null;
  },
  clear: (machine, self) => {
    for (const item of self.items.splice(0)) machine.release(item);
    return null;
  },
  extend: (_machine, self, [items]) => {
    for (const item of (items as List).items) {
      retain(item);
      self.items.push(item);
    }
    return null;
  },
};

function attributeOfList(of: List, name: string): Value | undefined {
  const method = LIST_METHODS[name];
  if (method === undefined) return undefined;
  return new Bound(of, new Native(name, (machine, [, ...args]) => method(machine, of, args)));
}

export const DTYPES: readonly DType[] = [FLOAT32, BFLOAT16, INT64, BOOL];
