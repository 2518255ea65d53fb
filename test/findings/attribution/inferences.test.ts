/** What stacks alone do not tell, on programs small enough to know the answer by construction. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PARSERS } from '../../../parsers/index.js';
import { NO_RUN_FIGURES, type RunFigures } from '../../../src/attribution/blocks/attribution.js';
import { labelAt } from '../../../src/attribution/blocks/labels.js';
import { compiledRules } from '../../../src/attribution/built-in-rules.js';
import { attributeDevice } from '../../../src/derive/attribution/attribute-device.js';
import { ingest } from '../../../src/ingest/ingest.js';
import type { Store } from '../../../src/store/store.js';
import { newStore } from '../../support/new-store.js';
import { type Act, type BeforeBlock, recordProgram } from '../../support/recorded-program.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

const directory = temporaryDirectory();
/** One for all programs: each is a snapshot of a run of its own. */
let store: Store;
let programs = 0;
beforeAll(async () => {
  store = await newStore(join(directory, 'store.duckdb'), { threads: 1 });
});
afterAll(() => store.close());

interface Label {
  readonly component: string;
  readonly sub: string;
  readonly by: string;
}

/** The label of every block, by the names of blocks from before the recording and of allocations. */
async function attributed(
  acts: readonly Act[],
  before: readonly BeforeBlock[] = [],
  run?: RunFigures,
): Promise<Record<string, Label>> {
  programs += 1;
  const folder = join(directory, String(programs));
  mkdirSync(folder);
  writeFileSync(join(folder, 'snapshot_0.pickle'), recordProgram(acts, before));
  await ingest({ rowsOnly: true, store, parsers: PARSERS, paths: [folder], now: new Date() });
  const of = await attributeDevice(store, { snapshotId: programs, device: 0 }, compiledRules(), run);
  const names = [...before.map(({ name }) => name), ...acts.flatMap((act) => ('alloc' in act ? [act.alloc] : []))];
  expect(of.lives.count).toBe(names.length);
  return Object.fromEntries(
    names.map((name, row) => {
      const { component, sub_component: sub, by } = labelAt(of, row);
      return [name, { component, sub, by }];
    }),
  );
}

/** `a[12].#` is a1.0, a1.1, a1.2, a2.0, …: one of the characters in brackets, and the number of a parameter. */
function namesOf(pattern: string): string[] {
  const [whole, one] = /\[(\w+)\]|#/.exec(pattern) ?? [];
  if (whole === undefined) return [pattern];
  return [...(one ?? '012')].flatMap((character) => namesOf(pattern.replace(whole, character)));
}

/** `component`, `component/sub`, `component by source`. */
function expectLabels(actual: Readonly<Record<string, Label>>, expected: Readonly<Record<string, string>>): void {
  for (const [pattern, label] of Object.entries(expected)) {
    const { sub, by, component } = /^(?<component>\w+)(?:\/(?<sub>\w+))?(?: by (?<by>\w+))?$/.exec(label)!.groups!;
    for (const name of namesOf(pattern))
      expect(actual[name], name).toMatchObject({ component, ...(sub && { sub }), ...(by && { by }) });
  }
}

const TORCH = '/usr/lib/python3.12/site-packages/torch';
const CALL = [`_call_impl ${TORCH}/nn/modules/module.py:1750`, `_wrapped_call_impl ${TORCH}/nn/modules/module.py:1739`];
const MAIN = ['<module> /home/u/train.py:40'];
const WRAPPER = `wrapper ${TORCH}/optim/optimizer.py:493`;
const build = (line: number) => [`__init__ /home/u/net.py:${line}`, ...MAIN];
const forward = (line: number) => [`forward /home/u/net.py:${line}`, ...CALL, ...MAIN];
const step = (line: number, name = 'step') => [`${name} /home/u/my_optimizer.py:${line}`, WRAPPER, ...MAIN];
const adam = (line: number) => [
  `_init_group ${TORCH}/optim/adam.py:${line}`,
  `step ${TORCH}/optim/adam.py:220`,
  WRAPPER,
  ...MAIN,
];
/** What a step needs for as long as it runs. */
const scratch = [
  `_multi_tensor_adam ${TORCH}/optim/adam.py:600`,
  `adam ${TORCH}/optim/adam.py:800`,
  `step ${TORCH}/optim/adam.py:240`,
  WRAPPER,
  ...MAIN,
];
const ENGINE: readonly string[] = [];

const MIB = 2 ** 20;
const SIZES = [30 * MIB, 12 * MIB, 5 * MIB];

const alloc = (name: string, bytes: number, stack: readonly string[]): Act => ({ alloc: name, bytes, stack });
const free = (name: string): Act => ({ free: name });

/** An optimizer step that allocates for itself only. */
const end = (n: number): Act[] => [alloc(`t${n}`, MIB, scratch), free(`t${n}`)];

/** Parameters w0…, one forward pass, a backward pass with gradients g0… and gradients of activations. */
function built(): Act[] {
  return SIZES.map((bytes, i) => alloc(`w${i}`, bytes, build(10 + i)));
}
function pass(n: number): Act[] {
  return [
    ...SIZES.map((_, i) => alloc(`a${n}.${i}`, 7 * MIB + 512 * i, forward(20 + i))),
    ...SIZES.flatMap((bytes, i) => [
      alloc(`d${n}.${i}`, 7 * MIB + 512 * i, ENGINE),
      alloc(`g${n}.${i}`, bytes, ENGINE),
      free(`a${n}.${i}`),
      free(`d${n}.${i}`),
    ]),
  ];
}

describe('backward', () => {
  it('distinguishes gradients of parameters from those of activations by what the optimizer still finds', async () => {
    const attribution = await attributed([...built(), ...pass(1), ...end(0), ...pass(2)]);
    expectLabels(attribution, {
      'w#': 'parameter by rule',
      'a1.#': 'activation by rule',
      'g1.#': 'gradient/parameter_gradient by inference',
      'd1.#': 'activation/activation_gradient by inference',
    });
  });

  it('knows the gradient that a pipeline stage keeps for the stage before it', async () => {
    const RECEIVE = ['create_tensor_recv_prev /w/megatron/core/pipeline_parallel/p2p_communication.py:336', ...MAIN];
    const attribution = await attributed([
      ...built(),
      alloc('received', 9 * MIB, RECEIVE),
      ...pass(1),
      alloc('kept', 9 * MIB, ENGINE),
      ...end(0),
      ...pass(2),
    ]);
    // The gradient g1.1 is as large as a parameter, and stays that of the parameter.
    expectLabels(attribution, {
      received: 'communication by rule',
      kept: 'activation/activation_gradient',
      'g1.1': 'gradient/parameter_gradient',
    });
  });

  it('goes by the sizes of parameters where the trace ends inside', async () => {
    const cut = pass(1).slice(0, 3 + 2);
    const attribution = await attributed([...built(), ...cut, { oom: MIB }]);
    expectLabels(attribution, { 'g1.0': 'gradient', 'd1.0': 'activation/activation_gradient' });
  });

  it('takes what the next part of a pass frees for no gradient of a parameter, though recomputation divides the pass', async () => {
    const part = (n: number): Act[] => [
      alloc(`a${n}`, 9 * MIB, forward(20)),
      alloc(`d${n}`, 7 * MIB, ENGINE),
      ...(n > 0 ? [free(`d${n - 1}`)] : []),
      alloc(`e${n}`, MIB, ENGINE),
      free(`e${n}`),
      free(`a${n}`),
    ];
    const attribution = await attributed([0, 1, 2, 3].flatMap(part));
    expectLabels(attribution, { 'd#': 'activation/activation_gradient' });
  });

  it('infers nothing where only what is live in the dump has its stack', async () => {
    const gone = [...built(), ...pass(1)].map((act) => ('alloc' in act ? { ...act, stack: ENGINE } : act));
    const attribution = await attributed([
      ...gone,
      alloc('kept', 9 * MIB, forward(20)),
      ...SIZES.flatMap((_, i) => [free(`g1.${i}`), free(`w${i}`)]),
    ]);
    expectLabels(attribution, { kept: 'activation', 'w#': 'unattributed', '[dg]1.#': 'unattributed' });
  });

  it('infers nothing where no stacks were recorded at all', async () => {
    const attribution = await attributed([alloc('x', MIB, ENGINE), alloc('y', MIB, ENGINE), free('x')]);
    expectLabels(attribution, { x: 'unattributed by none' });
  });
});

describe('gradients under an optimizer whose step allocates nothing', () => {
  const grads = (n: number): string[] => SIZES.map((_, i) => `g${n}.${i}`);
  const batch = (n: number) => alloc(`x${n}`, MIB, ['get_batch /home/u/train.py:5', ...MAIN]);
  /** A gradient of an activation that goes only after the last allocation of the pass, as large as a parameter. */
  const tail = (n: number): Act[] => [alloc(`last${n}`, SIZES[1]!, ENGINE)];

  it.each(['after the step', 'behind the batch', 'before backward'] as const)(
    'are what zero_grad frees %s',
    async (at) => {
      const zero = (n: number): Act[] => (n === 0 ? [] : grads(n).map(free));
      const forwards = (n: number) => pass(n).slice(0, 3);
      const acts = [1, 2, 3].flatMap((n): Act[] => [
        ...(at === 'after the step' ? zero(n - 1) : []),
        batch(n),
        ...(at === 'behind the batch' ? zero(n - 1) : []),
        ...forwards(n),
        ...(at === 'before backward' ? zero(n - 1) : []),
        ...pass(n).slice(3),
        ...tail(n),
        free(`last${n}`),
      ]);
      const attribution = await attributed([...built(), ...acts]);
      expectLabels(attribution, {
        'g[123].#': 'gradient',
        'd[123].#': 'activation/activation_gradient',
        'last[12]': 'activation',
      });
    },
  );

  it('are added up over micro-batches', async () => {
    const acts = [1, 2].flatMap((n): Act[] => [
      ...pass(10 * n),
      ...pass(10 * n + 1).flatMap((act) =>
        'alloc' in act && act.alloc.startsWith('g') ? [act, free(act.alloc)] : [act],
      ),
      ...grads(10 * n).map(free),
    ]);
    const attribution = await attributed([...built(), ...acts, ...pass(30)]);
    expectLabels(attribution, { 'g[123]0.#': 'gradient', 'a11.#': 'activation' });
  });

  it('are not what the engine still holds when an optimizer begins', async () => {
    const acts = [1, 2].flatMap((n): Act[] => [
      ...pass(n),
      ...tail(n),
      free(`last${n}`),
      ...end(n),
      ...grads(n).map(free),
    ]);
    const attribution = await attributed([...built(), ...acts, ...pass(3)]);
    expectLabels(attribution, { 'g[12].#': 'gradient', 'last[12]': 'activation/activation_gradient' });
  });

  it('are known where the parameters are from before the recording, and show which these are', async () => {
    const copies = [0, 1].flatMap((copy) => SIZES.map((bytes, i) => ({ name: `b${copy}.${i}`, bytes })));
    const acts = [1, 2].flatMap((n) => [...pass(n), ...grads(n).map(free)]);
    const attribution = await attributed([...acts, ...pass(3)], copies);
    expectLabels(attribution, { 'g[12].#': 'gradient' });
    const count = (component: string) => copies.filter(({ name }) => attribution[name]!.component === component).length;
    expect([count('parameter'), count('optimizer_state')]).toEqual([3, 3]);
  });

  it('are copied to fp32 for master weights', async () => {
    const copy = (n: number): Act[] =>
      SIZES.flatMap((bytes, i) => [
        alloc(`f${n}.${i}`, 2 * bytes, ['train_step /home/u/train.py:30', ...MAIN]),
        free(`g${n}.${i}`),
      ]);
    const acts = [1, 2].flatMap((n): Act[] => [
      ...pass(n),
      ...copy(n),
      ...end(n),
      ...SIZES.map((_, i) => free(`f${n}.${i}`)),
    ]);
    const attribution = await attributed([...built(), ...acts, ...pass(3)]);
    expectLabels(attribution, { 'g[12].#': 'gradient', 'f[12].#': 'gradient/gradient_copy' });
  });
});

describe('optimizer states', () => {
  const states = (order: 'lines' | 'turns'): Act[] =>
    SIZES.flatMap((bytes, i) => [
      alloc(`m${i}`, bytes, adam(150)),
      alloc(`v${i}`, bytes, adam(order === 'lines' ? 154 : 150)),
    ]);

  it.each(['lines', 'turns'] as const)('are the first and the second moment, by %s', async (order) => {
    const attribution = await attributed([...built(), ...pass(1), ...states(order), ...pass(2)]);
    expectLabels(attribution, { 'm#': 'optimizer_state/exp_avg', 'v#': 'optimizer_state/exp_avg_sq' });
  });

  it('of an optimizer of the user’s own are what outlives its step', async () => {
    const attribution = await attributed([
      ...built(),
      ...pass(1),
      ...SIZES.flatMap((bytes, i) => [alloc(`t${i}`, bytes, step(30)), alloc(`m${i}`, bytes, step(31)), free(`t${i}`)]),
      ...pass(2),
    ]);
    expectLabels(attribution, { 'm#': 'optimizer_state', 't#': 'temporary' });
  });

  it('are not the parameters that an optimizer writes anew', async () => {
    const one = (n: number): Act[] =>
      SIZES.flatMap((bytes, i) => [
        alloc(`m${n}.${i}`, bytes, step(31)),
        ...(n > 1 ? [free(`m${n - 1}.${i}`)] : []),
        alloc(`w${n}.${i}`, bytes, step(35)),
        free(n === 1 ? `w${i}` : `w${n - 1}.${i}`),
      ]);
    const attribution = await attributed([...built(), ...pass(1), ...one(1), ...pass(2), ...one(2), ...pass(3)]);
    expectLabels(attribution, { 'w[12].#': 'parameter/replaced_in_step', 'm[12].#': 'optimizer_state' });
  });

  it('are parameters too where a ring begins in the only step, which writes all anew', async () => {
    const old = ['m', 'v', 'w'].flatMap((name) => SIZES.map((bytes, i) => ({ name: `${name}${i}`, bytes })));
    const acts = SIZES.flatMap((bytes, i) =>
      ['m', 'v', 'w'].flatMap((name, line) => [alloc(`${name}1.${i}`, bytes, step(31 + line)), free(`${name}${i}`)]),
    );
    const attribution = await attributed([...acts, ...end(0)], old);
    expectLabels(attribution, { 'w1.#': 'parameter/replaced_in_step', '[mv]1.#': 'optimizer_state' });
  });

  it('stay states where all goes with the program, behind its last step', async () => {
    const old = SIZES.map((bytes, i) => ({ name: `w${i}`, bytes }));
    const states = SIZES.flatMap((bytes, i) => [alloc(`m${i}`, bytes, adam(160)), alloc(`v${i}`, bytes, adam(164))]);
    const all = ['w', 'm', 'v'].flatMap((name) => SIZES.map((_, i) => free(`${name}${i}`)));
    const attribution = await attributed([...pass(1), ...states, ...pass(2), ...end(0), ...all], old);
    expectLabels(attribution, { '[mv]#': 'optimizer_state' });
  });
});

describe('states that an optimizer made before the trace', () => {
  /** Eight parameters of four sizes. */
  const PARAMETERS = [30, 30, 12, 12, 8, 8, 5, 5].map((mib) => mib * MIB);
  const set = (name: string, stack?: readonly string[]): BeforeBlock[] =>
    PARAMETERS.map((bytes, i) => ({ name: `${name}${i}`, bytes, ...(stack && { stack }) }));
  const handWritten = (file: string, line: number) => [
    `step /home/u/${file}:${line}`,
    'train /home/u/train.py:12',
    ...MAIN,
  ];
  const [weights, gradients] = [set('w'), set('g')];
  const forwards = [alloc('a0', 7 * MIB, forward(20)), alloc('a1', 9 * MIB, forward(21)), free('a0')];
  const blocksOf = (attribution: Readonly<Record<string, Label>>): Record<string, number> => {
    const blocks: Record<string, number> = {};
    for (const { component } of Object.values(attribution)) blocks[component] = (blocks[component] ?? 0) + 1;
    return blocks;
  };

  it.each([
    ['a line for each moment', handWritten('adam.py', 41), handWritten('adam.py', 42)],
    ['one line for both', handWritten('adam.py', 41), handWritten('adam.py', 41)],
    ['a file that no rule knows', handWritten('train.py', 41), handWritten('train.py', 42)],
    ['a class', ['TinyAdam.step /home/u/train.py:41', ...MAIN], ['TinyAdam.step /home/u/train.py:42', ...MAIN]],
  ])('are states, and show which blocks without a stack are parameters and gradients: %s', async (_, first, second) => {
    const attribution = await attributed(forwards, [...weights, ...gradients, ...set('m', first), ...set('v', second)]);
    expect(blocksOf(attribution)).toEqual({ parameter: 8, gradient: 8, optimizer_state: 16, activation: 2 });
    expectLabels(attribution, { 'm[01]': 'optimizer_state', 'v[67]': 'optimizer_state' });
  });

  it('leave the only set without a stack to the parameters', async () => {
    const states = [...set('m', handWritten('lion.py', 41))];
    const attribution = await attributed(forwards, [...states, ...weights]);
    expect(blocksOf(attribution)).toEqual({ parameter: 8, optimizer_state: 8, activation: 2 });
  });

  it('leave it to the gradients where the parameters have their stacks', async () => {
    const parameters = set('w', build(10));
    const states = [...set('m', handWritten('adam.py', 41)), ...set('v', handWritten('adam.py', 42))];
    const attribution = await attributed(forwards, [...parameters, ...gradients, ...states]);
    expectLabels(attribution, { 'w[07]': 'parameter by rule', 'g[07]': 'gradient by inference' });
  });

  it('count more than the gradients of a pass in which the trace ends', async () => {
    const states = [...set('m', handWritten('adam.py', 41)), ...set('v', handWritten('adam.py', 42))];
    const cut = [...forwards, alloc('n0', 30 * MIB, ENGINE), alloc('n1', 12 * MIB, ENGINE), { oom: MIB }];
    const attribution = await attributed(cut, [...weights, ...states]);
    expect(blocksOf(attribution)).toMatchObject({ parameter: 8, optimizer_state: 16 });
  });

  it('are not known of a step that fails before it ends', async () => {
    const t = (name: string) => alloc(name, 4 * MIB, step(50));
    const attribution = await attributed(
      [t('t0'), free('t0'), t('t1'), { oom: MIB }],
      [{ name: 'u', bytes: 4 * MIB, stack: step(50) }],
    );
    expectLabels(attribution, { u: 'temporary', 't[01]': 'temporary' });
  });

  it('are not what a trainer’s step keeps with other sizes', async () => {
    const kept = PARAMETERS.map((bytes, i) => ({
      name: `k${i}`,
      bytes: bytes + MIB,
      stack: handWritten('train.py', 60),
    }));
    const attribution = await attributed(forwards, [...weights, ...kept]);
    expectLabels(attribution, { 'k[07]': 'before_recording' });
  });
});

describe('memory from before the recording', () => {
  const copies = (count: number) =>
    Array.from({ length: count }, (_, copy) => SIZES.map((bytes, i) => ({ name: `b${copy}.${i}`, bytes }))).flat();

  it('is the parameters where it has the sizes of the gradients', async () => {
    const second = { name: 'other', bytes: 3 * MIB };
    const attribution = await attributed([...pass(1), ...end(0), ...pass(2)], [...copies(1), second]);
    expectLabels(attribution, { 'b0.#': 'parameter by inference', other: 'before_recording by none' });
  });

  it('is parameters and states where it has those sizes three times, and the trace makes no states', async () => {
    const attribution = await attributed([...pass(1), ...end(0), ...pass(2)], copies(3));
    const count = (component: string) => Object.values(attribution).filter((one) => one.component === component).length;
    expect(count('parameter')).toBe(3);
    expect(count('optimizer_state')).toBe(6);
  });

  it('is not a third set of states where gradients may be older too', async () => {
    const names = MANY.map((_, i) => `s${i}`);
    const acts = [...MANY.map((bytes, i) => alloc(names[i]!, bytes, scratch)), ...names.map(free)];
    const before = [...'abcd'].flatMap((name) => MANY.map((bytes, i) => ({ name: `${name}${i}`, bytes })));
    const components = Object.values(await attributed(acts, before)).map(({ component }) => component);
    const count = (component: string) => components.filter((one) => one === component).length;
    expect([count('parameter'), count('optimizer_state'), count('before_recording')]).toEqual([8, 16, 8]);
  });

  /** Eight parameters of four sizes; passes that add to gradients of earlier steps. */
  const MANY = [30, 30, 12, 12, 12, 5, 5, 3].map((mib) => mib * MIB);
  const kept = (n: number): Act[] => [
    alloc(`a${n}`, 7 * MIB, forward(20)),
    ...MANY.flatMap((bytes, i) => [
      alloc(`d${n}.${i}`, 7 * MIB, ENGINE),
      alloc(`g${n}.${i}`, bytes, ENGINE),
      free(`g${n}.${i}`),
      free(`d${n}.${i}`),
    ]),
    // An activation of a parameter's size.
    alloc(`e${n}`, MANY[0]!, ENGINE),
    free(`e${n}`),
    free(`a${n}`),
  ];
  /** The same, with gradients that stay until they are set to zero. */
  const made = (n: number): Act[] => kept(n).filter((act) => !('free' in act && act.free.startsWith('g')));
  const zeroed = (names: string): Act[] => MANY.map((_, i) => free(`${names}.${i}`));
  const sets = (...ratios: number[]) =>
    ratios.flatMap((ratio, copy) => MANY.map((bytes, i) => ({ name: `b${copy}.${i}`, bytes: bytes * ratio })));
  const sums = (
    attribution: Awaited<ReturnType<typeof attributed>>,
    of: readonly { name: string; bytes: number }[],
  ) => {
    const bytes: Record<string, number> = {};
    for (const block of of) {
      const { component } = attribution[block.name]!;
      bytes[component] = (bytes[component] ?? 0) + block.bytes / MIB;
    }
    return bytes;
  };

  it('has the gradients too where every pass adds to them', async () => {
    const older = [...sets(1, 1, 1, 1), { name: 'other', bytes: 9 * MIB }];
    const attribution = await attributed([...kept(1), ...kept(2), ...kept(3)], older);
    const one = 109;
    expect(sums(attribution, older)).toEqual({
      parameter: one,
      gradient: one,
      optimizer_state: 2 * one,
      before_recording: 9,
    });
  });

  it('has no gradients where one set is all there is', async () => {
    const older = sets(1);
    const attribution = await attributed([...kept(1), ...kept(2)], older);
    expect(sums(attribution, older)).toEqual({ before_recording: 109 });
  });

  it('has master weights and moments at twice the bytes', async () => {
    const older = sets(1, 2, 2, 2);
    const attribution = await attributed([...made(1), ...zeroed('g1'), ...made(2), ...zeroed('g2'), ...made(3)], older);
    expect(sums(attribution, older)).toEqual({ parameter: 109, optimizer_state: 654 });
    const subs = new Set(older.map(({ name }) => attribution[name]!.sub));
    expect(subs).toEqual(new Set(['by_size', 'master_param', 'exp_avg', 'exp_avg_sq']));
  });

  it('is gradients where a set is freed between the passes', async () => {
    const older = sets(1, 1, 1);
    const attribution = await attributed([...zeroed('b2'), ...made(1), ...zeroed('g1'), ...made(2)], older);
    expect(sums(attribution, older)).toEqual({ parameter: 109, optimizer_state: 109, gradient: 109 });
    expectLabels(attribution, { 'b2.0': 'gradient' });
  });

  it('stays what it is where only some sizes agree', async () => {
    const attribution = await attributed([...pass(1), ...end(0), ...pass(2)], [{ name: 'b', bytes: SIZES[1]! }]);
    expectLabels(attribution, { b: 'before_recording' });
  });

  it('is Megatron’s buffers where the run prints so many parameters', async () => {
    const count = 50e6;
    const attribution = await attributed(
      [alloc('a', MIB, forward(1))],
      [
        { name: 'params', bytes: 512 * Math.ceil((2 * count) / 512) },
        { name: 'grads', bytes: 512 * Math.ceil((4 * count * 1.01) / 512) },
        { name: 'other', bytes: 3 * count },
      ].map((block) => ({ ...block, bytes: 512 * Math.ceil(block.bytes / 512) })),
      { ...NO_RUN_FIGURES, rankParameters: count },
    );
    expectLabels(attribution, {
      params: 'parameter/param_buffer',
      grads: 'gradient/main_grad_buffer',
      other: 'before_recording',
    });
  });
});

describe('buffers of Megatron’s DDP', () => {
  const buffer = (line: number) => [
    `__init__ /opt/megatron/core/distributed/param_and_grad_buffer.py:${line}`,
    '_allocate_buffers_for_parameters /opt/megatron/core/distributed/distributed_data_parallel.py:200',
    '__init__ /opt/megatron/core/distributed/distributed_data_parallel.py:90',
    'get_model /opt/megatron/training/training.py:700',
  ];

  it('are parameters first and gradients second', async () => {
    const attribution = await attributed([alloc('p', 100 * MIB, buffer(750)), alloc('g', 200 * MIB, buffer(764))]);
    expectLabels(attribution, { p: 'parameter/param_buffer', g: 'gradient/main_grad_buffer' });
  });

  it('are gradients where there is one', async () => {
    const attribution = await attributed([alloc('g', 200 * MIB, buffer(764))]);
    expectLabels(attribution, { g: 'gradient/main_grad_buffer' });
  });
});

describe('the output projection', () => {
  const inside = (file: string, line: number) => [`forward /home/u/${file}:${line}`, ...CALL];
  const linear = [`forward ${TORCH}/nn/modules/linear.py:125`, ...CALL];
  const model = [...inside('net.py', 9), ...MAIN];

  it('is the linear layer that the model itself calls after its blocks', async () => {
    const attribution = await attributed([
      alloc('in', MIB, [...linear, ...model]),
      alloc('block', MIB, [...linear, ...inside('block.py', 3), ...model]),
      alloc('head', 4 * MIB, [...linear, ...model]),
      alloc('loss', 512, ['cross_entropy /home/u/loss.py:1', ...MAIN]),
    ]);
    expectLabels(attribution, { in: 'activation', block: 'activation', head: 'logits_loss/output_projection' });
  });

  it('is nothing in a model without blocks', async () => {
    const attribution = await attributed([
      alloc('a', MIB, [...linear, ...model]),
      alloc('b', MIB, [...linear, ...model]),
    ]);
    expectLabels(attribution, { b: 'activation' });
  });
});

describe('pools, workspaces and what is held', () => {
  it('gives private pools to the graphs', async () => {
    const attribution = await attributed([
      { alloc: 'a', bytes: MIB, stack: forward(1), pool: [0, 1] },
      alloc('b', MIB, forward(1)),
    ]);
    expectLabels(attribution, { a: 'graph_pool/activation', b: 'activation' });
  });

  it('knows the workspace of cuBLAS by its size and its life', async () => {
    const attribution = await attributed([
      alloc('out', 64 * MIB, forward(9)),
      alloc('odd', 8_519_680, forward(9)),
      alloc('hopper', 32 * MIB, forward(9)),
      alloc('tensor', 32 * MIB, forward(11)),
      free('out'),
      alloc('again', 64 * MIB, forward(9)),
      free('again'),
    ]);
    expectLabels(attribution, { odd: 'workspace/cublas', hopper: 'workspace/cublas', tensor: 'activation' });
  });

  it('takes no cache for workspaces', async () => {
    const kept = [0, 1, 2].map((i) => alloc(`c${i}`, 32 * MIB, forward(9)));
    const attribution = await attributed([alloc('out', 64 * MIB, forward(9)), ...kept, free('out')]);
    expectLabels(attribution, { 'c#': 'activation' });
  });

  it.each(['serving', 'training'] as const)('knows a cache that grows by concatenation: %s', async (kind) => {
    const layers = [0, 1];
    const token = (n: number): Act[] =>
      layers.flatMap((layer): Act[] => [
        alloc(`h${n}.${layer}`, MIB, forward(30)),
        alloc(`k${n}.${layer}`, (64 + n) * 512, forward(31)),
        ...(n > 0 ? [free(`k${n - 1}.${layer}`)] : []),
        // Scores grow too, and go before the line runs again.
        alloc(`s${n}.${layer}`, (64 + n) * 512, forward(32)),
        free(`s${n}.${layer}`),
        free(`h${n}.${layer}`),
      ]);
    const acts = Array.from({ length: 8 }, (_, n) => [...token(n), ...(kind === 'training' ? pass(n) : [])]).flat();
    const attribution = await attributed([...built(), ...acts]);
    expectLabels(attribution, {
      'k[037].[01]': kind === 'serving' ? 'kv_cache' : 'activation/held_across_steps',
      '[sh]3.[01]': 'activation by rule',
    });
  });

  it('knows the youngest blocks of a line whose blocks are all held', async () => {
    const steps = [1, 2, 3, 4].flatMap((n) => [...pass(n), alloc(`f${n}`, MIB, forward(60)), ...end(n)]);
    const attribution = await attributed([...built(), ...steps]);
    for (const name of namesOf('f[1234]')) expect(attribution[name]).toMatchObject({ sub: 'held_across_steps' });
  });

  it('marks activations that outlive two steps', async () => {
    const attribution = await attributed([
      ...built(),
      ...pass(1),
      alloc('kept', MIB, forward(50)),
      ...end(1),
      ...pass(2),
      alloc('loop', MIB, forward(51)),
      ...end(2),
      ...pass(3),
      free('loop'),
      ...end(3),
      ...pass(4),
    ]);
    expectLabels(attribution, { kept: 'activation/held_across_steps' });
    expect(attribution['loop']!.sub).not.toBe('held_across_steps');
  });
});
