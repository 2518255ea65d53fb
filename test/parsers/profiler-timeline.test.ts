/**
 * Memory timelines of torch.profiler: both JSON forms are distinguished and read in any chunks; damaged files are
 * refused.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { profilerTimeline } from '../../parsers/profiler-timeline/index.js';
import { MOST_POINTS } from '../../parsers/profiler-timeline/timeline-reader.js';
import { detect } from '../../src/ingest/discover/detect.js';
import { remedyOf } from '../../src/knowledge/errors.js';
import { type ColumnBatch, ENUMS, getI64, NULL_HIGH, NULL_U8 } from '../../src/model/columns.js';
import { MbfError } from '../../src/model/errors.js';
import type { ByteSource } from '../../src/model/parser.js';
import type { Note } from '../../src/model/tables.js';
import { repoRoot } from '../store/scratch.js';
import { claimed, strictSink } from '../support/collect-rows.js';
import { bytesSource } from '../support/decode.js';
import { SEED } from '../support/level.js';

interface Row {
  readonly ordinal: number;
  readonly time: bigint | null;
  readonly action: number | null;
  readonly delta: number;
  readonly category: number;
}

async function parse(source: ByteSource): Promise<{ readonly rows: Row[]; readonly notes: Note[] }> {
  const rows: Row[] = [];
  const notes: Note[] = [];
  const take = (batch: ColumnBatch): void => {
    const time = batch.i64('time_ns');
    for (let row = 0; row < batch.rows; row += 1) {
      const [low, high] = [time[row * 2]!, time[row * 2 + 1]!];
      const action = batch.u8('action')[row]!;
      rows.push({
        ordinal: batch.i32('ordinal')[row]!,
        time: high === NULL_HIGH ? null : (BigInt(high) << 32n) | BigInt(low),
        action: action === NULL_U8 ? null : action,
        delta: getI64(batch.i64('delta_bytes'), row),
        category: batch.u8('category')[row]!,
      });
    }
  };
  const sink = strictSink({ note: (note) => notes.push(note), profilerMemory: take });
  await profilerTimeline.parse(source, sink, { name: 'x.raw.json' });
  return { rows, notes };
}

const text = (content: string, chunkBytes?: number): ByteSource => bytesSource(Buffer.from(content), chunkBytes);

/** The code that it is refused with, or `read`. */
const codeOf = (content: string): Promise<string> =>
  parse(text(content)).then(
    () => 'read',
    (error: unknown) => {
      if (error instanceof MbfError) return error.code;
      throw error;
    },
  );

const T0 = 1_700_000_000_123_456_789n;
/** `[-1, 1, 4096, 0]` and the like, with the spaces of Python's json. */
const line = (event: readonly (number | bigint)[]): string => `[${event.join(', ')}]`;
const RAW = `[[-1, 1, 4096, 0], [${T0}, 2, 512, 4], [${T0}, 3, -512, 4], [${T0}, 3, 512, 5], [${T0 + 1500n}, 4, -512, 5]]`;

describe('raw events', () => {
  it('become one row each, with exact nanoseconds, and none for what existed before', async () => {
    const { rows, notes } = await parse(text(RAW));
    expect(rows).toEqual([
      { ordinal: 0, time: null, action: 0, delta: 4096, category: 0 },
      { ordinal: 1, time: T0, action: 1, delta: 512, category: 4 },
      { ordinal: 2, time: T0, action: 2, delta: -512, category: 4 },
      { ordinal: 3, time: T0, action: 2, delta: 512, category: 5 },
      { ordinal: 4, time: T0 + 1500n, action: 3, delta: -512, category: 5 },
    ]);
    expect(notes).toEqual([]);
  });

  it('may be one alone, or none', async () => {
    expect((await parse(text(`[${line([T0, 2, 7, 7])}]\n`))).rows).toMatchObject([{ delta: 7, category: 7 }]);
    const none = await parse(text('[]'));
    expect(none.rows).toEqual([]);
    expect(none.notes.map(({ kind }) => kind)).toEqual(['timeline_empty']);
  });

  it('are kept with a note where signs or times are odd', async () => {
    const { rows, notes } = await parse(text(`[[${T0}, 2, -5, 0],[${T0 - 1n}, 4, 5, 0]]`));
    expect(rows).toHaveLength(2);
    expect(notes.map(({ kind, count }) => [kind, count])).toEqual([
      ['timeline_signs', 2],
      ['timeline_order', 1],
    ]);
  });
});

describe('sums', () => {
  it('become differences, and every point keeps a row', async () => {
    const times = [1_700_000_000_000_000, 1_700_000_000_000_000, 1_700_000_000_000_007, 1_700_000_000_000_009];
    const sums = [
      [0, 100, 0, 0, 0, 0, 0, 0, 0],
      [0, 100, 0, 0, 0, 50, 0, 0, 9],
      [0, 100, 0, 0, 0, 0, 50, 0, 9],
      [0, 100, 0, 0, 0, 0, 50, 0, 9],
    ];
    const { rows } = await parse(text(JSON.stringify([times, sums])));
    expect(rows.map(({ ordinal, action, delta, category }) => [ordinal, action, delta, category])).toEqual([
      [0, null, 100, 0],
      [1, null, 50, 4],
      [1, null, 9, 7],
      [2, null, -50, 4],
      [2, null, 50, 5],
      [3, null, 0, 0],
    ]);
    expect(rows[3]!.time).toBe(1_700_000_000_000_007_000n);
  });

  it.each([1, 2, 3, 4, 5, 6])('of %i points are distinguished from events', async (points) => {
    const times = Array.from({ length: points }, (_, i) => i + 1);
    const sums = times.map((time) => [0, time * 10, 0, 0, 0, 0, 0, 0, 0]);
    const { rows } = await parse(text(JSON.stringify([times, sums])));
    expect(rows.map(({ time, delta }) => [time, delta])).toEqual(times.map((time) => [BigInt(time) * 1000n, 10]));
  });

  it('may be empty', async () => {
    const { rows, notes } = await parse(text('[[], []]'));
    expect(rows).toEqual([]);
    expect(notes.map(({ kind }) => kind)).toEqual(['timeline_empty']);
  });
});

describe('what torch 2.13 exported', () => {
  const exported = (name: string): Buffer => {
    const bytes = readFileSync(join(repoRoot, 'test', 'fixtures', 'profiler-timeline', 'torch-2.13', name));
    return name.endsWith('.gz') ? gunzipSync(bytes) : bytes;
  };
  const peakOf = (rows: readonly Row[]): number => {
    let total = 0;
    let peak = 0;
    rows.forEach((row, i) => {
      total += row.delta;
      if (rows[i + 1]?.ordinal !== row.ordinal) peak = Math.max(peak, total);
    });
    return peak;
  };

  it('adds up to what Python sums up, in both forms', async () => {
    const raw = await parse(bytesSource(exported('rank0.raw.json.gz')));
    const sums = await parse(bytesSource(exported('rank0.json.gz')));
    expect(raw.rows).toHaveLength(490);
    expect(new Set(sums.rows.map(({ ordinal }) => ordinal)).size).toBe(396);
    for (const { rows, notes } of [raw, sums]) {
      expect(finalBytes(rows)).toEqual([8_398_848, 16_797_712, 0, 0, 0, 0, 0, 0]);
      expect(peakOf(rows)).toBe(42_516_512);
      expect(notes).toEqual([]);
    }
    const before = raw.rows.filter(({ time }) => time === null);
    expect(before.reduce((sum, { delta }) => sum + delta, 0)).toBe(25_196_560);
    expect(before.every(({ action }) => action === 0)).toBe(true);
    expect((await parse(bytesSource(exported('empty-timeline.json.gz')))).rows).toEqual([]);
  });

  it.each(['rank0.raw.json.gz', 'rank0.json.gz', 'empty-timeline.json.gz'])('%s is known', (name) => {
    const bytes = exported(name);
    expect(claimed(bytes, name.replace('.gz', ''))).toBe('profiler-timeline');
  });
});

/** Events as the profiler sorts them: time, then action. */
const events = fc
  .array(
    fc.record({
      time: fc.integer({ min: 0, max: 200_000 }),
      action: fc.constantFrom(1, 2, 3, 4),
      bytes: fc.integer({ min: 0, max: 2 ** 34 }),
      category: fc.integer({ min: 0, max: 7 }),
      next: fc.integer({ min: 0, max: 7 }),
    }),
    { minLength: 1, maxLength: 60 },
  )
  .map((list) =>
    list
      .map((event) => ({ ...event, at: event.action === 1 ? -1n : T0 + BigInt(event.time) }))
      .sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : a.action - b.action)),
  );

interface ProfilerEvent {
  readonly at: bigint;
  readonly action: number;
  readonly bytes: number;
  readonly category: number;
  readonly next: number;
}

function rawJson(list: readonly ProfilerEvent[]): string {
  const lines = list.flatMap(({ at, action, bytes, category, next }) => {
    if (action === 3) return [line([at, 3, -bytes, category]), line([at, 3, bytes, next])];
    return [line([at, action, action === 4 ? -bytes : bytes, category])];
  });
  return `[${lines.join(', ')}]`;
}

/** What the other export makes of the same events: a point a microsecond, those from before at the first time. */
function sumsJson(list: readonly ProfilerEvent[]): string {
  const times: bigint[] = [];
  const sums: number[][] = [];
  for (const { at, action, bytes, category, next } of list) {
    const time = at < 0n ? -1n : at / 1000n;
    if (time !== times.at(-1)) {
      times.push(time);
      sums.push(sums.at(-1)?.slice() ?? new Array<number>(9).fill(0));
    }
    const row = sums.at(-1)!;
    if (action < 3) row[category + 1]! += bytes;
    else row[category + 1]! -= bytes;
    if (action === 3) row[next + 1]! += bytes;
  }
  const first = times.find((time) => time >= 0n) ?? -1n;
  return `[[${times.map((time) => (time < 0n ? first : time)).join(', ')}], ${JSON.stringify(sums)}]`;
}

function finalBytes(rows: readonly Row[]): number[] {
  const bytes = new Array<number>(ENUMS.profiler_category.length).fill(0);
  for (const row of rows) bytes[row.category]! += row.delta;
  return bytes;
}

describe('any timeline', () => {
  it('ends with the same bytes in both forms', async () => {
    await fc.assert(
      fc.asyncProperty(events, async (list) => {
        const raw = await parse(text(rawJson(list)));
        const sums = await parse(text(sumsJson(list)));
        expect(finalBytes(sums.rows)).toEqual(finalBytes(raw.rows));
        expect(raw.notes).toEqual([]);
        const last = raw.rows.at(-1)!.time;
        if (last !== null) expect(sums.rows.at(-1)!.time).toBe((last / 1000n) * 1000n);
      }),
      { numRuns: 200, seed: SEED },
    );
  });

  it('reads the same in chunks of any size', async () => {
    await fc.assert(
      fc.asyncProperty(events, fc.integer({ min: 1, max: 40 }), fc.boolean(), async (list, chunk, asSums) => {
        const content = asSums ? sumsJson(list) : rawJson(list);
        expect(await parse(text(content, chunk))).toEqual(await parse(text(content)));
      }),
      { numRuns: 100, seed: SEED },
    );
  });

  it('is refused wherever it is cut', async () => {
    for (const content of [RAW, sumsJson([{ at: T0, action: 2, bytes: 5, category: 3, next: 0 }])]) {
      for (let end = 1; end < content.length; end += 1) {
        expect(await codeOf(content.slice(0, end)), content.slice(0, end)).toBe('MBF2401');
      }
    }
  });

  it('is read or refused, never anything else, with any byte changed', async () => {
    await fc.assert(
      fc.asyncProperty(
        events,
        fc.boolean(),
        fc.nat(),
        fc.integer({ min: 0, max: 255 }),
        async (list, asSums, at, byte) => {
          const bytes = Buffer.from(asSums ? sumsJson(list) : rawJson(list));
          bytes[at % bytes.length] = byte;
          expect(['read', 'MBF2401', 'MBF2402']).toContain(await codeOf(bytes.toString('latin1')));
        },
      ),
      { numRuns: 300, seed: SEED },
    );
  });

  it('is claimed by this parser and no other', () => {
    fc.assert(
      fc.property(events, fc.boolean(), (list, asSums) => {
        expect(claimed(asSums ? sumsJson(list) : rawJson(list), 'profile.json')).toBe('profiler-timeline');
      }),
      { numRuns: 100, seed: SEED },
    );
  });
});

describe('what torch never writes', () => {
  it.each([
    ['an unknown action', `[${line([T0, 5, 1, 0])}]`],
    ['action 0', `[${line([T0, 0, 1, 0])}]`],
    ['an unknown category', `[${line([T0, 2, 1, 8])}]`],
    ['three numbers', '[[1, 2, 3], [1, 2, 3, 4]]'],
    ['five numbers in a later event', `[${line([T0, 2, 1, 0])}, [1, 2, 3, 4, 5]]`],
    ['an event without numbers', '[[]]'],
    ['a list inside an event', `[${line([T0, 2, 1, 0])}, [[1], 2, 3, 4]]`.replace('[[1]', '[5, [1]')],
    ['a number beside the events', `[5, ${line([T0, 2, 1, 0])}]`],
    ['more bytes than any device', `[${line([T0, 2, 2 ** 51, 0])}]`],
    ['a sum of them', `[${Array.from({ length: 3 }, () => line([T0, 2, 2 ** 49, 0])).join(',')}]`],
    ['a time beyond 64 bits', `[[99999999999999999999, 2, 1, 0]]`],
    ['a time before 1970', `[[-2, 2, 1, 0]]`],
    ['sums of eight numbers', '[[1, 2, 3, 4, 5], [[0, 1, 2, 3, 4, 5, 6, 7]]]'],
    ['sums that do not begin with 0', '[[1], [[1, 1, 2, 3, 4, 5, 6, 7, 8]]]'],
    ['more times than sums', '[[1, 2], [[0, 1, 2, 3, 4, 5, 6, 7, 8]]]'],
    ['more sums than times', '[[], [[0, 1, 2, 3, 4, 5, 6, 7, 8]]]'],
    ['a third list', '[[1], [[0, 1, 2, 3, 4, 5, 6, 7, 8]], []]'],
    ['lists in lists in lists', `[[1], [[[0]]]]`],
  ])('%s is refused', async (_what, content) => {
    expect(await codeOf(content)).toBe('MBF2402');
  });

  it.each([
    ['text', '[["a", 2, 1, 0]]'],
    ['an object', '{"a": [[1, 2, 3, 4]]}'],
    ['a fraction', '[[1.5, 2, 1, 0]]'],
    ['something behind the end', `${RAW}]`],
    ['a second document', `${RAW} ${RAW}`],
    ['a number alone', '5'],
    ['two commas', '[[1,, 2, 1, 0]]'],
  ])('%s is damage', async (_what, content) => {
    expect(await codeOf(content)).toBe('MBF2401');
  });

  it('is refused at its place', async () => {
    const broken = RAW.replace('512, 5]', '512, 5x');
    await expect(parse(text(broken))).rejects.toMatchObject({
      code: 'MBF2401',
      place: { offset: broken.indexOf('x') },
    });
  });

  /** Endless text; `given` counts its bytes. */
  function endless(head: string, repeated: string): { readonly source: ByteSource; readonly given: () => number } {
    let bytes = 0;
    const chunk = Buffer.from(repeated.repeat(Math.ceil(65_536 / repeated.length)));
    const read = (target: Uint8Array, start: number): Promise<number> => {
      const part = (bytes === 0 ? Buffer.from(head) : chunk).subarray(0, target.length - start);
      target.set(part, start);
      bytes += part.length;
      return Promise.resolve(part.length);
    };
    return { source: { sizeBytes: undefined, read }, given: () => bytes };
  }

  it.each(['1', ' ', '['])('takes no memory to refuse an endless text of %j', async (text) => {
    const { source, given } = endless('[', text);
    await expect(parse(source)).rejects.toMatchObject({ code: 'MBF2402' });
    expect(given()).toBeLessThan(1_000_000);
  });

  it('has a limit to its points in time', async () => {
    const { source, given } = endless('[[', '1,');
    await expect(parse(source)).rejects.toMatchObject({ code: 'MBF2403' });
    expect(given()).toBeGreaterThan(MOST_POINTS);
  });
});

describe('other files', () => {
  const claim = (name: string, content: string) => {
    const bytes = Buffer.from(content);
    return detect(PARSERS, { bytes, name, sizeBytes: bytes.length });
  };

  it.each([
    ['[[1, 2, 3, 4, 5], [2, 3, 4, 5, 6]]', 'matrix.json'],
    ['[[0.5, 1], [2, 3]]', 'matrix.json'],
    ['[1, 2, 3]', 'list.json'],
    ['[[101, 2023, 4], [7, 8]]', 'tokens.json'],
    ['[]', 'results.json'],
    ['[['.padEnd(70_000, '17, 3, '), 'tokens.json'],
  ])('%s is none', (content, name) => {
    const claimed = claim(name, content.slice(0, 65_536));
    expect(claimed.claims.find(({ parser }) => parser.id === 'profiler-timeline')!.score).toBeLessThan(0.25);
  });

  it('an empty one is known by its name', () => {
    expect(claim('rank0.raw.json', '[]')).toMatchObject({ status: 'recognised' });
    expect(claim('memory_timeline.json', '[[], []]')).toMatchObject({ status: 'recognised' });
  });

  it('the page with a picture is refused with what to do instead', () => {
    for (const title of ['GPU Memory Timeline HTML', 'Memory Timeline HTML']) {
      const page = `<html>\n<head><meta charset="utf-8" /><title>${title}</title></head>\n<body>\n  <img src='data:image/png;base64,iVBO'>`;
      const bytes = Buffer.from(page);
      const head = { bytes, name: 'timeline.html', sizeBytes: bytes.length };
      const detection = detect(PARSERS, head, { isNamed: true });
      expect(detection).toMatchObject({ status: 'failed', error: { code: 'MBF2404' } });
      expect(detect(PARSERS, head).status).toBe('skipped');
      if (detection.status !== 'recognised') expect(remedyOf(detection.error.code)).toContain('raw.json.gz');
    }
  });
});
