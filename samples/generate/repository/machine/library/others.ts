/** Modules that touch no memory, or stand for code that is not part of the repository: configuration, logging, timers, data. */
import { parse } from 'yaml';
import type { Machine } from '../machine.js';
import {
  BFLOAT16,
  BOOL,
  Class,
  Dict,
  DType,
  FLOAT32,
  INT64,
  Instance,
  List,
  Native,
  type NativeBody,
  retain,
  type Value,
} from '../values.js';
import { numberArgument } from './arguments.js';

type Members = ReadonlyMap<string, Value>;

function natives(bodies: Readonly<Record<string, NativeBody>>): [string, Value][] {
  return Object.entries(bodies).map(([name, body]) => [name, new Native(name, body)]);
}

function classOf(name: string, bodies: Readonly<Record<string, NativeBody>>): Class {
  const made = new Class(name, []);
  for (const [member, value] of natives(bodies)) made.members.set(member, value);
  return made;
}

// ---- OmegaConf

type Scalar = string | number | boolean | null;

const OMEGA_CONF = new Class('OmegaConf', []);
OMEGA_CONF.statics.add('merge_file').add('to_yaml');
OMEGA_CONF.members.set(
  'merge_file',
  new Native('merge_file', (machine, [target, path]) => {
    const text = machine.files.get(String(path));
    if (text === undefined)
      return machine.raise(`FileNotFoundError: [Errno 2] No such file or directory: '${String(path)}'`);
    mergeInto(machine, target as Instance, parse(text) as Record<string, unknown>, '');
    return null;
  }),
);
OMEGA_CONF.members.set(
  'to_yaml',
  new Native('to_yaml', (machine, [config]) => {
    const values = new Map<string, Scalar>();
    flatten(config as Instance, '', values);
    machine.observer.configured(values);
    return '';
  }),
);

function mergeInto(machine: Machine, target: Instance, values: Readonly<Record<string, unknown>>, path: string): void {
  for (const [key, value] of Object.entries(values)) {
    const known = target.attributes.get(key);
    if (isSection(value)) {
      if (known instanceof Instance) mergeInto(machine, known, value, `${path}${key}.`);
      else
        machine.raise(
          `omegaconf.errors.ConfigKeyError: Key '${path}${key}' is not in struct\n    full_key: ${path}${key}`,
        );
    } else {
      const read = fromYaml(value);
      retain(read);
      target.attributes.set(key, read);
    }
  }
}

function isSection(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const DTYPE_NAMES: Readonly<Record<string, DType>> = {
  'torch.float32': FLOAT32,
  'torch.bfloat16': BFLOAT16,
};

function fromYaml(value: unknown): Value {
  if (Array.isArray(value)) return new List(value.map(fromYaml));
  if (typeof value === 'string') return DTYPE_NAMES[value] ?? value;
  return value as Scalar;
}

/** Lists as `[a, b]`, dtypes by name. */
function flatten(of: Instance, path: string, into: Map<string, Scalar>): void {
  for (const [key, value] of of.attributes) {
    if (value instanceof Instance) flatten(value, `${path}${key}.`, into);
    else if (value instanceof List) into.set(path + key, `[${value.items.join(', ')}]`);
    else if (value instanceof DType) into.set(path + key, value.name);
    else if (value === null || typeof value !== 'object') into.set(path + key, value);
  }
}

// ---- timers and data

const TIMERS = classOf('Timers', {
  __call__: (_machine, [self]) => self!,
  start: (machine) => {
    machine.observer.stepBegins();
    return null;
  },
  elapsed: (machine) => {
    machine.observer.stepEnds();
    return 1;
  },
});

const DATASET = classOf('BlendedDataset', {
  __init__: (machine, [receiver, sequence, batch, mask = false]) => {
    const self = receiver as Instance;
    self.attributes.set('sequence', numberArgument(machine, sequence));
    self.attributes.set('batch', numberArgument(machine, batch));
    self.attributes.set('mask', mask);
    return null;
  },
  __next__: (machine, [receiver]) => {
    const { attributes } = receiver as Instance;
    const [sequence, batch] = [Number(attributes.get('sequence')), Number(attributes.get('batch'))];
    const data = new Dict();
    const tokens = (dtype: DType): Value => machine.hostTensor([batch * sequence], dtype);
    for (const name of ['tokens', 'labels', 'position_ids']) data.entries.set(name, tokens(INT64));
    data.entries.set('loss_mask', tokens(FLOAT32));
    const mask = attributes.get('mask') === true ? machine.hostTensor([batch, sequence, sequence], BOOL) : null;
    data.entries.set('attention_mask', mask);
    for (const value of data.entries.values()) retain(value);
    machine.spend(900);
    return data;
  },
});

const LOGGER = classOf('Logger', { info: () => null, warning: () => null, debug: () => null });

export const OTHER_MODULES: readonly (readonly [string, Members])[] = [
  ['omegaconf', new Map<string, Value>([['OmegaConf', OMEGA_CONF]])],
  ['logging', new Map(natives({ getLogger: () => new Instance(LOGGER) }))],
  [
    'gc',
    new Map(
      natives({
        disable: (machine) => {
          machine.collectsGarbage = false;
          return null;
        },
        collect: () => null,
        freeze: () => null,
      }),
    ),
  ],
  ['math', new Map(natives({ log2: (_machine, [value]) => Math.log2(Number(value)) }))],
  ['os', new Map(natives({ getpid: () => 1 }))],
  ['megatron.core.timers', new Map<string, Value>([['Timers', TIMERS]])],
  ['megatron.core.datasets.blended', new Map<string, Value>([['BlendedDataset', DATASET]])],
];
