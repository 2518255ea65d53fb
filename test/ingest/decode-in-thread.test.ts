/** The decoding thread makes the same calls as decoding in place. It only starts from built files, so this imports those. */
import {
  appendFileSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StackDictionary } from '../../parsers/torch-snapshot/stack-dictionary.js';
import { openByteSource } from '../../src/ingest/byte-source.js';
import type * as InThread from '../../src/ingest/decode-in-thread.js';
import { DictionaryCursor, ReceivedDictionary } from '../../src/ingest/decode-protocol.js';
import type { RowSink } from '../../src/model/parser.js';
import { bytesSource, collectDecoded, decode } from '../support/decode.js';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');
const SAMPLE = join(ROOT, 'samples', 'capacity');
const corpus = join(resolve(ROOT, process.env['MBF_CORPUS'] ?? '../shared/corpus'), 'snapshots');

let thread: typeof InThread;
let directory = '';
beforeAll(async () => {
  thread = (await import(join(ROOT, 'dist', 'src', 'ingest', 'decode-in-thread.js'))) as typeof InThread;
  directory = mkdtempSync(join(tmpdir(), 'mbf-thread-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function request(path: string) {
  const { size, mtimeNs } = statSync(path, { bigint: true });
  return { path, parser: 'torch-snapshot', sizeBytes: Number(size), mtimeMs: Number(mtimeNs) / 1e6 };
}

function pickles(from: string): string[] {
  try {
    return readdirSync(from)
      .filter((name) => /\.(pickle|pkl)$/.test(name) && !name.includes('pointer'))
      .map((name) => join(from, name));
  } catch {
    return [];
  }
}

/** The sample's snapshots as they were before they were compressed. */
function samplePickles(): string[] {
  const unpacked = mkdtempSync(join(tmpdir(), 'mbf-thread-sample-'));
  afterAll(() => rmSync(unpacked, { recursive: true, force: true }));
  return readdirSync(SAMPLE)
    .filter((name) => name.endsWith('.pickle.gz'))
    .map((name) => {
      const path = join(unpacked, name.replace(/\.gz$/, ''));
      writeFileSync(path, gunzipSync(readFileSync(join(SAMPLE, name))));
      return path;
    });
}

const samples = samplePickles();
const files = [...samples, ...pickles(corpus)];
if (pickles(corpus).length === 0)
  console.warn('no corpus (MBF_CORPUS): the decoding thread is tested on samples alone');

it.each(files)('sends the rows of %s', async (path) => {
  let sha256 = '';
  const sent = await collectDecoded(async (sink, context) => {
    const result = await thread.decodeInThread(request(path), sink, context);
    sha256 = result.sha256;
  });
  const { statistics: _, ...here } = (await decode(bytesSource(readFileSync(path)))).summary;
  const { statistics: __, ...there } = sent.summary;
  expect(there).toEqual(here);
  const inPlace = await decode(bytesSource(readFileSync(path)));
  expect({ ...sent, summary: null }).toEqual({ ...inPlace, summary: null });
  const opened = await openByteSource(path);
  expect(sha256).toBe(await opened.finish());
  await opened.close();
});

describe('when it goes wrong', () => {
  const nothing: RowSink = {
    note: () => undefined,
    incident: () => undefined,
    snapshot: () => Promise.reject(new RangeError('the store says no')),
  };

  it('tells the same error, with its place', async () => {
    const path = join(directory, 'cut.pickle');
    const whole = readFileSync(samples[0]!);
    const cut = Math.floor(whole.length / 2);
    writeFileSync(path, whole.subarray(0, cut));
    const run = (sink: RowSink) => thread.decodeInThread(request(path), sink, { name: 'cut.pickle' });
    await expect(collectDecoded(run)).rejects.toMatchObject({ code: 'MBF2101', place: { offset: cut } });
  });

  it('passes on what the sink throws, and ends', async () => {
    const path = samples[0]!;
    await expect(thread.decodeInThread(request(path), nothing, { name: 'x' })).rejects.toThrow('the store says no');
  });

  it('notices another file under the same name', async () => {
    const path = join(directory, 'moved.pickle');
    copyFileSync(samples[0]!, path);
    const before = request(path);
    appendFileSync(path, 'x');
    await expect(thread.decodeInThread(before, nothing, { name: 'x' })).rejects.toMatchObject({ code: 'MBF2009' });
  });

  it('reports a bug as a bug', async () => {
    const path = samples[0]!;
    await expect(thread.decodeInThread({ ...request(path), parser: 'none' }, nothing, { name: 'x' })).rejects.toThrow(
      'no parser none',
    );
  });
});

it('hands a dictionary over piece by piece', () => {
  const source = new StackDictionary();
  const cursor = new DictionaryCursor(source);
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
  for (let id = 0; id < 3; id++)
    expect([received.frame(id), received.pool(id)]).toEqual([source.frame(id), source.pool(id)]);
  for (let id = 0; id < 4; id++) expect(received.text(id)).toBe(source.text(id));
});
