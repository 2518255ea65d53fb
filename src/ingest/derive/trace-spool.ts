/**
 * The entries of one device's trace, kept while a file is decoded: the walks over them go from the last to the first
 * and back again. The newest are in memory, the others in a temporary file, so that a trace may be longer than memory.
 */
import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { WalkEvents } from '../../allocator/walk/backward-walk.js';
import { type ColumnBatch, getI64, LAYOUTS, NULL_HIGH } from '../../model/columns.js';
import { makeTemporaryDirectory } from '../../store/temporary-files.js';
import { READ_OFFSET } from '../read/read-buffer.js';

const CHUNK_ENTRIES = 65_536;
/** Some 2.4 MB each; a trace of half a million entries never touches the disk. */
const CHUNKS_IN_MEMORY = 8;
const FIXED_BYTES = 8 + 8 + 8 + 8 + 4 + 1;
const TAIL_BYTES = 4 + 4 + 4;

export interface SpooledEvents extends WalkEvents {
  /** The file's number of the pool id; −1 = none. */
  readonly pool: Int32Array;
  readonly timeUs: Float64Array;
  /** Text ids of the file; −1 = none. */
  readonly compileContext: Int32Array;
  readonly userMetadata: Int32Array;
}

class Chunk {
  readonly bytes: Uint8Array;
  count = 0;
  /** Whether any entry has a pool, a compile context or user metadata. */
  hasTail = false;
  readonly address: Float64Array;
  readonly sizeBytes: Float64Array;
  readonly stream: Float64Array;
  readonly timeUs: Float64Array;
  readonly stackId: Int32Array;
  readonly action: Uint8Array;
  // The tail is not written to the file where it is empty.
  readonly pool: Int32Array;
  readonly compileContext: Int32Array;
  readonly userMetadata: Int32Array;
  private readonly capacity: number;

  /** `capacity` is a multiple of 8, which aligns all columns. */
  constructor(capacity: number) {
    this.capacity = capacity;
    const buffer = new ArrayBuffer(READ_OFFSET + capacity * (FIXED_BYTES + TAIL_BYTES));
    this.bytes = new Uint8Array(buffer, READ_OFFSET);
    const at = (bytesBefore: number) => READ_OFFSET + bytesBefore * capacity;
    this.address = new Float64Array(buffer, at(0), capacity);
    this.sizeBytes = new Float64Array(buffer, at(8), capacity);
    this.stream = new Float64Array(buffer, at(16), capacity);
    this.timeUs = new Float64Array(buffer, at(24), capacity);
    this.stackId = new Int32Array(buffer, at(32), capacity);
    this.action = new Uint8Array(buffer, at(36), capacity);
    this.pool = new Int32Array(buffer, at(37), capacity);
    this.compileContext = new Int32Array(buffer, at(41), capacity);
    this.userMetadata = new Int32Array(buffer, at(45), capacity);
  }

  get usedBytes(): number {
    return this.capacity * (this.hasTail ? FIXED_BYTES + TAIL_BYTES : FIXED_BYTES);
  }

  clearTail(): void {
    this.bytes.fill(255, FIXED_BYTES * this.capacity);
  }
}

interface WrittenChunk {
  readonly position: number;
  readonly count: number;
  readonly hasTail: boolean;
}

export class TraceSpool {
  /** Entries so far. */
  count = 0;
  /** The file's numbers of the pools that entries name. */
  readonly poolsNamed: number[] = [];
  /** The earliest time; null where no entry has one. */
  firstTimeUs: number | null = null;
  private lastPool = -1;
  private readonly chunks: (Chunk | WrittenChunk)[] = [];
  /** The chunk being filled, and the first one that is still in memory. */
  private open: Chunk | undefined;
  private firstInMemory = 0;
  private file: number | undefined;
  private fileBytes = 0;
  private diskFails = false;
  /** What chunks of the file are read into. */
  private scratch: Chunk | undefined;
  private readonly seq: Int32Array<ArrayBuffer>;
  private readonly chunkEntries: number;

  /** `chunkEntries`: a multiple of 8. */
  constructor(chunkEntries = CHUNK_ENTRIES) {
    this.chunkEntries = chunkEntries;
    this.seq = new Int32Array(chunkEntries);
  }

  /** Whether entries are in the temporary file. */
  get isOnDisk(): boolean {
    return this.file !== undefined;
  }

  /** Rows `from` to `to` (exclusive), which follow those added so far. */
  add(batch: ColumnBatch, from: number, to: number): void {
    const {
      action,
      addr,
      size_bytes: size,
      stream,
      time_us: time,
      pool,
      stack_id: stack,
      ...texts
    } = batch.columns(LAYOUTS.event);
    const { compile_context_id: context, user_metadata_id: metadata } = texts;
    for (let row = from; row < to; ) {
      const chunk = this.chunk();
      const rows = Math.min(to - row, this.chunkEntries - chunk.count);
      const at = chunk.count;
      for (let i = 0; i < rows; i += 1) {
        const source = row + i;
        chunk.address[at + i] = unsigned(addr, source);
        chunk.sizeBytes[at + i] = getI64(size, source);
        chunk.stream[at + i] = signed(stream, source);
        chunk.timeUs[at + i] = signed(time, source);
        this.note(chunk, pool[source]!, context[source]!, metadata[source]!, chunk.timeUs[at + i]!);
      }
      chunk.stackId.set(stack.subarray(row, row + rows), at);
      chunk.action.set(action.subarray(row, row + rows), at);
      chunk.pool.set(pool.subarray(row, row + rows), at);
      chunk.compileContext.set(context.subarray(row, row + rows), at);
      chunk.userMetadata.set(metadata.subarray(row, row + rows), at);
      chunk.count += rows;
      this.count += rows;
      row += rows;
    }
  }

  /** Hands out the entries from the last to the first, in windows that are valid during the call. */
  backward(visit: (events: SpooledEvents) => void): void {
    for (let i = this.chunks.length - 1; i >= 0; i -= 1) visit(this.events(i));
  }

  forward(visit: (events: SpooledEvents) => void): void {
    for (let i = 0; i < this.chunks.length; i += 1) visit(this.events(i));
  }

  /** Frees the memory and the file. */
  close(): void {
    if (this.file !== undefined) closeSync(this.file);
    this.file = undefined;
    this.chunks.length = 0;
  }

  private note(chunk: Chunk, pool: number, context: number, metadata: number, timeUs: number): void {
    if (pool >= 0 || context >= 0 || metadata >= 0) chunk.hasTail = true;
    if (timeUs < (this.firstTimeUs ?? Number.POSITIVE_INFINITY)) this.firstTimeUs = timeUs;
    if (pool === this.lastPool) return;
    this.lastPool = pool;
    if (pool >= 0 && !this.poolsNamed.includes(pool)) this.poolsNamed.push(pool);
  }

  private chunk(): Chunk {
    if (this.open !== undefined && this.open.count < this.chunkEntries) return this.open;
    const inMemory = this.chunks.length - this.firstInMemory;
    let next: Chunk | undefined;
    if (inMemory >= CHUNKS_IN_MEMORY && !this.diskFails) next = this.moveOut();
    next ??= new Chunk(this.chunkEntries);
    this.chunks.push(next);
    this.open = next;
    return next;
  }

  /** Writes the oldest chunk in memory to the file; undefined where the disk refuses, so that all stay in memory. */
  private moveOut(): Chunk | undefined {
    const oldest = this.chunks[this.firstInMemory] as Chunk;
    try {
      this.file ??= temporaryFile();
      const length = oldest.usedBytes;
      for (let written = 0; written < length; )
        written += writeSync(this.file, oldest.bytes, written, length - written, this.fileBytes + written);
      this.chunks[this.firstInMemory] = { position: this.fileBytes, count: oldest.count, hasTail: oldest.hasTail };
      this.fileBytes += length;
    } catch {
      this.diskFails = true;
      return undefined;
    }
    this.firstInMemory += 1;
    oldest.count = 0;
    oldest.hasTail = false;
    return oldest;
  }

  private events(index: number): SpooledEvents {
    const held = this.chunks[index]!;
    const chunk = held instanceof Chunk ? held : this.read(held);
    const { count, action, address, sizeBytes, stream, stackId, pool, timeUs, compileContext, userMetadata } = chunk;
    const first = index * this.chunkEntries;
    const { seq } = this;
    for (let i = 0; i < count; i += 1) seq[i] = first + i;
    return { count, seq, action, address, sizeBytes, stream, stackId, pool, timeUs, compileContext, userMetadata };
  }

  private read(written: WrittenChunk): Chunk {
    this.scratch ??= new Chunk(this.chunkEntries);
    const chunk = this.scratch;
    chunk.count = written.count;
    chunk.hasTail = written.hasTail;
    const length = chunk.usedBytes;
    for (let done = 0; done < length; ) {
      const got = readSync(this.file!, chunk.bytes, done, length - done, written.position + done);
      if (got === 0) throw new Error('the temporary file of a trace ended early');
      done += got;
    }
    if (!written.hasTail) chunk.clearTail();
    return chunk;
  }
}

/** Deleted while it is open, so that it goes with the process whatever happens. */
function temporaryFile(): number {
  const directory = makeTemporaryDirectory();
  try {
    return openSync(join(directory, 'trace'), 'wx+');
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function isNull(column: Uint32Array, row: number): boolean {
  return column[row * 2 + 1] === NULL_HIGH && column[row * 2] === 0;
}

function signed(column: Uint32Array, row: number): number {
  return isNull(column, row) ? Number.NaN : getI64(column, row);
}

function unsigned(column: Uint32Array, row: number): number {
  return isNull(column, row) ? Number.NaN : column[row * 2 + 1]! * 4294967296 + column[row * 2]!;
}
