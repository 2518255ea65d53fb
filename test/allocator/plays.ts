/**
 * Random requests played on the allocator model, with the truth after every entry: kept from the entries and the growth
 * of the live bytes, without the walks that are tested with it.
 */
import fc from 'fast-check';
import { createDriver } from '../../samples/generate/simulate/simulated-driver.js';
import type { Block } from '../../src/allocator/caching/block.js';
import { CachingAllocator, type TraceEntry } from '../../src/allocator/caching/caching-allocator.js';
import { type AllocatorSettings, DEFAULT_SETTINGS } from '../../src/allocator/settings.js';
import type { AllocatorState } from '../../src/allocator/walk/allocator-state.js';
import type { FinalState } from '../../src/allocator/walk/walk-input.js';
import { MIB } from '../../src/model/units.js';
import { finalState } from '../support/snapshot-rows.js';
import { freeHoles } from '../support/states/free-holes.js';

const size = fc.oneof(
  fc.integer({ min: 1, max: MIB }),
  fc.integer({ min: MIB + 1, max: 10 * MIB }),
  fc.integer({ min: 10 * MIB, max: 60 * MIB }),
  // Just below a segment size, so that remainders of up to and above 1 MiB stay.
  fc
    .tuple(fc.integer({ min: 6, max: 20 }), fc.integer({ min: -3, max: 2 * MIB + 600 }))
    .map(([k, d]) => k * 2 * MIB - d),
  fc.integer({ min: 3, max: 30 }).map((k) => (k * MIB) / 2),
);
const step = fc.record({
  kind: fc.constantFrom('malloc', 'malloc', 'malloc', 'free', 'free', 'free', 'defer', 'complete', 'flush'),
  size,
  pick: fc.nat(),
});
export const steps = fc.array(step, { minLength: 1, maxLength: 120, size: 'max' });
// Sizes that fill each other's holes up to a remainder: blocks whose true size shows only when a neighbour is met.
// All is freed in the end, so that the peak is in the middle and rests on such sizes.
const tight = fc
  .tuple(
    fc.array(
      fc.record({
        kind: fc.constantFrom('malloc', 'malloc', 'malloc', 'free', 'free'),
        size: fc.integer({ min: 6, max: 20 }).map((k) => (k * MIB) / 4),
        pick: fc.nat().map((k) => 7 * k + 1),
      }),
      { minLength: 40, maxLength: 120, size: 'max' },
    ),
    fc.array(fc.record({ kind: fc.constant('free'), size: fc.constant(1), pick: fc.nat() }), {
      minLength: 60,
      maxLength: 60,
    }),
  )
  .map(([first, frees]) => [...first, ...frees]);

export const EXPANDABLE: AllocatorSettings = { ...DEFAULT_SETTINGS, expandableSegments: true };
export const MAX_SPLIT: AllocatorSettings = { ...DEFAULT_SETTINGS, maxSplitBytes: 24 * MIB };
const POWERS: AllocatorSettings = { ...DEFAULT_SETTINGS, roundupPower2Divisions: new Array<number>(16).fill(4) };

export const SETTINGS_AND_STEPS = [
  ['default', DEFAULT_SETTINGS, steps],
  ['tight holes', DEFAULT_SETTINGS, tight],
  ['expandable_segments', EXPANDABLE, steps],
  ['max_split_size', MAX_SPLIT, steps],
  ['roundup_power2_divisions', POWERS, steps],
] as const;

interface LiveBlock {
  readonly address: number;
  readonly size: number;
  readonly requested: number;
  readonly pending: boolean;
  readonly stack: number;
}

/** One mapped run with its active blocks. */
export interface Run {
  readonly address: number;
  readonly bytes: number;
  readonly stream: number;
  readonly small: boolean;
  readonly expandable: boolean;
  readonly blocks: LiveBlock[];
  readonly holes: { address: number; bytes: number }[];
}

type Extent = Omit<Run, 'blocks' | 'holes'>;

export class Play {
  readonly events: {
    action: TraceEntry<number>['action'];
    address: number;
    bytes: number;
    stream: number;
    stack: number;
  }[] = [];
  /** `moments[i]` is the truth after event i − 1; moment 0 is the empty start. */
  readonly moments: Run[][] = [[]];
  private readonly allocator: CachingAllocator<number>;
  private readonly handles = new Map<number, Block<number>>();
  /** By address, as the extents. */
  private blocks: readonly LiveBlock[] = [];
  private extents: Extent[] = [];
  private calls = 0;
  private shift = 0;
  private active = 0;

  constructor(settings: AllocatorSettings) {
    const driver = createDriver({ totalBytes: 2 ** 40 });
    this.allocator = new CachingAllocator<number>({
      driver: {
        ...driver,
        malloc: (bytes) => driver.malloc(bytes)! + this.shift,
        reserve: (bytes, reservation) => driver.reserve(bytes, reservation) + this.shift,
      },
      settings,
      trace: (entry) => this.record(entry),
    });
  }

  get settings(): AllocatorSettings {
    return this.allocator.settings;
  }

  /** Expandable segments can be turned off and on where the first settings had them. */
  set settings(settings: AllocatorSettings) {
    (this.allocator as { settings: AllocatorSettings }).settings = settings;
  }

  /** Addresses of live blocks, or of those that wait for their free. */
  live(pending = false): number[] {
    return this.blocks.filter((block) => block.pending === pending).map(({ address }) => address);
  }

  /** `gap` 0 puts a new segment right behind the last one. */
  malloc(requested: number, stream: number, gap: number): void {
    this.shift += gap;
    const result = this.allocator.malloc(requested, stream, this.calls++);
    if (!result.ok) throw new Error('out of memory');
    this.handles.set(result.block.addr, result.block);
  }

  /** Frees; `deferred` leaves it pending, as record_stream does. */
  free(address: number, deferred: boolean): void {
    const block = this.handles.get(address)!;
    if (deferred) this.allocator.requestFree(block, this.calls++);
    else this.allocator.free(block, this.calls++);
  }

  complete(address: number): void {
    this.allocator.completeFree(this.handles.get(address)!, this.calls++);
  }

  flush(): void {
    this.allocator.flush(this.calls++);
  }

  private record({ action, addr, sizeBytes: bytes, stream, stack }: TraceEntry<number>): void {
    const address = addr!;
    const active = this.allocator.statistics.activeBytes.current;
    const at = this.blocks.findIndex((block) => block.address >= address);
    const index = at < 0 ? this.blocks.length : at;
    if (action === 'segment_alloc' || action === 'segment_map')
      // Requests of the small pool get 2 MiB, those of the large pool more.
      this.add({ address, bytes, stream, small: bytes === 2 * MIB, expandable: action === 'segment_map' });
    else if (action === 'segment_free' || action === 'segment_unmap') this.remove(address, address + bytes);
    else if (action === 'alloc') {
      const block = { address, size: active - this.active, requested: bytes, pending: false, stack: stack! };
      this.blocks = this.blocks.toSpliced(index, 0, block);
    } else if (action === 'free_requested')
      this.blocks = this.blocks.with(index, { ...this.blocks[index]!, pending: true });
    else this.blocks = this.blocks.toSpliced(index, 1);
    this.active = active;
    this.events.push({ action, address, bytes, stream, stack: stack ?? -1 });
    this.moments.push(this.runs());
  }

  private add(extent: Extent): void {
    const sorted = [...this.extents, extent].sort((a, b) => a.address - b.address);
    this.extents = [];
    for (const next of sorted) {
      const last = this.extents.at(-1);
      // Reservations are larger than what is ever mapped of them: pages that touch are of one.
      if (last?.expandable === true && next.expandable && last.address + last.bytes === next.address)
        this.extents.splice(-1, 1, { ...last, bytes: last.bytes + next.bytes });
      else this.extents.push(next);
    }
  }

  private remove(from: number, to: number): void {
    this.extents = this.extents.flatMap((extent) => {
      const end = extent.address + extent.bytes;
      if (to <= extent.address || end <= from) return [extent];
      const before = { ...extent, bytes: from - extent.address };
      return [before, { ...extent, address: to, bytes: end - to }].filter(({ bytes }) => bytes > 0);
    });
  }

  private runs(): Run[] {
    let next = 0;
    return this.extents.map((extent) => {
      const run: Run = { ...extent, blocks: [], holes: [] };
      const end = extent.address + extent.bytes;
      let at = extent.address;
      const holeUntil = (address: number): void => {
        if (address > at) run.holes.push({ address: at, bytes: address - at });
      };
      for (let block = this.blocks[next]; block !== undefined && block.address < end; block = this.blocks[++next]) {
        holeUntil(block.address);
        run.blocks.push(block);
        at = block.address + block.size;
      }
      holeUntil(end);
      return run;
    });
  }
}

type Steps = readonly { readonly kind: string; readonly size: number; readonly pick: number }[];

export const play = (settings: AllocatorSettings, list: Steps): Play => playOn(new Play(settings), list);

export function playOn(played: Play, list: Steps): Play {
  for (const { kind, size: bytes, pick } of list) {
    const live = played.live();
    const pending = played.live(true);
    if (kind === 'malloc') played.malloc(bytes, pick % 7 === 0 ? 1 : 0, pick % 3 === 0 ? 2 * MIB : 0);
    else if (kind === 'flush' && pick % 3 === 0) played.flush();
    else if ((kind === 'free' || kind === 'defer') && live.length > 0)
      played.free(live[pick % live.length]!, kind === 'defer');
    else if (kind === 'complete' && pending.length > 0) played.complete(pending[pick % pending.length]!);
  }
  return played;
}

/** A dump of this moment. */
export const dumpOf = (runs: readonly Run[]): FinalState =>
  finalState({
    segments: runs.map((run) => ({ ...run, type: run.small ? 'small' : 'large' })),
    blocks: runs
      .flatMap((run) => run.blocks)
      .map(({ size: bytes, pending, ...block }) => {
        const state = pending ? 'active_pending_free' : 'active_allocated';
        return { ...block, bytes, state };
      }),
  });

export function activeBytes(runs: readonly Run[]): number {
  return runs.reduce((sum, run) => sum + run.blocks.reduce((inner, block) => inner + block.size, 0), 0);
}

export function reservedBytes(runs: readonly Run[]): number {
  return runs.reduce((sum, run) => sum + run.bytes, 0);
}

/** A walked-back state as runs, for comparison; sizes as estimated. */
export function asRuns(state: AllocatorState): Run[] {
  const holes = freeHoles(state);
  return Array.from({ length: state.segments.count }, (_, i) => {
    const { segments, blocks } = state;
    const run: Run = {
      address: segments.address[i]!,
      bytes: segments.totalBytes[i]!,
      stream: segments.stream[i]!,
      small: segments.small[i] === 1,
      expandable: segments.expandable[i] === 1,
      blocks: [],
      holes: [],
    };
    for (let row = segments.firstBlock[i]!; row < segments.firstBlock[i + 1]!; row += 1) {
      run.blocks.push({
        address: blocks.address[row]!,
        size: blocks.sizeBytes[row]!,
        requested: blocks.requestedBytes[row]!,
        pending: blocks.state[row] === 1,
        stack: blocks.stackId[row]!,
      });
    }
    for (let row = 0; row < holes.count; row += 1) {
      if (holes.segment[row] === i) run.holes.push({ address: holes.address[row]!, bytes: holes.bytes[row]! });
    }
    return run;
  });
}
