/**
 * What a page holds besides its text: one document of JSON, and for each device one block of bytes. `src/report/html`
 * writes it, `src/report/page` reads it. Addresses never cross as 64-bit integers: a block has a place in the rows of
 * the address map, from which its band gives the address.
 */
import type { BlockColumns, Level, LevelRange, SegmentColumns } from './levels.js';

/** `<script type="application/json" id="page">`. */
export interface PageData {
  readonly subject: 'run' | 'comparison' | 'bisection' | 'history';
  readonly devices: readonly PageDevice[];
  /** Devices 0 and 1 are drawn on one axis, with their difference. */
  readonly isPair: boolean;
}

/** A device whose course is drawn. Its bytes are in `<script type="application/octet-stream" id="device-N">`. */
export interface PageDevice {
  /** `rank 3, device 0`; of a comparison with the run before it. */
  readonly title: string;
  /** Operand of commands: `night-shift/3/snapshot#1`. */
  readonly handle: string;
  readonly device: number;
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** `approximate`: the trace contradicts the allocator's rules. */
  readonly basis: 'actual' | 'approximate';
  /** Figures of the bytes are multiples of this: 512 or 1. */
  readonly unitBytes: number;
  /** Names in the order of stacking, the lowest first. Codes of blocks index this list. */
  readonly components: readonly string[];
  readonly deviceTotalBytes: number | null;
  /** Times are microseconds after this one; null: there are none, see {@link noTimes}. */
  readonly firstTimeUs: number | null;
  /** Why entries cannot be drawn by time. `unordered`: the clock went back. Null: they can. */
  readonly noTimes: 'missing' | 'unordered' | null;
  readonly levels: readonly (LevelRange & { readonly name: string })[];
  readonly marks: readonly PageMark[];
  readonly steps: readonly { readonly name: string; readonly first: number; readonly last: number }[];
  readonly blocks: number;
  /** Of all blocks of the trace; those left out are the smallest by bytes × entries, and {@link blocksOutside}. */
  readonly allBlocks: number;
  /** Blocks that no drawn segment holds: the trace contradicts the dump, or the segment is left out. */
  readonly blocksOutside: number;
  /** No trace was recorded: the only state is the dumped one. */
  readonly isDump: boolean;
  /** Ranges of entries (the last one included) in which every live block is in the page. */
  readonly wholeRanges: readonly { readonly from: number; readonly to: number }[];
  readonly segments: number;
  readonly allSegments: number;
  readonly bands: number;
  readonly stacks: number;
  /** Pages of expandable segments: what a flush can give back begins and ends at a multiple of it. */
  readonly largePageBytes: number;
  /** Histogram of all blocks, rows by size (powers of two from 512 B), columns by life (powers of two entries). */
  readonly lifetimes: readonly LifetimeCell[];
}

export interface PageMark {
  readonly kind: 'oom' | 'peak' | 'peak_reserved' | 'snapshot';
  /** The state after this entry. */
  readonly seq: number;
  readonly text: string;
  /** Of an OOM: the rounded request; of a peak: its bytes. */
  readonly bytes: number | null;
  /** Of an OOM: which pool the request is for. */
  readonly request?: { readonly stream: number | null; readonly isSmall: boolean };
}

export interface LifetimeCell {
  /** Blocks of [512 × 2^size, 512 × 2^(size + 1)) bytes; smaller ones are in 0. */
  readonly size: number;
  /** Lives of [2^life, 2^(life + 1)) entries; −1: live at the end of the trace. */
  readonly life: number;
  readonly blocks: number;
  readonly bytes: number;
}

/** Columns of a device, decoded. Blocks are in the order of `from`. */
export interface DeviceColumns {
  readonly levels: readonly PageLevel[];
  readonly blocks: PageBlocks;
  readonly segments: PageSegments;
  /** Ranges of addresses that were ever reserved, in ascending order; gaps between them are not drawn. */
  readonly bands: readonly Band[];
  /** Index into {@link frames}, innermost first, by stack. */
  readonly stacks: readonly (readonly number[])[];
  /** `function file.py:12`. */
  readonly frames: readonly string[];
}

/** Columns of a level that are in bytes. */
export const LEVEL_BYTES = [
  'active',
  'pending',
  'reserved',
  'privateReserved',
  'privateActive',
  'activeLeast',
  'reservedMost',
] as const;

export interface PageLevel extends Level {
  readonly name: string;
  /** Microseconds after `firstTimeUs` at the first entry of each column; never decreasing; empty without times. */
  readonly startUs: Float64Array;
}

export interface PageBlocks extends BlockColumns {
  /** Offset in bytes in the rows of the address map: all bands one after the other. */
  readonly place: Float64Array;
  /** Index of the stack; −1 without one. */
  readonly stack: Int32Array;
}

export interface PageSegments extends SegmentColumns {
  readonly isExpandable: Uint8Array;
  readonly isSmall: Uint8Array;
  readonly place: Float64Array;
  /** Of the stream; −1 unknown. */
  readonly stream: Float64Array;
}

export interface Band {
  /** Offset in bytes of its start in the rows. */
  readonly place: number;
  readonly bytes: number;
  readonly address: number;
}
