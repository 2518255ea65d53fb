/**
 * Scalars of trackers as rows: one iteration a step, memory in bytes by its producer's unit, unknown names under their
 * own. Cases: `scalar-cases.yaml`.
 */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type IterationFinding, type LogPlace, MEMORY_METRICS, type MemoryFinding } from '../../src/model/log-rows.js';
import { findScalarName } from '../../src/text/scalars/find-scalar-name.js';
import { halfUnit } from '../../src/text/scalars/half-unit.js';
import { SCALAR_PRODUCERS } from '../../src/text/scalars/scalar-names.js';
import { MOST_OPEN_STEPS, ScalarRows, type ScalarWriter } from '../../src/text/scalars/scalar-rows.js';
import { splitSystemLabel, systemGauge } from '../../src/text/scalars/system-metrics.js';
import { briefRows } from '../parsers/brief-rows.js';
import type { PlacedFinding } from '../support/collect-rows.js';
import { SEED } from '../support/level.js';

type GivenScalar = readonly [tag: string, value: number, step?: number | null, ordinal?: number];
interface Case {
  readonly is: string;
  readonly of: readonly GivenScalar[];
  readonly writer?: Partial<ScalarWriter>;
  readonly iterations?: readonly string[];
  readonly values?: readonly string[];
  /** Of the first row. */
  readonly place?: LogPlace;
}
const cases = parse(readFileSync(new URL('scalar-cases.yaml', import.meta.url), 'utf8')) as {
  readonly scalars: readonly Case[];
  readonly memory: readonly (readonly [string, number, string, number, number])[];
  readonly system: readonly (readonly [string, number, object | null])[];
};

function rowsOf(scalars: readonly GivenScalar[], writer: Partial<ScalarWriter> = {}, precision = 0): PlacedFinding[] {
  const rows: PlacedFinding[] = [];
  const names = { format: 'test', rank: 7, rankOrigin: 'test', host: 'h', ...writer };
  const reader = new ScalarRows((finding, place) => rows.push({ finding, place }), names);
  scalars.forEach(([tag, value, step = 1, ordinal], index) => {
    const at = ordinal ?? index + 1;
    reader.add({ tag, value, precision, step, timeUs: 1_000_000 + at, ordinal: at, offset: at * 10 });
  });
  reader.end();
  return rows;
}

const iterations = (rows: readonly PlacedFinding[]): IterationFinding[] =>
  rows.map(({ finding }) => finding).filter((finding): finding is IterationFinding => finding.row === 'iteration');

it.each(cases.scalars.map((one) => [one.is, one] as const))('%s', (_, { of, writer, iterations, values, place }) => {
  const rows = rowsOf(of, writer);
  if (iterations !== undefined) expect(briefRows(rows, 'iterations')).toEqual(iterations);
  if (values !== undefined) expect(briefRows(rows, 'scalars')).toEqual(values);
  if (place !== undefined) expect(rows[0]!.place).toEqual(place);
  expect(rows).toHaveLength((iterations?.length ?? 0) + (values?.length ?? 0));
});

describe('a memory figure', () => {
  const one = (tag: string, value: number, precision = 0): MemoryFinding | undefined => {
    const rows = rowsOf([[tag, value, 4]], {}, precision);
    expect(rows).toHaveLength(1);
    const [{ finding }] = rows as [PlacedFinding];
    return finding.row === 'memory' ? finding : undefined;
  };

  it.each(cases.memory)('%s = %s is %s of %s bytes, give or take %s', (tag, value, metric, bytes, precision) => {
    const row = one(tag, value)!;
    expect(row).toMatchObject({ metric, bytes, value, iteration: expect.any(Number) });
    expect(row.precisionBytes).toBeCloseTo(precision, -1);
  });

  it('keeps the moment of Lightning’s monitor, and counts from its 0', () => {
    expect(one('DeviceStatsMonitor.on_train_batch_start/allocated_bytes.all.current', 2048)).toMatchObject({
      ...{ metric: 'allocated', bytes: 2048, unit: 'bytes', moment: 'on_train_batch_start', iteration: 5 },
    });
    expect(one('DeviceStatsMonitor.on_train_batch_end.num_ooms', 2)).toMatchObject({ metric: 'ooms', bytes: null });
    expect(one('DeviceStatsMonitor.on_train_batch_end.max_split_size', -1)).toBeUndefined();
  });

  it('has the coarser of the writer’s and the producer’s precision', () => {
    expect(one('mem-allocated-bytes', 50_290_000_000, 2048)!.precisionBytes).toBe(2048);
    expect(one('memory/mem-allocated-gigabytes', 43.4, 2e-6)!.precisionBytes).toBeCloseTo(0.0005e9, -1);
  });

  it('is none where the producer has none', () => {
    expect(one('memory/max_active(GiB)', -1 / 2 ** 30)).toBeUndefined();
    expect(one('mem-allocated-bytes', Number.NaN)).toBeUndefined();
    expect(one('mem-allocated-bytes', 1e300)).toBeUndefined();
  });
});

describe('any scalars', () => {
  const tags = ['loss', 'lm loss', 'x', 'mem-allocated-bytes', 'train/global_step', 'lm loss vs samples', 'grad-norm'];
  const scalar = fc.tuple(
    fc.constantFrom(...tags),
    fc.constantFrom(0, 1, -1, 2.5, 1e12, Number.NaN, Number.POSITIVE_INFINITY),
    fc.constantFrom<number | null>(null, 0, 1, 2, 3, 70, 1e15, -4),
    fc.integer({ min: 1, max: 5 }),
  );

  it('lose nothing: each is a field, a memory row or a value, unless it only gives the step', () => {
    fc.assert(
      fc.property(fc.array(scalar, { maxLength: 300 }), (scalars) => {
        let kept = 0;
        for (const { finding } of rowsOf(scalars)) {
          if (finding.row !== 'iteration') kept += 1;
          else kept += [finding.loss, finding.gradNorm].filter((value) => value !== undefined).length;
        }
        expect(kept).toBe(scalars.filter(([tag]) => tag !== 'train/global_step').length);
      }),
      { seed: SEED },
    );
  });

  it('wait for others of their step, but for no more than a few steps', () => {
    const rows: PlacedFinding[] = [];
    const names = { format: 'test', rank: 7, rankOrigin: 'test', host: 'h' };
    const reader = new ScalarRows((finding, place) => rows.push({ finding, place }), names);
    const add = (tag: string, step: number): void =>
      reader.add({ tag, value: step, step, timeUs: null, ordinal: 1, offset: 0 });
    for (let step = 1; step <= 1000; step += 1) {
      add('loss', step);
      expect(step - rows.length).toBeLessThanOrEqual(MOST_OPEN_STEPS);
    }
    for (let step = 1000; step > 1000 - MOST_OPEN_STEPS; step -= 1) add('lr', step);
    reader.end();
    expect(iterations(rows).map(({ iteration }) => iteration)).toEqual(Array.from({ length: 1000 }, (_, i) => i + 1));
    expect(iterations(rows).filter(({ learningRate }) => learningRate !== undefined)).toHaveLength(MOST_OPEN_STEPS);
  });
});

describe('the dictionary', () => {
  it('has the source of every producer, and finds each of its names', () => {
    for (const { producer, versions, source, names } of SCALAR_PRODUCERS) {
      for (const { length } of [versions, source, names]) expect(length, producer).toBeGreaterThan(0);
      for (const { tag, meaning } of names) {
        if (tag === undefined) continue;
        expect(findScalarName(tag)?.meaning, tag).toEqual(meaning);
        if (meaning.as === 'memory') expect(MEMORY_METRICS).toContain(meaning.metric);
      }
    }
  });

  it('has no name twice, and no pattern that can run away', () => {
    const names = SCALAR_PRODUCERS.flatMap((producer) => producer.names);
    const tags = names.map(({ tag, pattern }) => tag ?? pattern!);
    expect(tags.filter((tag, index) => tags.indexOf(tag) !== index)).toEqual([]);
    for (const { pattern } of names.filter((name) => name.pattern !== undefined))
      expect(pattern).not.toMatch(/(?<!\\)[*+](?!\))|\{\d+,\}/);
  });
});

describe('the precision of a float', () => {
  it('covers every number that becomes it', () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-30, max: 1e30, noNaN: true }), (value) => {
        const kept = Math.fround(value);
        // The next power of two up has twice the distance; what is rounded up to it lies below.
        if (!Number.isInteger(kept) || kept > 2 ** 24)
          expect(Math.abs(kept - value)).toBeLessThanOrEqual(halfUnit(kept, 24));
      }),
      { seed: SEED },
    );
    expect(halfUnit(57_140_000_003, 24)).toBe(2048);
  });

  it('is none where the number is exact, or none', () => {
    for (const value of [0, 256, -(2 ** 24), Number.NaN, Number.POSITIVE_INFINITY]) expect(halfUnit(value, 24)).toBe(0);
    expect(halfUnit(0.1, 53)).toBe(0);
  });
});

describe('metrics of W&B’s monitor', () => {
  it.each(cases.system)('%s = %s', (tag, value, row) => {
    expect(systemGauge(tag, value)).toEqual(row);
  });

  it('a name of 100,000 characters has no row', () => {
    expect(systemGauge(`system.${'x'.repeat(100_000)}`, 1)).toBeNull();
  });

  it('labels are split off', () => {
    expect(splitSystemLabel('gpu.0.temp/l:node-1/l:writer')).toEqual({ name: 'gpu.0.temp', label: 'node-1' });
    expect(splitSystemLabel('gpu.0.temp')).toEqual({ name: 'gpu.0.temp', label: null });
  });
});
