/**
 * Scalars of trackers as rows: one iteration a step, memory in bytes by its producer's unit, unknown names under their
 * own.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type IterationFinding,
  type KeptFinding,
  type LogPlace,
  MEMORY_METRICS,
  type MemoryFinding,
} from '../../src/model/log-rows.js';
import { findScalarName } from '../../src/text/scalars/find-scalar-name.js';
import { halfUnit } from '../../src/text/scalars/half-unit.js';
import { SCALAR_PRODUCERS } from '../../src/text/scalars/scalar-names.js';
import { MOST_OPEN_STEPS, type Scalar, ScalarRows, type ScalarWriter } from '../../src/text/scalars/scalar-rows.js';

interface Row {
  readonly finding: KeptFinding;
  readonly place: LogPlace;
}

const WRITER: ScalarWriter = { format: 'test', rank: 7, rankOrigin: 'test', host: 'h' };

function rowsOf(scalars: readonly (readonly [string, number, (number | null)?, number?])[], writer = WRITER): Row[] {
  const rows: Row[] = [];
  const reader = new ScalarRows((finding, place) => rows.push({ finding, place }), writer);
  scalars.forEach(([tag, value, step = 1, ordinal], index) => {
    const at = ordinal ?? index + 1;
    reader.add({ tag, value, step, timeUs: 1_000_000 + at, ordinal: at, offset: at * 10 });
  });
  reader.end();
  return rows;
}

const iterations = (rows: readonly Row[]): IterationFinding[] =>
  rows.map(({ finding }) => finding).filter((finding): finding is IterationFinding => finding.row === 'iteration');
const memory = (rows: readonly Row[]): MemoryFinding[] =>
  rows.map(({ finding }) => finding).filter((finding): finding is MemoryFinding => finding.row === 'memory');
const values = (rows: readonly Row[]) =>
  rows.flatMap(({ finding }) => (finding.row === 'value' ? [[finding.name, finding.value, finding.iteration]] : []));

describe('an iteration', () => {
  it('is gathered from the scalars of its step, in the place of the first', () => {
    const rows = rowsOf([
      ['learning-rate', 1e-4, 12],
      ['batch-size', 256, 12],
      ['lm loss', 7.5, 12],
      ['grad-norm', Number.NaN, 12],
      ['num-zeros', 17, 12],
      ['iteration-time', 2.5, 12],
      ['throughput', 612.25, 12],
      ['samples vs steps', 3072, 12],
    ]);
    expect(rows).toHaveLength(1);
    expect(rows[0]!.finding).toEqual({
      row: 'iteration',
      iteration: 12,
      target: null,
      learningRate: 1e-4,
      globalBatchSize: 256,
      loss: 7.5,
      gradNorm: Number.NaN,
      stepMs: 2500,
      tflopsPerGpu: 612.25,
      consumedSamples: 3072,
      others: [{ name: 'num zeros', value: 17, text: '17' }],
    });
    expect(rows[0]!.place).toEqual({
      line: 1,
      offset: 10,
      attempt: 1,
      rank: 7,
      rankOrigin: 'test',
      host: 'h',
      device: null,
      timeUs: 1_000_001,
      format: 'test',
    });
  });

  it('takes no step that counts samples', () => {
    const rows = rowsOf([
      ['lm loss vs samples', 7.5, 3072],
      ['lm_loss_vs_samples', 7.5, 3072],
      ['Train/Samples/train_loss', 7.5, 3072],
    ]);
    expect(iterations(rows)).toEqual([]);
    expect(values(rows)).toEqual([
      ['scalar.lm loss vs samples', 7.5, undefined],
      ['scalar.lm_loss_vs_samples', 7.5, undefined],
      ['scalar.Train/Samples/train_loss', 7.5, undefined],
    ]);
  });

  it('is counted from 1 whatever its producer counts from', () => {
    expect(iterations(rowsOf([['loss', 2, 0]]))[0]!.iteration).toBe(0);
    expect(iterations(rowsOf([['reduced_train_loss', 2, 0]]))[0]!.iteration).toBe(1);
    // What everybody calls alike counts as the rest of the file does.
    expect(
      iterations(
        rowsOf([
          ['lr', 2, 49],
          ['train_step_timing in s', 1, 49],
        ]),
      )[0],
    ).toMatchObject({
      iteration: 50,
      learningRate: 2,
      stepMs: 1000,
    });
    expect(iterations(rowsOf([['train_loss', 2, 0]], { ...WRITER, countsFrom: 0 }))[0]!.iteration).toBe(1);
  });

  it('is what a scalar of the same record says, not the number of calls', () => {
    const rows = rowsOf([
      ['train/loss', 2.5, 17, 1],
      ['train/learning_rate', 1e-5, 17, 1],
      ['train/global_step', 500, 17, 1],
      ['eval/loss', 3, 18, 2],
      ['train/global_step', 500, 18, 2],
      ['something', 1, 19, 3],
      ['trainer/global_step', 999, 19, 3],
      ['global_step', 3, 19, 3],
    ]);
    expect(iterations(rows)).toEqual([
      { row: 'iteration', iteration: 500, target: null, loss: 2.5, learningRate: 1e-5 },
    ]);
    expect(values(rows)).toEqual([
      ['scalar.eval/loss', 3, 500],
      ['scalar.something', 1, 1000],
    ]);
  });

  it('takes a name that others use too only beside its producer’s own names', () => {
    expect(iterations(rowsOf([['throughput', 5000]]))).toEqual([]);
    expect(values(rowsOf([['throughput', 5000]]))).toEqual([['scalar.throughput', 5000, 1]]);
    expect(
      iterations(
        rowsOf([
          ['throughput', 500],
          ['iteration-time', 2],
        ]),
      )[0],
    ).toMatchObject({ tflopsPerGpu: 500 });
    expect(values(rowsOf([['tflops', 500]]))).toEqual([['scalar.tflops', 500, 1]]);
  });

  it('keeps a name that comes twice in a step as a second row, and a second name of a field as a value', () => {
    expect(
      iterations(
        rowsOf([
          ['loss', 2],
          ['loss', 3],
        ]),
      ).map(({ loss }) => loss),
    ).toEqual([2, 3]);
    const rows = rowsOf([
      ['loss', 2],
      ['train/loss', 3],
    ]);
    expect(iterations(rows).map(({ loss }) => loss)).toEqual([2]);
    expect(values(rows)).toEqual([['scalar.train/loss', 3, 1]]);
  });

  it('makes no row of a count that is none, or of a step that is none', () => {
    const rows = rowsOf([
      ['batch-size', 256.5],
      ['consumed_samples', Number.NaN],
      ['loss', 1, null],
      ['lr', 1, -5],
    ]);
    expect(iterations(rows)).toEqual([]);
    expect(values(rows)).toEqual([
      ['scalar.batch-size', 256.5, 1],
      ['scalar.consumed_samples', Number.NaN, 1],
      ['scalar.loss', 1, undefined],
      ['scalar.lr', 1, -5],
    ]);
  });
});

describe('a memory figure', () => {
  const one = (tag: string, value: number, precision = 0): MemoryFinding | undefined => {
    const rows: Row[] = [];
    const reader = new ScalarRows((finding, place) => rows.push({ finding, place }), WRITER);
    reader.add({ tag, value, precision, step: 4, timeUs: null, ordinal: 1, offset: 0 });
    reader.end();
    expect(rows).toHaveLength(1);
    return memory(rows)[0];
  };

  it.each([
    ['mem-max-allocated-bytes', 57_140_000_768, 'max_allocated', 57_140_000_768, 0],
    ['memory/mem-max-reserved-gigabytes', 58.8, 'max_reserved', 58_800_000_000, 0.0005e9],
    ['memory/mem-inactive-gigabytes', 0.00007, 'inactive_split', 70_000, 0.5],
    ['memory/peak_reserved_mem', 6.1234, 'max_reserved', 6_123_400_000, 0.00005e9],
    ['memory/max_active(GiB)', 33.5, 'max_active', 33.5 * 2 ** 30, 0],
    // tensorboardX's spelling of the same.
    ['memory/max_active_GiB_', 33.5, 'max_active', 33.5 * 2 ** 30, 0],
    ['train/memory/max_allocated (GiB)', 13.14, 'max_allocated', Math.round(13.14 * 2 ** 30), 0.005 * 2 ** 30],
    ['actor/perf/max_memory_allocated_gb', 2, 'max_allocated', 2 ** 31, 0],
    ['gpu_memory/GPU active mem (GiB)', 2, 'max_active', 2 ** 31, 0],
    ['max_memory_reserved', 123, 'max_reserved', 123, 0],
    ['peak_memory_alloc', 10, 'max_allocated', 10 * 2 ** 30, 10 * (2 ** 30 - 1e9)],
  ])('%s = %s is %s of %s bytes, give or take %s', (tag, value, metric, bytes, precision) => {
    const row = one(tag, value)!;
    expect(row).toMatchObject({ metric, bytes, value, iteration: expect.any(Number) });
    expect(row.precisionBytes).toBeCloseTo(precision, -1);
  });

  it('keeps the moment of Lightning’s monitor, and counts from its 0', () => {
    expect(one('DeviceStatsMonitor.on_train_batch_start/allocated_bytes.all.current', 2048)).toMatchObject({
      metric: 'allocated',
      bytes: 2048,
      unit: 'bytes',
      moment: 'on_train_batch_start',
      iteration: 5,
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
  const scalar = fc.tuple(
    fc.constantFrom(
      'loss',
      'lm loss',
      'x',
      'mem-allocated-bytes',
      'train/global_step',
      'lm loss vs samples',
      'grad-norm',
    ),
    fc.constantFrom(0, 1, -1, 2.5, 1e12, Number.NaN, Number.POSITIVE_INFINITY),
    fc.constantFrom<number | null>(null, 0, 1, 2, 3, 70, 1e15, -4),
    fc.integer({ min: 1, max: 5 }),
  );

  it('lose nothing: each is a field, a memory row or a value, unless it only says the step', () => {
    fc.assert(
      fc.property(fc.array(scalar, { maxLength: 300 }), (scalars) => {
        const rows = rowsOf(scalars);
        let kept = 0;
        for (const { finding } of rows) {
          if (finding.row !== 'iteration') kept += 1;
          else kept += [finding.loss, finding.gradNorm].filter((value) => value !== undefined).length;
        }
        expect(kept).toBe(scalars.filter(([tag]) => tag !== 'train/global_step').length);
      }),
    );
  });

  it('wait for the rest of their step, but for no more than a few of them', () => {
    const rows: Row[] = [];
    const reader = new ScalarRows((finding, place) => rows.push({ finding, place }), WRITER);
    const add = (tag: string, step: number): void => {
      const scalar: Scalar = { tag, value: step, step, timeUs: null, ordinal: 1, offset: 0 };
      reader.add(scalar);
    };
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
  it('says of every producer where it is from, and finds each of its names', () => {
    for (const { producer, versions, source, names } of SCALAR_PRODUCERS) {
      expect(versions.length, producer).toBeGreaterThan(0);
      expect(source.length, producer).toBeGreaterThan(0);
      expect(names.length, producer).toBeGreaterThan(0);
      for (const { tag, meaning } of names) {
        if (typeof tag !== 'string') continue;
        expect(findScalarName(tag)?.meaning, tag).toEqual(meaning);
        if (meaning.as === 'memory') expect(MEMORY_METRICS).toContain(meaning.metric);
      }
    }
  });

  it('has no name twice, and no pattern that can run away', () => {
    const tags = SCALAR_PRODUCERS.flatMap(({ names }) => names.map(({ tag }) => String(tag)));
    expect(tags.filter((tag, index) => tags.indexOf(tag) !== index)).toEqual([]);
    for (const tag of tags.filter((text) => text.startsWith('/')))
      expect(tag).not.toMatch(/(?<!\\)[*+](?!\))|\{\d+,\}/);
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
    );
    expect(halfUnit(57_140_000_003, 24)).toBe(2048);
  });

  it('is none where the number is exact, or none', () => {
    for (const value of [0, 256, -(2 ** 24), Number.NaN, Number.POSITIVE_INFINITY]) expect(halfUnit(value, 24)).toBe(0);
    expect(halfUnit(0.1, 53)).toBe(0);
  });
});
