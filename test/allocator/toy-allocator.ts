/**
 * A naive forward allocator that records what torch records, and keeps the truth after every event. It follows the
 * rules the backward walk relies on (rounding, splitting, segment sizes, coalescing, unit-wise unmapping), not torch's
 * choice among blocks.
 */

import { allocationSize, isSmall, roundSize } from '../../src/allocator/rounding.js';
import type { AllocatorSettings } from '../../src/allocator/settings.js';
import { LARGE_REMAINDER_BYTES, MIN_BLOCK_BYTES, SMALL_SEGMENT_BYTES } from '../../src/allocator/settings.js';
import type { AllocatorState } from '../../src/allocator/walk/allocator-state.js';
import type { FinalState } from '../../src/allocator/walk/backward-walk.js';
import { MIB } from '../../src/model/units.js';
import type { TraceAction } from '../../src/model/vocabulary.js';
import { finalState } from '../support/snapshot-rows.js';
import { freeHoles } from '../support/states/free-holes.js';

interface Piece {
  address: number;
  size: number;
  requested: number;
  stack: number;
  use: 'free' | 'live' | 'pending' | 'unmapped';
}
/** A cudaMalloc segment, or the whole reservation of an expandable one. */
interface Region {
  stream: number;
  small: boolean;
  expandable: boolean;
  base: number;
  pieces: Piece[];
}
export interface ToyEvent {
  readonly action: TraceAction;
  readonly address: number;
  readonly bytes: number;
  readonly stream: number;
  readonly stack: number;
}
/** One mapped run with its active blocks. */
export interface ToyRun {
  readonly address: number;
  readonly bytes: number;
  readonly stream: number;
  readonly small: boolean;
  readonly expandable: boolean;
  readonly blocks: { address: number; size: number; requested: number; pending: boolean; stack: number }[];
  readonly holes: { address: number; bytes: number }[];
}

const RESERVATION_BYTES = 4096 * MIB;

export class ToyAllocator {
  readonly events: ToyEvent[] = [];
  /** `moments[i]` is the truth after event i − 1; moment 0 is the empty start. */
  readonly moments: ToyRun[][] = [[]];
  settings: AllocatorSettings;
  private readonly regions: Region[] = [];
  private frontier = 0x7f0000000000;
  private stacks = 0;

  constructor(settings: AllocatorSettings) {
    this.settings = settings;
  }

  /** Addresses of live blocks, in no particular order. */
  live(): number[] {
    return this.regions.flatMap((r) => r.pieces.filter((p) => p.use === 'live').map((p) => p.address));
  }

  pending(): number[] {
    return this.regions.flatMap((r) => r.pieces.filter((p) => p.use === 'pending').map((p) => p.address));
  }

  /** `gap` 0 puts a new segment right behind the last one. */
  malloc(requested: number, stream: number, gap: number): void {
    const size = roundSize(requested, this.settings);
    const small = isSmall(size);
    const [region, piece] = this.bestFit(size, small, stream) ?? this.obtain(size, small, stream, gap);
    const rest = piece.size - size;
    const split =
      region.small || this.settings.expandableSegments
        ? rest >= MIN_BLOCK_BYTES
        : size < this.settings.maxSplitBytes && rest > LARGE_REMAINDER_BYTES;
    if (split) {
      const at = region.pieces.indexOf(piece);
      region.pieces.splice(at + 1, 0, { ...piece, address: piece.address + size, size: rest });
      piece.size = size;
    }
    piece.use = 'live';
    piece.requested = requested;
    piece.stack = this.stacks++;
    this.emit('alloc', piece.address, requested, stream, piece.stack);
  }

  /** Frees; `deferred` leaves it pending, as record_stream does. */
  free(address: number, deferred: boolean): void {
    const [region, piece] = this.find(address);
    piece.use = 'pending';
    this.emit('free_requested', address, piece.requested, region.stream, this.stacks++);
    if (!deferred) this.complete(address);
  }

  complete(address: number): void {
    const [region, piece] = this.find(address);
    piece.use = 'free';
    const { requested } = piece;
    coalesce(region);
    this.emit('free_completed', address, requested, region.stream, this.stacks++);
  }

  /** empty_cache(): completes the pending frees, gives back what is wholly free. */
  flush(): void {
    for (const address of this.pending()) this.complete(address);
    for (const region of [...this.regions]) {
      const only = region.pieces[0]!;
      if (!region.expandable && region.pieces.length === 1 && only.use === 'free') {
        this.regions.splice(this.regions.indexOf(region), 1);
        this.emit('segment_free', only.address, only.size, region.stream, -1);
      } else if (region.expandable) {
        for (const piece of region.pieces.filter((p) => p.use === 'free')) this.unmap(region, piece);
      }
    }
  }

  finalState(): FinalState {
    const runs = this.moments.at(-1)!;
    return finalState({
      segments: runs.map((run) => ({ ...run, type: run.small ? 'small' : 'large' })),
      blocks: runs
        .flatMap((run) => run.blocks)
        .map(({ size, pending, ...block }) => ({
          ...block,
          bytes: size,
          state: pending ? 'active_pending_free' : 'active_allocated',
        })),
    });
  }

  private obtain(size: number, small: boolean, stream: number, gap: number): [Region, Piece] {
    if (!this.settings.expandableSegments) {
      const bytes = allocationSize(size, this.settings);
      const address = this.frontier + gap;
      this.frontier = address + bytes;
      const piece: Piece = { address, size: bytes, requested: 0, stack: -1, use: 'free' };
      const region: Region = { stream, small, expandable: false, base: address, pieces: [piece] };
      this.regions.push(region);
      this.emit('segment_alloc', address, bytes, stream, -1);
      return [region, piece];
    }
    let region = this.regions.find((r) => r.expandable && r.small === small && r.stream === stream);
    if (region === undefined) {
      const base = this.frontier + gap;
      this.frontier = base + RESERVATION_BYTES;
      const piece: Piece = { address: base, size: RESERVATION_BYTES, requested: 0, stack: -1, use: 'unmapped' };
      region = { stream, small, expandable: true, base, pieces: [piece] };
      this.regions.push(region);
    }
    // The first unmapped range that is large enough together with the free piece before it.
    const unit = small ? SMALL_SEGMENT_BYTES : this.settings.largeSegmentBytes;
    for (let i = 0; i < region.pieces.length; i += 1) {
      const piece = region.pieces[i]!;
      const before = region.pieces[i - 1];
      const have = before?.use === 'free' ? before.size : 0;
      if (piece.use !== 'unmapped' || have + piece.size < size) continue;
      const bytes = Math.ceil((size - have) / unit) * unit;
      const { address } = piece;
      region.pieces.splice(i, 0, { address, size: bytes, requested: 0, stack: -1, use: 'free' });
      piece.address += bytes;
      piece.size -= bytes;
      coalesce(region);
      this.emit('segment_map', address, bytes, stream, -1);
      const mapped = region.pieces.find((p) => p.address <= address && p.address + p.size > address);
      if (mapped !== undefined) return [region, mapped];
    }
    throw new Error('toy allocator: reservation exhausted');
  }

  private unmap(region: Region, piece: Piece): void {
    const unit = region.small ? SMALL_SEGMENT_BYTES : this.settings.largeSegmentBytes;
    const low = region.base + Math.ceil((piece.address - region.base) / unit) * unit;
    const high = region.base + Math.floor((piece.address + piece.size - region.base) / unit) * unit;
    if (low >= high) return;
    const end = piece.address + piece.size;
    const part = (address: number, to: number, use: Piece['use']): Piece[] =>
      to > address ? [{ address, size: to - address, requested: 0, stack: -1, use }] : [];
    region.pieces.splice(
      region.pieces.indexOf(piece),
      1,
      ...part(piece.address, low, 'free'),
      ...part(low, high, 'unmapped'),
      ...part(high, end, 'free'),
    );
    coalesce(region);
    this.emit('segment_unmap', low, high - low, region.stream, -1);
  }

  private bestFit(size: number, small: boolean, stream: number): [Region, Piece] | undefined {
    const { maxSplitBytes, maxNonSplitRoundingBytes } = this.settings;
    let best: [Region, Piece] | undefined;
    for (const region of this.regions) {
      if (region.small !== small || region.stream !== stream) continue;
      for (const piece of region.pieces) {
        if (piece.use !== 'free' || piece.size < size) continue;
        if (best === undefined || piece.size < best[1].size) best = [region, piece];
      }
    }
    if (best === undefined) return undefined;
    if (size < maxSplitBytes && best[1].size >= maxSplitBytes) return undefined;
    if (size >= maxSplitBytes && best[1].size >= size + maxNonSplitRoundingBytes) return undefined;
    return best;
  }

  private find(address: number): [Region, Piece] {
    for (const region of this.regions) {
      const piece = region.pieces.find((p) => p.address === address && p.use !== 'unmapped');
      if (piece !== undefined) return [region, piece];
    }
    throw new Error('toy allocator: no such block');
  }

  private emit(action: TraceAction, address: number, bytes: number, stream: number, stack: number): void {
    this.events.push({ action, address, bytes, stream, stack });
    this.moments.push(this.runs());
  }

  private runs(): ToyRun[] {
    const runs: ToyRun[] = [];
    for (const { stream, small, expandable, pieces } of this.regions) {
      let run: ToyRun | undefined;
      for (const piece of pieces) {
        if (piece.use === 'unmapped') {
          run = undefined;
          continue;
        }
        if (run === undefined) {
          run = { address: piece.address, bytes: 0, stream, small, expandable, blocks: [], holes: [] };
          runs.push(run);
        }
        (run as { bytes: number }).bytes += piece.size;
        const { address, size, requested, stack } = piece;
        if (piece.use === 'free') run.holes.push({ address, bytes: size });
        else run.blocks.push({ address, size, requested, pending: piece.use === 'pending', stack });
      }
    }
    return runs.sort((a, b) => a.address - b.address);
  }
}

function coalesce(region: Region): void {
  const merged: Piece[] = [];
  for (const piece of region.pieces) {
    if (piece.size === 0) continue;
    const last = merged.at(-1);
    if (last !== undefined && last.use === piece.use && (piece.use === 'free' || piece.use === 'unmapped')) {
      last.size += piece.size;
    } else merged.push(piece);
  }
  region.pieces = merged;
}

export function activeBytes(runs: readonly ToyRun[]): number {
  return runs.reduce((sum, run) => sum + run.blocks.reduce((inner, block) => inner + block.size, 0), 0);
}

export function reservedBytes(runs: readonly ToyRun[]): number {
  return runs.reduce((sum, run) => sum + run.bytes, 0);
}

/** A walked-back state in the toy's terms, for comparison; sizes as estimated. */
export function asRuns(state: AllocatorState): ToyRun[] {
  const holes = freeHoles(state);
  return Array.from({ length: state.segments.count }, (_, i) => {
    const { segments, blocks } = state;
    const run: ToyRun = {
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
