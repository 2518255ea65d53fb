/**
 * Runs of W&B: files of its own writer, damage at every byte, both block grids in use, and the files next to the log.
 */
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { PbfWriter } from 'pbf';
import { describe, expect, it } from 'vitest';
import { configParser } from '../../parsers/config/index.js';
import { PARSERS } from '../../parsers/index.js';
import { MOST_RECORD_BYTES, readRecords } from '../../parsers/wandb/chunk-reader.js';
import { wandbRun } from '../../parsers/wandb/index.js';
import { MbfError } from '../../src/model/errors.js';
import type { ByteSource, ParserSpec } from '../../src/model/parser.js';
import { ScalarRows } from '../../src/text/scalars/scalar-rows.js';
import { splitSystemLabel, systemGauge } from '../../src/text/scalars/system-metrics.js';
import { type PlacedFinding, placedRows } from '../support/collect-rows.js';
import { bytesSource } from '../support/decode.js';
import { runs, SEED } from '../support/level.js';
import { briefRows } from './brief-rows.js';

const FIXTURES = join(resolve(dirname(fileURLToPath(import.meta.url)), '..'), 'fixtures', 'wandb');
const BLOCK = 32_768;
/** Nightly every byte; with each change others. */
const STEP = runs(3, 1);
const FIRST = SEED % STEP;

const read = (source: Uint8Array | ByteSource, name = 'run-x.wandb', parser: ParserSpec = wandbRun) =>
  placedRows(parser, source instanceof Uint8Array ? bytesSource(source) : source, name);
type Read = Awaited<ReturnType<typeof read>>;

/**
 * What protobuf's own decoder finds: facts of the run, and a line for each figure, without a step for the monitor.
 */
interface Facts {
  readonly config: Readonly<Record<string, unknown>>;
  readonly records: number;
  readonly exitCode?: number;
  readonly rank: number;
}
interface Figure {
  readonly tag: string;
  readonly value: number | string;
  readonly step?: number;
  readonly timeUs: number | null;
}
function expectedIn(folder: string): { readonly facts: Facts; readonly history: Figure[]; readonly stats: Figure[] } {
  const lines = readFileSync(join(FIXTURES, folder, 'expected.jsonl'), 'utf8')
    .trim()
    .split('\n');
  const [facts, ...figures] = lines.map((line) => JSON.parse(line) as unknown) as [Facts, ...Figure[]];
  const isHistory = ({ step }: Figure): boolean => step !== undefined;
  return { facts, history: figures.filter(isHistory), stats: figures.filter((figure) => !isHistory(figure)) };
}

const LOGS = ['gpu-node/run-g7n0de42.wandb', 'megatron/run-4f9k2m1x.wandb'].map((name) => ({
  name,
  bytes: readFileSync(join(FIXTURES, name)),
  ...expectedIn(dirname(name)),
}));
const GPU_NODE = LOGS.find(({ name }) => name.startsWith('gpu-node/'))!;

/** The content of a row, without its place in the file. JSON lacks NaN and infinities. */
function content({ finding, place }: PlacedFinding): string {
  return JSON.stringify([finding, place.timeUs], (_, value: unknown) =>
    typeof value === 'number' && !Number.isFinite(value) ? String(value) : value,
  );
}

function ofFormat(rows: readonly PlacedFinding[], ...formats: readonly string[]): PlacedFinding[] {
  return rows.filter(({ place }) => formats.includes(place.format));
}

function frame(records: readonly Uint8Array[], grid: 0 | 7 = 0): { bytes: Buffer; ends: number[] } {
  const pieces: Buffer[] = [Buffer.from(':W&B\xe1\xbe\0', 'latin1')];
  const ends: number[] = [];
  let at = 7;
  for (const record of records) {
    let remaining = record;
    for (let isFirst = true; ; isFirst = false) {
      let spaceLeft = BLOCK - ((at - grid + BLOCK) % BLOCK);
      if (spaceLeft < 7) {
        pieces.push(Buffer.alloc(spaceLeft));
        at += spaceLeft;
        spaceLeft = BLOCK;
      }
      const part = remaining.subarray(0, spaceLeft - 7);
      remaining = remaining.subarray(part.length);
      const isLast = remaining.length === 0;
      pieces.push(chunk(isLast ? (isFirst ? 1 : 4) : isFirst ? 2 : 3, part));
      at += 7 + part.length;
      if (isLast) break;
    }
    ends.push(at);
  }
  return { bytes: Buffer.concat(pieces), ends };
}

function chunk(type: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.alloc(7 + payload.length);
  bytes.writeUInt16LE(payload.length, 4);
  bytes[6] = type;
  bytes.set(payload, 7);
  bytes.writeUInt32LE(crc32(bytes.subarray(6)), 0);
  return bytes;
}

async function records(
  bytes: Uint8Array | ByteSource,
): Promise<{ records: Buffer[]; damage: Awaited<ReturnType<typeof readRecords>> }> {
  const payloads: Buffer[] = [];
  const source = bytes instanceof Uint8Array ? bytesSource(bytes, 5000) : bytes;
  const handler = { record: (record: Uint8Array) => payloads.push(Buffer.from(record)), longRecord: () => {} };
  return { damage: await readRecords(source, handler, undefined), records: payloads };
}

function message(write: (writer: PbfWriter) => void): Uint8Array {
  const writer = new PbfWriter();
  write(writer);
  return writer.finish().slice();
}

/** A field of records, each of which has texts by their field. */
function nested(writer: PbfWriter, field: number, items: readonly Readonly<Record<number, string>>[]): void {
  for (const texts of items)
    writer.writeMessage(
      field,
      (_: null, inner) => {
        for (const [number, text] of Object.entries(texts)) {
          inner.writeTag(Number(number), 2);
          inner.writeString(text);
        }
      },
      null,
    );
}

/** A record with items of figures: `field` of the record, and of its items. */
const record = (field: number, itemField: number, items: readonly Readonly<Record<number, string>>[]): Uint8Array =>
  message((writer) => writer.writeMessage(field, (_: null, inner) => nested(inner, itemField, items), null));

/** A history record with one figure. */
const history = (step: number, tag: string, json: string): Uint8Array =>
  record(2, 1, [
    { 2: tag, 16: json },
    { 2: '_step', 16: String(step) },
  ]);

describe('the log of a run', () => {
  describe.each(LOGS)('$name', ({ bytes, facts, history, stats }) => {
    it('gives every history value', async () => {
      const { rows } = await read(bytes);
      const expected: PlacedFinding[] = [];
      const writer = { format: 'wandb.history', rank: null, rankOrigin: null, host: null };
      const scalars = new ScalarRows((finding, place) => expected.push({ finding, place }), writer);
      for (const { tag, value, step, timeUs } of history)
        scalars.add({
          tag,
          value: Number(String(value).replace('inf', 'Infinity')),
          step: step!,
          timeUs,
          ordinal: step!,
          offset: 0,
        });
      scalars.end();
      expect(expected.length).toBeGreaterThan(0);
      expect(ofFormat(rows, 'wandb.history').map(content).sort()).toEqual(expected.map(content).sort());
    });

    it('gives every system metric once', async () => {
      const { rows } = await read(bytes);
      const tags = new Set(stats.map(({ tag, timeUs }) => `${timeUs} ${tag}`));
      const expected = stats.flatMap(({ tag, value, timeUs }) => {
        if (tags.has(`${timeUs} ${tag.replace('gpu.process.', 'gpu.')}`) && tag.startsWith('gpu.process.')) return [];
        const finding = systemGauge(`system.${tag}`, value as number);
        return finding === null ? [] : [JSON.stringify([finding, timeUs])];
      });
      const isMetric = ({ finding }: PlacedFinding) => finding.row !== 'value' || finding.name !== 'process.device';
      expect(expected.length).toBeGreaterThan(10);
      expect(ofFormat(rows, 'wandb.stats').filter(isMetric).map(content).sort()).toEqual(expected.sort());
    });

    it('gives settings, rank, clock and how the run ended', async () => {
      const { rows, summary, notes } = await read(bytes);
      const settings = new Map(
        ofFormat(rows, 'wandb.config').map(({ finding }) =>
          finding.row === 'config' ? [finding.rawKey, finding.value] : ['', null],
        ),
      );
      for (const [key, value] of Object.entries(facts.config)) {
        if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
          for (const inner of Object.keys(value)) expect([...settings.keys()]).toContain(`${key}.${inner}`);
        } else expect(settings.has(key), key).toBe(true);
        if (typeof value === 'number') expect(Number(settings.get(key))).toBe(value);
      }
      expect([...settings.keys()].filter((key) => key.startsWith('_wandb'))).toEqual([]);
      expect(summary).toMatchObject({ clock: 'utc', rank: facts.rank });
      const exit = rows.find(({ finding }) => finding.row === 'value' && finding.name === 'wandb.exit_code');
      const { exitCode: value } = facts;
      expect(exit?.finding).toEqual(
        value === undefined ? undefined : { row: 'value', name: 'wandb.exit_code', value, unit: null },
      );
      expect(notes.map(({ kind, severity }) => `${severity} ${kind}`)).toEqual(
        value === undefined ? ['info wandb_unfinished'] : [],
      );
    });

    it('is read the same in pieces of any size', async () => {
      const complete = await read(bytes);
      for (const size of [1, 6, 7, 8, 1000]) expect(await read(bytesSource(bytes, size))).toEqual(complete);
    });
  });

  it('takes the rank from Slurm or from all variables of torchrun, never from the rank of a LoRA', async () => {
    const { rows } = await read(GPU_NODE.bytes);
    const first = rows.find(({ place }) => place.format === 'wandb.config');
    expect(first?.place.rank).toBeNull();
    expect(ofFormat(rows, 'wandb.history')[0]?.place).toMatchObject({
      rank: 3,
      rankOrigin: 'environment:SLURM_PROCID',
      host: 'node-0002',
    });
  });

  it('names the machine, but not its user', async () => {
    const { rows } = await read(GPU_NODE.bytes);
    const facts = ofFormat(rows, 'wandb.environment', 'wandb.run').map(({ finding }) => finding);
    const text = (name: string, words: string) => ({ row: 'value', name, value: null, unit: null, text: words });
    const bytes = 85_520_809_984;
    const gpuId = 'GPU-00000000-0000-0000-0000-000000000001';
    const gauge = { row: 'gauge', metric: 'device_total', bytes, value: bytes, unit: 'bytes', precisionBytes: 0 };
    const argument = { row: 'config', key: 'micro_batch_size', rawKey: '--micro-batch-size', value: '2' };
    for (const fact of [
      text('commit.source', '0a1b2c3d4e5f60718293a4b5c6d7e8f901234567'),
      text('version.wandb', '0.19.1'),
      { ...gauge, device: 1, gpuId },
      { ...argument, origin: 'command line' },
      expect.objectContaining({ row: 'config', key: 'pipeline_model_parallel_size', value: '4' }),
      { row: 'env', key: 'SLURM_PROCID', value: '3', origin: 'process environ' },
    ])
      expect(facts).toContainEqual(fact);
    expect(JSON.stringify(facts)).not.toMatch(/secret/i);
    const once = facts.map((fact) => JSON.stringify(fact));
    expect(new Set(once).size).toBe(once.length);
  });

  it('separates devices of other nodes', async () => {
    const { rows } = await read(GPU_NODE.bytes);
    const exported = ofFormat(rows, 'wandb.stats').filter(
      ({ finding }) => finding.row === 'gauge' && finding.unit === 'MiB' && finding.metric.startsWith('device_'),
    );
    expect(
      exported.map(({ finding, place }) => [finding.row === 'gauge' && finding.metric, place.host, place.device]),
    ).toEqual([
      ['device_used', 'node-0002', 0],
      ['device_total', 'node-0002', 0],
      ['device_free', 'node-0003', 0],
    ]);
  });

  it('takes a label that all figures have for one of the writer', async () => {
    const stats = record(7, 3, [
      { 1: 'gpu.0.temp/l:trainer', 16: '5' },
      { 1: 'cpu/l:trainer', 16: '5' },
    ]);
    const { rows } = await read(frame([stats]).bytes);
    expect(rows.map(({ place }) => place.host)).toEqual([null, null]);
    expect(splitSystemLabel('cpu/l:trainer').label).toBe('trainer');
  });

  it('does not read the console output, which the log next to it contains', async () => {
    const { rows } = await read(GPU_NODE.bytes);
    expect(rows.map(content).filter((text) => text.includes('OutOfMemoryError'))).toEqual([]);
  });
});

describe('damage', () => {
  it('gives nothing that was not written, whichever byte is another', async () => {
    const { bytes } = GPU_NODE;
    const completeRows = new Set((await read(bytes)).rows.map(({ finding }) => JSON.stringify(finding)));
    let kept = 0;
    // Collected: an expectation for each of a million rows takes a minute.
    const wrong: string[] = [];
    for (let at = FIRST; at < bytes.length; at += STEP) {
      for (const flip of [0x01, 0xff]) {
        const damaged = Buffer.from(bytes);
        damaged[at]! ^= flip;
        const { rows, notes } = await read(damaged);
        for (const { finding } of rows) {
          if (!completeRows.has(JSON.stringify(finding))) wrong.push(`byte ${at}: ${JSON.stringify(finding)}`);
        }
        const kinds = notes.map(({ kind }) => kind);
        // A wrong length, or a wrong byte of the half record at its end, is an end that is not whole.
        if (!kinds.includes('wandb_damaged') && !kinds.includes('wandb_version') && at < bytes.length - 200) {
          wrong.push(`byte ${at}: ${kinds.join(', ')}`);
        }
        if (notes.filter(({ severity }) => severity === 'warning').length > 1) wrong.push(`byte ${at}: two warnings`);
        kept += rows.length;
      }
    }
    expect(wrong).toEqual([]);
    // One record of thirteen is lost each time, whichever it is.
    expect(kept / (2 * Math.ceil(bytes.length / STEP))).toBeGreaterThan(completeRows.size * 0.6);
  });

  it('reads what is whole, wherever it is cut', async () => {
    const { bytes } = LOGS.find(({ name }) => name.startsWith('megatron/'))!;
    const all = (await read(bytes)).rows;
    const completeRows = new Set(all.map(({ finding }) => JSON.stringify(finding)));
    let before = 0;
    const wrong: string[] = [];
    for (let length = FIRST; length < bytes.length; length += STEP) {
      const result = await read(bytes.subarray(0, length)).catch((error: unknown) => error);
      if (result instanceof MbfError && result.code === 'MBF2911' && before === 0) continue;
      if (result instanceof Error) {
        wrong.push(`${length} bytes: ${result.message}`);
        continue;
      }
      const { rows, notes } = result as Read;
      for (const { finding } of rows.length === before ? [] : rows) {
        if (!completeRows.has(JSON.stringify(finding))) wrong.push(`${length} bytes: ${JSON.stringify(finding)}`);
      }
      if (rows.length < before) wrong.push(`${length} bytes: fewer rows than with one byte less`);
      before = rows.length;
      const kinds = notes.map(({ kind, severity }) => `${severity} ${kind}`).join(', ');
      if (kinds !== 'info wandb_unfinished') wrong.push(`${length} bytes: ${kinds}`);
    }
    expect(wrong).toEqual([]);
    expect(before).toBeGreaterThan(all.length - 5);
  });

  it('takes a file that has just been opened for one without rows', async () => {
    const { rows, notes } = await read(Buffer.from(':W&B\xe1\xbe\0', 'latin1'));
    expect(rows).toEqual([]);
    expect(notes.map(({ kind }) => kind)).toEqual(['wandb_unfinished']);
  });

  it('refuses what holds no record', async () => {
    for (const bytes of [Buffer.from(':W&B\xe1\xbe\0nothing of the kind', 'latin1'), Buffer.alloc(100_000, 0x61)]) {
      await expect(read(bytes)).rejects.toMatchObject({ code: 'MBF2911' });
    }
  });

  it('notes a new version and continues', async () => {
    const { bytes } = frame([history(1, 'x', '2.5')]);
    bytes[6] = 1;
    const { rows, notes } = await read(bytes);
    expect(rows).toHaveLength(1);
    expect(notes.map(({ kind }) => kind)).toEqual(['wandb_version', 'wandb_unfinished']);
  });

  it('takes zeros at the end for what was never written', async () => {
    const { bytes } = frame([history(1, 'x', '2.5')]);
    const { rows, notes } = await read(Buffer.concat([bytes, Buffer.alloc(300_000)]));
    expect(rows).toHaveLength(1);
    expect(notes).toEqual([
      expect.objectContaining({ kind: 'wandb_unfinished', severity: 'info', offset: bytes.length }),
    ]);
  });

  it('finds every record that damage spared, on both grids', async () => {
    const size = fc.oneof(
      fc.integer({ min: 0, max: 60 }),
      fc.integer({ min: BLOCK - 40, max: BLOCK + 40 }),
      fc.integer({ min: 0, max: 3 * BLOCK }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(size, { minLength: 1, maxLength: 12 }),
        fc.constantFrom<0 | 7>(0, 7),
        fc.option(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 1, max: 50_000 }), fc.nat())),
        async (sizes, grid, damage) => {
          // Payloads contain the number of their record and bytes that look like chunks.
          const written = sizes.map((length, i) => Buffer.alloc(length, `record ${i} \x01\x00\x01`));
          const { bytes, ends } = frame(written, grid);
          let from = bytes.length;
          let to = bytes.length;
          if (damage !== null) {
            from = 7 + Math.floor(damage[0] * (bytes.length - 8));
            to = Math.min(bytes.length, from + damage[1]);
            for (let at = from; at < to; at += 1) bytes[at]! ^= 1 + ((at * 31 + damage[2]) % 255);
          }
          const spared = written.filter((_, i) => ends[i]! <= from || (ends[i - 1] ?? 7) >= to);
          const { records: found, damage: report } = await records(bytes);
          expect(found.map((record) => record.toString('latin1'))).toEqual(
            spared.map((record) => record.toString('latin1')),
          );
          if (damage === null) expect(report).toMatchObject({ places: 0, lostBytes: 0, cutAt: null, firstBad: null });
          else expect(report.places > 0 || report.cutAt !== null).toBe(true);
        },
      ),
      { numRuns: 300, seed: SEED },
    );
  });

  it('crashes at no message, however odd', async () => {
    const messages = (await records(GPU_NODE.bytes)).records;
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc
        .tuple(
          fc.nat({ max: messages.length - 1 }),
          fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { minLength: 1, maxLength: 4 }),
        )
        .map(([which, changes]) => {
          const record = Buffer.from(messages[which]!);
          for (const [at, value] of changes) record[at % record.length] = value;
          return record;
        }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(bytes, { minLength: 1, maxLength: 20 }), async (odd) => {
        const { rows } = await read(frame(odd).bytes);
        expect(rows.length).toBeLessThan(10_000);
      }),
      { numRuns: 1000, seed: SEED },
    );
  });

  it('passes a record of 200 MB by in little memory', async () => {
    // The beginning of a record: its length, and then a key without end.
    const long = (field: number) =>
      message((writer) => {
        writer.writeTag(field, 2);
        writer.writeVarint(200_000_000);
      });
    for (const [field, kinds] of [
      [2, ['wandb_long_record', 'wandb_unfinished']],
      [13, ['wandb_unfinished']],
    ] as const) {
      const before = history(1, 'x', '2.5');
      const after = history(2, 'x', '3.5');
      const start = frame([before]).bytes;
      const space = BLOCK - start.length;
      const payload = Buffer.alloc(BLOCK - 7, 'x');
      const middle = chunk(3, payload);
      function* pieces(): Generator<Buffer> {
        yield start;
        const first = Buffer.alloc(space - 7, 'y');
        first.set(long(field), 0);
        yield chunk(2, first);
        for (let bytes = 0; bytes < 200_000_000; bytes += middle.length) yield middle;
        const last = chunk(4, Buffer.alloc(1000, 'z'));
        yield Buffer.concat([last, chunk(1, after)]);
      }
      const parts = pieces();
      let remaining: Buffer = Buffer.alloc(0);
      let most = 0;
      const source: ByteSource = {
        sizeBytes: undefined,
        read(target, start) {
          if (remaining.length === 0) remaining = parts.next().value ?? remaining;
          const count = Math.min(remaining.length, target.length - start);
          target.set(remaining.subarray(0, count), start);
          remaining = remaining.subarray(count);
          most = Math.max(most, process.memoryUsage().arrayBuffers);
          return Promise.resolve(count);
        },
      };
      const began = process.memoryUsage().arrayBuffers;
      const { rows, notes } = await read(source);
      expect(rows.map(({ finding }) => finding.row === 'value' && finding.value)).toEqual([2.5, 3.5]);
      expect(notes.map(({ kind }) => kind)).toEqual(kinds);
      expect(most - began).toBeLessThan(8 * MOST_RECORD_BYTES);
    }
  });
});

describe('files next to the log', () => {
  const file = (path: string): Buffer => readFileSync(join(FIXTURES, path));

  it.each(['gpu-node', 'python-0.15'])('reads the metadata of %s', async (folder) => {
    const { rows, summary } = await read(file(`${folder}/wandb-metadata.json`), 'wandb-metadata.json');
    const facts = rows.map(({ finding }) => finding);
    for (const fact of [
      { row: 'value', name: 'gpu.count', value: 2, unit: 'count' },
      expect.objectContaining({ metric: 'device_total', bytes: 85_520_809_984, device: 1 }),
      expect.objectContaining({ metric: 'host_total', bytes: 2_164_000_000_000 }),
      expect.objectContaining({ name: 'commit.source' }),
      expect.objectContaining({ key: 'micro_batch_size', value: '2', origin: 'command line' }),
    ])
      expect(facts).toContainEqual(fact);
    expect(JSON.stringify(facts)).not.toMatch(/somebody|secret/);
    expect(new Set(rows.map(({ place }) => place.host))).toEqual(new Set(['node-0002']));
    expect(summary).toMatchObject({ clock: 'utc', rank: folder === 'gpu-node' ? 3 : null });
    const fraction = folder === 'gpu-node' ? 0 : 250_000;
    expect(rows[0]!.place.timeUs).toBe(Date.parse('2026-01-02T03:04:05Z') * 1000 + fraction);
  });

  it('agrees with the log on the facts in both', async () => {
    const log = (await read(GPU_NODE.bytes)).rows.filter(({ place }) => place.format === 'wandb.environment');
    const metadata = await read(file('gpu-node/wandb-metadata.json'), 'wandb-metadata.json');
    const texts = new Set(metadata.rows.map(({ finding }) => JSON.stringify(finding)));
    expect(log.length).toBeGreaterThan(10);
    for (const { finding } of log) expect(texts).toContain(JSON.stringify(finding));
  });

  it('reads a summary as values of no iteration', async () => {
    const { rows } = await read(file('python-0.15/wandb-summary.json'), 'wandb-summary.json');
    expect(briefRows(rows, 'values')).toEqual(
      ['lm loss 9.25', 'eval.loss 2.5', 'best NaN', '_runtime 41.5', '_step 2'].map((row) => `- summary.${row}`),
    );
    expect(rows[0]!.place.timeUs).toBe(1_767_323_086_500_000);
  });

  it('reads the settings before the cut', async () => {
    for (const name of ['wandb-metadata.json', 'wandb-summary.json']) {
      const bytes = file(`python-0.15/${name}`);
      const completeRows = new Set((await read(bytes, name)).rows.map(({ finding }) => JSON.stringify(finding)));
      const end = bytes.toString('utf8').trimEnd().length;
      for (let length = 0; length < end; length += 1) {
        const result = await read(bytes.subarray(0, length), name).catch((error: unknown) => error);
        if (result instanceof Error) {
          expect(result).toBeInstanceOf(MbfError);
          expect((result as MbfError).code).toBe('MBF2912');
          continue;
        }
        const { rows, notes } = result as Read;
        expect(
          notes.map(({ kind }) => kind),
          `${name} cut at ${length}`,
        ).toEqual(['json_error']);
        // A text or number may end with the file; all others are whole.
        const odd = rows.filter(({ finding }) => !completeRows.has(JSON.stringify(finding)));
        expect(odd.length, `${name} cut at ${length}`).toBeLessThanOrEqual(2);
      }
    }
  });

  it.each(['gpu-node', 'python-0.15'])('reads the settings of %s without their wrappers', async (folder) => {
    const bytes = file(`${folder}/config.yaml`);
    expect(configParser.sniff({ bytes, name: 'config.yaml', sizeBytes: bytes.length }).score).toBeGreaterThan(0.9);
    const { rows } = await read(bytes, 'config.yaml', configParser);
    expect(
      rows.map(({ finding: row }) => row.row === 'config' && `${row.key} ${row.rawKey} ${row.value} ${row.origin}`),
    ).toEqual([
      'micro_batch_size micro_batch_size 2 run file',
      'tensor_model_parallel_size tensor_model_parallel_size 8 run file',
      'num_layers model.num_layers 32 run file',
      'model.value model.value 1 run file',
    ]);
  });

  it('leaves a configuration alone that has values of its own', async () => {
    const bytes = Buffer.from('micro_batch_size:\n  value: 2\nhidden_size:\n  value: 8\n');
    const { rows } = await read(bytes, 'config.yaml', configParser);
    expect(rows.map(({ finding }) => finding.row === 'config' && finding.rawKey)).toEqual([
      'micro_batch_size.value',
      'hidden_size.value',
    ]);
  });
});

describe('detection', () => {
  const score = (bytes: Uint8Array, name: string): number =>
    wandbRun.sniff({ bytes, name, sizeBytes: bytes.length }).score;

  it('knows a log by its content, and only damaged ones by name', () => {
    for (const { bytes } of LOGS) expect(score(bytes, 'anything')).toBe(1);
    expect(score(Buffer.from(':W&B'), 'run-abc.wandb')).toBe(0.5);
    expect(score(Buffer.from('[1, 2]'), 'wandb-summary.json')).toBe(0);
    expect(score(Buffer.alloc(0), 'run-abc.wandb')).toBe(0);
  });

  it('claims no file of another kind', () => {
    const foreign: readonly (readonly [string, string])[] = [
      ['train.log', ' iteration 1/ 10 | elapsed time per iteration (ms): 12.0 |\nwandb: :W&B'],
      ['000003.log', '\x01\x02\x03\x04\x10\0\x01'],
      ['config.json', '{"_step": 1, "_timestamp": 2, "num_layers": 3}'],
      ['metadata.json', '{"host": "a", "gpu_count": 8}'],
      ['summary.json', '{"loss": 1}'],
      ['run-abc.wandb.synced', ''],
      ['events.out.tfevents.1.host', '\x18\0\0\0\0\0\0\0'],
      ['config.yaml', '_wandb:\n  value: 1\n'],
    ];
    for (const [name, text] of foreign) expect(score(Buffer.from(text, 'latin1'), name), name).toBe(0);
  });

  it('gets its highest score from its own parser', () => {
    const files: (readonly [string, Uint8Array])[] = LOGS.map(
      ({ name, bytes }) => [name.split('/')[1]!, bytes] as const,
    );
    for (const folder of ['gpu-node', 'python-0.15']) {
      files.push(['wandb-metadata.json', readFileSync(join(FIXTURES, folder, 'wandb-metadata.json'))]);
    }
    files.push(['wandb-summary.json', readFileSync(join(FIXTURES, 'python-0.15', 'wandb-summary.json'))]);
    for (const [name, bytes] of files) {
      const claims = PARSERS.map((parser) => ({
        id: parser.id,
        ...parser.sniff({ bytes, name, sizeBytes: bytes.length }),
      }));
      claims.sort((a, b) => b.score - a.score);
      expect(claims[0]!.id, name).toBe('wandb');
      expect(claims[1]!.score, `${claims[1]!.id} on ${name}`).toBeLessThan(claims[0]!.score);
    }
  });
});
