/**
 * The sample that somebody watched: what lies beside its log says what was planted. Read without our parsers, by code
 * of this file that knows the formats from their makers: nvidia-smi's tables, TensorBoard's records, Slurm's rows.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import crc32c from 'crc-32/crc32c.js';
import { PbfReader } from 'pbf';
import { describe, expect, it } from 'vitest';
import type { GeneratedRun } from '../../samples/generate/run.js';
import { SAMPLES } from '../../samples/generate/stories/index.js';
import { runDirectory } from '../../samples/generate/write/run-directory.js';
import { MIB } from '../../src/model/units.js';
import { truthOf } from '../support/run-truth.js';
import { samplePath } from '../support/stores.js';

const SAMPLE = samplePath('other-process');
const MOST_BYTES = 155_000;
const MS = 1000;

const read = (file: string): string => readFileSync(join(SAMPLE, file), 'utf8');
const truth = truthOf(SAMPLE);
const monitors = truth.monitors!;
const [stranger] = monitors.other_processes;
const log = read(truth.logs[0]!);

/** µs, as if the printed clock were UTC. Dates with slashes or dashes, fractions of any length. */
function timeUs(text: string): number {
  const [, date, clock, fraction = ''] = /^(\S{10})[ T](\d\d:\d\d:\d\d)(?:\.(\d+))?$/.exec(text)!;
  return Date.parse(`${date!.replaceAll('/', '-')}T${clock}Z`) * MS + Number(fraction.padEnd(6, '0'));
}

/** Rows of a table of nvidia-smi by the names of its header, units left out. */
function table(file: string): Record<string, string>[] {
  const [header, ...lines] = read(file).trimEnd().split('\n');
  const names = header!.split(', ').map((name) => name.replace(/ \[.*\]$/, ''));
  return lines.map((line) => {
    const cells = line.split(', ');
    expect(cells).toHaveLength(names.length);
    return Object.fromEntries(names.map((name, i) => [name, cells[i]!]));
  });
}

const bytesOf = (cell: string): number => Number(/^(\d+) MiB$/.exec(cell)![1]) * MIB;

const devices = table(monitors.files.devices);
const processes = table(monitors.files.processes);
const failing = devices.filter((row) => row['uuid'] === monitors.gpu);

/** The sample of the failing rank's device that is nearest to a time. */
function nearest(us: number): Record<string, string> {
  const distance = (row: Record<string, string>): number => Math.abs(timeUs(row['timestamp']!) - us);
  return failing.reduce((best, row) => (distance(row) < distance(best) ? row : best));
}

describe('samples/other-process', () => {
  it('has what its truth names, and is small', () => {
    const files = readdirSync(SAMPLE);
    for (const name of [...truth.logs, ...Object.values(monitors.files)]) expect(files).toContain(name);
    expect(files.filter((name) => /pickle|sqlite/.test(name))).toEqual([]);
    expect(files.reduce((sum, name) => sum + statSync(join(SAMPLE, name)).size, 0)).toBeLessThan(MOST_BYTES);
    expect(truth.cause).toBe('external_pressure');
  });

  it('leaves the message silent on who held the device, and its sums as planted', () => {
    const [message] = log.match(/CUDA out of memory\..*/)!;
    expect(message).not.toMatch(/Process \d|this process|pid/i);
    const gib = (pattern: RegExp): number => Number(pattern.exec(message)![1]) * 1024 * MIB;
    const { oom } = monitors;
    expect(Math.abs(gib(/([\d.]+) GiB reserved in total/) - oom.reserved_bytes)).toBeLessThan(0.006 * 1024 * MIB);
    expect(Math.abs(gib(/([\d.]+) GiB total capacity/) - monitors.device_total_bytes)).toBeLessThan(0.006 * 1024 * MIB);
    const free = Number(/([\d.]+) MiB free/.exec(message)![1]) * MIB;
    expect(Math.abs(monitors.device_total_bytes - free - oom.used_bytes)).toBeLessThan(0.006 * MIB);
    expect(oom.reserved_bytes + oom.own_outside_bytes + oom.other_process_bytes).toBe(oom.used_bytes);
    expect(oom.used_bytes - oom.reserved_bytes).toBe(oom.outside_bytes);
    expect(log).toContain(`(pid: ${monitors.pid}) of binary`);
    expect(log).not.toContain(String(stranger!.pid));
  });
});

describe('the samples of nvidia-smi', () => {
  it('are one row a device and second, of the fields that the launch script asks for', () => {
    const script = read('launch.sbatch');
    for (const [query, file] of [
      ['gpu', monitors.files.devices],
      ['compute-apps', monitors.files.processes],
    ] as const) {
      const [, fields] = new RegExp(`--query-${query}=(\\S+) --format=csv -l 1`).exec(script)!;
      const header = read(file).split('\n', 1)[0]!;
      expect(header.replaceAll(/ \[[^\]]*\]/g, '')).toBe(fields!.replaceAll(',', ', '));
      expect(header).toContain('memory');
      expect(file).toContain(monitors.host);
    }
    const names = [...new Set(devices.map((row) => `${row['index']} ${row['uuid']}`))];
    expect(names).toHaveLength(8);
    expect(devices).toHaveLength(8 * monitors.samples_per_device);
    expect(failing).toHaveLength(monitors.samples_per_device);
    expect(new Set(failing.map((row) => row['index']))).toEqual(new Set([String(monitors.device)]));
    const times = failing.map((row) => timeUs(row['timestamp']!));
    const apart = times.slice(1).map((time, i) => time - times[i]!);
    expect(Math.min(...apart)).toBeGreaterThan(990 * MS);
    expect(Math.max(...apart)).toBeLessThan(1060 * MS);
  });

  it('count what the driver keeps for itself in the total only', () => {
    for (const row of devices) {
      expect(bytesOf(row['memory.total']!)).toBe(monitors.monitor_total_bytes);
      const sum = bytesOf(row['memory.used']!) + bytesOf(row['memory.free']!);
      // Both are cut to whole MiB.
      expect(monitors.device_total_bytes - sum).toBeGreaterThanOrEqual(0);
      expect(monitors.device_total_bytes - sum).toBeLessThan(2 * MIB);
    }
  });

  it('hold on each device what its listed processes hold', () => {
    const listed = new Map<string, number>();
    const answers = [...new Set(processes.map((row) => row['timestamp']!))];
    for (const row of processes) {
      const key = `${row['timestamp']} ${row['gpu_uuid']}`;
      listed.set(key, (listed.get(key) ?? 0) + bytesOf(row['used_gpu_memory']!));
    }
    for (const row of devices) {
      const answer = answers.findLast((time) => timeUs(time) <= timeUs(row['timestamp']!));
      const isOf = answer !== undefined && timeUs(row['timestamp']!) - timeUs(answer) < 100 * MS;
      const held = isOf ? (listed.get(`${answer} ${row['uuid']}`) ?? 0) : 0;
      expect(Math.abs(bytesOf(row['memory.used']!) - held)).toBeLessThan(2 * MIB);
    }
  });

  it('name the other process and its memory at the failure, and the rank that it took the memory from', () => {
    const there = processes.filter((row) => row['gpu_uuid'] === monitors.gpu);
    expect(new Set(there.map((row) => Number(row['pid'])))).toEqual(new Set([monitors.pid, stranger!.pid]));
    const isStrange = (row: Record<string, string>): boolean => Number(row['pid']) === stranger!.pid;
    expect(processes.filter((row) => isStrange(row) && row['gpu_uuid'] !== monitors.gpu)).toEqual([]);
    const strange = there.filter(isStrange);
    const before = strange.findLast((row) => timeUs(row['timestamp']!) <= timeUs(monitors.oom.at))!;
    expect(before['process_name']).toBe(stranger!.name);
    expect(bytesOf(before['used_gpu_memory']!)).toBe(stranger!.bytes_at_oom);
    expect(stranger!.bytes_at_oom).toBe(monitors.oom.other_process_bytes);
    // It came while training ran, and stayed when the rank was gone.
    expect(timeUs(stranger!.first_sample!) - timeUs(strange[0]!['timestamp']!)).toBeLessThan(100 * MS);
    expect(timeUs(strange[0]!['timestamp']!)).toBeGreaterThan(timeUs(monitors.iterations[0]!.printed_at));
    const last = processes.at(-1)!;
    expect(last['pid']).toBe(String(stranger!.pid));
    expect(there.findLast((row) => Number(row['pid']) === monitors.pid)!['timestamp']! < last['timestamp']!).toBe(true);
  });

  it('have near the failure what the truth says of that sample', () => {
    const row = nearest(timeUs(monitors.oom.at));
    expect(row['timestamp']).toBe(monitors.nearest_sample.at);
    expect(bytesOf(row['memory.used']!)).toBe(Math.floor(monitors.nearest_sample.used_bytes / MIB) * MIB);
    // The last request for a segment that was granted falls between the sample and the failure.
    expect(monitors.nearest_sample.used_bytes).toBeLessThan(monitors.oom.used_bytes);
  });
});

describe('memory outside PyTorch', () => {
  it('follows from a memory line and the sample nearest to its time', () => {
    const lines = monitors.iterations.filter(({ has_memory_line: has }) => has);
    expect(lines.length).toBeGreaterThanOrEqual(2);
    for (const { iteration, printed_at: at, reserved_bytes: reserved, outside_bytes: outside } of lines) {
      const line = new RegExp(
        String.raw`^(\S+ \S+) \[default${monitors.device}\]:\[Rank ${monitors.rank}\] \(after ${iteration} iterations\) memory \(MB\).* reserved: ([\d.]+) \|`,
        'm',
      ).exec(log)!;
      // `ts` prints whole seconds.
      expect(timeUs(line[1]!)).toBe(Math.floor(timeUs(at) / 1e6) * 1e6);
      expect(Number(line[2]) * MIB).toBe(reserved);
      expect(Math.abs(bytesOf(nearest(timeUs(line[1]!))['memory.used']!) - reserved - outside)).toBeLessThan(MIB);
    }
    expect(new Set(lines.map(({ outside_bytes: outside }) => outside)).size).toBe(lines.length);
  });
});

const masked = (bytes: Uint8Array): number => {
  const crc = crc32c.buf(bytes);
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
};

type Field = readonly [number: number, value: number | Buffer];

/** Fields of a protobuf message, one after the other. */
function fieldsOf(bytes: Buffer): Field[] {
  const fields: Field[] = [];
  const reader = new PbfReader(bytes);
  const readers: Readonly<Record<number, () => number | Buffer>> = {
    ...{ 0: () => reader.readVarint(), 1: () => reader.readDouble(), 5: () => reader.readFloat() },
    2: () => Buffer.from(reader.readBytes()),
  };
  reader.readFields((number) => fields.push([number, readers[reader.type]!()]), undefined);
  expect(reader.pos).toBe(bytes.length);
  return fields;
}

const one = <T extends number | Buffer>(fields: readonly Field[], number: number): T =>
  fields.find(([own]) => own === number)![1] as T;

describe('the event file of the last rank', () => {
  const bytes = readFileSync(join(SAMPLE, monitors.files.scalars));
  const messages: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = Number(bytes.readBigUInt64LE(at));
    messages.push(bytes.subarray(at + 12, at + 12 + length));
    at += 16 + length;
  }
  const values = messages.slice(1).map((message) => {
    const event = fieldsOf(message);
    return { event, value: fieldsOf(one<Buffer>(fieldsOf(one<Buffer>(event, 5)), 1)) };
  });
  const tagOf = (value: readonly Field[]): string => one<Buffer>(value, 1).toString('utf8');
  const isText = (value: readonly Field[]): boolean => tagOf(value).endsWith('/text_summary');
  const scalars = values
    .filter(({ value }) => !isText(value))
    .map(({ event, value }) => ({
      seconds: one<number>(event, 1),
      step: one<number>(event, 2),
      tag: tagOf(value),
      value: one<number>(value, 2),
    }));

  it('says whose it is, as texts', () => {
    const texts = values
      .filter(({ value }) => isText(value))
      .map(({ value }) => {
        const tensor = fieldsOf(one<Buffer>(value, 8));
        const plugin = fieldsOf(one<Buffer>(fieldsOf(one<Buffer>(value, 9)), 1));
        // DT_STRING.
        expect(one<number>(tensor, 1)).toBe(7);
        expect(one<Buffer>(plugin, 1).toString('utf8')).toBe('text');
        return [tagOf(value).replace('/text_summary', ''), one<Buffer>(tensor, 8).toString('utf8')];
      });
    const said = Object.fromEntries(texts) as Record<string, string>;
    expect(said).toMatchObject({ rank: String(monitors.rank), local_rank: '7', world_size: '8' });
  });

  it('is made of records whose checksums are right', () => {
    expect(crc32c.buf(Buffer.from('123456789')) >>> 0).toBe(0xe3069283);
    let at = 0;
    for (const message of messages) {
      expect(bytes.readUInt32LE(at + 8)).toBe(masked(bytes.subarray(at, at + 8)));
      expect(bytes.readUInt32LE(at + 12 + message.length)).toBe(masked(message));
      at += 16 + message.length;
    }
    expect(at).toBe(bytes.length);
    expect(one<Buffer>(fieldsOf(messages[0]!), 3).toString('utf8')).toBe('brain.Event:2');
  });

  it('has the figures of Megatron-LM for every iteration, by the clock of UTC', () => {
    const tags = [...new Set(scalars.map(({ tag }) => tag))];
    for (const tag of ['learning-rate', 'lm loss', 'lm loss vs samples', 'mem-reserved-bytes', 'iteration-time'])
      expect(tags).toContain(tag);
    const reserved = scalars.filter(({ tag }) => tag === 'mem-reserved-bytes');
    expect(reserved.map(({ step }) => step)).toEqual(monitors.iterations.map(({ iteration }) => iteration));
    for (const [i, { seconds, value }] of reserved.entries()) {
      const iteration = monitors.iterations[i]!;
      expect(value).toBe(Math.fround(iteration.reserved_bytes));
      const printedUs = seconds * 1e6 + monitors.printed_less_utc_us;
      expect(Math.abs(printedUs - timeUs(iteration.printed_at))).toBeLessThan(5 * MS);
      // The sample nearest to it tells the rest.
      const outside = bytesOf(nearest(printedUs)['memory.used']!) - iteration.reserved_bytes;
      expect(Math.abs(outside - iteration.outside_bytes)).toBeLessThan(MIB);
    }
  });

  it('says the loss that the log prints, and is named by host and pid of its writer', () => {
    const losses = scalars.filter(({ tag }) => tag === 'lm loss');
    for (const { step, value } of losses) {
      const [, printed] = new RegExp(`iteration +${step}/.*lm loss: (\\S+) `).exec(log)!;
      expect(Math.abs(value / Number(printed) - 1)).toBeLessThan(1e-6);
    }
    const [, second, host, pid] = /^events\.out\.tfevents\.(\d+)\.(.+)\.(\d+)\.0$/.exec(monitors.files.scalars)!;
    expect([host, Number(pid)]).toEqual([monitors.host, monitors.pid]);
    expect(Math.floor(one<number>(fieldsOf(messages[0]!), 1))).toBe(Number(second));
  });
});

describe('the accounting of Slurm', () => {
  const [header, ...rows] = read(monitors.files.accounting)
    .trimEnd()
    .split('\n')
    .map((line) => line.split('|'));
  const cell = (row: readonly string[], name: string): string => row[header!.indexOf(name)]!;

  it('has the job, its batch script and its step, and times that add up', () => {
    const [, job] = /slurm-(\d+)\.out/.exec(truth.logs[0]!)!;
    expect(rows.map((row) => cell(row, 'JobID'))).toEqual([job, `${job}.batch`, `${job}.extern`, `${job}.0`]);
    for (const row of rows) {
      expect(row).toHaveLength(header!.length);
      const [hours, minutes, seconds] = cell(row, 'Elapsed').split(':').map(Number) as [number, number, number];
      const took = timeUs(cell(row, 'End')) - timeUs(cell(row, 'Start'));
      expect((hours * 3600 + minutes * 60 + seconds) * 1e6).toBe(took);
      expect(cell(row, 'End')).toBe(monitors.job_end.replace(' ', 'T'));
      expect(cell(row, 'NodeList')).toBe(monitors.host);
      expect(cell(row, 'ExitCode')).toBe(cell(row, 'State') === 'FAILED' ? '1:0' : '0:0');
    }
    expect(rows.map((row) => cell(row, 'State'))).toEqual(['FAILED', 'FAILED', 'COMPLETED', 'FAILED']);
    expect(timeUs(cell(rows[0]!, 'Start'))).toBeLessThan(timeUs(failing[0]!['timestamp']!));
  });
});

describe('the writers of monitors', () => {
  const run = SAMPLES.find(({ name }) => name === 'other-process')!.build();
  const [attempt] = run.attempts as [GeneratedRun['attempts'][number]];

  it('refuse a run whose ranks were not watched, and a framework whose names they do not know', () => {
    const blind = attempt.ranks.map((rank) => ({ ...rank, process: { ...rank.process, moments: [] } }));
    expect(() => runDirectory({ ...run, attempts: [{ ...attempt, ranks: blind }] })).toThrow(/moments/);
    const bridge = { ...attempt.plan, framework: 'megatron-bridge' as const };
    expect(() => runDirectory({ ...run, attempts: [{ ...attempt, plan: bridge }] })).toThrow(/not written yet/);
  });

  it('write nothing for a run that nobody watched', () => {
    const { monitors: _, ...unwatched } = run;
    const names = [...runDirectory(unwatched).keys()];
    expect(names.filter((name) => /gpu-|tfevents|sacct/.test(name))).toEqual([]);
  });
});
