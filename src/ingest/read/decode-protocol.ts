/** Messages from a decoding thread to the writing thread, in order, and the limit of running ahead. */

import type { MessagePort } from 'node:worker_threads';
import type { RunFigures } from '../../attribution/blocks/attribution.js';
import { batchBytes, LAYOUTS, type TableLayout } from '../../model/columns.js';
import type { ErrorCode, ErrorPlace } from '../../model/errors.js';
import { maxOf } from '../../model/lists.js';
import { NSYS_LAYOUTS, type NsysKind } from '../../model/nsys-rows.js';
import type { Dictionary, ParseSummary, SnapshotSummary } from '../../model/parser.js';
import { BATCH_ROWS } from '../../model/tables.js';
import type { DerivedSink, DerivedSnapshotSink, SnapshotDerivation } from '../derive/derive-snapshot.js';
import { TEXT_LAYOUTS, type TextKind } from '../derive/derive-text.js';
import { KEY_CHARS, type StackKeys } from './content-keys.js';
import type { FileDigest } from './file-digest.js';

/** The layouts that travel, by the method of SnapshotSink that takes them. */
export const TRAVELLING = {
  segments: LAYOUTS.segment,
  blocks: LAYOUTS.block,
  annotations: LAYOUTS.annotation,
  hostEvents: LAYOUTS.host_event,
  hostSegments: LAYOUTS.host_segment,
  blockLives: LAYOUTS.block_life,
  segmentLives: LAYOUTS.segment_life,
  entries: LAYOUTS.trace_entry,
  buckets: LAYOUTS.derived_bucket,
} as const satisfies Record<string, TableLayout>;
export type RowKind = keyof typeof TRAVELLING;

/** Every buffer holds a full batch of the widest layout, so that any of them serves any batch. */
export const BUFFER_BYTES = maxOf(Object.values(TRAVELLING).map((layout) => batchBytes(layout, BATCH_ROWS)));
/** In flight at most; beyond that the decoder waits for the writer. 3 × 5.6 MB. */
export const MAX_BUFFERS = 3;
/**
 * A batch that needs no more than this travels in memory of its own: four fifths of the batches of a small file would
 * leave a buffer empty.
 */
export const SMALL_BATCH_BYTES = 128 * 1024;
/**
 * Messages not yet taken, at most. Bounds what small batches, notes and incidents of a file that waits for its turn may
 * pile up.
 */
export const MAX_MESSAGES = 256;

/** Places in the Int32s that both threads see. */
export const TAKEN = { buffers: 0, messages: 1 } as const;

/** New entries of the file's dictionary since the last message; must be known before the rows that refer to them. */
export interface DictionaryDelta {
  readonly texts: readonly string[];
  /** Name, filename and line of each frame. */
  readonly frames: Int32Array;
  readonly stackLengths: Int32Array;
  readonly stackFrames: Int32Array;
  /** Content keys of the stacks, one after the other. */
  readonly stackKeys: string;
  readonly pools: readonly (readonly [number, number])[];
}

/** The sinks of a file by the name that messages give them. */
export interface Sinks {
  readonly source: DerivedSink;
  readonly snapshot: DerivedSnapshotSink;
  readonly nsys: NonNullable<DerivedSink['nsys']>;
}

export type FromDecoder =
  | { readonly type: 'snapshot' }
  /** A method of a sink, called there as it was here. */
  | { readonly type: 'call'; readonly sink: keyof Sinks; readonly method: string; readonly args: readonly unknown[] }
  | {
      readonly type: 'rows';
      readonly rows: number;
      readonly buffer: ArrayBuffer;
      readonly of:
        | { readonly sink: 'snapshot'; readonly kind: RowKind; readonly dictionary: DictionaryDelta }
        | { readonly sink: 'source'; readonly kind: TextKind; readonly newTexts: readonly string[] }
        | { readonly sink: 'nsys'; readonly kind: NsysKind };
    }
  | { readonly type: 'progress'; readonly bytes: number }
  | {
      readonly type: 'snapshot_end';
      readonly summary: SnapshotSummary;
      readonly derivation: SnapshotDerivation;
      readonly dictionary: DictionaryDelta;
    }
  | { readonly type: 'done'; readonly summary: ParseSummary; readonly digest: FileDigest }
  | { readonly type: 'failed'; readonly code: ErrorCode; readonly fact: string; readonly place: ErrorPlace }
  | { readonly type: 'bug'; readonly message: string; readonly stack: string };

export type RowsOf = Extract<FromDecoder, { readonly type: 'rows' }>['of'];

export function layoutOf({ sink, kind }: RowsOf): TableLayout {
  return sink === 'snapshot' ? TRAVELLING[kind] : sink === 'source' ? TEXT_LAYOUTS[kind] : NSYS_LAYOUTS[kind];
}

/** What a thread is started with. */
export interface DecoderLink {
  /** Two Int32s: see {@link TAKEN}. */
  readonly taken: SharedArrayBuffer;
  /** Brings buffers back. A port of its own, because it is read synchronously while jobs arrive by event. */
  readonly buffers: MessagePort;
}

/** Jobs are done one after the other; the messages of each end with `done`, `failed` or `bug`. */
export interface DecoderJob {
  readonly path: string;
  readonly parser: string;
  readonly name: string;
  /** The file as the other thread saw it; anything else is another file. */
  readonly sizeBytes: number;
  readonly mtimeMs: number;
  /** See `DecodeContext`. */
  readonly allTables?: boolean | undefined;
  readonly formats?: string | undefined;
  readonly run?: RunFigures | undefined;
}

/** Collects what is new in a growing dictionary. */
export class DictionaryCursor {
  private texts = 0;
  private frames = 0;
  private stacks = 0;
  private pools = 0;
  private readonly dictionary: Dictionary;
  private readonly keys: StackKeys;

  constructor(dictionary: Dictionary, keys: StackKeys) {
    this.dictionary = dictionary;
    this.keys = keys;
  }

  take(): DictionaryDelta {
    const { dictionary } = this;
    const texts: string[] = [];
    for (; this.texts < dictionary.textCount; this.texts++) texts.push(dictionary.text(this.texts));
    const frames = new Int32Array((dictionary.frameCount - this.frames) * 3);
    for (let i = 0; this.frames < dictionary.frameCount; this.frames++) {
      const frame = dictionary.frame(this.frames);
      frames[i++] = frame.name;
      frames[i++] = frame.filename;
      frames[i++] = frame.line;
    }
    const stackLengths = new Int32Array(dictionary.stackCount - this.stacks);
    let total = 0;
    for (let i = 0; i < stackLengths.length; i++) {
      stackLengths[i] = dictionary.stackFrames(this.stacks + i).length;
      total += stackLengths[i]!;
    }
    const stackFrames = new Int32Array(total);
    let stackKeys = '';
    for (let at = 0; this.stacks < dictionary.stackCount; this.stacks++) {
      stackKeys += this.keys.stackKey(this.stacks);
      const stack = dictionary.stackFrames(this.stacks);
      stackFrames.set(stack, at);
      at += stack.length;
    }
    const pools: (readonly [number, number])[] = [];
    for (; this.pools < dictionary.poolCount; this.pools++) pools.push(dictionary.pool(this.pools));
    return { texts, frames, stackLengths, stackFrames, stackKeys, pools };
  }
}

/** The other end: a dictionary made of the deltas. */
export class ReceivedDictionary implements Dictionary, StackKeys {
  private readonly texts: string[] = [];
  private readonly frames: { name: number; filename: number; line: number }[] = [];
  private readonly stacks: Int32Array[] = [];
  private readonly keys: string[] = [];
  private readonly pools: (readonly [number, number])[] = [];

  add(delta: DictionaryDelta): void {
    for (const text of delta.texts) this.texts.push(text);
    for (let i = 0; i < delta.frames.length; i += 3) {
      this.frames.push({ name: delta.frames[i]!, filename: delta.frames[i + 1]!, line: delta.frames[i + 2]! });
    }
    const firstStack = this.stacks.length;
    let at = 0;
    for (const length of delta.stackLengths) {
      const key = (this.stacks.length - firstStack) * KEY_CHARS;
      this.keys.push(delta.stackKeys.slice(key, key + KEY_CHARS));
      this.stacks.push(delta.stackFrames.subarray(at, at + length));
      at += length;
    }
    for (const pool of delta.pools) this.pools.push(pool);
  }

  get textCount(): number {
    return this.texts.length;
  }
  text(id: number): string {
    return this.texts[id]!;
  }
  get frameCount(): number {
    return this.frames.length;
  }
  frame(id: number) {
    return this.frames[id]!;
  }
  get stackCount(): number {
    return this.stacks.length;
  }
  stackFrames(id: number): Int32Array {
    return this.stacks[id]!;
  }
  stackKey(id: number): string {
    return this.keys[id]!;
  }
  get poolCount(): number {
    return this.pools.length;
  }
  pool(id: number): readonly [number, number] {
    return this.pools[id]!;
  }
}
