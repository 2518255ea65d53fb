/**
 * The file torch writes for one rank: `pickle.dump(torch.cuda.memory._snapshot(), f)`, with the keys, the order and the
 * object sharing of its release.
 */
import type { BlockSnapshot, SegmentSnapshot } from '../../../src/allocator/caching/allocator-snapshot.js';
import type { TraceEntry } from '../../../src/allocator/caching/caching-allocator.js';
import type { AllocatorSettings } from '../../../src/allocator/settings.js';
import type { DumpedState, TorchRelease } from '../run.js';
import type { CodeLine } from '../simulate/code-line.js';
import type { RankProcess, Traceback } from '../simulate/rank-process.js';
import { type PyDict, PyFloat, PyText, PyTuple, type PyValue, pickle } from './pickle-writer.js';

/** Both frameworks record with `trace_alloc_max_entries=100000`. */
export const RING_ENTRIES = 100_000;

export interface SnapshotForm {
  readonly torch: TorchRelease;
  /** Devices the process sees: one trace each, all empty but the rank's own. */
  readonly deviceCount: number;
  /** The settings text torch parsed; empty where none was set. */
  readonly allocConf: string;
  /** Capacity of the ring: a trace keeps its last entries. */
  readonly maxEntries: number;
}

/** Since when torch writes what; see FORMAT.md of the parser. */
interface Features {
  readonly annotations: boolean;
  readonly compileContext: boolean;
  /** And the setting for stream reuse in captures. */
  readonly userMetadata: boolean;
  readonly poolId: boolean;
}

const FEATURES: Readonly<Record<TorchRelease, Features>> = {
  '2.0': { annotations: false, compileContext: false, userMetadata: false, poolId: false },
  '2.3': { annotations: false, compileContext: false, userMetadata: false, poolId: false },
  '2.6': { annotations: true, compileContext: false, userMetadata: false, poolId: false },
  '2.8': { annotations: true, compileContext: true, userMetadata: false, poolId: false },
  '2.12': { annotations: true, compileContext: true, userMetadata: true, poolId: true },
};

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

export function snapshotPickle(process: RankProcess, form: SnapshotForm, state?: DumpedState): Buffer {
  return pickle(snapshotValue(process, form, state));
}

/** The part of the trace a dump holds. */
export function dumpedTrace(
  process: RankProcess,
  maxEntries: number,
  state?: DumpedState,
): readonly TraceEntry<Traceback>[] {
  const end = state?.traceEntries ?? process.trace.length;
  return process.trace.slice(Math.max(0, end - maxEntries), end);
}

export function dumpedSegments(process: RankProcess, state?: DumpedState): readonly SegmentSnapshot<Traceback>[] {
  return state?.segments ?? process.allocator.snapshot();
}

export function snapshotValue(process: RankProcess, form: SnapshotForm, state?: DumpedState): PyDict {
  const features = FEATURES[form.torch];
  const frames = frameTable();
  const block = ({ addr, sizeBytes, requestedBytes, state: use, stack }: BlockSnapshot<Traceback>): PyDict =>
    dict({ address: addr, size: sizeBytes, requested_size: requestedBytes, state: use, frames: frames(stack) });
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
      segment_pool_id: new PyTuple(...item.poolId),
      is_expandable: item.isExpandable,
      frames: frames(item.stack),
      blocks: item.blocks.map(block),
    });
  const traceEntry = (entry: TraceEntry<Traceback>): PyDict => {
    const result: PyDict = new Map<string, PyValue>([['action', entry.action]]);
    if (entry.addr === null) result.set('device_free', entry.deviceFreeBytes ?? 0);
    else result.set('addr', entry.addr);
    result.set('size', entry.sizeBytes);
    result.set('stream', entry.stream);
    result.set('time_us', Math.floor(entry.timeUs ?? 0));
    // Torch makes this string anew for every entry; the empty one of the metadata is CPython's own single object.
    if (features.compileContext) result.set('compile_context', new PyText('N/A'));
    if (features.userMetadata) result.set('user_metadata', '');
    if (features.poolId) result.set('pool_id', new PyTuple(...entry.poolId));
    // Gathered last, and no key at all where no stack was captured.
    if (entry.stack !== null) result.set('frames', frames(entry.stack));
    return result;
  };
  const trace = dumpedTrace(process, form.maxEntries, state);
  const result: PyDict = new Map<string, PyValue>([
    ['segments', dumpedSegments(process, state).map(segment)],
    [
      'device_traces',
      Array.from({ length: form.deviceCount }, (_, device) => (device === process.device ? trace.map(traceEntry) : [])),
    ],
    ['allocator_settings', allocatorSettings(process.allocator.settings, form.allocConf, features)],
  ]);
  if (features.annotations) {
    // A ring of its own, as long as the other.
    const end = state?.annotations ?? process.annotations.length;
    const kept = process.annotations.slice(Math.max(0, end - form.maxEntries), end);
    result.set(
      'external_annotations',
      kept.map(({ stage, name, timeUs }) =>
        dict({ stage, name: new PyText(name), device: process.device, time_us: Math.floor(timeUs) }),
      ),
    );
  }
  return result;
}

/** The settings in force. Those the model of the allocator has no use for are read from the text. */
function allocatorSettings(settings: AllocatorSettings, conf: string, features: Features): PyDict {
  const setting = (key: string): string | undefined => new RegExp(`(?:^|,)\\s*${key}\\s*:\\s*(\\w+)`).exec(conf)?.[1];
  const isOn = (key: string): boolean => setting(key) === 'True';
  return dict({
    PYTORCH_CUDA_ALLOC_CONF: conf,
    max_split_size: Number.isFinite(settings.maxSplitBytes) ? settings.maxSplitBytes : -1,
    garbage_collection_threshold: new PyFloat(settings.garbageCollectionThreshold),
    expandable_segments: settings.expandableSegments,
    pinned_num_register_threads: Number(setting('pinned_num_register_threads') ?? 1),
    release_lock_on_cudamalloc: isOn('release_lock_on_cudamalloc'),
    pinned_use_cuda_host_register: isOn('pinned_use_cuda_host_register'),
    ...(features.userMetadata ? { graph_capture_record_stream_reuse: isOn('graph_capture_record_stream_reuse') } : {}),
    roundup_power2_divisions: new Map(
      Array.from({ length: ROUNDUP_ENTRIES }, (_, i): [string, PyValue] => [
        String(2 ** i),
        settings.roundupPower2Divisions[i] ?? 0,
      ]),
    ),
  });
}
