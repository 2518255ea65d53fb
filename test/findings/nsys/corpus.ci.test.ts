/**
 * Real exports: what is said of them is what the sqlite3 program counts in them, by statements that share nothing with
 * ours.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { PARSERS } from '../../../parsers/index.js';
import { describeNsys } from '../../../src/findings/nsys/describe-nsys.js';
import { ingest } from '../../../src/ingest/ingest.js';
import { ENUMS } from '../../../src/model/columns.js';
import type { NsysReport, NsysResult } from '../../../src/model/results/nsys.js';
import { documentJson } from '../../../src/report/render/json.js';
import { documentText } from '../../../src/report/render/text.js';
import { nsysDocument } from '../../../src/report/run/nsys-document.js';
import { worded } from '../../../src/report/words/worded.js';
import { CORPUS, skipLoudly } from '../../support/corpus.js';
import { newStore } from '../../support/new-store.js';
import { sqlite3Program } from '../../support/nsys/write-export.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

const FOLDER = join(CORPUS, 'nsys');
const MAGIC = 'SQLite format 3';
const names = existsSync(FOLDER) ? readdirSync(FOLDER).sort() : [];
const databases = names.filter((name) => name.endsWith('.sqlite'));

type Cells = Readonly<Record<string, number | string | null>>;

/** Rows of a statement; undefined where a table is not there. */
function query(name: string, sql: string): Cells[] | undefined {
  const path = `file:${join(FOLDER, name)}?immutable=1`;
  const run = spawnSync(sqlite3Program()!, ['-batch', '-json', '-readonly', path, sql], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  if (run.stderr.includes('no such table')) return undefined;
  expect(run.stderr).toBe('');
  return run.stdout === '' ? [] : (JSON.parse(run.stdout) as Cells[]);
}

/** `of` once for each name. */
function once<T>(of: (name: string) => T): (name: string) => T {
  const known = new Map<string, T>();
  return (name) => {
    if (!known.has(name)) known.set(name, of(name));
    return known.get(name)!;
  };
}

const count = (name: string, from: string): number | null => {
  const rows = query(name, `SELECT count(*) AS n FROM ${from}`);
  return rows === undefined ? null : Number(rows[0]!['n']);
};
const pidOf = (column: string): string => `((${column} >> 24) & 16777215)`;
const tidOf = (column: string): string => `(${column} & 16777215)`;

/** Rows of every table, by the table's name; by two processes, for a file has dozens of tables. */
const tablesOf = once((name: string): Readonly<Record<string, number>> => {
  const listed = query(name, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")!;
  const counts = listed.map((table) => `SELECT '${table['name']}' AS name, count(*) AS n FROM "${table['name']}"`);
  const rows = counts.length === 0 ? [] : query(name, counts.join(' UNION ALL '))!;
  return Object.fromEntries(rows.map((row) => [String(row['name']), Number(row['n'])]));
});
const hasTable = (name: string, table: string): boolean => table in tablesOf(name);

/** An export of Nsight Systems has events, and reports by whom it was exported. */
function isExport(name: string): boolean {
  const file = spawnSync('head', ['-c', '16', join(FOLDER, name)], { encoding: 'latin1' }).stdout;
  return file.startsWith(MAGIC) && (hasTable(name, 'META_DATA_EXPORT') || hasTable(name, 'EXPORT_META_DATA'));
}

type Span = Readonly<Record<'start' | 'end', number>>;
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Length of the union of spans inside a window. */
function union(spans: readonly Span[], from: number, to: number): number {
  let reached = from;
  let sum = 0;
  for (const { start, end } of [...spans].sort((a, b) => a.start - b.start)) {
    const begin = Math.max(start, reached);
    const stop = Math.min(end, to);
    if (stop > begin) sum += stop - begin;
    reached = Math.max(reached, stop);
  }
  return sum;
}

/** `text`: as steps are named, # for numbers that change, without additions of profilers. */
function isOf(words: string, text: string): boolean {
  const name = words.replace(/, (?:seq|op_id|sizes|input_op_ids) = .*$/s, '').replace(/^\[pl\]\[\w+\]/, '');
  return name === text || name.replace(/\d+/g, '#') === text;
}

const sortedText = (rows: readonly unknown[]): string[] => rows.map((row) => JSON.stringify(row)).sort();

if (databases.length === 0) skipLoudly('real exports', 'the corpus');
else if (sqlite3Program() === undefined) skipLoudly('real exports', 'the sqlite3 program');
else {
  const exports = databases.filter(isExport);
  const folder = temporaryDirectory();
  let results: Map<string, NsysResult>;

  /** All of them, each a run of its own; and what could not be read. */
  beforeAll(async () => {
    for (const name of names) symlinkSync(join(FOLDER, name), join(folder, name));
    const store = await newStore(join(folder, 'store.duckdb'));
    try {
      for (const name of names)
        await ingest({
          rowsOnly: true,
          store,
          parsers: PARSERS,
          paths: [join(folder, name)],
          run: name,
          now: new Date(0),
        });
      results = new Map();
      for (const { run_id, name } of await store.all('store.runs', { run_id: null }))
        results.set(name, worded(await describeNsys(store, run_id, name)) as NsysResult);
    } finally {
      await store.close();
    }
  });

  const reportOf = (name: string): NsysReport => {
    const { reports } = results.get(name)!;
    expect(reports.map(({ path }) => path)).toEqual([name]);
    return reports[0]!;
  };

  it('are all of the corpus but what is no export', () => {
    expect(exports.length).toBeGreaterThan(10);
    const counted = databases.map((name) => [name, results.get(name)!.reports.length]);
    expect(counted).toEqual(databases.map((name) => [name, exports.includes(name) ? 1 : 0]));
  });

  describe.each(exports)('%s', (name) => {
    it('counts what is there, and reports null where there is no table', () => {
      const report = reportOf(name);
      expect(report.nvtx_ranges).toBe(count(name, 'NVTX_EVENTS WHERE eventType IN (59, 60)'));
      const counted = tablesOf(name);
      expect(report.kernels).toBe(counted['CUPTI_ACTIVITY_KIND_KERNEL'] ?? null);
      expect(report.copies).toBe(counted['CUPTI_ACTIVITY_KIND_MEMCPY'] ?? null);
      expect(report.tables).toEqual(counted);
      const hasMemory = hasTable(name, 'CUDA_GPU_MEMORY_USAGE_EVENTS');
      for (const value of [report.device_memory, report.pools, report.accounts]) expect(value !== null).toBe(hasMemory);
      const hasKernels = report.kernels !== null;
      for (const value of [report.kernel_groups, report.budgets]) expect(value !== null).toBe(hasKernels);
    });

    it('finds failed calls and calls for memory', () => {
      const calls = query(
        name,
        `SELECT ${pidOf('globalTid')} AS pid, value AS api, returnValue, start, end
         FROM CUPTI_ACTIVITY_KIND_RUNTIME AS call JOIN StringIds ON StringIds.id = call.nameId`,
      );
      const { failed_calls, memory_calls, storms } = reportOf(name);
      if (calls === undefined) {
        expect([failed_calls, memory_calls, storms]).toEqual([null, null, null]);
        return;
      }
      const plain = (row: Cells): string => String(row['api']).replace(/(?:_ptsz|_ptds)?_v\d+$/, '');
      const failed = calls.filter((row) => row['returnValue'] !== 0 && row['returnValue'] !== 600);
      expect(sum(failed_calls!.map((call) => call.count))).toBe(failed.length);
      expect(new Set(failed_calls!.map(({ api }) => api))).toEqual(new Set(failed.map(plain)));
      const isOfMemory =
        /^(?:cudaMalloc|cudaFree|cudaHostAlloc|cudaHostRegister|cuMemAlloc|cuMemFree|cuMemCreate|cuMemMap)/;
      const asked = calls.filter((row) => isOfMemory.test(plain(row)));
      const found = memory_calls!.filter(({ api }) => isOfMemory.test(api));
      for (const { api, pid, count: times, busy_ns } of found) {
        const mine = asked.filter((row) => plain(row) === api && row['pid'] === pid);
        const spans = mine.map((row) => ({ start: Number(row['start']), end: Number(row['end']) }));
        expect([times, busy_ns]).toEqual([mine.length, union(spans, -Infinity, Infinity)]);
      }
      expect(sum(found.map((call) => call.count))).toBe(asked.length);
    });

    it('sums kernels and copies', () => {
      const { kernel_groups, copy_groups } = reportOf(name);
      const kernels = query(
        name,
        `SELECT value AS name, count(*) AS n, sum(end - start) AS total FROM CUPTI_ACTIVITY_KIND_KERNEL AS kernel
         JOIN StringIds ON StringIds.id = kernel.shortName GROUP BY value ORDER BY total DESC LIMIT 30`,
      );
      expect(sortedText((kernel_groups ?? []).map((one) => [one.name, one.count, one.total_ns]))).toEqual(
        sortedText((kernels ?? []).map((row) => [row['name'], row['n'], row['total']])),
      );
      const copies = query(
        name,
        'SELECT copyKind, srcKind, dstKind, count(*) AS n, sum(bytes) AS bytes FROM CUPTI_ACTIVITY_KIND_MEMCPY GROUP BY 1, 2, 3',
      );
      const kind = (value: Cells[string] | undefined): string | null =>
        value === null || value === undefined ? null : ENUMS.nsys_memory_kind[Number(value)]!;
      const named = ({ copyKind, srcKind, dstKind, n, bytes }: Cells): unknown => [
        ...[ENUMS.nsys_copy_kind[Number(copyKind)], kind(srcKind), kind(dstKind), n, bytes],
      ];
      const groups = (copy_groups ?? []).filter(({ operation }) => operation === 'memcpy');
      const actual = groups.map((one) => [one.direction, one.source_kind, one.target_kind, one.count, one.bytes]);
      expect(sortedText(actual)).toEqual(sortedText((copies ?? []).map(named)));
      const sets = query(name, 'SELECT count(*) AS n, sum(bytes) AS bytes FROM CUPTI_ACTIVITY_KIND_MEMSET');
      const foundSets = (copy_groups ?? []).filter(({ operation }) => operation === 'memset');
      const summed = [sum(foundSets.map((one) => one.count)), sum(foundSets.map((one) => one.bytes))];
      expect(summed).toEqual([Number(sets?.[0]?.['n'] ?? 0), Number(sets?.[0]?.['bytes'] ?? 0)]);
    });

    it('takes for steps ranges of one thread, whole, and never those of modules', () => {
      const { steps, steps_by, step_candidates } = reportOf(name);
      expect(step_candidates.filter(({ status }) => status === 'chosen')).toHaveLength(steps_by === null ? 0 : 1);
      if (steps_by === null) {
        expect(steps).toEqual([]);
        return;
      }
      expect(steps_by.text).not.toMatch(/(?:layers?|blocks?|h)[._ ]?#/);
      const rows = query(
        name,
        `SELECT start, end, ${pidOf('globalTid')} AS pid, ${tidOf('globalTid')} AS tid,
           coalesce(text, (SELECT value FROM StringIds WHERE id = textId)) AS words
         FROM NVTX_EVENTS WHERE end IS NOT NULL AND eventType IN (59, 60)`,
      )!;
      const texts = steps_by.by === 'combination' ? steps_by.text.split(' + ') : [steps_by.text];
      const ranges = rows
        .filter((row) => texts.some((text) => isOf(String(row['words']), text)))
        .map(({ start, end, pid, words }) => ({ start: Number(start), end: Number(end), pid, words: String(words) }));
      const times = new Set(ranges.flatMap(({ pid, start, end }) => [`${pid} ${start}`, `${pid} ${end}`]));
      for (const [i, { pid, start_ns, end_ns }] of steps.entries()) {
        const before = steps[i - 1];
        if (before?.pid === pid) expect(start_ns).toBeGreaterThanOrEqual(before.end_ns);
        // Each begins and ends where one of the ranges does.
        expect(times.has(`${pid} ${start_ns}`)).toBe(true);
        expect(times.has(`${pid} ${end_ns}`)).toBe(true);
        if (steps_by.by !== 'combination') continue;
        const inside = ranges.filter((row) => row.pid === pid && row.start >= start_ns && row.end <= end_ns);
        for (const text of texts) expect(inside.some(({ words }) => isOf(words, text))).toBe(true);
      }
    });

    it('divides the time of every device', () => {
      const { budgets, steps } = reportOf(name);
      const spans = (table: string): (Span & { pid: number; device: number })[] => {
        const rows = query(name, `SELECT start, end, ${pidOf('globalPid')} AS pid, deviceId AS device FROM ${table}`);
        const numbers = (row: Cells) => Object.entries(row).map(([key, value]) => [key, Number(value)]);
        return (rows ?? []).map((row) => Object.fromEntries(numbers(row)));
      };
      const kernels = [...spans('CUPTI_ACTIVITY_KIND_KERNEL'), ...spans('CUPTI_ACTIVITY_KIND_GRAPH_TRACE')];
      const copies = [...spans('CUPTI_ACTIVITY_KIND_MEMCPY'), ...spans('CUPTI_ACTIVITY_KIND_MEMSET')];
      const all = [...kernels, ...copies];
      for (const { pid, device, per_step, steps: own } of budgets ?? []) {
        const mine = (rows: typeof all) => rows.filter((row) => row.pid === pid && row.device === device);
        const isCounted = (step: (typeof steps)[number]): boolean =>
          step.pid === pid || steps.every((other) => other.pid === steps[0]!.pid);
        const whole = [Math.min(...all.map(({ start }) => start)), Math.max(...all.map(({ end }) => end))] as const;
        const windows =
          own.length === 0 ? [whole] : steps.filter(isCounted).map((one) => [one.start_ns, one.end_ns] as const);
        const budgetsOf = own.length > 0 ? own : [per_step];
        expect(budgetsOf).toHaveLength(windows.length);
        for (const [i, budget] of budgetsOf.entries()) {
          const [from, to] = windows[i]!;
          const busy = union(mine(kernels), from, to);
          const either = union(mine(all), from, to);
          expect(budget.compute_ns + budget.exposed_communication_ns).toBe(busy);
          expect(budget).toMatchObject({
            ...{ window_ns: to - from, exposed_copy_ns: either - busy, idle_ns: to - from - either },
            copy_ns: union(mine(copies), from, to),
          });
        }
      }
    });

    it('prints', () => {
      const made = nsysDocument(results.get(name)!, { limit: 8 });
      expect(documentJson(made)).toHaveProperty('reports');
      const shown = documentText(made);
      expect(shown.split('\n')[0]).toContain(name);
      expect(shown).not.toContain('\u001b');
      expect(shown).not.toMatch(/undefined|NaN/);
      for (const line of shown.split('\n')) {
        const isTableRow = (line.trim().match(/ {2,}/g) ?? []).length >= 3;
        if (!isTableRow) expect(line.length, line).toBeLessThanOrEqual(110);
      }
    });
  });

  // Exported from one report in both forms.
  const pairs = names.flatMap((name) => {
    const [, base] = /^(.*)\.json(?:\.gz)?$/.exec(name) ?? [];
    return base !== undefined && exports.includes(`${base}.sqlite`) ? [[name, `${base}.sqlite`] as const] : [];
  });
  it.each(pairs)('%s says what %s says', (lines, database) => {
    const [left, right] = [reportOf(lines), reportOf(database)];
    const lists = ['failed_calls', 'memory_calls', 'kernel_groups', 'copy_groups', 'budgets', 'steps'] as const;
    const counts = ['nvtx_ranges', 'kernels', 'copies'] as const;
    const shared = (report: NsysReport) => [
      ...counts.map((key) => [key, report[key] ?? 0]),
      ...lists.map((key) => [key, report[key] ?? []]),
    ];
    expect(shared(left)).toEqual(shared(right));
  });
}
