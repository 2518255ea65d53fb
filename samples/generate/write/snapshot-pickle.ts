/** The file torch 2.8 writes for one rank: `pickle.dump(torch.cuda.memory._snapshot(), f)`, same keys, order and object sharing. */
import type { SegmentSnapshot, TraceEntry } from '../../../src/allocator/caching-allocator.js';
import type { CodeLine } from '../simulate/code-line.js';
import type { RankProcess, Traceback } from '../simulate/rank-process.js';
import { type PyDict, PyFloat, PyPair, PyText, type PyValue, pickle } from './pickle-writer.js';

/** Exponents of the 16 intervals of `roundup_power2_divisions`: from 1 MiB to 32 GiB. */
const ROUNDUP_ENTRIES = 16;

function dict(entries: Readonly<Record<string, PyValue>>): PyDict {
  return new Map(Object.entries(entries));
}

/** Turns tracebacks into lists and code lines into dicts, one Python object per JavaScript object. */
function frameTable(): (traceback: Traceback | null) => PyValue[] {
  const lines = new Map<CodeLine, PyDict>();
  const lists = new Map<Traceback, PyValue[]>();
  const none: PyValue[] = [];
  return (traceback) => {
    if (traceback === null) return none;
    let list = lists.get(traceback);
    if (list === undefined) {
      list = traceback.frames.map((line) => {
        let frame = lines.get(line);
        if (frame === undefined) {
          // Names and file names come fresh from each code object.
          frame = dict({ name: new PyText(line.name), filename: new PyText(line.filename), line: line.line });
          lines.set(line, frame);
        }
        return frame;
      });
      lists.set(traceback, list);
    }
    return list;
  };
}

export function snapshotPickle(process: RankProcess, deviceCount: number): Buffer {
  return pickle(snapshotValue(process, deviceCount));
}

/** `deviceCount` traces, one per device the process can see, all empty but the rank's own. */
export function snapshotValue(process: RankProcess, deviceCount: number): PyDict {
  const frames = frameTable();
  const segment = (item: SegmentSnapshot<Traceback>): PyDict =>
    dict({
      device: process.device,
      address: item.addr,
      total_size: item.totalBytes,
      allocated_size: item.allocatedBytes,
      active_size: item.activeBytes,
      requested_size: item.requestedBytes,
      stream: item.stream,
      segment_type: item.segmentType,
      segment_pool_id: new PyPair(...item.poolId),
      is_expandable: item.isExpandable,
      frames: frames(item.stack),
      blocks: item.blocks.map((block) =>
        dict({
          address: block.addr,
          size: block.sizeBytes,
          requested_size: block.requestedBytes,
          state: block.state,
          frames: frames(block.stack),
        }),
      ),
    });
  const traceEntry = (entry: TraceEntry<Traceback>): PyDict =>
    dict({
      action: entry.action,
      ...(entry.addr === null ? { device_free: entry.deviceFreeBytes ?? 0 } : { addr: entry.addr }),
      size: entry.sizeBytes,
      stream: entry.stream,
      time_us: entry.timeUs ?? 0,
      // Torch makes this string anew for every entry.
      compile_context: new PyText('N/A'),
      frames: frames(entry.stack),
    });
  return dict({
    segments: process.allocator.snapshot().map(segment),
    device_traces: Array.from({ length: deviceCount }, (_, device) =>
      device === process.device ? process.trace.map(traceEntry) : [],
    ),
    allocator_settings: dict({
      PYTORCH_CUDA_ALLOC_CONF: '',
      max_split_size: -1,
      garbage_collection_threshold: new PyFloat(0),
      expandable_segments: false,
      pinned_num_register_threads: 1,
      release_lock_on_cudamalloc: false,
      pinned_use_cuda_host_register: false,
      roundup_power2_divisions: new Map(
        Array.from({ length: ROUNDUP_ENTRIES }, (_, i): [string, PyValue] => [
          String(2 ** i),
          process.allocator.settings.roundupPower2Divisions[i] ?? 0,
        ]),
      ),
    }),
    external_annotations: process.annotations.map(({ stage, name, timeUs }) =>
      dict({ stage, name: new PyText(name), device: process.device, time_us: timeUs }),
    ),
  });
}
