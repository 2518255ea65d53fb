/**
 * The outer form of Zstandard data: frames of blocks (RFC 8878, section 3.1). Split here, so that a cut file is
 * recognized, no memory is allocated for sizes that a header merely claims, and the decoder gets whole blocks only.
 */
import { MbfError } from '../../../model/errors.js';
import { formatBytes, KIB, MIB } from '../../../model/units.js';

/** What the zstd program reads without being asked to; `--ultra -22` and `--long` need this much. */
const MAX_WINDOW_BYTES = 128 * MIB;
const MAX_BLOCK_BYTES = 128 * KIB;
const MAGIC_BYTES = 4;
/** Magic, descriptor, window, 4 bytes of dictionary id, 8 of content size. */
const MAX_HEADER_BYTES = 18;
const BLOCK_HEADER_BYTES = 3;
const CHECKSUM_BYTES = 4;
const SKIPPABLE_HEADER_BYTES = 8;
const [RAW, RLE, , RESERVED] = [0, 1, 2, 3] as const;

function isFrame(bytes: Uint8Array): boolean {
  return (
    bytes.length >= MAGIC_BYTES && bytes[0] === 0x28 && bytes[1] === 0xb5 && bytes[2] === 0x2f && bytes[3] === 0xfd
  );
}

/** Frames of user data, which decoders pass over; pzstd begins its files with one. */
function isSkippable(bytes: Uint8Array): boolean {
  return (
    bytes.length >= MAGIC_BYTES &&
    (bytes[0]! & 0xf0) === 0x50 &&
    bytes[1] === 0x2a &&
    bytes[2] === 0x4d &&
    bytes[3] === 0x18
  );
}

/** Whether a file that begins like this is Zstandard. */
export function isZstd(bytes: Uint8Array): boolean {
  return isFrame(bytes) || isSkippable(bytes);
}

/**
 * One block, with the header of its frame before it if it is the first, and the check sum behind it if it is the last.
 */
export interface ZstdPart {
  /** Valid until the next part is asked for. */
  readonly bytes: Uint8Array;
  /** Of a block that is stored or one byte repeated. Undefined: known only after decoding, and not 0. */
  readonly outputBytes: number | undefined;
}

export class ZstdFrames {
  private readonly read: () => Promise<Uint8Array | undefined>;
  /** Read and not yet handed out. */
  private current: Uint8Array = new Uint8Array(0);
  private header: FrameHeader | undefined;
  private isFirstBlock = false;
  /** Compressed bytes handed out or passed over. */
  offset = 0;
  /** Frames begun that carry no check sum. */
  uncheckedFrames = 0;
  /** The largest window of the frames begun: what the decoder has set aside for this file. */
  windowBytes = 0;

  /**
   * `read` gives the file piece by piece, undefined at its end; a piece needs to stay valid only until the next one is
   * asked for.
   */
  constructor(read: () => Promise<Uint8Array | undefined>) {
    this.read = read;
  }

  /**
   * Undefined at the end.
   *
   * @throws {MbfError} MBF2006 if the file ends in the middle or is damaged, MBF2010 if it needs a dictionary or a
   * larger window. Their place is unknown here.
   */
  async next(): Promise<ZstdPart | undefined> {
    if (this.header === undefined) {
      this.header = await this.nextFrame();
      if (this.header === undefined) return undefined;
      this.isFirstBlock = true;
      if (!this.header.hasChecksum) this.uncheckedFrames += 1;
      this.windowBytes = Math.max(this.windowBytes, this.header.windowBytes);
    }
    const { header } = this;
    const start = this.isFirstBlock ? header.bytes : 0;
    await this.need(start + BLOCK_HEADER_BYTES);
    const word = this.current[start]! | (this.current[start + 1]! << 8) | (this.current[start + 2]! << 16);
    const [isLast, type, size] = [(word & 1) === 1, (word >> 1) & 3, word >> 3];
    if (type === RESERVED) throw this.damaged('a block of an unknown type');
    if (size > Math.min(header.windowBytes, MAX_BLOCK_BYTES)) throw this.damaged(`a block of ${size} bytes`);
    const bytes =
      start + BLOCK_HEADER_BYTES + (type === RLE ? 1 : size) + (isLast && header.hasChecksum ? CHECKSUM_BYTES : 0);
    await this.need(bytes);
    this.isFirstBlock = false;
    if (isLast) this.header = undefined;
    return { bytes: this.take(bytes), outputBytes: type === RAW || type === RLE ? size : undefined };
  }

  /** The header of the next frame that holds data, still unread. */
  private async nextFrame(): Promise<FrameHeader | undefined> {
    for (;;) {
      if (!(await this.has(1))) return undefined;
      await this.need(MAGIC_BYTES);
      if (isFrame(this.current)) break;
      if (!isSkippable(this.current)) throw this.damaged('no frame begins where one should');
      await this.need(SKIPPABLE_HEADER_BYTES);
      const view = new DataView(this.current.buffer, this.current.byteOffset, SKIPPABLE_HEADER_BYTES);
      let toSkip = SKIPPABLE_HEADER_BYTES + view.getUint32(MAGIC_BYTES, true);
      while (toSkip > 0) {
        await this.need(1);
        toSkip -= this.take(Math.min(toSkip, this.current.length)).length;
      }
    }
    await this.has(MAX_HEADER_BYTES);
    return readFrameHeader(this.current) ?? this.cut();
  }

  private take(bytes: number): Uint8Array {
    const taken = this.current.subarray(0, bytes);
    this.current = this.current.subarray(bytes);
    this.offset += bytes;
    return taken;
  }

  /** Whether there are so many bytes; makes them one piece. */
  private async has(bytes: number): Promise<boolean> {
    while (this.current.length < bytes) {
      const unread = new Uint8Array(this.current); // a copy: the next call reuses the memory of this piece
      const more = await this.read();
      if (more === undefined) {
        this.current = unread;
        return false;
      }
      this.current = unread.length === 0 ? more : Buffer.concat([unread, more]);
    }
    return true;
  }

  private async need(bytes: number): Promise<void> {
    if (!(await this.has(bytes))) this.cut();
  }

  private cut(): never {
    const bytes = this.offset + this.current.length;
    throw new MbfError('MBF2006', `the zstd file ends in the middle, after ${bytes} compressed bytes`);
  }

  private damaged(what: string): MbfError {
    return new MbfError('MBF2006', `the zstd data is damaged at its byte ${this.offset} (${what})`);
  }
}

interface FrameHeader {
  /** Length of the header itself, magic included. */
  readonly bytes: number;
  readonly hasChecksum: boolean;
  readonly windowBytes: number;
}

/** Undefined if `bytes` end before the header does. */
function readFrameHeader(bytes: Uint8Array): FrameHeader | undefined {
  const descriptor = bytes[MAGIC_BYTES];
  if (descriptor === undefined) return undefined;
  if ((descriptor & 0b1000) !== 0) throw new MbfError('MBF2006', 'the zstd data is damaged (a frame header)');
  const isSingleSegment = (descriptor & 0b10_0000) !== 0;
  const windowBytes = isSingleSegment ? 0 : 1;
  const dictionaryBytes = [0, 1, 2, 4][descriptor & 3]!;
  const contentBytes = [isSingleSegment ? 1 : 0, 2, 4, 8][descriptor >> 6]!;
  const dictionaryAt = MAGIC_BYTES + 1 + windowBytes;
  const contentAt = dictionaryAt + dictionaryBytes;
  const length = contentAt + contentBytes;
  if (bytes.length < length) return undefined;

  const dictionary = littleEndian(bytes, dictionaryAt, dictionaryBytes);
  if (dictionary !== 0) {
    const remedy = 'unpack it (zstd -d -D DICTIONARY) first';
    throw new MbfError(
      'MBF2010',
      `is compressed with zstd and its dictionary ${dictionary}, which is not here; ${remedy}`,
    );
  }
  let window = littleEndian(bytes, contentAt, contentBytes) + (contentBytes === 2 ? 256 : 0);
  if (!isSingleSegment) {
    const code = bytes[MAGIC_BYTES + 1]!;
    const base = 2 ** (10 + (code >> 3));
    window = base + (base / 8) * (code & 7);
  }
  if (window > MAX_WINDOW_BYTES) {
    const fact = `is compressed with zstd and a window of ${formatBytes(window)}, which is more than the ${formatBytes(MAX_WINDOW_BYTES)} that are read`;
    throw new MbfError('MBF2010', `${fact}; unpack it (zstd -d --long=31) first`);
  }
  return {
    bytes: length,
    hasChecksum: (descriptor & 0b100) !== 0,
    windowBytes: window,
  };
}

/** Exact up to 2^53; beyond that only the magnitude matters. */
function littleEndian(bytes: Uint8Array, at: number, count: number): number {
  let value = 0;
  for (let i = count - 1; i >= 0; i--) value = value * 256 + bytes[at + i]!;
  return value;
}
