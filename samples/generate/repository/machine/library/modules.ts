/** `torch.nn.Module` and its parameters. */
import type { Machine } from '../machine.js';
import { Class, Instance, List, Native, Tensor, type Value } from '../values.js';
import { tensorArgument } from './arguments.js';

export const MODULE = new Class('Module', []);
MODULE.members.set('__init__', new Native('__init__', () => null));
MODULE.members.set(
  'parameters',
  new Native('parameters', (_machine, [self]) => new List(namedParameters(self!).map(({ tensor }) => tensor))),
);

export interface NamedTensor {
  /** `module.decoder.layers.0.mlp.linear_fc1.weight`. */
  readonly name: string;
  readonly tensor: Tensor;
}

/** In the order the modules register them. */
export function namedParameters(of: Value, prefix = ''): NamedTensor[] {
  if (of instanceof Tensor) return of.isParameter ? [{ name: prefix, tensor: of }] : [];
  if (of instanceof List) return of.items.flatMap((item, i) => namedParameters(item, `${prefix}.${i}`));
  if (!(of instanceof Instance) || !of.of.isA('Module')) return [];
  return [...of.attributes].flatMap(([name, value]) =>
    namedParameters(value, prefix === '' ? name : `${prefix}.${name}`),
  );
}

export function asParameter(machine: Machine, value: Value | undefined): Tensor {
  const tensor = tensorArgument(machine, value);
  tensor.isParameter = true;
  tensor.requiresGrad = true;
  // Initialised where it lies.
  machine.process.pass(900 + tensor.elements / 1e4);
  return tensor;
}
