/**
 * Inflates Zstandard files with `zstddec`, the reference decoder as WebAssembly: it checks everything, check sums
 * included. Node has zstd in zlib from 22.15 on, which until 2026 took a cut file for a whole one and stops after the
 * first frame (nodejs/node 64592, 64741), and `fzstd`, in plain JavaScript, decodes most damaged blocks to something
 * without a word (159 of 161 bit flips that the reference reports).
 */
import { MbfError } from '../../../model/errors.js';
import type { Note } from '../../../model/tables.js';
import { KIB, MIB } from '../../../model/units.js';
import type { RawFile } from '../raw-file.js';
import { type Chunks, type InflationLimits, inflationFault } from './inflation.js';
import { ZstdFrames, type ZstdPart } from './zstd-frames.js';

/** Pieces of the file are cut to this, so that joining the end of one to the next copies little. */
const INPUT_BYTES = 256 * KIB;
/**
 * The library cannot give up a stream that failed: the buffers of that stream stay in memory which is never given back.
 * Once so much is lost, no zstd file is read any more. A damaged file costs 2 to 10 MiB unless it was made with
 * `--long`, and a run leaves one or two.
 */
const MAX_LOST_BYTES = 256 * MIB;
/** Memory in addition to the window: the decoder's state, its tables, and a block going in and out. */
const STREAM_BYTES = MIB;
let lostBytes = 0;

/** `first` is what `raw` gave first, and begins as a Zstandard file does. */
export async function zstdChunks(raw: RawFile, first: Uint8Array, limits: InflationLimits): Promise<Chunks> {
  if (lostBytes > MAX_LOST_BYTES) {
    throw new MbfError('MBF2005', 'is zstd, and damaged zstd files before it have used up the memory of its decoder');
  }
  const { ZSTDDecoder } = await import('zstddec/stream');
  const decoder = new ZSTDDecoder();
  await decoder.init();

  const frames = new ZstdFrames(inSlices(raw, first));
  /**
   * What the decoder takes when it is done with the part before. It takes it by itself, and cannot be made to wait for
   * it.
   */
  let upcoming: ZstdPart | undefined;
  let hasEnded = false;
  /** The part being decoded, and whether the decoder took it since something last came out. */
  let part: ZstdPart | undefined;
  let isFresh = false;
  /** Thrown after everything before it was read. */
  let failure: unknown;
  let state: 'new' | 'running' | 'over' = 'new';
  let inflatedBytes = 0;

  function* parts(): Generator<Uint8Array, void, void> {
    while (upcoming !== undefined) {
      part = upcoming;
      upcoming = undefined;
      isFresh = true;
      yield part.bytes;
    }
  }
  const stream = decoder.decodeStreaming(parts());

  async function load(): Promise<void> {
    if (hasEnded || upcoming !== undefined) return;
    try {
      upcoming = await frames.next();
      hasEnded = upcoming === undefined;
    } catch (error) {
      hasEnded = true;
      failure = error;
    }
  }

  /** What comes out next; undefined when the parts are used up. */
  function decode(): Uint8Array | undefined {
    state = 'running';
    isFresh = false;
    let piece: Uint8Array;
    try {
      const result = stream.next();
      if (result.done === true) {
        state = 'over';
        return undefined;
      }
      piece = result.value;
    } catch {
      // It misses the rest of a frame. If that is not why the parts ended, something in them was not what it seemed.
      state = 'over';
      failure ??= damaged();
      return undefined;
    }
    // After an error the library gives nothing, again and again: that is how it is known.
    if (piece.length === 0 && !(isFresh && part?.outputBytes === 0)) {
      lostBytes += frames.windowBytes + STREAM_BYTES;
      state = 'over';
      failure = damaged();
      return undefined;
    }
    inflatedBytes += piece.length;
    return piece;
  }

  function damaged(): MbfError {
    return new MbfError('MBF2006', `the zstd data is damaged within its first ${frames.offset} bytes`);
  }

  /** Lets the decoder give its memory back, which it does when its parts end. */
  function release(): void {
    upcoming = undefined;
    hasEnded = true;
    if (state === 'new') stream.return(undefined);
    else while (state === 'running') decode();
    state = 'over';
  }

  return {
    async next() {
      while (state !== 'over') {
        await load();
        const piece = decode();
        if (piece === undefined) break;
        const bomb = inflationFault('zstd', inflatedBytes, frames.offset, limits);
        if (bomb !== undefined) {
          release();
          failure = bomb;
          break;
        }
        if (piece.length > 0) return piece;
      }
      if (failure !== undefined) throw atOffset(failure, inflatedBytes);
      return undefined;
    },
    stop: async () => release(),
    notes: () => (frames.uncheckedFrames === 0 ? [] : [UNCHECKED]),
  };
}

const UNCHECKED: Note = {
  kind: 'zstd_unchecked',
  severity: 'info',
  text: 'compressed with zstd without check sums: damage that keeps the form of the data goes unnoticed',
};

/** With the offset in the inflated stream, unless the error knows its own. */
function atOffset(error: unknown, offset: number): unknown {
  if (!(error instanceof MbfError) || error.code !== 'MBF2006' || error.place.offset !== undefined) return error;
  return new MbfError(error.code, error.message, { offset }, error.cause);
}

function inSlices(raw: RawFile, first: Uint8Array): () => Promise<Uint8Array | undefined> {
  let chunk: Uint8Array | undefined = first;
  return async () => {
    if (chunk?.length === 0) chunk = await raw.next();
    const slice = chunk?.subarray(0, INPUT_BYTES);
    chunk = chunk?.subarray(INPUT_BYTES);
    return slice;
  };
}
