/** The runner of hostile files: each is refused with one clear error, or ingested with all that is readable. */
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { MIB } from '../../src/model/units.js';
import { type Bench, expectSound, openBench } from './harness.js';

export interface Hostile {
  readonly what: string;
  /** File name; default `x.pickle`. */
  readonly file?: string;
  readonly bytes: Buffer | (() => Buffer);
  /** The bytes are written compressed. */
  readonly gzip?: boolean;
  /** Of the error with which it is refused; without one it is ingested. */
  readonly code?: string;
  readonly fact?: RegExp;
  /** The error has a position after the first byte. */
  readonly hasOffset?: boolean;
  /** Kinds that are among its notes; all of them; the number of notes of some kinds; their texts with counts. */
  readonly notes?: readonly string[];
  readonly exactNotes?: readonly string[];
  readonly kinds?: Readonly<Record<string, number>>;
  readonly noteTexts?: readonly (string | RegExp)[];
  /** Answers of queries of a store of this file alone. */
  readonly rows?: Readonly<Record<string, readonly (readonly unknown[])[]>>;
}

const LONGEST_VALUE = `SELECT max(length(value)) AS n FROM (
  SELECT value FROM snapshot_setting UNION ALL SELECT value_json FROM event_extra)`;

async function expectIngested(
  { store }: Bench,
  { notes, exactNotes, kinds, noteTexts, rows }: Hostile,
  source: Source,
) {
  expect(source.status, source.error?.text).toBe('ingested');
  const found = source.notes.map(({ kind }) => kind);
  expect(found).toEqual(expect.arrayContaining([...(notes ?? [])]));
  if (exactNotes !== undefined) expect(found).toEqual(exactNotes);
  for (const [kind, count] of Object.entries(kinds ?? {}))
    expect([kind, found.filter((one) => one === kind).length]).toEqual([kind, count]);
  const texts = source.notes.map(({ text, count }) => `${text} ×${count}`);
  for (const text of noteTexts ?? []) expect(texts).toContainEqual(expect.stringMatching(text));
  for (const { text } of source.notes) expect(text.length).toBeLessThan(400);
  const [longest] = await store.select(LONGEST_VALUE);
  expect(Number(longest?.['n'] ?? 0)).toBeLessThan(20_000);
  for (const { v } of await store.select('SELECT value_json AS v FROM event_extra LIMIT 10'))
    expect(() => JSON.parse(String(v))).not.toThrow();
  for (const [sql, expected] of Object.entries(rows ?? {}))
    expect([sql, (await store.select(sql)).map((row) => Object.values(row))]).toEqual([sql, expected]);
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
}
type Source = Awaited<ReturnType<Bench['take']>>['source'];

/** One test for each. Refused files share a store, for they leave nothing in it that another could not meet. */
export function testHostile(name: string, cases: readonly Hostile[]): void {
  describe(name, () => {
    let shared: Bench | undefined;
    afterAll(() => shared?.close());
    it.each(cases.map((one) => ({ ...one, end: one.code ?? 'ingested' })))('$what: $end', async (one) => {
      let bytes = typeof one.bytes === 'function' ? one.bytes() : one.bytes;
      if (one.gzip) {
        bytes = gzipSync(bytes, { level: 1 });
        expect(bytes.length).toBeLessThan(6 * MIB);
      }
      const isRefused = one.code !== undefined;
      if (isRefused) shared ??= await openBench();
      const bench = isRefused ? shared! : await openBench();
      try {
        const { source } = await bench.take(one.file ?? (one.gzip ? 'x.pickle.gz' : 'x.pickle'), bytes);
        if (isRefused) {
          expect(source.error?.code, source.error?.text ?? source.status).toBe(one.code);
          expect(source.error?.text).toMatch(one.fact ?? /./);
          if (one.hasOffset) expect(source.error?.offset).toBeGreaterThan(0);
        } else await expectIngested(bench, one, source);
        await expectSound(bench.store);
      } finally {
        if (!isRefused) await bench.close();
      }
    });
  });
}
