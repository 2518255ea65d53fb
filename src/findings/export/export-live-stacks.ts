/** The live set of a snapshot at a moment, as the encoders of other tools' formats want it. */
import { type Frame, frameText, isPython, operatorOf, siteFrames } from '../../attribution/frames/call-site.js';
import { NO_FRAMES, NO_STACK, readStacks, siteOf } from '../../derive/stacks/read-stacks.js';
import type { ChosenDevice } from '../../derive/state/choose-snapshot.js';
import { FREED_THERE as FREED_SITE } from '../../derive/state/live/live-sites.js';
import { type Moment, momentText } from '../../derive/trace/moment.js';
import { type MomentAt, momentAt } from '../../derive/trace/state-at.js';
import { MbfError } from '../../model/errors.js';
import type { LiveDevice, LiveFrame, LiveSample, LiveStacks } from '../../model/results/export.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';

/** Root of a stack that is only a substitute: mixing both would blame the line that freed the memory. */
export const FREED_THERE = '(allocated before the recording: stack of its free)';

export interface ExportTarget extends Pick<ChosenDevice, 'snapshotId' | 'path' | 'handle' | 'rank'> {
  /** Ordinal; undefined: every device. */
  readonly device: number | undefined;
}

export interface LiveStackOptions {
  /**
   * All frames as recorded, and whole paths in `text`. Else a stack ends at its call site, named as `peak` names it, so
   * that a profile sorted by leaves has the sites of `diagnose` in their order; its callers are frames of Python.
   */
  readonly rawFrames: boolean;
  /** Adds the holes as samples in state `inactive`, so that samples add up to what is reserved. */
  readonly holes: boolean;
  /** Distinguishes samples of different segments. */
  readonly segments: boolean;
}

export interface DeviceState {
  readonly device: number;
  readonly hasTrace: boolean;
  readonly at: MomentAt;
  readonly totals: QueryRow<'state.totals'>;
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
  const devices = await devicesOf(store, target);
  if (devices.length === 0) throw new MbfError('MBF1002', `${target.handle} has neither segments nor a trace`);
  const states: DeviceState[] = [];
  const missing: number[] = [];
  let first: unknown;
  for (const row of devices) {
    try {
      const at = await momentAt(store, target.snapshotId, row.device, moment);
      const totals = (await store.one('state.totals', { ...at.key }))!;
      states.push({ device: row.device, hasTrace: row.events !== null, at, totals });
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
  const devices = known.filter((row) => row.device === target.device);
  if (devices.length > 0) return devices;
  const has = known.length === 0 ? 'it has no device' : `it has ${known.map((row) => row.device).join(', ')}`;
  throw new MbfError('MBF1002', `${target.handle} has nothing of device ${target.device}; ${has}`);
}

/** Everything live at `moment`; each block is in exactly one sample. Errors as {@link deviceStates}. */
export async function liveStacks(
  store: Store,
  target: ExportTarget,
  moment: Moment,
  options: LiveStackOptions,
): Promise<LiveStacks> {
  const { states, missing } = await deviceStates(store, target, moment);
  const table = new StackTable(options);
  const devices: LiveDevice[] = [];
  for (const { device, hasTrace, at, totals } of states) {
    const parameters = { ...at.key, with_holes: options.holes, with_segments: options.segments };
    const rows = await store.all('export.live_samples', parameters);
    await table.read(
      store,
      rows.map((row) => row.stack_id ?? -1),
    );
    const samples = rows.map(
      (row): LiveSample => ({
        stack: table.rowOf(row),
        state: row.state as LiveSample['state'],
        stream: row.stream === null ? null : Number(row.stream),
        pool: row.pool_id_a === null || row.pool_id_b === null ? null : [row.pool_id_a, row.pool_id_b],
        segmentType: row.segment_type === 'small' ? 'small' : 'large',
        segment: row.segment === null ? null : Number(row.segment),
        bytes: row.bytes,
        blocks: row.blocks,
      }),
    );
    samples.sort((a, b) => b.bytes - a.bytes || a.stack - b.stack);
    devices.push({
      device,
      moment: hasTrace ? momentText(moment) : 'dump',
      seq: at.seq,
      timeUs: at.timeUs,
      basis: at.holds ? 'actual' : 'approximate',
      activeBytes: totals.active_bytes,
      reservedBytes: totals.reserved_bytes,
      samples,
    });
  }
  const { path, handle, rank } = target;
  const { frames, stacks, operators } = table;
  return { path, handle, rank, frames, stacks, operators, devices, missing };
}

type Sample = Pick<QueryRow<'export.live_samples'>, 'stack_id' | 'origin'>;

/** Frames and stacks, each once, in the order they are first met. */
class StackTable {
  readonly frames: LiveFrame[] = [];
  readonly stacks: (readonly number[])[] = [];
  readonly operators: (string | null)[] = [];
  private readonly frameRows = new Map<string, number>();
  private readonly stackRows = new Map<string, number>();
  private readonly rawFrames: boolean;
  private known: ReadonlyMap<number, readonly Frame[]> = new Map();

  constructor({ rawFrames }: Pick<LiveStackOptions, 'rawFrames'>) {
    this.rawFrames = rawFrames;
  }

  async read(store: Store, stackIds: Iterable<number>): Promise<void> {
    this.known = await readStacks(store, stackIds);
  }

  rowOf(sample: Sample): number {
    const { stack_id, origin } = sample;
    const key = `${stack_id} ${origin === 'free_event' ? 'free' : origin === 'hole' ? 'hole' : ''}`;
    const known = this.stackRows.get(key);
    if (known !== undefined) return known;
    const row = this.stacks.length;
    this.stacks.push(this.framesOf(sample));
    this.operators.push(operatorOf(this.known.get(stack_id ?? -1) ?? []) ?? null);
    this.stackRows.set(key, row);
    return row;
  }

  /** Root first. */
  private framesOf({ stack_id, origin }: Sample): number[] {
    if (origin === 'hole') return [this.synthetic('(free)')];
    if (stack_id === null) return [this.synthetic(NO_STACK)];
    const all = this.known.get(stack_id) ?? [];
    const frames = this.rawFrames ? this.rawRows(all) : this.rowsToSite(stack_id, all, origin === 'free_event');
    return origin === 'free_event' ? [...frames, this.synthetic(FREED_THERE)].reverse() : frames.reverse();
  }

  private rawRows(all: readonly Frame[]): number[] {
    return all.length === 0 ? [this.synthetic(NO_FRAMES)] : all.map((frame) => this.frame(frame, rawText(frame)));
  }

  private rowsToSite(stackId: number, all: readonly Frame[], isFree: boolean): number[] {
    const site = `${siteOf(stackId, this.known)}${isFree ? FREED_SITE : ''}`;
    const [leaf] = siteFrames(all);
    if (leaf === undefined) return [this.synthetic(site)];
    const callers = all.slice(all.indexOf(leaf) + 1).filter(isPython);
    return [this.frame(leaf, site), ...callers.map((frame) => this.frame(frame, frameText(frame)))];
  }

  private synthetic(text: string): number {
    return this.frame({ name: text, filename: '', line: 0 }, text);
  }

  private frame(frame: Frame, text: string): number {
    const key = `${frame.line}\u0000${frame.name}\u0000${frame.filename}\u0000${text}`;
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
