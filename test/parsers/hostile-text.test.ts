/** Text made to break its parser: it ends in rows, notes or one error, in bounded memory. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deviceMonitor } from '../../parsers/device-monitor/index.js';
import { kubernetesEvents } from '../../parsers/kubernetes-events/index.js';
import { exportedScalars } from '../../parsers/scalars/index.js';
import { slurmAccounting } from '../../parsers/slurm-accounting/index.js';
import type { ByteSource } from '../../src/model/parser.js';
import { collectFrom, collectRows, strictSink } from '../support/collect-rows.js';
import { SEED } from '../support/level.js';
import { readSamples, textOf } from './sample-files.js';

describe('monitors of devices', () => {
  it('bytes of all kinds behind a table', async () => {
    const { texts } = readSamples('device-monitor');
    const bytes = Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 167) % 256));
    await collectRows(deviceMonitor, Buffer.concat([Buffer.from(textOf({ text: '«query»' }, texts)), bytes]));
  });

  it('a long series is read in bounded memory', async () => {
    const row = Buffer.from(`2026/11/20 10:11:12.123, 0, 5 MiB, 7 MiB, 97 %\n`.repeat(5000));
    let pending = Buffer.from('timestamp, index, memory.used [MiB], memory.free [MiB], utilization.gpu [%]\n');
    let left = 60;
    const source: ByteSource = {
      sizeBytes: undefined,
      read(target, start) {
        if (pending.length === 0 && left-- > 0) pending = row;
        const count = pending.copy(target, start);
        pending = pending.subarray(count);
        return Promise.resolve(count);
      },
    };
    const before = process.memoryUsage().heapUsed;
    let [rows, peak] = [0, 0];
    const logRow = (): void => {
      rows += 1;
      if (rows % 100_000 === 0) peak = Math.max(peak, process.memoryUsage().heapUsed);
    };
    await deviceMonitor.parse(source, strictSink({ note: () => {}, logRow }), { name: 'x.csv' });
    expect(rows).toBe(900_000);
    // 14 MB of text and 900,000 rows went through; what lives is a chunk and what the collector has not taken yet.
    expect(peak - before).toBeLessThan(400 * 1024 ** 2);
  });

  it('a source that ends early reports its reason', async () => {
    const source: ByteSource = { sizeBytes: 10, read: () => Promise.resolve(0) };
    expect((await collectFrom(deviceMonitor, source, 'x')).refused).toBe('MBF2931');
  });
});

it('the accounting of a whole cluster is cut with a note', async () => {
  const rows = Array.from({ length: 25_000 }, (_, i) => `${i}|COMPLETED|0:0`).join('\n');
  const { notes } = await collectRows(slurmAccounting, `JobID|State|ExitCode\n${rows}\n`);
  expect(notes).toMatchObject([{ kind: 'slurm_many_jobs', count: 5000 }]);
});

it('a pod of 700 levels', async () => {
  const levels = Array.from({ length: 700 }, (_, i) => `${' '.repeat(i)}a:`).join('\n');
  const all = await collectRows(kubernetesEvents, `apiVersion: v1\nkind: Pod\n${levels}\n`);
  expect(all.refused ?? 'MBF2951').toBe('MBF2951');
});

describe('scalars', () => {
  const { texts, samples } = readSamples('scalars');
  const forms = samples.filter(({ cuts }) => cuts).map((sample) => [textOf(sample, texts), sample.name!] as const);

  it('any bytes inside of a form end in rows or in one clear error', async () => {
    expect(forms.length).toBeGreaterThanOrEqual(12);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...forms),
        fc.nat(400),
        fc.uint8Array({ maxLength: 60 }),
        async ([text, name], at, noise) => {
          const bytes = Buffer.concat([Buffer.from(text.slice(0, at)), noise, Buffer.from(text.slice(at))]);
          await collectRows(exportedScalars, bytes.toString('latin1'), name);
        },
      ),
      { numRuns: 400, seed: SEED },
    );
  });

  it('any text is claimed or not', () => {
    const piece = fc.constantFrom('{', '[', '"', ',', '\n', '1', 'step', 'loss', ' - ', '__MIN');
    fc.assert(
      fc.property(fc.string({ unit: piece }), (text) => {
        const head = { bytes: Buffer.from(text), name: 'x.csv', sizeBytes: text.length };
        expect(exportedScalars.sniff(head).score).toBeLessThanOrEqual(1);
      }),
      { seed: SEED },
    );
  });
});
