/** Arguments of natives, by position or by name. */
import type { Machine } from '../machine.js';
import { DType, type Keywords, List, Tensor, type Value } from '../values.js';

export function argument(
  args: readonly Value[],
  keywords: Keywords,
  position: number,
  name: string,
): Value | undefined {
  return args[position] ?? keywords.get(name);
}

export function tensorArgument(machine: Machine, value: Value | undefined): Tensor {
  return value instanceof Tensor ? value : machine.raise('TypeError: expected a Tensor');
}

export function listArgument(machine: Machine, value: Value | undefined): List {
  return value instanceof List ? value : machine.raise('TypeError: expected a list');
}

export function numberArgument(machine: Machine, value: Value | undefined): number {
  return typeof value === 'number' ? value : machine.raise('TypeError: expected a number');
}

export function dtypeArgument(keywords: Keywords, otherwise: DType): DType {
  const given = keywords.get('dtype');
  return given instanceof DType ? given : otherwise;
}

/** `f(2, 3)` and `f((2, 3))`. */
export function shapeArgument(machine: Machine, args: readonly Value[]): number[] {
  const sizes = args[0] instanceof List ? args[0].items : args;
  return sizes.map((size) => numberArgument(machine, size));
}
