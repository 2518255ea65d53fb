/**
 * Small memory snapshots as torch writes them. {@link smallSnapshot} makes a pickle from a short description;
 * {@link snapshot}, {@link segment} and {@link entry} make values for `pickled`, any key of which a test can replace.
 */
import { PyText, PyTuple, type PyValue, pickle, pickled } from '../../samples/generate/write/pickle-writer.js';
import { MIB } from '../../src/model/units.js';

export type Dict = Readonly<Record<string, PyValue>>;

export interface SmallBlock {
  readonly size: number;
  readonly state?: 'active_allocated' | 'active_pending_free' | 'inactive';
  readonly stack?: readonly string[];
  /** Of its segment; all blocks of one must agree. Default: the default pool. */
  readonly pool?: readonly [number, number];
}

export interface SmallEntry {
  readonly action: string;
  readonly addr?: number;
  readonly size: number;
  readonly stack?: readonly string[];
  /** Keys beyond those torch writes. */
  readonly extra?: Dict;
}

export interface SmallSnapshot {
  readonly device?: number;
  /** One segment each, made of these blocks. */
  readonly segments?: readonly (readonly SmallBlock[])[];
  readonly entries?: readonly SmallEntry[];
  readonly top?: Dict;
}

export const BASE = 0x7f00_0000_0000;
const SEGMENT_STRIDE = 2 ** 32;
const FIRST_TIME_US = 1_700_000_000_000_000;

/** `train.py:12` → a frame of function `train`; `step train.py:12` of function `step`. */
function framesOf(stack: readonly string[] = ['train.py:1']): Dict[] {
  return stack.map((text) => {
    // One blank between a name and a Python file: file names have blanks of their own.
    const [, named, place = text] = /^(\S+) (\S+\.py(?::\d+)?)$/.exec(text) ?? [];
    const [filename, line] = place.split(':');
    return {
      name: new PyText(named ?? filename!.replace(/\.py$/, '')),
      filename: new PyText(filename!),
      line: Number(line ?? 0),
    };
  });
}

/** The blocks fill it from its address on. */
function segmentOf(
  address: number,
  blocks: readonly { size: number; requested: number; state: string; frames: PyValue }[],
  more: Dict,
): Dict {
  const sum = (wanted: (state: string) => boolean): number =>
    blocks.reduce((bytes, { size, state }) => bytes + (wanted(state) ? size : 0), 0);
  let end = address;
  return {
    device: 0,
    address,
    total_size: sum(() => true),
    allocated_size: sum((state) => state === 'active_allocated'),
    active_size: sum((state) => state !== 'inactive'),
    stream: 0,
    segment_type: 'large',
    segment_pool_id: new PyTuple(0, 0),
    is_expandable: false,
    frames: [],
    blocks: blocks.map(({ size, requested, state, frames }) => {
      end += size;
      return { address: end - size, size, requested_size: requested, state, frames };
    }),
    ...more,
  };
}

export function smallSnapshot(spec: SmallSnapshot = {}): Buffer {
  const { device = 0, segments = [[{ size: 2 * MIB }]], entries = [], top } = spec;
  const traced = entries.map(({ action, addr, size, stack, extra }, n) => ({
    action,
    ...(addr === undefined ? {} : { addr }),
    size,
    stream: 0,
    time_us: FIRST_TIME_US + n,
    frames: framesOf(stack),
    ...extra,
  }));
  return pickle({
    segments: segments.map((blocks, n) =>
      segmentOf(
        BASE + n * SEGMENT_STRIDE,
        blocks.map(({ size, state = 'active_allocated', stack }) => ({
          size,
          requested: size,
          state,
          frames: framesOf(stack),
        })),
        { device, segment_pool_id: new PyTuple(...(blocks[0]?.pool ?? [0, 0])) },
      ),
    ),
    device_traces: Array.from({ length: device + 1 }, (_, d) => (d === device ? traced : [])),
    ...top,
  });
}

export function frame(name: string, filename = 'megatron/core/transformer/mlp.py', line: PyValue = 42): Dict {
  return { name, filename, line };
}

const STACK: readonly Dict[] = [frame('linear'), frame('forward', 'model.py', 7), frame('train_step', 'train.py', 900)];

export function entry(action: string, index: number, more: Dict = {}): Dict {
  return {
    action,
    addr: BASE + index * 512,
    size: 512,
    stream: 0,
    time_us: FIRST_TIME_US + index,
    compile_context: 'N/A',
    frames: STACK,
    ...more,
  };
}

/** One segment of 2 MiB with an allocated and a free block. */
export function segment(more: Dict = {}): Dict {
  return segmentOf(
    BASE,
    [
      { size: 512, requested: 500, state: 'active_allocated', frames: STACK },
      { size: 2 * MIB - 512, requested: 0, state: 'inactive', frames: [] },
    ],
    { requested_size: 500, segment_type: 'small', frames: STACK, ...more },
  );
}

/** alloc, free_requested, free_completed in turn: `count` entries that keep every invariant. */
export function trace(count: number): Dict[] {
  const actions = ['alloc', 'free_requested', 'free_completed'] as const;
  return Array.from({ length: count }, (_, i) => entry(actions[i % 3]!, Math.floor(i / 3) % 97));
}

/** One segment and nine entries, all of whose invariants hold. */
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

/** A snapshot with these entries on device 0. */
export function tracePickle(entries: PyValue): Buffer {
  return snapshotPickle({ device_traces: [entries] });
}

/** One element of `host_segments` as torch 2.14 writes it: one block, on device −1. */
export function hostSegment(address: number, size: number, state: string, frames: readonly Dict[] = STACK): Dict {
  return {
    device: -1,
    address,
    total_size: size,
    allocated_size: state === 'active_allocated' ? size : 0,
    active_size: state === 'inactive' ? 0 : size,
    requested_size: size,
    stream: 0,
    segment_type: 'small',
    segment_pool_id: new PyTuple(0, 0),
    is_expandable: false,
    frames,
    blocks: [{ address, size, requested_size: size, state, frames }],
  };
}

/** One element of `host_traces`: the keys of a device's entry. */
export function hostEntry(action: string, addr: number, size: number, time_us: number): Dict {
  return entry(action, 0, { addr, size, time_us, user_metadata: '', pool_id: new PyTuple(0, 0) });
}
