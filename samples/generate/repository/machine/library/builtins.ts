/** Python's own functions and exceptions, as far as training code uses them. */
import { Class, Dict, Instance, List, Native, type NativeBody, type Value } from '../values.js';
import { listArgument, numberArgument } from './arguments.js';
import { arithmetic } from './pointwise.js';

const FUNCTIONS: Readonly<Record<string, NativeBody>> = {
  print: () => null,
  range: (machine, args) => {
    const numbers = args.map((value) => numberArgument(machine, value));
    const [from, to] = numbers.length === 1 ? [0, numbers[0]!] : [numbers[0]!, numbers[1]!];
    const step = numbers[2] ?? 1;
    return new List(Array.from({ length: Math.max(0, Math.ceil((to - from) / step)) }, (_, i) => from + i * step));
  },
  len: (_machine, [value]) =>
    value instanceof List ? value.items.length : value instanceof Dict ? value.entries.size : 0,
  sum: (machine, [list]) =>
    listArgument(machine, list).items.reduce((total: Value, item) => arithmetic(machine, '+', total, item), 0),
  reversed: (machine, [list]) => new List(listArgument(machine, list).items.toReversed()),
  enumerate: (machine, [list]) => new List(listArgument(machine, list).items.map((item, i) => new List([i, item]))),
  zip: (machine, [first, second]) => {
    const others = listArgument(machine, second).items;
    return new List(listArgument(machine, first).items.map((item, i) => new List([item, others[i] ?? null])));
  },
  list: (_machine, [list]) => list ?? new List([]),
  tuple: (_machine, [list]) => list ?? new List([]),
  iter: (_machine, [value]) => value ?? null,
  next: (machine, [value]) => {
    const body = value instanceof Instance ? value.of.members.get('__next__') : undefined;
    return body instanceof Native
      ? body.body(machine, [value!], new Map())
      : machine.raise('TypeError: not an iterator');
  },
  str: (_machine, [value]) => (typeof value === 'string' || typeof value === 'number' ? String(value) : ''),
  int: (_machine, [value]) => Math.trunc(Number(value)),
  float: (_machine, [value]) => Number(value),
  min: (machine, args) => Math.min(...args.map((value) => numberArgument(machine, value))),
  max: (machine, args) => Math.max(...args.map((value) => numberArgument(machine, value))),
};

const keepMessage = new Native('__init__', (_machine, [self, message = null]) => {
  (self as Instance).attributes.set('message', message);
  return null;
});

function exception(name: string): Class {
  const made = new Class(name, []);
  made.members.set('__init__', keepMessage);
  return made;
}

export const BUILTINS: ReadonlyMap<string, Value> = new Map<string, Value>([
  ...Object.entries(FUNCTIONS).map(([name, body]): [string, Value] => [name, new Native(name, body)]),
  ...['NotImplementedError', 'ValueError', 'RuntimeError', 'KeyError', 'TypeError'].map((name): [string, Value] => [
    name,
    exception(name),
  ]),
]);
