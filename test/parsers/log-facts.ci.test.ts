/** Logs of the corpus: the facts known of them come out, and no figure is left unread. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openByteSource } from '../../src/ingest/read/byte-source.js';
import { CORPUS, skipLoudly } from '../support/corpus.js';
import type { LogRow } from '../support/launches/log-row.js';
import { readLogRows, unreadFigures } from './read-log.js';

const memoryOf = (rows: readonly LogRow[]) => rows.filter((row) => row.row === 'memory');
const valuesOf = (rows: readonly LogRow[], name: string) =>
  rows.filter((row) => row.row === 'value').filter((row) => row.name === name);

interface Facts {
  readonly deepspeed_see_memory_usage?: {
    readonly count: number;
    readonly first: readonly string[];
    readonly last: readonly string[];
    readonly max_Max_CA: number;
  };
  readonly deepspeed_cpu_vm?: { readonly count: number; readonly max_used_GB: number };
  readonly mllog_records?: number;
  readonly mllog_key_counts?: Readonly<Record<string, number>>;
  readonly mllog_values?: Readonly<Record<string, number | string>>;
  readonly hf_train_runtime_s?: number;
  readonly step_lines?: number;
  readonly first_step?: number;
  readonly last_step?: number;
  readonly peak_memory_GiB?: number;
  readonly peak_memory_pct?: number;
  readonly markers?: { readonly overflow_skip?: number };
}

describe('logs of the corpus', () => {
  const folder = join(CORPUS, 'logs');
  const metas = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.meta.json')) : [];
  if (metas.length === 0) {
    skipLoudly('logs of the corpus', 'the corpus');
    return;
  }
  const logs = metas.map((meta) => {
    const { expected } = JSON.parse(readFileSync(join(folder, meta), 'utf8')) as { readonly expected: Facts };
    return { expected, rows: readLogRows(readFileSync(join(folder, meta.replace(/\.meta\.json$/, '')))) };
  });

  it("give DeepSpeed's memory reports", () => {
    let seen = 0;
    for (const { expected, rows } of logs) {
      const { deepspeed_see_memory_usage: usage, deepspeed_cpu_vm: host, markers } = expected;
      if (markers?.overflow_skip !== undefined)
        expect(valuesOf(rows, 'overflow.skipped_step')).toHaveLength(markers.overflow_skip);
      if (usage === undefined) continue;
      seen += 1;
      const memory = memoryOf(rows).filter((row) => row.format.startsWith('deepspeed.'));
      const of = (metric: string) => memory.filter((row) => row.metric === metric);
      expect(of('allocated')).toHaveLength(usage.count);
      const printed = (index: number) =>
        ['allocated', 'max_allocated', 'reserved', 'max_reserved'].map((metric) => of(metric).at(index)?.value);
      const numbers = (texts: readonly string[]) => texts.filter((text) => /^\d/.test(text)).map(Number);
      expect(printed(0)).toEqual(numbers(usage.first));
      expect(printed(-1)).toEqual(numbers(usage.last));
      expect(Math.max(...of('max_reserved').map(({ value }) => value))).toBe(usage.max_Max_CA);
      expect(of('allocated').every(({ moment }) => moment !== undefined)).toBe(true);
      if (host === undefined) continue;
      expect(of('host_used')).toHaveLength(host.count);
      expect(Math.max(...of('host_used').map(({ value }) => value))).toBe(host.max_used_GB);
    }
    expect(seen).toBeGreaterThan(0);
  });

  it('give the run time of the HF Trainer', () => {
    const known = logs.filter(({ expected }) => expected.hf_train_runtime_s !== undefined);
    for (const { expected, rows } of known)
      expect(valuesOf(rows, 'hf.train_runtime').map(({ value }) => value)).toContain(expected.hf_train_runtime_s);
    expect(known.length).toBeGreaterThan(0);
  });

  it('give every MLPerf record', () => {
    const known = logs.filter(({ expected }) => expected.mllog_records !== undefined);
    for (const { expected, rows } of known) {
      const records = rows
        .filter((row) => row.row === 'value')
        .filter(({ name }) => /^mllog\.\w+\.time_ms$/.test(name))
        .map(({ name }) => name.split('.')[1]!);
      expect(records).toHaveLength(expected.mllog_records!);
      const counts: Record<string, number> = {};
      for (const key of records) counts[key] = (counts[key] ?? 0) + 1;
      expect(counts).toEqual(expected.mllog_key_counts);
      for (const [key, wanted] of Object.entries(expected.mllog_values ?? {})) {
        if (key.startsWith('tracked_stats_')) {
          const rates = valuesOf(rows, 'mllog.tracked_stats.throughput').map(({ value }) => value ?? Number.NaN);
          const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
          if (key === 'tracked_stats_count') expect(rates).toHaveLength(Number(wanted));
          else expect(mean).toBeCloseTo(Number(wanted), 4);
        } else {
          const row = valuesOf(rows, `mllog.${key}`).at(-1);
          expect(typeof wanted === 'number' ? row?.value : row?.text).toBe(wanted);
        }
      }
      expect(rows.some((row) => row.row === 'phase' && row.phase === 'training')).toBe(true);
    }
    expect(known.length).toBeGreaterThan(0);
  });

  it("give torchtitan's steps and peaks", () => {
    const known = logs.filter(({ expected }) => expected.step_lines !== undefined);
    for (const { expected, rows } of known) {
      const steps = rows.filter((row) => row.row === 'iteration');
      expect(steps.map(({ iteration }) => iteration).at(0)).toBe(expected.first_step);
      expect(steps.map(({ iteration }) => iteration).at(-1)).toBe(expected.last_step);
      expect(steps).toHaveLength(expected.step_lines!);
      const peaks = memoryOf(rows).filter(({ metric }) => metric === 'max_reserved');
      expect(Math.max(...peaks.map(({ value }) => value))).toBe(expected.peak_memory_GiB);
      if (expected.peak_memory_pct !== undefined) {
        const shares = rows.flatMap((row) =>
          row.row === 'value' && row.name === 'iteration.memory_percent' ? (row.value ?? []) : [],
        );
        expect(Math.max(...shares)).toBe(expected.peak_memory_pct);
      }
    }
    expect(known.length).toBeGreaterThan(0);
  });

  it.each(readdirSync(folder).filter((name) => !name.endsWith('.json')))(
    'leave no figures unread: %s',
    async (name) => {
      const opened = await openByteSource(join(folder, name));
      const left = await unreadFigures(opened.source, name).finally(() => opened.close());
      expect(left.map(({ topic, line, text }) => `${topic}, line ${line}: ${text}`)).toEqual([]);
    },
  );
});
