/**
 * Pages of torch's memory viewer: the pickle inside them, however the page's bytes arrive, or one error with its place
 * in the page.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseSnapshot } from '../../parsers/torch-snapshot/index.js';
import { pickled } from '../../samples/generate/write/pickle-writer.js';
import { bytesSource, collectDecoded, type Decoded, decode } from '../support/decode.js';
import { SEED } from '../support/level.js';
import { entry, snapshot, trace } from '../support/small-snapshot.js';
import { refusal } from './refusal.js';

/** As `torch.cuda._memory_viz._format_viz` pads and writes it. */
function page(...files: readonly Buffer[]): string {
  const embedded = files.map((file) => ({
    name: 'snapshot.pickle',
    base64: Buffer.concat([file, Buffer.alloc(3 - (file.length % 3))]).toString('base64'),
  }));
  return `
<!DOCTYPE html>
<html>
<head>
</head>
<body>
<script type="module">
import {add_local_files} from "https://cdn.jsdelivr.net/gh/pytorch/pytorch@main/torch/utils/viz/MemoryViz.js"
const local_files = ${JSON.stringify(embedded).replaceAll('":"', '": "')}
add_local_files(local_files, 'Active Memory Timeline')
</script>
</body>
`;
}

const decodePage = (text: string, windowBytes?: number, chunkBytes?: number): Promise<Decoded> =>
  collectDecoded((sink, context) =>
    parseSnapshot(bytesSource(Buffer.from(text), chunkBytes), sink, context, { windowBytes }),
  );

describe('a memory_viz page', () => {
  const file = pickled(snapshot({ device_traces: [trace(30)] }));

  it('has the rows of the pickle, its protocol, and no note about the padding', async () => {
    const expected = await decode(bytesSource(file));
    for (const length of [0, 1, 2]) {
      const padded = pickled(snapshot({ device_traces: [trace(30)], pad: 'x'.repeat(length) }));
      const got = await decodePage(page(padded));
      expect({ ...got, summary: null, notes: null }).toEqual({ ...expected, summary: null, notes: null });
      expect(got.summary.protocol).toBe(4);
      expect(got.notes.map(({ kind }) => kind)).toEqual(['unknown_key']);
    }
  });

  it('is read the same however its bytes arrive', async () => {
    const text = page(file);
    const expected = await decodePage(text);
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: 5000 }), async (window, chunk) => {
        expect(await decodePage(text, window, chunk)).toEqual(expected);
      }),
      { numRuns: 60, seed: SEED },
    );
  });

  it('may break its lines, use the other alphabet and other quotes', async () => {
    const expected = await decodePage(page(file));
    const base64 = file.toString('base64');
    const broken = base64.replace(/.{76}/g, (line) => `${line}\r\n`);
    const urlSafe = base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
    for (const body of [`{"base64": "${broken}"}`, `{name: 'a', base64: '${urlSafe}'}`, `{'base64' : \`${base64}\`}`]) {
      const got = await decodePage(`<html><script>const local_files = [${body}]</script>`);
      expect(got.events).toEqual(expected.events);
    }
  });

  it('with several files gives the first and reports how many were left out', async () => {
    const second = pickled(snapshot({ device_traces: [[entry('alloc', 3)]] }));
    const { events, notes } = await decodePage(page(file, second, second), 700);
    expect(events.length).toBe(30);
    expect(notes.map(({ text, count }) => `${text} ×${count}`)).toEqual([
      'the page holds 2 more files, left out: one snapshot is read from a page, its first ×2',
    ]);
  });

  it('without a file, cut, or damaged ends in one error with its place in the page', async () => {
    const text = page(file);
    const start = text.indexOf('gASV') === -1 ? text.indexOf('"base64": "') + 11 : text.indexOf('gASV');
    const close = text.indexOf('"', start);
    expect(await refusal(decodePage('<html><script src="MemoryViz.js">'))).toMatchObject({ code: 'MBF2303' });
    for (const cut of [start, start + 1, start + 402, close]) {
      const error = await refusal(decodePage(text.slice(0, cut), 600));
      expect(error).toMatchObject({ code: 'MBF2301', place: { offset: cut } });
    }
    const at = start + 1001;
    const damaged = `${text.slice(0, at)}*${text.slice(at + 1)}`;
    expect(await refusal(decodePage(damaged))).toMatchObject({ code: 'MBF2304', place: { offset: at } });
    // A pickle that ends too early within a whole page is cut as a pickle is.
    const half = page(file.subarray(0, 600));
    expect(await refusal(decodePage(half))).toMatchObject({ code: expect.stringMatching(/^MBF210[14]$/) });
    const evil = Buffer.from(file);
    evil[2] = 0x63; // GLOBAL
    const refused = await refusal(decodePage(page(evil)));
    expect(refused.code).toBe('MBF2102');
    expect(Math.abs(refused.place.offset! - start)).toBeLessThan(6);
    expect(await refusal(decodePage(`<html>local_files = [{"base64": "gASVA`))).toMatchObject({ code: 'MBF2301' });
    expect(await refusal(decodePage(`<html>local_files = [{"base64": "gASVA"}]`))).toMatchObject({ code: 'MBF2304' });
    expect(await refusal(decodePage(`<html>local_files = [{"base64": ""}]`))).toMatchObject({ code: 'MBF2101' });
  });

  it('of 300 MB without a file is searched once, to its end', async () => {
    const block = Buffer.from('base64 : base64" : base6'.repeat(10_000));
    let left = 300e6;
    const error = await refusal(
      collectDecoded((sink, context) =>
        parseSnapshot(
          {
            sizeBytes: left,
            read(target, start) {
              const count = Math.min(block.length, target.length - start, left);
              target.set(
                start === 0 && left === 300e6 ? Buffer.from('<html>').subarray(0, count) : block.subarray(0, count),
                start,
              );
              left -= count;
              return Promise.resolve(count);
            },
          },
          sink,
          context,
        ),
      ),
    );
    expect(error.code).toBe('MBF2303');
    expect(left).toBe(0);
  });
});
