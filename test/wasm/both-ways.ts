/** A pickle through the decoder in WebAssembly, or through the general way alone, which is the reference. */
import { parseSnapshot } from '../../parsers/torch-snapshot/index.js';
import { MbfError } from '../../src/model/errors.js';
import type { Dictionary, RowSink, SnapshotSink } from '../../src/model/parser.js';
import type { TraceOomRow } from '../../src/model/tables.js';
import type { TraceModule } from '../../src/wasm/trace-module.js';
import { bytesSource, collectDecoded, type Decoded } from '../support/decode.js';

export interface Reading {
  /** Rows, or what is wrong with the file: without the numbers of entries that went one way or the other. */
  readonly outcome: Omit<Decoded, 'summary'> | string;
  /** With the numbers of distinct texts, frames, stacks and pools. */
  readonly summary: unknown;
  readonly fastEntries: number;
  readonly predictedStacks: number;
}

export interface ReadingOptions {
  readonly isFast?: boolean;
  readonly isSized?: boolean;
  /** The memory of the module grows in every call to the sink. */
  readonly grows?: boolean;
  /** An entry of action oom takes most of the memory of the module, so that the decoder has to make it grow. */
  readonly fills?: boolean;
}

export async function readPickle(bytes: Uint8Array, options: ReadingOptions = {}): Promise<Reading> {
  const { isFast = true, isSized = true, grows = false, fills = false } = options;
  let dictionary: Dictionary | undefined;
  const watching = (sink: RowSink): RowSink => ({
    ...sink,
    snapshot: (given, memory) => {
      dictionary = given;
      return sink.snapshot(given, memory);
    },
  });
  try {
    const { summary, ...rows } = await collectDecoded((sink, context) => {
      const watched = watching(grows ? growing(sink) : fills ? filling(sink) : sink);
      return parseSnapshot(bytesSource(bytes, undefined, isSized), watched, context, { isFast });
    });
    const { statistics, settings, ...same } = summary;
    return {
      outcome: rows,
      summary: {
        ...same,
        settings: [...settings],
        texts: dictionary?.textCount,
        frames: dictionary?.frameCount,
        stacks: dictionary?.stackCount,
        pools: dictionary?.poolCount,
      },
      fastEntries: statistics['fastEntries']!,
      predictedStacks: statistics['predictedStacks']!,
    };
  } catch (error) {
    if (!(error instanceof MbfError)) throw error;
    const outcome = `${error.code} ${error.message} at ${error.place.offset}`;
    return { outcome, summary: undefined, fastEntries: 0, predictedStacks: 0 };
  }
}

function growing(sink: RowSink): RowSink {
  return {
    ...sink,
    snapshot: async (dictionary, memory) => {
      const out = await sink.snapshot(dictionary, memory);
      const { exports } = memory as TraceModule;
      const grow = (exports.memory as unknown as { grow(pages: number): number }).grow.bind(exports.memory);
      const methods = Object.entries(out).map(([name, method]: [string, (row: never) => void]) => [
        name,
        (row: never) => {
          method(row);
          grow(1);
        },
      ]);
      return Object.fromEntries(methods) as SnapshotSink;
    },
  };
}

const PIECE_BYTES = 512 * 1024;

/** Its last file keeps the memory. */
function filling(sink: RowSink): RowSink {
  return {
    ...sink,
    snapshot: async (dictionary, memory) => {
      const out = await sink.snapshot(dictionary, memory);
      const module = memory as TraceModule;
      const oom = (row: TraceOomRow): void => {
        out.oom(row);
        const before = module.buffer.byteLength;
        for (let at = 0; module.buffer.byteLength === before || at + 2 * PIECE_BYTES < module.buffer.byteLength; )
          at = module.reserve(PIECE_BYTES);
      };
      return { ...out, oom };
    },
  };
}
