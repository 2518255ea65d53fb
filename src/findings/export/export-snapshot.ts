/**
 * A snapshot as the JSON of what torch pickles: segments, device_traces, allocator_settings, external_annotations. It
 * is written while it is read, window by window; what is held is one window, the ids of the distinct stacks' frames,
 * and the text of the distinct frames.
 */

import { type Moment, momentText } from '../../derive/trace/moment.js';
import { maxOf } from '../../model/lists.js';
import type { ExportResult } from '../../model/results/export.js';
import type { Store } from '../../store/store.js';
import { type DeviceState, deviceStates, devicesOf, type ExportTarget, FREED_THERE } from './export-live-stacks.js';

/** Entries and annotations read at a time. */
const WINDOW_ROWS = 16_384;
/** Segments read at a time with their blocks. */
const WINDOW_SEGMENTS = 256;
/** Characters of stacks kept ready; beyond it they are put together anew. */
const STACK_CACHE_CHARS = 16 * 1024 * 1024;

export interface SnapshotExport {
  /** The document in pieces; iterate once. */
  readonly pieces: AsyncGenerator<string, void, void>;
  /** Trace entries written so far. */
  entries(): number;
  readonly moment: string;
  readonly devices: ExportResult['devices'];
  readonly missing: readonly number[];
}

/**
 * Without a moment, or at `end`, the dump as it was read. At another moment the segments and blocks are those of the
 * reconstructed state, the trace ends with that entry (at `oom` with the OOM entry itself, as torch's observer would
 * have dumped it), and annotations end with it too. With a device, only its segments and its trace are written. Errors
 * as {@link deviceStates}.
 */
export async function exportSnapshot(
  store: Store,
  target: ExportTarget & { readonly form: string },
  moment: Moment | undefined,
): Promise<SnapshotExport> {
  const writer = new SnapshotWriter(store, target, await StackTexts.open(store, target.snapshotId));
  if (moment === undefined || moment.kind === 'end') {
    const devices = await dumpedDevices(store, target);
    return { pieces: writer.pieces(undefined), entries: () => writer.entries, moment: 'end', devices, missing: [] };
  }
  const { states, missing } = await deviceStates(store, target, moment);
  return {
    pieces: writer.pieces({ moment, states }),
    entries: () => writer.entries,
    moment: momentText(moment),
    devices: states.map(({ device, at, totals: { active_bytes, reserved_bytes } }) => {
      const basis = at.holds ? 'actual' : 'approximate';
      return { device, seq: at.seq, active_bytes, reserved_bytes, basis };
    }),
    missing,
  };
}

async function dumpedDevices(store: Store, target: ExportTarget): Promise<ExportResult['devices']> {
  const rows = await devicesOf(store, target);
  return rows.map((row) => ({
    device: row.device,
    seq: row.events === null || row.events === 0 ? null : row.events - 1,
    active_bytes: row.active_bytes,
    reserved_bytes: row.reserved_bytes,
    basis: 'actual',
  }));
}

interface Cut {
  readonly moment: Moment;
  readonly states: readonly DeviceState[];
}

class SnapshotWriter {
  entries = 0;
  private readonly store: Store;
  private readonly target: ExportTarget & { readonly form: string };
  private readonly stacks: StackTexts;

  constructor(store: Store, target: ExportTarget & { readonly form: string }, stacks: StackTexts) {
    this.store = store;
    this.target = target;
    this.stacks = stacks;
  }

  async *pieces(cut: Cut | undefined): AsyncGenerator<string, void, void> {
    const { store, target } = this;
    const id = { snapshot_id: target.snapshotId };
    const features = new Set((await store.all('snapshot.features', id)).map((row) => row.feature));
    const segments = cut === undefined ? this.dumpedSegments(features) : this.statesSegments(cut.states);
    if (target.form === 'list') {
      yield* list('', segments);
      yield '\n';
      return;
    }
    yield* list('{"segments":', segments);
    yield ',\n"device_traces":[';
    const devices = await store.all('snapshot.devices', id);
    const entries = new Map(
      devices
        .filter((row) => row.events !== null && (target.device === undefined || row.device === target.device))
        .map((row) => [row.device, row.events ?? 0]),
    );
    const cuts = new Map(cut?.states.map((state) => [state.device, lastEntries(cut.moment, state)]));
    const last = devices.reduce((most, row) => Math.max(most, row.device), -1);
    for (let device = 0; device <= last; device += 1) {
      const events = entries.get(device) ?? 0;
      yield device === 0 ? '' : ',';
      yield* list('', this.trace(device, cut === undefined ? events : Math.min(events, cuts.get(device) ?? 0)));
    }
    yield ']';
    if (features.has('allocator_settings'))
      yield `,\n"allocator_settings":${settingsJson(await store.all('snapshot.settings', id))}`;
    if (features.has('external_annotations')) yield* list(',\n"external_annotations":', this.annotations(cut));
    yield '}\n';
  }

  private async *dumpedSegments(features: ReadonlySet<string>): AsyncGenerator<string, void, void> {
    const { store, target, stacks } = this;
    const snapshot_id = target.snapshotId;
    const device = target.device ?? null;
    const extents = await store.one('export.extents', { snapshot_id });
    for (let from = 0; from < (extents?.segments ?? 0); from += WINDOW_SEGMENTS) {
      const window = { snapshot_id, from_segment: from, to_segment: from + WINDOW_SEGMENTS, device };
      const blocks = await store.all('export.blocks', {
        ...window,
        has_address: features.has('block.address'),
        has_requested: features.has('block.requested_size'),
        has_history: features.has('block.history'),
      });
      const hasFrames = features.has('block.frames');
      let next = 0;
      for (const segment of await store.all('export.segments', window)) {
        const parts: string[] = [];
        for (; blocks[next]?.segment === segment.segment; next += 1) {
          const { head, history, stack_id } = blocks[next]!;
          const frames = stack_id === null ? '' : `,"frames":${stacks.of(stack_id)}`;
          if (history !== null) parts.push(`${head},"history":[${history}${frames}}]}`);
          else parts.push(hasFrames ? `${head}${frames}}` : `${head}}`);
        }
        const frames = segment.stack_id === null ? '' : `,"frames":${stacks.of(segment.stack_id)}`;
        yield `${segment.head}${frames},"blocks":[${parts.join(',')}]}`;
      }
    }
  }

  private async *statesSegments(states: readonly DeviceState[]): AsyncGenerator<string, void, void> {
    for (const { device, at } of states) {
      const makers = await this.segmentStacks(device, at.seq);
      const segments = await this.store.all('export.state_segments', { ...at.key });
      for (let first = 0; first < segments.length; first += WINDOW_SEGMENTS) {
        const window = segments.slice(first, first + WINDOW_SEGMENTS);
        const range = { from_address: window[0]!.address, to_address: window.at(-1)!.end_address };
        const blocks = await this.store.all('export.state_blocks', { ...at.key, ...range });
        let next = 0;
        for (const { address, end_address, head } of window) {
          const parts: string[] = [];
          for (; next < blocks.length && blocks[next]!.address < end_address; next += 1) {
            const block = blocks[next]!;
            parts.push(`${block.head},"frames":${this.blockFrames(block.stack_id, block.is_freed)}}`);
          }
          const maker = makers.get(Number(address));
          const frames = maker === undefined ? '[]' : this.stacks.of(maker);
          yield `${head},"frames":${frames},"blocks":[${parts.join(',')}]}`;
        }
      }
    }
  }

  private blockFrames(stackId: number | null, isFreed: boolean): string {
    if (stackId === null) return '[]';
    const frames = this.stacks.of(stackId);
    if (!isFreed) return frames;
    const note = `{"name":${JSON.stringify(FREED_THERE)},"filename":"","line":0}`;
    return frames === '[]' ? `[${note}]` : `${frames.slice(0, -1)},${note}]`;
  }

  private async segmentStacks(device: number, seq: number | null): Promise<Map<number, number>> {
    const rows = await this.store.all('export.segment_stacks', {
      snapshot_id: this.target.snapshotId,
      device,
      to_seq: (seq ?? -1) + 1,
    });
    return new Map(rows.map((row) => [Number(row.address), row.stack_id]));
  }

  private async *trace(device: number, entries: number): AsyncGenerator<string, void, void> {
    for (let from = 0; from < entries; from += WINDOW_ROWS) {
      const rows = await this.store.all('export.trace_entries', {
        snapshot_id: this.target.snapshotId,
        device,
        from_seq: from,
        to_seq: Math.min(entries, from + WINDOW_ROWS),
      });
      for (const { head, stack_id } of rows) {
        this.entries += 1;
        yield stack_id === null ? `${head}}` : `${head},"frames":${this.stacks.of(stack_id)}}`;
      }
    }
  }

  private async *annotations(cut: Cut | undefined): AsyncGenerator<string, void, void> {
    const snapshot_id = this.target.snapshotId;
    const times = cut?.states.map(({ at }) => at.timeUs) ?? [];
    const until_us = times.length === 0 || times.some((time) => time === null) ? null : maxOf(times.map(Number));
    const extents = await this.store.one('export.extents', { snapshot_id });
    for (let from = 0; from < (extents?.annotations ?? 0); from += WINDOW_ROWS) {
      const window = { snapshot_id, from_ordinal: from, to_ordinal: from + WINDOW_ROWS, until_us };
      for (const { json } of await this.store.all('export.annotations', window)) yield json;
    }
  }
}

/**
 * How many entries of a trace belong to a moment. The OOM entry changes nothing, so the state before it is also the
 * state with it.
 */
function lastEntries(moment: Moment, { at }: DeviceState): number {
  return (at.seq ?? -1) + 1 + (moment.kind === 'oom' ? 1 : 0);
}

/** `prefix`, then the items as a JSON list, one a line. */
async function* list(prefix: string, items: AsyncGenerator<string, void, void>): AsyncGenerator<string, void, void> {
  let separator = `${prefix}[\n`;
  for await (const item of items) {
    yield separator + item;
    separator = ',\n';
  }
  yield separator === ',\n' ? ']' : `${prefix}[]`;
}

/** Frames of stacks as JSON lists. */
class StackTexts {
  private readonly frames: ReadonlyMap<number, string>;
  /** Row in `ids` where a stack begins, and one past its last; by stack id less the first. */
  private readonly bounds: Int32Array;
  private readonly firstStack: number;
  private readonly ids: Int32Array;
  private readonly ready = new Map<number, string>();
  private readyChars = 0;

  static async open(store: Store, snapshotId: number): Promise<StackTexts> {
    let stacks = new Int32Array(1 << 16);
    let ids = new Int32Array(1 << 16);
    let count = 0;
    const spec = { stack_id: 'i32', frame_id: 'i32' } as const;
    for await (const { rows, columns } of store.readQueryColumns('export.stacks', { snapshot_id: snapshotId }, spec)) {
      while (count + rows > ids.length) {
        ids = doubled(ids);
        stacks = doubled(stacks);
      }
      stacks.set(columns.stack_id, count);
      ids.set(columns.frame_id, count);
      count += rows;
    }
    const distinct = new Set<number>();
    for (let row = 0; row < count; row += 1) distinct.add(ids[row]!);
    const frames = new Map<number, string>();
    const all = [...distinct];
    for (let start = 0; start < all.length; start += 10_000) {
      const frame_ids = all.slice(start, start + 10_000).join(',');
      for (const row of await store.all('export.frames', { frame_ids })) frames.set(row.frame_id, row.json);
    }
    return new StackTexts(frames, stacks.subarray(0, count), ids.subarray(0, count));
  }

  private constructor(frames: ReadonlyMap<number, string>, stacks: Int32Array, ids: Int32Array) {
    this.frames = frames;
    this.ids = ids;
    this.firstStack = stacks[0] ?? 0;
    const span = stacks.length === 0 ? 0 : stacks.at(-1)! - this.firstStack + 1;
    this.bounds = new Int32Array(span * 2);
    for (let row = 0; row < stacks.length; row += 1) {
      const at = (stacks[row]! - this.firstStack) * 2;
      if (this.bounds[at + 1] === 0) this.bounds[at] = row;
      this.bounds[at + 1] = row + 1;
    }
  }

  /** `[]` for a stack without frames. */
  of(stackId: number): string {
    const known = this.ready.get(stackId);
    if (known !== undefined) return known;
    const at = (stackId - this.firstStack) * 2;
    const parts: string[] = [];
    if (at >= 0) {
      for (let row = this.bounds[at] ?? 0; row < (this.bounds[at + 1] ?? 0); row += 1)
        parts.push(this.frames.get(this.ids[row]!) ?? '{}');
    }
    const text = `[${parts.join(',')}]`;
    if (this.readyChars + text.length > STACK_CACHE_CHARS) {
      this.ready.clear();
      this.readyChars = 0;
    }
    this.ready.set(stackId, text);
    this.readyChars += text.length;
    return text;
  }
}

function doubled(array: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(array.length * 2);
  larger.set(array);
  return larger;
}

type Settings = Map<string, Settings | string>;

/**
 * Settings are kept flat and as text; dots show nesting, kinds by how the text reads. `PYTORCH_CUDA_ALLOC_CONF`
 * is text whatever it reads like.
 */
function settingsJson(flat: readonly { readonly key: string; readonly value: string }[]): string {
  const root: Settings = new Map();
  for (const { key, value } of flat) {
    const path = key.split('.');
    let at = root;
    let isNested = true;
    for (const part of path.slice(0, -1)) {
      const inner = at.get(part) ?? new Map<string, Settings | string>();
      if (typeof inner === 'string') {
        isNested = false;
        break;
      }
      at.set(part, inner);
      at = inner;
    }
    const leaf = path.at(-1)!;
    if (isNested && !at.has(leaf)) at.set(leaf, value);
    else root.set(key, value);
  }
  return settingJson(root, '');
}

function settingJson(value: Settings | string, key: string): string {
  if (typeof value !== 'string')
    return `{${[...value].map(([name, part]) => `${JSON.stringify(name)}:${settingJson(part, name)}`).join(',')}}`;
  if (key.endsWith('_CONF')) return JSON.stringify(value);
  if (value === 'True' || value === 'False') return value.toLowerCase();
  if (/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/.test(value)) return value;
  if (value.startsWith('[') && isJson(value)) return value;
  return JSON.stringify(value);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
