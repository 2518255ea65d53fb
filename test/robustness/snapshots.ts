/** Small memory snapshots as values for `pickled`, all of whose invariants hold. */
import { PyTuple, type PyValue, pickled } from '../../samples/generate/write/pickle-writer.js';

export type Dict = Readonly<Record<string, PyValue>>;

export const MIB = 1024 * 1024;
const BASE_ADDRESS = 0x7f00_0000_0000;

export function frame(name: string, filename = 'megatron/core/transformer/mlp.py', line: PyValue = 42): Dict {
  return { name, filename, line };
}

export const STACK: readonly PyValue[] = [
  frame('linear'),
  frame('forward', 'model.py', 7),
  frame('train_step', 'train.py', 900),
];

export function entry(action: string, index: number, more: Dict = {}): Dict {
  return {
    action,
    addr: BASE_ADDRESS + index * 512,
    size: 512,
    stream: 0,
    time_us: 1_700_000_000_000_000 + index,
    compile_context: 'N/A',
    frames: STACK,
    ...more,
  };
}

/** One segment of 2 MiB with an allocated and a free block. */
export function segment(more: Dict = {}): Dict {
  return {
    device: 0,
    address: BASE_ADDRESS,
    total_size: 2 * MIB,
    allocated_size: 512,
    active_size: 512,
    requested_size: 500,
    stream: 0,
    segment_type: 'small',
    segment_pool_id: new PyTuple(0, 0),
    is_expandable: false,
    frames: STACK,
    blocks: [
      { address: BASE_ADDRESS, size: 512, requested_size: 500, state: 'active_allocated', frames: STACK },
      { address: BASE_ADDRESS + 512, size: 2 * MIB - 512, requested_size: 0, state: 'inactive', frames: [] },
    ],
    ...more,
  };
}

/** alloc, free_requested, free_completed in turn: `count` entries that keep every invariant. */
export function trace(count: number): Dict[] {
  const actions = ['alloc', 'free_requested', 'free_completed'] as const;
  return Array.from({ length: count }, (_, i) => entry(actions[i % 3]!, Math.floor(i / 3) % 97));
}

export function snapshot(more: Dict = {}): Dict {
  return {
    segments: [segment()],
    device_traces: [trace(9)],
    allocator_settings: { PYTORCH_CUDA_ALLOC_CONF: '', expandable_segments: false },
    external_annotations: [],
    ...more,
  };
}

export function snapshotPickle(more: Dict = {}): Buffer {
  return pickled(snapshot(more));
}
