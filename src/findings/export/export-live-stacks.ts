/** The live set of a snapshot at a moment, as the encoders of other tools' formats want it. */
import { type AllocatorState, freeHoles, STACK_ORIGINS, stateTotals } from '../../allocator/walk/allocator-state.js';
import { type Frame, frameText, visibleFrames } from '../../attribution/frames/call-site.js';
import { MbfError } from '../../model/errors.js';
import type { LiveDevice, LiveFrame, LiveSample, LiveStacks } from '../../model/results/export.js';
import type { Store } from '../../store/store.js';
import { readPoolNumbers } from '../run/names/pool-numbers.js';
import { NO_FRAMES, NO_STACK, readStacks } from '../stacks/read-stacks.js';
import { type Moment, momentText } from '../trace/moment.js';
import { type StateAt, stateAt } from '../trace/state-at.js';

/** Root of a stack that is only a substitute: mixing both would blame the line that freed the memory. */
export const FREED_THERE = '(allocated before the recording: stack of its free)';

export interface ExportTarget {
  readonly snapshotId: number;
  readonly path: string;
  readonly handle: string;
  readonly rank: number | null;
  /** Ordinal; undefined: every device. */
  readonly device: number | undefined;
}

export interface LiveStackOptions {
  /** Keeps the interpreter's and dispatcher's frames, and whole paths in `text`. */
  readonly rawFrames: boolean;
  /** Adds the holes as samples in state `inactive`, so that samples add up to what is reserved. */
  readonly holes: boolean;
  /** Distinguishes samples of different segments. */
  readonly segments: boolean;
}

export interface DeviceState {
  readonly device: number;
  readonly hasTrace: boolean;
  readonly at: StateAt;
  readonly timeUs: number | null;
}

/**
 * The states of the devices that have anything. Devices without the moment (`oom` on a device that had none) are in
 * `missing`; MBF1002 if that is every device, or if the snapshot has no device of that ordinal.
 */
export async function deviceStates(
  store: Store,
  target: ExportTarget,
  moment: Moment,
): Promise<{ readonly states: readonly DeviceState[]; readonly missing: readonly number[] }> {
  const wanted = await devicesOf(store, target);
  if (wanted.length === 0) throw new MbfError('MBF1002', `${target.handle} has neither segments nor a trace`);
  const states: DeviceState[] = [];
  const missing: number[] = [];
  let first: unknown;
  for (const row of wanted) {
    try {
      const at = await stateAt(store, target.snapshotId, row.device, moment);
      const timeUs = at.timeUs ?? (await timeOf(store, target.snapshotId, row.device, at.seq));
      states.push({ device: row.device, hasTrace: row.events !== null, at, timeUs });
    } catch (error) {
      if (!(error instanceof MbfError) || error.code !== 'MBF1002') throw error;
      first ??= error;
      missing.push(row.device);
    }
  }
  if (states.length === 0) throw first;
  return { states, missing };
}

/** The devices of a snapshot that have segments or a trace; MBF1002 if `target` names one that has not. */
export async function devicesOf(store: Store, target: ExportTarget) {
  const rows = await store.all('snapshot.devices', { snapshot_id: target.snapshotId });
  const known = rows.filter((row) => row.segments > 0 || row.events !== null);
  if (target.device === undefined) return known;
  const wanted = known.filter((row) => row.device === target.device);
  if (wanted.length > 0) return wanted;
  const has = known.length === 0 ? 'it has none' : `it has ${known.map((row) => row.device).join(', ')}`;
  throw new MbfError('MBF1002', `${target.handle} has nothing of device ${target.device}; ${has}`);
}

async function timeOf(store: Store, snapshotId: number, device: number, seq: number | null): Promise<number | null> {
  if (seq === null) return null;
  const row = await store.one('export.entry_time', { snapshot_id: snapshotId, device, seq });
  return row?.time_us ?? null;
}

/** Everything live at `moment`; each block is in exactly one sample. Errors as {@link deviceStates}. */
export async function liveStacks(
  store: Store,
  target: ExportTarget,
  moment: Moment,
  options: LiveStackOptions,
): Promise<LiveStacks> {
  const { states, missing } = await deviceStates(store, target, moment);
  const pools = await readPoolNumbers(store, target.snapshotId);
  const table = new StackTable(options.rawFrames);
  const grouped = states.map((state) => ({ ...state, groups: groupBlocks(state.at.state, options) }));
  await table.read(
    store,
    grouped.flatMap(({ groups }) => [...groups.values()].map((group) => group.stackId)),
  );
  const devices: LiveDevice[] = grouped.map(({ device, hasTrace, at, timeUs, groups }) => {
    const totals = stateTotals(at.state);
    const { segments } = at.state;
    const samples = [...groups.values()].map((group): LiveSample => {
      const stream = segments.stream[group.segment]!;
      return {
        stack: table.rowOf(group),
        state: group.state,
        stream: Number.isNaN(stream) ? null : stream,
        pool: pools.pair(segments.pool[group.segment]!),
        segmentType: segments.small[group.segment] === 1 ? 'small' : 'large',
        segment: options.segments ? segments.address[group.segment]! : null,
        bytes: group.bytes,
        blocks: group.blocks,
      };
    });
    samples.sort((a, b) => b.bytes - a.bytes || a.stack - b.stack);
    return {
      device,
      moment: hasTrace ? momentText(moment) : 'dump',
      seq: at.seq,
      timeUs,
      basis: at.holds ? 'actual' : 'approximate',
      activeBytes: totals.activeBytes,
      reservedBytes: totals.reservedBytes,
      samples,
    };
  });
  const { path, handle, rank } = target;
  return { path, handle, rank, frames: table.frames, stacks: table.stacks, devices, missing };
}

type Origin = (typeof STACK_ORIGINS)[number] | 'hole';

interface Group {
  readonly stackId: number;
  readonly origin: Origin;
  readonly state: LiveSample['state'];
  /** A segment that stands for all of the group: they agree in what is told of them. */
  readonly segment: number;
  bytes: number;
  blocks: number;
}

function groupBlocks(state: AllocatorState, options: LiveStackOptions): Map<string, Group> {
  const { segments, blocks } = state;
  const groups = new Map<string, Group>();
  // Segments with equal labels share a class, so that a key is cheap to make.
  const classes = new Map<string, number>();
  const classOf = Array.from({ length: segments.count }, (_, row) => {
    const key = options.segments ? String(row) : `${segments.stream[row]} ${segments.pool[row]} ${segments.small[row]}`;
    const known = classes.get(key) ?? classes.size;
    classes.set(key, known);
    return known;
  });
  const add = (
    segment: number,
    stackId: number,
    origin: Origin,
    blockState: LiveSample['state'],
    bytes: number,
  ): void => {
    const key = `${stackId} ${origin} ${blockState} ${classOf[segment]}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { stackId, origin, state: blockState, segment, bytes, blocks: 1 });
    else {
      group.bytes += bytes;
      group.blocks += 1;
    }
  };
  for (let row = 0; row < blocks.count; row += 1) {
    add(
      blocks.segment[row]!,
      blocks.stackId[row]!,
      STACK_ORIGINS[blocks.stackOrigin[row]!] ?? 'none',
      blocks.state[row] === 1 ? 'active_pending_free' : 'active_allocated',
      blocks.sizeBytes[row]!,
    );
  }
  if (options.holes) {
    const holes = freeHoles(state);
    for (let row = 0; row < holes.count; row += 1) add(holes.segment[row]!, -1, 'hole', 'inactive', holes.bytes[row]!);
  }
  return groups;
}

/** Frames and stacks, each once, in the order they are first met. */
class StackTable {
  readonly frames: LiveFrame[] = [];
  readonly stacks: (readonly number[])[] = [];
  private readonly frameRows = new Map<string, number>();
  private readonly stackRows = new Map<string, number>();
  private readonly raw: boolean;
  private known: ReadonlyMap<number, readonly Frame[]> = new Map();

  constructor(raw: boolean) {
    this.raw = raw;
  }

  async read(store: Store, stackIds: Iterable<number>): Promise<void> {
    this.known = await readStacks(store, stackIds);
  }

  rowOf(group: Group): number {
    const key = `${group.stackId} ${group.origin === 'free_event' ? 'free' : group.origin === 'hole' ? 'hole' : ''}`;
    const known = this.stackRows.get(key);
    if (known !== undefined) return known;
    const row = this.stacks.length;
    this.stacks.push(this.framesOf(group));
    this.stackRows.set(key, row);
    return row;
  }

  private framesOf(group: Group): number[] {
    if (group.origin === 'hole') return [this.synthetic('(free)')];
    if (group.stackId < 0) return [this.synthetic(NO_STACK)];
    const all = this.known.get(group.stackId) ?? [];
    const shown = this.raw ? all : visibleFrames(all);
    const frames = shown.map((frame) => this.frame(frame, this.raw ? rawText(frame) : frameText(frame))).reverse();
    if (frames.length === 0) frames.push(this.synthetic(NO_FRAMES));
    return group.origin === 'free_event' ? [this.synthetic(FREED_THERE), ...frames] : frames;
  }

  private synthetic(text: string): number {
    return this.frame({ name: text, filename: '', line: 0 }, text);
  }

  private frame(frame: Frame, text: string): number {
    const key = `${frame.line}\u0000${frame.name}\u0000${frame.filename}`;
    const known = this.frameRows.get(key);
    if (known !== undefined) return known;
    const row = this.frames.length;
    this.frames.push({ name: frame.name, filename: frame.filename, line: frame.line, text });
    this.frameRows.set(key, row);
    return row;
  }
}

function rawText(frame: Frame): string {
  const place = frame.filename === '' ? '' : ` ${frame.filename}${frame.line > 0 ? `:${frame.line}` : ''}`;
  return `${frame.name}${place}`;
}
