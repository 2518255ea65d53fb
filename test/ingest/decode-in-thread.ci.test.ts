/**
 * The decoding thread makes the same calls as decoding in place. It only starts from built files, so this imports
 * those.
 */
import { appendFileSync, copyFileSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { torchSnapshot } from '../../parsers/torch-snapshot/index.js';
import { StackDictionary } from '../../parsers/torch-snapshot/stack-dictionary.js';
import { type DerivedSink, deriving, type SnapshotDerivation } from '../../src/ingest/derive/derive-snapshot.js';
import { openByteSource } from '../../src/ingest/read/byte-source.js';
import { ContentKeys } from '../../src/ingest/read/content-keys.js';
import type * as InThread from '../../src/ingest/read/decode-in-thread.js';
import { type DecoderJob, DictionaryCursor, ReceivedDictionary } from '../../src/ingest/read/decode-protocol.js';
import type { ColumnBatch } from '../../src/model/columns.js';
import type { RowSink } from '../../src/model/parser.js';
import { sharedBuild } from '../store/scratch.js';
import { SNAPSHOTS, skipLoudly, snapshotPickles } from '../support/corpus.js';
import { bytesSource, collectDecoded, type Decoded } from '../support/decode.js';
import { sampled } from '../support/level.js';
import { samplePath } from '../support/stores.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

let inThread: typeof InThread;
const directory = temporaryDirectory();
let thread: InThread.DecodeThreads;
beforeAll(async () => {
  const file = join(sharedBuild(), 'src', 'ingest', 'read', 'decode-in-thread.js');
  inThread = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as typeof InThread;
});
beforeEach(() => {
  thread = new inThread.DecodeThreads();
});
afterEach(() => thread.close());

function job(path: string): DecoderJob {
  const { size, mtimeNs } = statSync(path, { bigint: true });
  return { path, parser: 'torch-snapshot', name: 'x', sizeBytes: Number(size), mtimeMs: Number(mtimeNs) / 1e6 };
}

/** Snapshots of the samples as they were before they were compressed. */
const samples = ['capacity', 'leak'].flatMap((name) =>
  readdirSync(samplePath(name))
    .filter((file) => file.endsWith('.pickle.gz'))
    .map((file) => {
      const path = join(directory, `${name}-${file.replace(/\.gz$/, '')}`);
      writeFileSync(path, gunzipSync(readFileSync(join(samplePath(name), file))));
      return path;
    }),
);
const [first = '', second = ''] = samples;
const corpus = snapshotPickles().filter((name) => !name.includes('pointer'));
if (corpus.length === 0) skipLoudly('the decoding thread on real files', 'the corpus (set MBF_CORPUS)');
const files = [...samples, ...sampled(corpus, 6).map((name) => join(SNAPSHOTS, name))];

/** What ingest's sink is given beyond the rows that the parser makes. */
interface Extra {
  readonly derivation: SnapshotDerivation;
  readonly keys: readonly string[];
  /** Rows of lifetimes and totals, by table. */
  readonly lives: Readonly<Record<string, readonly string[]>>;
}

/** Rows and derivations of whatever `parse` sends to the sink of ingest. */
async function collect(parse: (sink: DerivedSink) => Promise<unknown>): Promise<Decoded & Extra> {
  let derivation: SnapshotDerivation | undefined;
  let keys: (() => string[]) | undefined;
  const lives: Record<string, string[]> = {};
  const keep = (batch: ColumnBatch): void => {
    const lines = lives[batch.layout.table] ?? [];
    lives[batch.layout.table] = lines;
    for (let row = 0; row < batch.rows; row++) lines.push(rowText(batch, row));
  };
  const decoded = await collectDecoded((sink: RowSink) =>
    parse({
      note: sink.note,
      incident: sink.incident,
      droppedIncidents: () => undefined,
      textRows: () => undefined,
      textRow: () => undefined,
      attempt: sink.attempt,
      snapshot: async (dictionary, stackKeys) => {
        const rows = await sink.snapshot(dictionary, { buffer: new ArrayBuffer(0) });
        keys = () => Array.from({ length: dictionary.stackCount }, (_, id) => stackKeys.stackKey(id));
        return {
          ...rows,
          parsed: () => undefined,
          blockLives: keep,
          segmentLives: keep,
          entries: keep,
          buckets: keep,
          end: (summary, given) => {
            derivation = given;
            rows.end(summary);
          },
        };
      },
    }),
  );
  return { ...decoded, derivation: derivation!, keys: keys!(), lives };
}

/** All columns but the one that the writer fills. */
function rowText(batch: ColumnBatch, row: number): string {
  return batch.layout.columns
    .filter(({ name }) => name !== 'snapshot_id')
    .map(({ name, kind }) => {
      if (kind === 'u8') return batch.u8(name)[row];
      return kind === 'i32'
        ? batch.i32(name)[row]
        : batch
            .i64(name)
            .subarray(row * 2, row * 2 + 2)
            .join('+');
    })
    .join(' ');
}

async function inPlace(path: string): Promise<Decoded & Extra> {
  return collect((sink) => torchSnapshot.parse(bytesSource(readFileSync(path)), deriving(sink), { name: 'x' }));
}

/** The decoder counts its refills, which depend on how the file is read. */
function comparable(decoded: Decoded & Extra): unknown {
  const { statistics: _, ...summary } = decoded.summary;
  return { ...decoded, summary };
}

it.each(files)('sends the rows of %s', async (path) => {
  let digest: unknown;
  const sent = await collect(async (sink) => {
    ({ digest } = await thread.start(job(path)).run(sink, {}));
  });
  expect(comparable(sent)).toEqual(comparable(await inPlace(path)));
  const opened = await openByteSource(path);
  expect(digest).toEqual(await opened.finish());
  await opened.close();
});

it('decodes files in the order they were started in, however late their rows are taken', async () => {
  const packed = join(directory, 'packed.pickle.gz');
  writeFileSync(packed, gzipSync(readFileSync(first)));
  const paths = [first, second, packed, first];
  const started = paths.map((path) => thread.start(job(path)));
  for (const [i, decoding] of started.entries()) {
    const sent = await collect((sink) => decoding.run(sink, {}));
    expect(comparable(sent)).toEqual(comparable(await inPlace(i === 2 ? first : paths[i]!)));
  }
});

/** Takes no snapshot and keeps nothing, but for what is given. */
const sinkOf = (kept: Partial<DerivedSink>): DerivedSink => ({
  note: () => undefined,
  incident: () => undefined,
  droppedIncidents: () => undefined,
  textRows: () => undefined,
  textRow: () => undefined,
  attempt: () => undefined,
  snapshot: () => Promise.reject(new Error('no snapshot is expected')),
  ...kept,
});

describe('when it goes wrong', () => {
  const nothing = sinkOf({ snapshot: () => Promise.reject(new RangeError('the store says no')) });

  it('gives the same error, with its place, and continues with the next file', async () => {
    const path = join(directory, 'cut.pickle');
    const bytes = readFileSync(first);
    const middle = Math.floor(bytes.length / 2);
    writeFileSync(path, bytes.subarray(0, middle));
    const [cut, whole] = [thread.start(job(path)), thread.start(job(first))];
    await expect(collect((sink) => cut.run(sink, {}))).rejects.toMatchObject({
      code: 'MBF2101',
      place: { offset: middle },
    });
    expect(comparable(await collect((sink) => whole.run(sink, {})))).toEqual(comparable(await inPlace(first)));
  });

  it('passes on what the sink throws, and goes on with the next file', async () => {
    const [refused, next] = [thread.start(job(first)), thread.start(job(first))];
    await expect(refused.run(nothing, {})).rejects.toThrow('the store says no');
    expect(comparable(await collect((sink) => next.run(sink, {})))).toEqual(comparable(await inPlace(first)));
  });

  it('ends when closed, even with files left in its queue', async () => {
    for (let i = 0; i < 3; i++) thread.start(job(first));
    await thread.close();
    await thread.close();
  });

  it('notices another file under the same name', async () => {
    const path = join(directory, 'moved.pickle');
    copyFileSync(first, path);
    const before = job(path);
    appendFileSync(path, 'x');
    await expect(thread.start(before).run(nothing, {})).rejects.toMatchObject({ code: 'MBF2009' });
  });

  it('reports a bug as a bug', async () => {
    await expect(thread.start({ ...job(first), parser: 'none' }).run(nothing, {})).rejects.toThrow('no parser none');
  });
});

describe('a file that takes too much', () => {
  const rows: string[] = [];
  const kept = sinkOf({ textRow: (finding) => void rows.push(JSON.stringify(finding)) });

  function config(name: string, text: string): DecoderJob {
    const path = join(directory, name);
    writeFileSync(path, text);
    return { ...job(path), parser: 'config', name };
  }

  const good = (): DecoderJob => config('good.yaml', 'num_layers: 4\nhidden_size: 64\nmicro_batch_size: 1\n');
  /** Within all limits; its tree is larger than the heap of the thread. */
  const large = (): DecoderJob =>
    config('large.yaml', `num_layers: 4\nhidden_size: 64\nmicro_batch_size: 1\nx: [${'{a: b}, '.repeat(18_000)}c]\n`);

  it('has failed when it exhausts the heap of its thread, and the files behind it are decoded', async () => {
    const limits = { heapMib: 24, silentMs: 60_000 };
    const limited = new inThread.DecodeThreads({ limits: { bulk: limits, guarded: limits } });
    try {
      const [bad, fine] = [large(), good()];
      const started = [bad, fine].map((file) => limited.start(file, 'guarded'));
      for (const [i, decoding] of started.entries()) {
        rows.length = 0;
        if (i % 2 === 0) await expect(decoding.run(kept, {})).rejects.toMatchObject({ code: 'MBF2011' });
        else {
          await decoding.run(kept, {});
          expect(rows).toHaveLength(3);
        }
      }
    } finally {
      await limited.close();
    }
  });

  it('has failed when it makes no progress, and the files behind it are decoded', async () => {
    const program = join(directory, 'thread.mjs');
    writeFileSync(
      program,
      `import { parentPort } from 'node:worker_threads';
parentPort.on('message', ({ name }) => {
  if (name === 'endless.yaml') for (;;);
  parentPort.postMessage({ type: 'done', summary: { rank: null, rankOrigin: null }, digest: name });
});
`,
    );
    const limits = { heapMib: 256, silentMs: 3000 };
    const limited = new inThread.DecodeThreads({
      limits: { bulk: limits, guarded: limits },
      program: pathToFileURL(program),
    });
    try {
      const fine = good();
      const [endless, next] = [config('endless.yaml', 'num_layers: 4\n'), fine].map((file) => limited.start(file));
      await expect(endless!.run(kept, {})).rejects.toMatchObject({ code: 'MBF2012' });
      expect((await next!.run(kept, {})).digest).toBe('good.yaml');
      expect((await limited.start(fine).run(kept, {})).digest).toBe('good.yaml');
    } finally {
      await limited.close();
    }
  });

  it('is guarded from a smaller size on where its format is read into a tree, and where it is compressed', () => {
    const { threadFor, GUARDED_FROM_BYTES } = inThread;
    const tree = { buildsTree: true };
    expect(threadFor(tree, GUARDED_FROM_BYTES - 1, false)).toBeUndefined();
    expect(threadFor(tree, GUARDED_FROM_BYTES, false)).toBe('guarded');
    expect(threadFor(tree, 100, true)).toBe('guarded');
    expect(threadFor({}, GUARDED_FROM_BYTES, true)).toBeUndefined();
  });
});

it('hands a dictionary over piece by piece', () => {
  const source = new StackDictionary();
  const keys = new ContentKeys(source);
  const cursor = new DictionaryCursor(source, keys);
  const received = new ReceivedDictionary();
  for (let round = 0; round < 3; round++) {
    const name = source.texts.internText(`function ${round}`);
    const frame = source.internFrame(name, source.texts.internText('file.py'), round);
    source.internStack(Int32Array.of(frame, 0), 2, round + 7);
    source.internPool(0, round);
    received.add(cursor.take());
    received.add(cursor.take());
  }
  expect([received.textCount, received.frameCount, received.stackCount, received.poolCount]).toEqual([4, 3, 4, 3]);
  for (let id = 0; id < 4; id++) expect([...received.stackFrames(id)]).toEqual([...source.stackFrames(id)]);
  for (let id = 0; id < 4; id++) expect(received.stackKey(id)).toBe(keys.stackKey(id));
  for (let id = 0; id < 3; id++)
    expect([received.frame(id), received.pool(id)]).toEqual([source.frame(id), source.pool(id)]);
  for (let id = 0; id < 4; id++) expect(received.text(id)).toBe(source.text(id));
});
