/**
 * The framing of a transaction log: records cut into chunks, as in LevelDB's log. Chunks are found by their checksums,
 * so that the two block grids of upstream need not be distinguished: until 0.17.5 wandb-core began the first block
 * after the header of the file, all others begin it with the header.
 */
import { crc32 } from 'node:zlib';
import type { ByteSource } from '../../src/model/parser.js';

/** `:W&B`, 0xBEE1 in little endian, version. */
export const FILE_HEADER_BYTES = 7;
const CHUNK_HEADER_BYTES = 7;
const BLOCK_BYTES = 32_768;
const MOST_PAYLOAD = BLOCK_BYTES - CHUNK_HEADER_BYTES;
/** Where a block may begin, modulo its size. */
const GRIDS = [0, FILE_HEADER_BYTES] as const;
const FULL = 1;
const FIRST = 2;
const LAST = 4;

/** What is before it must not be needed any more; a chunk with its header always fits. */
const WINDOW_BYTES = 256 * 1024;
/** A longer record is passed over: tables, manifests, console output. Settings and history rows have some kilobytes. */
export const MOST_RECORD_BYTES = 8 * 1024 * 1024;
/**
 * Bytes checksummed in search of the next chunk behind damage; with them spent, only beginnings of blocks are tried.
 */
const SEARCH_BYTES = 256 * 1024 * 1024;

export interface RecordHandler {
  /** `offset`: of the record's first chunk. The bytes are valid until it returns. */
  record(bytes: Uint8Array, offset: number): void;
  /** A record longer than {@link MOST_RECORD_BYTES}; `head` is the beginning of its first chunk. */
  longRecord(head: Uint8Array, bytes: number, offset: number): void;
}

/** What was not read, and why. */
export interface Damage {
  /** Records, long ones included. */
  readonly records: number;
  readonly sizeBytes: number;
  /** First byte that is part of no whole record though others follow; null if there is none. */
  readonly firstBad: number | null;
  /** Separate damaged places, and the bytes lost there, checksummed parts of incomplete records included. */
  readonly places: number;
  readonly lostBytes: number;
  /**
   * Where an unfinished end begins: half a chunk, a record without its last chunk, or zeros. Null if the last record is
   * whole.
   */
  readonly cutAt: number | null;
}

export async function readRecords(
  source: ByteSource,
  handler: RecordHandler,
  progress: ((bytes: number) => void) | undefined,
): Promise<Damage & { readonly header: Uint8Array }> {
  const reader = new ChunkReader(handler);
  for (;;) {
    const { target, start } = reader.space();
    const count = await source.read(target, start);
    if (count === 0) return { ...reader.end(), header: reader.header };
    reader.filled(count);
    progress?.(reader.sizeBytes);
  }
}

class ChunkReader {
  /** Of the file. */
  header: Uint8Array = new Uint8Array(0);
  private readonly handler: RecordHandler;
  private readonly window = Buffer.alloc(WINDOW_BYTES);
  /** Bytes in the window, the byte of the file it begins with, and the next byte to look at, within it. */
  private length = 0;
  private base = 0;
  private at = 0;
  private isAtEnd = false;

  /** The record whose last chunk is yet to come: its payload so far, and what its chunks take in the file. */
  private payload = Buffer.alloc(0);
  private payloadBytes = 0;
  private openAt: number | null = null;
  private openBytes = 0;
  private openHead: Buffer | null = null;

  private records = 0;
  private places = 0;
  private lostBytes = 0;
  private firstBad: number | null = null;
  /** Where the bytes begin in which a chunk is searched, and whether all of them were zeros so far. */
  private badAt: number | null = null;
  private isZero = false;
  private searched = 0;

  constructor(handler: RecordHandler) {
    this.handler = handler;
  }

  get sizeBytes(): number {
    return this.base + this.length;
  }

  /** Space for the next bytes; never empty. */
  space(): { readonly target: Uint8Array; readonly start: number } {
    if (this.at > WINDOW_BYTES / 2) {
      this.window.copyWithin(0, this.at, this.length);
      this.base += this.at;
      this.length -= this.at;
      this.at = 0;
    }
    return { target: this.window, start: this.length };
  }

  filled(count: number): void {
    this.length += count;
    this.walk();
  }

  end(): Damage {
    this.isAtEnd = true;
    this.walk();
    if (this.badAt !== null && !this.isCut(this.badAt)) this.foundAt(this.length);
    const validEnd = this.badAt ?? this.base + this.at;
    const isWhole = validEnd === this.sizeBytes && this.openAt === null;
    const cutAt = isWhole ? null : Math.min(validEnd, this.openAt ?? validEnd);
    const { records, sizeBytes, firstBad, places, lostBytes } = this;
    return { records, sizeBytes, firstBad, places, lostBytes, cutAt };
  }

  /** Whether the file ends in the middle of a chunk, or with zeros in place of data that was never written. */
  private isCut(offset: number): boolean {
    const at = offset - this.base;
    // Whatever is behind a place that left the window is more than a chunk.
    if (this.isZero || at < 0) return this.isZero;
    const header = at + CHUNK_HEADER_BYTES;
    return header > this.length || header + this.window.readUInt16LE(at + 4) > this.length;
  }

  private walk(): void {
    if (this.header.length === 0) {
      if (this.length < FILE_HEADER_BYTES && !this.isAtEnd) return;
      this.at = Math.min(this.length, FILE_HEADER_BYTES);
      this.header = Uint8Array.from(this.window.subarray(0, this.at));
    }
    // Until the end, the window contains the whole chunk at the current byte.
    while (this.length - this.at >= (this.isAtEnd ? 1 : BLOCK_BYTES * 2)) {
      if (this.badAt !== null) {
        if (!this.search()) return;
      } else if (!this.chunk() && !this.padding()) {
        this.badAt = this.base + this.at;
        this.isZero = true;
        // The length of a chunk with a damaged payload leads to the next one.
        const length = this.window.readUInt16LE(Math.min(this.at + 4, this.length - 2));
        const next = this.at + CHUNK_HEADER_BYTES + length;
        if (length <= MOST_PAYLOAD && this.isChunk(next)) this.foundAt(next);
      }
    }
  }

  /** Whether a whole chunk with the right checksum is at a place of the window. */
  private isChunk(at: number): boolean {
    const { window } = this;
    if (at + CHUNK_HEADER_BYTES > this.length) return false;
    const type = window[at + 6]!;
    if (type < FULL || type > LAST) return false;
    const length = window.readUInt16LE(at + 4);
    const end = at + CHUNK_HEADER_BYTES + length;
    if (length > MOST_PAYLOAD || end > this.length) return false;
    // IEEE, and not masked, unlike LevelDB's own.
    return crc32(window.subarray(at + 6, end)) === window.readUInt32LE(at);
  }

  private chunk(): boolean {
    if (!this.isChunk(this.at)) return false;
    const { window, at } = this;
    const offset = this.base + at;
    const end = at + CHUNK_HEADER_BYTES + window.readUInt16LE(at + 4);
    this.take(window[at + 6]!, window.subarray(at + CHUNK_HEADER_BYTES, end), offset);
    this.at = end;
    return true;
  }

  /** Fewer than seven zeros before a block: no chunk would fit there. */
  private padding(): boolean {
    const offset = this.base + this.at;
    for (const grid of GRIDS) {
      const zeros = (BLOCK_BYTES + grid - (offset % BLOCK_BYTES)) % BLOCK_BYTES;
      if (zeros === 0 || zeros >= CHUNK_HEADER_BYTES || this.at + zeros > this.length) continue;
      if (!this.window.subarray(this.at, this.at + zeros).every((byte) => byte === 0)) continue;
      if (this.at + zeros < this.length && !this.isChunk(this.at + zeros)) continue;
      this.at += zeros;
      return true;
    }
    return false;
  }

  /** Looks for the next chunk behind damage; false if more bytes are needed, or there is none. */
  private search(): boolean {
    const { window } = this;
    const stop = this.length - (this.isAtEnd ? 0 : BLOCK_BYTES + CHUNK_HEADER_BYTES);
    while (this.at < stop) {
      const inBlock = (this.base + this.at) % BLOCK_BYTES;
      const beginsBlock = inBlock === GRIDS[0] || inBlock === GRIDS[1];
      if (beginsBlock || this.searched < SEARCH_BYTES) {
        const type = window[this.at + 6];
        if (type !== undefined && type >= FULL && type <= LAST) {
          const length = window.readUInt16LE(this.at + 4);
          // No chunk reaches beyond its block.
          if (inBlock + CHUNK_HEADER_BYTES + length <= BLOCK_BYTES + GRIDS[1]) {
            this.searched += length;
            if (this.isChunk(this.at)) {
              this.foundAt(this.at);
              return true;
            }
          }
        }
      }
      if (window[this.at] !== 0) this.isZero = false;
      this.at += 1;
    }
    return false;
  }

  /** Damage ends here. */
  private foundAt(at: number): void {
    const offset = this.base + at;
    const from = this.badAt ?? offset;
    this.badAt = null;
    this.at = at;
    this.dropOpen();
    this.lose(from, offset - from);
  }

  private lose(offset: number, bytes: number): void {
    this.firstBad ??= offset;
    this.firstBad = Math.min(this.firstBad, offset);
    this.places += 1;
    this.lostBytes += bytes;
  }

  /** The open record is incomplete. */
  private dropOpen(): void {
    if (this.openAt === null) return;
    this.firstBad = Math.min(this.firstBad ?? this.openAt, this.openAt);
    this.lostBytes += this.openBytes;
    this.close();
  }

  private close(): void {
    this.payloadBytes = 0;
    this.openAt = null;
    this.openBytes = 0;
    this.openHead = null;
  }

  private take(type: number, payload: Buffer, offset: number): void {
    if (type === FULL || type === FIRST) {
      if (this.openAt !== null) {
        this.lose(this.openAt, 0);
        this.dropOpen();
      }
      if (type === FULL) {
        this.records += 1;
        this.handler.record(payload, offset);
        return;
      }
      this.openAt = offset;
      this.openHead = Buffer.from(payload.subarray(0, 64));
    } else if (this.openAt === null) {
      // Its beginning was lost.
      this.lose(offset, CHUNK_HEADER_BYTES + payload.length);
      return;
    }
    this.openBytes += CHUNK_HEADER_BYTES + payload.length;
    if (this.openBytes <= MOST_RECORD_BYTES) this.append(payload);
    if (type !== LAST) return;
    this.records += 1;
    const { openAt, openBytes, openHead, payloadBytes } = this;
    this.close();
    if (openBytes > MOST_RECORD_BYTES) this.handler.longRecord(openHead!, openBytes, openAt!);
    else this.handler.record(this.payload.subarray(0, payloadBytes), openAt!);
  }

  private append(payload: Buffer): void {
    const bytes = this.payloadBytes + payload.length;
    if (bytes > this.payload.length) {
      const grown = Buffer.alloc(Math.max(bytes, this.payload.length * 2));
      this.payload.copy(grown, 0, 0, this.payloadBytes);
      this.payload = grown;
    }
    payload.copy(this.payload, this.payloadBytes);
    this.payloadBytes = bytes;
  }
}
