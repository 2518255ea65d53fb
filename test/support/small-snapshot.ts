/** Small memory snapshots with chosen contents, as the pickles torch writes. */
import { PyText, PyTuple, type PyValue, pickle } from '../../samples/generate/write/pickle-writer.js';

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
  readonly extra?: Readonly<Record<string, PyValue>>;
}

export interface SmallSnapshot {
  readonly device?: number;
  /** One segment each, made of these blocks. */
  readonly segments?: readonly (readonly SmallBlock[])[];
  readonly entries?: readonly SmallEntry[];
  readonly top?: Readonly<Record<string, PyValue>>;
}

export const BASE = 0x7f00_0000_0000;
const SEGMENT_STRIDE = 2 ** 32;

const dict = (entries: Readonly<Record<string, PyValue>>): Map<string, PyValue> => new Map(Object.entries(entries));

/** `train.py:12` → a frame of function `train`; `step train.py:12` of function `step`. */
function frames(stack: readonly string[] = ['train.py:1']): PyValue[] {
  return stack.map((text) => {
    // One blank between a name and a Python file: file names have blanks of their own.
    const [, named, place = text] = /^(\S+) (\S+\.py(?::\d+)?)$/.exec(text) ?? [];
    const [filename, line] = place.split(':');
    return dict({
      name: new PyText(named ?? filename!.replace(/\.py$/, '')),
      filename: new PyText(filename!),
      line: Number(line ?? 0),
    });
  });
}

export function smallSnapshot(spec: SmallSnapshot = {}): Buffer {
  const device = spec.device ?? 0;
  const segments = (spec.segments ?? [[{ size: 2 ** 21 }]]).map((blocks, n) => {
    let at = BASE + n * SEGMENT_STRIDE;
    const total = blocks.reduce((sum, block) => sum + block.size, 0);
    const sum = (wanted: (state: string) => boolean): number =>
      blocks.reduce((bytes, block) => bytes + (wanted(block.state ?? 'active_allocated') ? block.size : 0), 0);
    return dict({
      device,
      address: at,
      total_size: total,
      allocated_size: sum((state) => state === 'active_allocated'),
      active_size: sum((state) => state !== 'inactive'),
      stream: 0,
      segment_type: 'large',
      segment_pool_id: new PyTuple(...(blocks[0]?.pool ?? [0, 0])),
      is_expandable: false,
      frames: [],
      blocks: blocks.map((block) => {
        const address = at;
        at += block.size;
        return dict({
          address,
          size: block.size,
          requested_size: block.size,
          state: block.state ?? 'active_allocated',
          frames: frames(block.stack),
        });
      }),
    });
  });
  const trace = (spec.entries ?? []).map((entry, n) =>
    dict({
      action: entry.action,
      ...(entry.addr === undefined ? {} : { addr: entry.addr }),
      size: entry.size,
      stream: 0,
      time_us: 1_700_000_000_000_000 + n,
      frames: frames(entry.stack),
      ...entry.extra,
    }),
  );
  const device_traces: PyValue[] = Array.from({ length: device + 1 }, (_, d) => (d === device ? trace : []));
  return pickle(dict({ segments, device_traces, ...spec.top }));
}
