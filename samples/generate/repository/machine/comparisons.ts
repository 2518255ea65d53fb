/** What Python says of values: their truth, their types, how they compare. */
import type { Machine } from './machine.js';
import { Class, Dict, DType, Instance, List, Namespace, Tensor, type Value } from './values.js';

export function isTrue(value: Value): boolean {
  if (value instanceof List) return value.items.length > 0;
  if (value instanceof Dict) return value.entries.size > 0;
  return value !== null && value !== false && value !== 0 && value !== '';
}

export function typeName(value: Value): string {
  if (value === null) return 'NoneType';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'float';
  if (typeof value === 'string') return 'str';
  if (value instanceof Tensor) return 'Tensor';
  if (value instanceof List) return 'list';
  if (value instanceof Dict) return 'dict';
  if (value instanceof Instance) return value.of.name;
  if (value instanceof DType) return 'torch.dtype';
  return value instanceof Namespace ? 'module' : value instanceof Class ? 'type' : 'function';
}

export function compare(machine: Machine, operator: string, left: Value, right: Value): boolean {
  switch (operator) {
    case '==':
    case 'is':
      return left === right;
    case '!=':
    case 'is not':
      return left !== right;
    case 'in':
    case 'not in': {
      const has = contains(right, left);
      return has === (operator === 'in');
    }
  }
  if (typeof left !== 'number' || typeof right !== 'number') {
    return machine.raise(
      `TypeError: '${operator}' not supported between instances of '${typeName(left)}' and '${typeName(right)}'`,
    );
  }
  switch (operator) {
    case '<':
      return left < right;
    case '>':
      return left > right;
    case '<=':
      return left <= right;
    default:
      return left >= right;
  }
}

function contains(collection: Value, item: Value): boolean {
  if (collection instanceof List) return collection.items.includes(item);
  if (collection instanceof Dict) return collection.entries.has(item as string);
  return typeof collection === 'string' && typeof item === 'string' && collection.includes(item);
}
