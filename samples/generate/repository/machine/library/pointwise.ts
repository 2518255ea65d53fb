/** Operations on elements, with their gradients as torch's C++ nodes compute them: on a thread without Python frames. */
import { record } from '../autograd.js';
import type { Machine } from '../machine.js';
import { type DType, Tensor, type Value } from '../values.js';

/** What backward needs: `inputs`, the `result`, or nothing (the gradient passes through). */
export type Saves = 'inputs' | 'result' | 'nothing';

/** A new tensor of the largest input's shape. */
export function pointwise(machine: Machine, inputs: readonly Tensor[], saves: Saves, dtype?: DType): Tensor {
  const model = inputs.reduce((largest, input) => (input.elements > largest.elements ? input : largest));
  const result = machine.tensor(model.shape, dtype ?? model.dtype);
  machine.touch(result.bytes + inputs.reduce((sum, input) => sum + input.bytes, 0));
  record(machine, result, {
    inputs,
    saved: saves === 'inputs' ? inputs : saves === 'result' ? [result] : [],
    backward: (gradient) =>
      inputs.map((input) => {
        if (!input.requiresGrad) return null;
        if (saves === 'nothing' && input.dtype === gradient.dtype) return gradient;
        machine.touch(gradient.bytes + input.bytes);
        return machine.tensor(input.shape, input.dtype);
      }),
  });
  return result;
}

/** A result whose size is not that of the inputs: sums, means, norms. */
export function reduction(machine: Machine, input: Tensor, shape: readonly number[], saves: Saves): Tensor {
  const result = machine.tensor(shape, input.dtype);
  machine.touch(input.bytes);
  record(machine, result, {
    inputs: [input],
    saved: saves === 'inputs' ? [input] : saves === 'result' ? [result] : [],
    backward: () => {
      machine.touch(input.bytes);
      return [machine.tensor(input.shape, input.dtype)];
    },
  });
  return result;
}

/** The same memory in another shape; a gradient of a part of it is one of the whole. */
export function viewOf(machine: Machine, input: Tensor, shape: readonly number[]): Tensor {
  const result = machine.view(input, shape);
  const isWhole = result.elements === input.elements;
  record(machine, result, {
    inputs: [input],
    saved: [],
    backward: (gradient) => {
      if (isWhole) return [machine.view(gradient, input.shape)];
      machine.touch(gradient.bytes + input.bytes);
      return [machine.tensor(input.shape, input.dtype)];
    },
  });
  return result;
}

export function arithmetic(machine: Machine, operator: string, left: Value, right: Value): Value {
  if (left instanceof Tensor || right instanceof Tensor) {
    const inputs = [left, right].filter((value): value is Tensor => value instanceof Tensor);
    return pointwise(machine, inputs, operator === '+' || operator === '-' ? 'nothing' : 'inputs');
  }
  if (typeof left === 'string' && typeof right === 'string' && operator === '+') return left + right;
  if (typeof left !== 'number' || typeof right !== 'number') {
    return machine.raise(`TypeError: unsupported operand type(s) for ${operator}`);
  }
  switch (operator) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return left / right;
    case '//':
      return Math.floor(left / right);
    case '%':
      return ((left % right) + right) % right;
    default:
      return left ** right;
  }
}

/** `a @ b.t()`: rows of `a` by rows of `b`. */
export function matmul(machine: Machine, a: Tensor, b: Tensor): Tensor {
  const rows = a.elements / a.width;
  const columns = b.elements / (b.shape.includes(a.width) ? a.width : rows);
  const result = machine.tensor([rows, columns], a.dtype);
  machine.compute(2 * rows * columns * a.width);
  return result;
}
