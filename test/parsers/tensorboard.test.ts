/**
 * TensorBoard event files: what the reference writers wrote comes back, and damage costs only the records that it hit.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { PbfWriter } from 'pbf';
import { describe, expect, it } from 'vitest';
import { hostFromName } from '../../parsers/tensorboard/file-name.js';
import { tensorboardEvents } from '../../parsers/tensorboard/index.js';
import { continueCrc, maskCrc, maskedCrc } from '../../parsers/tensorboard/masked-crc.js';
import { MOST_HELD_BYTES, readRecords } from '../../parsers/tensorboard/record-reader.js';
import type { KeptFinding } from '../../src/model/log-rows.js';
import type { ByteSource } from '../../src/model/parser.js';
import { repoRoot } from '../store/scratch.js';
import { claimed, collectRows, type PlacedFinding, placedRows } from '../support/collect-rows.js';
import { bytesSource } from '../support/decode.js';
import { SEED } from '../support/level.js';

const FIXTURES = join(repoRoot, 'test', 'fixtures', 'tensorboard');

const parse = (source: ByteSource, name = 'events.out.tfevents.1760000000.h') =>
  placedRows(tensorboardEvents, source, name);

interface Expected {
  readonly tag: string;
  readonly value: number;
  readonly step: number;
  readonly time: number;
  readonly kind: 'float' | 'exact';
}

function fixture(name: string): {
  readonly bytes: Buffer;
  readonly scalars: readonly Expected[];
  readonly settings: Readonly<Record<string, string>>;
} {
  const [settings, ...scalars] = readFileSync(join(FIXTURES, `${name}.expected.jsonl`), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
  return {
    bytes: readFileSync(join(FIXTURES, name)),
    settings: settings as Record<string, string>,
    scalars: (scalars as (Omit<Expected, 'value'> & { value: number | null })[]).map((scalar) => ({
      ...scalar,
      value: scalar.value ?? Number.NaN,
    })),
  };
}

const names = readdirSync(FIXTURES).filter((name) => /tfevents/.test(name) && !name.endsWith('.jsonl'));

/** Every number that a row carries, the reported one where a row has both. */
function numbersOf({ finding }: PlacedFinding): number[] {
  switch (finding.row) {
    case 'memory':
      return [finding.value];
    case 'value':
      return [finding.value!];
    case 'iteration': {
      const { stepMs, globalBatchSize, tflopsPerGpu, learningRate, loss, lossScale, gradNorm, others } = finding;
      const seconds = stepMs === undefined ? undefined : stepMs / 1000;
      const fields = [seconds, globalBatchSize, tflopsPerGpu, learningRate, loss, lossScale, gradNorm];
      return [...fields.filter((value) => value !== undefined), ...(others ?? []).map(({ value }) => value!)];
    }
    default:
      return [];
  }
}

const stored = ({ value, kind }: Expected): number => (kind === 'float' ? Math.fround(value) : value);
const ofKind = <Kind extends KeptFinding['row']>(rows: readonly PlacedFinding[], kind: Kind) =>
  rows.map(({ finding }) => finding).filter((row): row is Extract<KeptFinding, { row: Kind }> => row.row === kind);

// ---- records of our own, to have any bytes in them

/** A message with fields of one type. */
function message(write: (writer: PbfWriter) => void): Buffer {
  const writer = new PbfWriter();
  write(writer);
  return Buffer.from(writer.finish());
}
const field = (number: number, data: Uint8Array): Buffer => message((writer) => writer.writeBytesField(number, data));

const scalarEvent = (tag: string, value: number, step: number): Buffer =>
  message((writer) => {
    writer.writeDoubleField(1, 1_760_000_000 + step);
    writer.writeVarintField(2, step);
    const simple = message((one) => one.writeFloatField(2, value));
    writer.writeBytesField(5, field(1, Buffer.concat([field(1, Buffer.from(tag)), simple])));
  });

function record(data: Uint8Array): Buffer {
  const bytes = Buffer.alloc(data.length + 16);
  bytes.writeUInt32LE(data.length, 0);
  bytes.writeUInt32LE(maskedCrc(bytes.subarray(0, 8)), 8);
  bytes.set(data, 12);
  bytes.writeUInt32LE(maskedCrc(data), data.length + 12);
  return bytes;
}

const VERSION = record(
  Buffer.concat([Buffer.from([9, 0, 0, 0, 0, 0, 0, 0, 0]), field(3, Buffer.from('brain.Event:2'))]),
);

describe('what the reference writers wrote', () => {
  it('is there', () => {
    expect(names.length).toBeGreaterThanOrEqual(5);
  });

  it.each(names)('%s comes back, every scalar and setting of it', async (name) => {
    const { bytes, scalars, settings } = fixture(name);
    const { rows, notes, summary } = await parse(bytesSource(bytes), name);
    expect(summary.clock).toBe('utc');
    expect(notes.filter(({ severity }) => severity === 'warning')).toEqual([]);
    const sorted = (numbers: readonly number[]): number[] =>
      [...numbers].sort((a, b) => a - b || Number(Number.isNaN(a)) - Number(Number.isNaN(b)));
    const values = rows.flatMap((row) => {
      const { finding } = row;
      // Timers become milliseconds.
      return finding.row === 'value' && finding.unit === 'ms' ? [finding.value! / 1000] : numbersOf(row);
    });
    expect(sorted(values.map((value) => Math.fround(value)))).toEqual(
      sorted(scalars.map((scalar) => Math.fround(stored(scalar)))),
    );
    expect(new Map(ofKind(rows, 'config').map(({ rawKey, value }) => [rawKey, value]))).toEqual(
      new Map(Object.entries(settings).map(([key, value]) => [key, value === 'None' ? null : value])),
    );
    const times = new Set(scalars.map(({ time }) => Math.round(time * 1e6)));
    for (const { finding, place } of rows) if (finding.row !== 'config') expect(times).toContain(place.timeUs);
  });

  it.each(names)('%s is the same in whatever pieces it is read', async (name) => {
    const { bytes } = fixture(name);
    const expected = await parse(bytesSource(bytes), name);
    for (const chunk of [1, 7, 1000]) expect(await parse(bytesSource(bytes, chunk), name)).toEqual(expected);
  });

  it('is iterations, memory and arguments of Megatron-LM', async () => {
    const name = names.find((candidate) => candidate.includes('dgx'))!;
    const { rows, notes } = await parse(bytesSource(fixture(name).bytes), name);
    const iterations = ofKind(rows, 'iteration');
    expect(iterations.map(({ iteration }) => iteration)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(iterations[2]).toMatchObject({
      gradNorm: Number.NaN,
      globalBatchSize: 256,
      tflopsPerGpu: 615.25,
      lossScale: 1,
    });
    expect(iterations[1]!.stepMs).toBeCloseTo(2345.678, 3);
    expect(iterations[0]!.others).toEqual([{ name: 'num zeros', value: 18, text: '18' }]);
    const reserved = ofKind(rows, 'memory').filter(({ metric }) => metric === 'reserved');
    expect(reserved.map(({ bytes }) => bytes)).toEqual(
      [1, 2, 3, 4, 5, 6, 7, 8].map((step) => 64_424_509_440 + 2_097_152 * step),
    );
    // A float holds 50 GB to 4 KiB.
    const allocated = ofKind(rows, 'memory').filter(({ metric }) => metric === 'allocated');
    for (const { bytes, precisionBytes, iteration } of allocated) {
      expect(precisionBytes).toBe(2048);
      expect(Math.abs(bytes! - (50_290_000_001 + 512 * iteration!))).toBeLessThanOrEqual(2048);
    }
    expect(ofKind(rows, 'config').find(({ rawKey }) => rawKey === 'tensor_model_parallel_size')).toEqual({
      row: 'config',
      key: 'tensor_model_parallel_size',
      rawKey: 'tensor_model_parallel_size',
      value: '4',
      origin: 'run file',
    });
    expect(ofKind(rows, 'value').filter(({ name: value }) => value === 'timer.forward-backward.max_ms')).toHaveLength(
      8,
    );
    expect(
      ofKind(rows, 'value')
        .filter(({ name: value }) => / vs samples$/.test(value))
        .every(({ iteration }) => iteration === undefined),
    ).toBe(true);
    expect(new Set(rows.map(({ place }) => place.host))).toEqual(new Set(['dgx-07.cluster.local']));
    // The histogram, the image and the sample of text.
    expect(notes).toEqual([{ kind: 'tensorboard_media', severity: 'info', text: expect.any(String), count: 3 }]);
    expect(JSON.stringify(rows)).not.toContain('Once upon a time');
  });

  it('keeps Lightning’s steps, hyperparameters and a restart', async () => {
    const name = names.find((candidate) => candidate.includes('a100'))!;
    const { rows, notes } = await parse(bytesSource(fixture(name).bytes), name);
    expect(ofKind(rows, 'iteration').map(({ iteration, loss }) => [iteration, loss])).toEqual([
      [1, 2.5],
      [50, Math.fround(2.01)],
      [100, Math.fround(1.51)],
      [51, 1.75],
    ]);
    expect(ofKind(rows, 'config').map(({ key, value }) => [key, value])).toContainEqual([
      'tensor_model_parallel_size',
      '2',
    ]);
    expect(notes.map(({ kind }) => kind)).toEqual(['tensorboard_restart']);
  });

  it('reads names as tensorboardX writes them', async () => {
    const name = names.find((candidate) => candidate.endsWith('titan'))!;
    const { rows } = await parse(bytesSource(fixture(name).bytes), name);
    expect(
      ofKind(rows, 'iteration').map(({ iteration, stepMs, tflopsPerGpu }) => [iteration, stepMs, tflopsPerGpu]),
    ).toEqual([
      [1, 1750, 302.25],
      [10, 1750, 302.25],
      [20, 1750, 302.25],
    ]);
    expect(
      ofKind(rows, 'memory')
        .filter(({ metric }) => metric === 'max_active')
        .map(({ bytes }) => bytes),
    ).toEqual([1, 10, 20].map((step) => (33.125 + step / 64) * 2 ** 30));
  });
});

describe('arguments of Hugging Face', () => {
  it('are the settings of their JSON, without secrets', async () => {
    const tensor = (text: string) => Buffer.concat([Buffer.from([8, 7]), field(8, Buffer.from(text))]);
    const metadata = field(1, field(1, Buffer.from('text')));
    const text = (tag: string, content: string): Buffer => {
      const value = Buffer.concat([
        field(1, Buffer.from(`${tag}/text_summary`)),
        field(8, tensor(content)),
        field(9, metadata),
      ]);
      return record(field(5, field(1, value)));
    };
    const args = JSON.stringify(
      { per_device_train_batch_size: 2, bf16: true, hf_token: 'hf_abc', output_dir: null },
      null,
      2,
    );
    const { rows } = await parse(
      bytesSource(
        Buffer.concat([VERSION, text('args', args), text('model_config', '{"hidden_size": 4096}'), text('note', 'x')]),
      ),
    );
    expect(ofKind(rows, 'config').map(({ key, value }) => [key, value])).toEqual([
      ['micro_batch_size', '2'],
      ['bf16', 'True'],
      ['hf_token', '<secret: 6 characters>'],
      ['output_dir', null],
      ['hidden_size', '4096'],
    ]);
  });
});

describe('a damaged file', () => {
  const steps = 12;
  const file = Buffer.concat([
    VERSION,
    ...Array.from({ length: steps }, (_, i) => record(scalarEvent('loss', 100 + i, i + 1))),
  ]);
  const losses = (rows: readonly PlacedFinding[]) =>
    ofKind(rows, 'iteration').map(({ iteration, loss }) => [iteration, loss]);
  const original = (pair: readonly (number | undefined)[]): boolean => pair[1] === 99 + pair[0]!;

  it('loses the record that a flipped bit hit, and nothing else, wherever it is', async () => {
    for (let at = 0; at < file.length; at += 1) {
      for (const mask of [0x01, 0x80, 0xff]) {
        const bytes = Buffer.from(file);
        bytes[at]! ^= mask;
        const { rows, notes } = await parse(bytesSource(bytes));
        const readLosses = losses(rows);
        expect(readLosses.every(original)).toBe(true);
        const isInVersion = at < VERSION.length;
        expect(readLosses).toHaveLength(isInVersion ? steps : steps - 1);
        const warnings = notes.filter(({ severity }) => severity === 'warning');
        // Damage in the length of the last record looks as if the file ended in it.
        const isLast = at >= file.length - (file.length - VERSION.length) / steps;
        if (isLast) expect(notes).toHaveLength(1);
        else expect(warnings).toHaveLength(1);
        if (!isLast) expect(warnings[0]).toMatchObject({ kind: 'tensorboard_damaged', offset: expect.any(Number) });
      }
    }
  });

  it('is read up to where it was cut, with a word about it, wherever that is', async () => {
    const size = (file.length - VERSION.length) / steps;
    for (let length = 1; length < file.length; length += 1) {
      const bytes = file.subarray(0, length);
      if (length < VERSION.length) {
        await expect(parse(bytesSource(bytes))).rejects.toMatchObject({ code: 'MBF2901' });
        continue;
      }
      const { rows, notes } = await parse(bytesSource(bytes));
      const complete = Math.floor((length - VERSION.length) / size);
      expect(losses(rows)).toEqual(Array.from({ length: complete }, (_, i) => [i + 1, 100 + i]));
      const isCut = length - VERSION.length > complete * size;
      expect(notes.map(({ kind, severity }) => [kind, severity])).toEqual(isCut ? [['tensorboard_cut', 'info']] : []);
      if (isCut) expect(notes[0]!.offset).toBe(VERSION.length + complete * size);
    }
  });

  it('is found again behind garbage of any kind and length, and all of it is counted', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(fc.uint8Array({ minLength: 1, maxLength: 300 }), fc.constant(null)), { maxLength: 20 }),
        fc.integer({ min: 1, max: 500 }),
        async (parts, chunk) => {
          let step = 0;
          let garbage = 0;
          const bytes = Buffer.concat([
            VERSION,
            ...parts.map((part) => {
              if (part !== null) {
                garbage += part.length;
                return part;
              }
              step += 1;
              return record(scalarEvent('loss', 99 + step, step));
            }),
          ]);
          const { rows, notes } = await parse(bytesSource(bytes, chunk));
          expect(losses(rows)).toEqual(Array.from({ length: step }, (_, i) => [i + 1, 100 + i]));
          const lost = notes.reduce((sum, { kind, count }) => sum + (kind === 'tensorboard_damaged' ? count! : 0), 0);
          const tail = notes.find(({ kind }) => kind === 'tensorboard_cut');
          expect(lost + (tail === undefined ? 0 : bytes.length - tail.offset!)).toBe(garbage);
        },
      ),
      { numRuns: 200, seed: SEED },
    );
  });

  it('with a length beyond the end of the file is skipped; the records after it are kept', async () => {
    const absurd = Buffer.alloc(12);
    absurd.writeBigUInt64LE(2n ** 40n);
    absurd.writeUInt32LE(maskedCrc(absurd.subarray(0, 8)), 8);
    const { rows, notes } = await parse(
      bytesSource(Buffer.concat([VERSION, absurd, record(scalarEvent('loss', 100, 1))])),
    );
    expect(losses(rows)).toEqual([[1, 100]]);
    expect(notes).toMatchObject([{ kind: 'tensorboard_damaged', offset: VERSION.length, count: 12 }]);
  });

  it('of records that are not events, or without any record, is one clear error', async () => {
    const code = async (bytes: Uint8Array) => (await collectRows(tensorboardEvents, bytes)).refused ?? 'read';
    expect(await code(Buffer.alloc(5000, 7))).toBe('MBF2901');
    expect(await code(Buffer.alloc(5000))).toBe('MBF2901');
    expect(await code(record(Buffer.from('no protocol buffer at all')))).toBe('MBF2902');
    expect(await code(Buffer.concat([VERSION, record(Buffer.from('no protocol buffer at all'))]))).toBe('read');
  });

  it('of any bytes with right checksums makes no wrong row and no other error', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ minLength: 1, maxLength: 60 }), { minLength: 1, maxLength: 5 }),
        fc.nat({ max: 200 }),
        async (payloads, at) => {
          // A real event with some bytes overwritten comes further than noise.
          const event = Buffer.from(scalarEvent('mem-allocated-bytes', 5e10, 3));
          event.set(payloads[0]!.subarray(0, Math.max(0, event.length - (at % event.length))), at % event.length);
          const bytes = Buffer.concat([VERSION, record(event), ...payloads.map(record)]);
          await parse(bytesSource(bytes));
        },
      ),
      { numRuns: 500, seed: SEED },
    );
  });
});

describe('a long record', () => {
  /** A stream that is generated while it is read; nothing of it is kept in memory. */
  function stream(parts: readonly (Buffer | { readonly zeros: number })[], onRead: () => void): ByteSource {
    let part = 0;
    let at = 0;
    return {
      sizeBytes: undefined,
      read(target, start) {
        onRead();
        const current = parts[part];
        if (current === undefined) return Promise.resolve(0);
        const size = 'zeros' in current ? current.zeros : current.length;
        const count = Math.min(size - at, target.length - start);
        if ('zeros' in current) target.fill(0, start, start + count);
        else target.set(current.subarray(at, at + count), start);
        at += count;
        if (at === size) {
          part += 1;
          at = 0;
        }
        return Promise.resolve(count);
      },
    };
  }

  it('of 300 MB is checked and passed in bounded memory', async () => {
    const size = 300_000_000;
    const zeros = new Uint8Array(1_000_000);
    let crc = 0;
    for (let done = 0; done < size; done += zeros.length) crc = continueCrc(zeros, crc);
    const head = Buffer.alloc(12);
    head.writeUInt32LE(size, 0);
    head.writeUInt32LE(maskedCrc(head.subarray(0, 8)), 8);
    const foot = Buffer.alloc(4);
    foot.writeUInt32LE(maskCrc(crc));
    const wrong = Buffer.alloc(4);
    wrong.writeUInt32LE(maskCrc(crc ^ 1));
    for (const [end, kinds] of [
      [foot, ['tensorboard_long_records']],
      [wrong, ['tensorboard_damaged']],
    ] as const) {
      const before = process.memoryUsage().arrayBuffers;
      let peak = 0;
      const measure = (): void => {
        peak = Math.max(peak, process.memoryUsage().arrayBuffers - before);
      };
      const source = stream([VERSION, head, { zeros: size }, end, record(scalarEvent('loss', 100, 1))], measure);
      const { rows, notes } = await parse(source);
      expect(ofKind(rows, 'iteration').map(({ loss }) => loss)).toEqual([100]);
      expect(notes.map(({ kind }) => kind)).toEqual(kinds);
      expect(peak).toBeLessThan(64 * 1024 * 1024);
    }
  });

  it('that is held is read whatever its size', async () => {
    const tag = 'x'.repeat(MOST_HELD_BYTES - 100);
    const { rows } = await parse(bytesSource(Buffer.concat([VERSION, record(scalarEvent(tag, 5, 1))]), 100_000));
    expect(ofKind(rows, 'value').map(({ value, name }) => [value, name.length < 1000])).toEqual([[5, true]]);
  });
});

describe('the parts', () => {
  it('have the checksum of the standard: CRC-32C of "123456789"', () => {
    expect(continueCrc(Buffer.from('123456789'), 0) >>> 0).toBe(0xe3069283);
    expect(continueCrc(Buffer.from('6789'), continueCrc(Buffer.from('12345'), 0)) >>> 0).toBe(0xe3069283);
  });

  it.each([
    ['events.out.tfevents.1760000000.node-3.99.0', 'node-3'],
    ['events.out.tfevents.1760000000.node-3', 'node-3'],
    ['events.out.tfevents.1760000000.dgx.cluster.local.4711.0.v2', 'dgx.cluster.local'],
    ['events.out.tfevents.1760000000.gpu.v2', 'gpu'],
    ['run1.tfevents.1760000000.gpu.1.0', 'gpu'],
    ['events.out.tfevents.latest', null],
    ['tfevents', null],
  ])('host of %s is %s', (name, host) => {
    expect(hostFromName(name)).toBe(host);
  });

  it('count every byte', async () => {
    const bytes = Buffer.concat([VERSION, Buffer.alloc(100, 1), record(scalarEvent('x', 1, 1)), Buffer.alloc(5)]);
    const seen: number[] = [];
    const read = await readRecords(bytesSource(bytes, 10), { record: (_, ordinal) => seen.push(ordinal) });
    expect(seen).toEqual([1, 2]);
    expect(read).toMatchObject({
      whole: 2,
      lostBytes: 100,
      firstLost: VERSION.length,
      damages: 1,
      bytes: bytes.length,
    });
    expect(read.cut).toEqual({ offset: bytes.length - 5, bytes: 5 });
  });
});

describe('detection', () => {
  it('knows event files by their first record, whatever they are called, and by their name if that is damaged', () => {
    for (const name of names) {
      const { bytes } = fixture(name);
      expect(claimed(bytes, name)).toBe('tensorboard');
      expect(claimed(bytes, 'renamed.bin')).toBe('tensorboard');
      const damaged = Buffer.from(bytes);
      damaged[2]! ^= 4;
      expect(claimed(damaged, name)).toBe('tensorboard');
    }
  });

  it('leaves data sets of the same records alone', () => {
    const dataset = record(Buffer.from('an example of a data set'));
    expect(claimed(dataset, 'train-00000-of-01024.tfrecord')).not.toBe('tensorboard');
    expect(tensorboardEvents.sniff({ bytes: dataset, name: 'train.tfrecord', sizeBytes: dataset.length }).score).toBe(
      0,
    );
  });
});
