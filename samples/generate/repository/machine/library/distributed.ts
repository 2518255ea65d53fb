/** `torch.distributed`: collectives take time; one that nobody waits for may hang the run. */
import { EXPOSED } from '../costs.js';
import type { Machine } from '../machine.js';
import { Class, Instance, type Keywords, Native, type NativeBody, type Tensor, type Value } from '../values.js';
import { tensorArgument } from './arguments.js';

const GROUP = new Class('ProcessGroup', []);
const WORK = new Class('Work', []);
WORK.members.set(
  'wait',
  new Native('wait', (machine, [self]) => {
    machine.abandoned.delete((self as Instance).attributes.get('key') as string);
    return true;
  }),
);

function groupKind(group: Value | undefined): 'tensor' | 'data' {
  return group instanceof Instance && group.attributes.get('kind') === 'tensor' ? 'tensor' : 'data';
}

function groupSize(machine: Machine, group: Value | undefined): number {
  const size = group instanceof Instance ? group.attributes.get('size') : undefined;
  return typeof size === 'number' ? size : machine.observer.worldSize();
}

function finish(machine: Machine, name: string, bytes: number, keywords: Keywords): Value {
  const group = keywords.get('group');
  const kind = groupKind(group);
  const isAsync = keywords.get('async_op') === true;
  const share = (groupSize(machine, group) - 1) / groupSize(machine, group);
  machine.process.annotate(`nccl:${name}`, () => {
    machine.collective(bytes * share, kind, isAsync ? EXPOSED[kind] : 1);
  });
  if (!isAsync) return null;
  const work = new Instance(WORK);
  const key = `${name} ${machine.operations} ${machine.nominalUs}`;
  work.attributes.set('key', key);
  machine.abandoned.add(key);
  return work;
}

const FUNCTIONS: Readonly<Record<string, NativeBody>> = {
  init_process_group: (machine) => {
    machine.observer.processGroups();
    return null;
  },
  get_world_size: (machine, [group]) => groupSize(machine, group),
  get_rank: () => 0,
  new_group: (_machine, [kind = null, size = null]) => {
    const group = new Instance(GROUP);
    group.attributes.set('kind', kind);
    group.attributes.set('size', size);
    return group;
  },
  all_reduce: (machine, [tensor], keywords) =>
    finish(machine, 'all_reduce', 2 * tensorArgument(machine, tensor).bytes, keywords),
  broadcast: (machine, [tensor], keywords) =>
    finish(machine, 'broadcast', tensorArgument(machine, tensor).bytes, keywords),
  all_gather_into_tensor: (machine, [output], keywords) =>
    finish(machine, '_all_gather_base', tensorArgument(machine, output).bytes, keywords),
  reduce_scatter_tensor: (machine, [, input], keywords) =>
    finish(machine, '_reduce_scatter_base', tensorArgument(machine, input).bytes, keywords),
  barrier: (machine, _args, keywords) => finish(machine, 'barrier', 0, keywords),
};

export const DISTRIBUTED: ReadonlyMap<string, Value> = new Map(
  Object.entries(FUNCTIONS).map(([name, body]): [string, Value] => [name, new Native(name, body)]),
);

/** The time of a collective beside or between products, for layers that do their own. */
export function tensorParallel(machine: Machine, tensor: Tensor, ranks: number, overlapped: boolean): void {
  machine.collective((tensor.bytes * (ranks - 1)) / ranks, 'tensor', overlapped ? EXPOSED.tensor : 1);
}
