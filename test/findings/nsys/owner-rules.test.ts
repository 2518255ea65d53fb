/** Whose an allocation of the driver is: each rule wins what it is for, and none what another knows better. */
import { describe, expect, it } from 'vitest';
import { NO_RULE, OWNER_RULES, type OwnerFacts, ownerOf } from '../../../src/derive/nsys/owner-rules.js';
import { type DriverMemory, driverMemoryOf } from '../../../src/derive/nsys/run-memory.js';
import { DRIVER_OWNERS } from '../../../src/model/results/nsys.js';
import { MIB } from '../../../src/model/units.js';

const NOTHING: OwnerFacts = {
  ...{ pid: 1, device: 0, kind: 'device', address: 0x7f0000000000, bytes: 3 * MIB, allocNs: 0, freeNs: null },
  ...{ origin: 'traced', isInPool: false, api: 'cudaMalloc', thread: null, library: null, modules: [], ranges: [] },
  ...{ isInNccl: false, isTorchSegment: false, hasSnapshot: true },
};
const CUDA = ['/usr/lib/libcuda.so.1', '/opt/venv/lib/libcudart.so.12'];

/** Each rule with what it must win. */
const SAMPLES: readonly (readonly [rule: string, facts: Partial<OwnerFacts>])[] = [
  ['segment', { isTorchSegment: true, isInNccl: true }],
  ['kind:static', { kind: 'device_static', api: 'cuModuleLoadDataEx' }],
  ['kind:static', { kind: 'managed_static' }],
  ['kind:managed', { kind: 'managed', api: 'cudaMallocManaged' }],
  ['kind:pinned', { kind: 'pinned', api: 'cudaHostAlloc', isInNccl: true }],
  ['pool', { isInPool: true, api: 'cudaMallocAsync' }],
  ['pool', { api: 'cuMemAllocFromPoolAsync' }],
  ['module:libc10_cuda', { modules: [...CUDA, '/venv/torch/lib/libc10_cuda.so', 'libtorch_cuda.so', 'libcudnn.so.9'] }],
  ['module:libnccl', { modules: [...CUDA, '/usr/lib/libnccl.so.2.21.5', 'libtorch_cuda.so', 'libc10_cuda.so'] }],
  ['module:libnvshmem', { modules: [...CUDA, 'libnvshmem_host.so.3'] }],
  ['module:libcublas', { modules: [...CUDA, 'libcublasLt.so.12', 'libcudnn.so.9'] }],
  ['module:libcudnn', { modules: [...CUDA, '/x/libcudnn_graph.so.9'] }],
  ['module:another CUDA library', { modules: [...CUDA, 'libcufft.so.11'] }],
  ['api:graph', { api: 'cudaGraphInstantiateWithFlags' }],
  ['api:context', { api: 'cuDevicePrimaryCtxRetain' }],
  ['library:cublas', { library: 'cublas' }],
  ['library:cudnn', { library: 'cudnn' }],
  ['library:nvshmem', { ranges: ['forward', 'nvshmem_malloc'] }],
  ['library:other', { library: 'cusolver' }],
  ['range:graph', { ranges: ['cudaGraphInstantiate'] }],
  ['range:nccl', { isInNccl: true, ranges: ['iteration 3', 'ncclAllReduce'] }],
  ['range:nccl', { ranges: ['forward', 'ncclCommInitRank'] }],
  ['thread:nccl', { thread: 'NCCL Service 0' }],
  ['segment_size', { hasSnapshot: false, bytes: 20 * MIB }],
  ['segment_size', { hasSnapshot: false, bytes: 2 * MIB }],
];

describe('owner rules', () => {
  it.each(SAMPLES)('%s wins its sample', (rule, facts) => {
    expect(ownerOf({ ...NOTHING, ...facts }).rule).toBe(rule);
  });

  it('have a sample each, ids of their own and owners of the list', () => {
    const ids = OWNER_RULES.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(new Set(SAMPLES.map(([rule]) => rule))).toEqual(new Set(ids));
    for (const { owner } of OWNER_RULES) expect(DRIVER_OWNERS).toContain(owner);
  });

  it.each<[string, Partial<OwnerFacts>]>([
    ["a size like a segment's beside a snapshot that does not show it", { bytes: 20 * MIB }],
    ['a size that no segment has', { hasSnapshot: false, bytes: 3 * MIB }],
    ["torch's watchdog of NCCL, which allocates nothing of NCCL's", { thread: 'pt_nccl_watchdg' }],
    ['a range that only mentions NCCL', { ranges: ['check nccl health'] }],
    ["a call chain that has PyTorch's allocator further out", { modules: [...CUDA, 'libmine.so', 'libc10_cuda.so'] }],
  ])('do not guess: %s', (_, facts) => {
    expect(ownerOf({ ...NOTHING, ...facts })).toEqual({ owner: 'other', rule: NO_RULE });
  });
});

describe('the memory of a rank at the driver', () => {
  const memory = (rank: number | null): DriverMemory => ({
    ...{
      rank,
      device: 0,
      moment: 'oom',
      outside: [],
      grownBytes: null,
      failed: [],
      retries: 0,
      retryNs: 0,
      source: { path: 'a' },
    },
  });
  const cases: readonly (readonly [
    known: (number | null)[],
    asked: number | null,
    found: number | null | undefined,
  ])[] = [
    [[0, 1], 1, 1],
    [[0], 1, undefined],
    // The only process is meant where one side does not name its rank.
    [[null], 1, null],
    [[3], null, 3],
    [[null, null], 1, undefined],
    [[0, 1], null, undefined],
    [[], 0, undefined],
  ];
  it.each(cases)('of those of ranks %j, asked for %j: %j', (known, asked, found) => {
    expect(driverMemoryOf(known.map(memory), asked)?.rank).toBe(found);
  });
});
