/**
 * `mbforensics nsys` as a user has it: on paths and on runs of a store, in text and as JSON, alone and against another
 * run.
 */
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { NsysComparison, NsysReport, NsysResult } from '../../src/model/results/nsys.js';
import { asker } from '../support/ask.js';
import type { Answer } from '../support/cli.js';
import { skipLoudly } from '../support/corpus.js';
import { type PlantedRun, writePlantedRun } from '../support/nsys/planted-run.js';
import { NVTX } from '../support/nsys/rows.js';
import { sqlite3Program } from '../support/nsys/write-export.js';
import { smallSnapshot } from '../support/small-snapshot.js';

const MOST_COLUMNS = 110;
/** Columns of a table are separated by two blanks. */
const isTableRow = (line: string): boolean => (line.trim().match(/ {2,}/g) ?? []).length >= 3;

function describeCli(): void {
  const { cwd, ends, put } = asker();
  let golden: PlantedRun;
  let night: PlantedRun;
  const outputs: string[] = [];

  beforeAll(() => {
    golden = writePlantedRun(join(cwd, 'golden'), 1, '3.28');
    night = writePlantedRun(join(cwd, 'night-shift'), 2, '3.16');
    put('plain/snapshot_0.pickle', smallSnapshot({ segments: [[{ size: 512, state: 'inactive' }]] }));
    for (const run of ['plain', 'night-shift', 'golden']) mbf('ingest', run);
  });

  const kept = (status: number, ...args: string[]): Answer => {
    const answer = ends(status, ...args);
    outputs.push(answer.stdout, answer.stderr);
    return answer;
  };
  const mbf = (...args: string[]): Answer => kept(0, ...args);
  const text = (...args: string[]): string => mbf('nsys', ...args).stdout;
  const asked = new Map<string, NsysResult>();
  /** Asked once for all tests: the stores do not change. */
  const json = (...args: string[]): NsysResult => {
    const key = args.join(' ');
    const known = asked.get(key) ?? mbf('nsys', ...args, '--json=full').json<NsysResult>();
    asked.set(key, known);
    return known;
  };
  const refused = (status: number, ...args: string[]): string => kept(status, 'nsys', ...args).stderr;
  const only = ({ reports }: NsysResult): NsysReport => {
    expect(reports).toHaveLength(1);
    return reports[0]!;
  };

  it('is a document of this shape', () => {
    const result = json('golden');
    expect(Object.keys(result).sort()).toEqual(['reports', 'run', 'schema']);
    expect(result).toMatchObject({ schema: 'mbforensics/nsys@1', run: 'golden' });
    const report = only(result);
    expect(Object.keys(report).sort().join(' ')).toBe(
      'accounts budgets clock_origin copies copy_groups device_memory diagnostics duration_ns failed_calls form gpus ' +
        'host is_partial kernel_groups kernels memory_calls memory_events_collected missing nsys_version nvtx_ranges ' +
        'path pools processes rank schema_version started_at step_candidates steps steps_by storms tables ' +
        'tables_not_kept',
    );
    const { scenario } = golden;
    const { truth, recording } = scenario;
    expect(report).toMatchObject({
      path: 'planted.sqlite',
      nsys_version: '2026.4.1.100',
      schema_version: '3.28.1',
      memory_events_collected: true,
      gpus: scenario.gpus.map(({ id, name, totalBytes }) => ({ id, name, total_bytes: totalBytes })),
      tables: golden.export.rows,
      failed_calls: truth.failedCalls.map(({ api, count, firstNs }) => ({
        api: api.replace(/_v\d+$/, ''),
        count,
        first_ns: firstNs,
      })),
      nvtx_ranges: recording.nvtx.filter(({ type }) => type === NVTX.pushPop || type === NVTX.startEnd).length,
      kernels: recording.kernels.length,
      copies: recording.copies.length,
    });
    for (const { pid, device, kind, peakBytes, endBytes } of truth.footprints) {
      expect(report.device_memory).toContainEqual(
        expect.objectContaining({ pid, device, kind, peak_bytes: peakBytes, end_bytes: endBytes }),
      );
    }
    expect(report.steps.filter(({ pid }) => pid === scenario.processes[0]!.pid)).toEqual(
      truth.steps[scenario.processes[0]!.pid]!.map(({ index, startNs, endNs }) => ({
        index,
        start_ns: startNs,
        end_ns: endNs,
        pid: scenario.processes[0]!.pid,
      })),
    );
  });

  it('gives the same for a run, its path, its export next to it and the run ingested last', () => {
    const byRun = json('golden');
    expect(json()).toEqual(byRun);
    expect(json('./golden')).toEqual(byRun);
    expect(json('run:golden')).toEqual(byRun);
    // Alone it lacks snapshots.
    const alone = only(json('golden/planted.sqlite'));
    expect(alone.device_memory).toEqual(only(byRun).device_memory);
    for (const { snapshot } of alone.accounts!) expect(snapshot).toBeNull();
  });

  it('shows its content on one screen after the other', () => {
    const shown = text('golden');
    const { scenario } = golden;
    for (const words of [
      'planted.sqlite · sqlite · nsys 2026.4.1.100 (schema 3.28.1)',
      scenario.hostname,
      `${scenario.recording.kernels.length} kernels`,
      "The driver's memory of process 4101 rank 0 device 0",
      "PyTorch's segments",
      'cuBLAS workspaces',
      'out of memory',
      'clocks aligned by',
      '4 (ranges "iteration #"), 101 to 104',
      'thrashing',
      'Not all CUDA events might have been collected.',
      '--cuda-graph-trace=node',
    ])
      expect(shown).toContain(words);
    expect(shown).not.toContain('\u001b');
    expect(shown).not.toMatch(/undefined|NaN|null/);
    for (const line of shown.split('\n'))
      if (!isTableRow(line)) expect(line.length, line).toBeLessThanOrEqual(MOST_COLUMNS);
  });

  it('cuts tables at --limit and shows how much is left', () => {
    const short = text('golden', '--limit', '1');
    const full = text('golden', '--limit', '0');
    expect(short).toContain('more (--limit 0 shows all)');
    expect(full).not.toContain('--limit');
    expect(full.split('\n').length).toBeGreaterThan(short.split('\n').length);
    const calls = only(json('golden')).memory_calls!;
    for (const { api } of calls) expect(full).toContain(api);
    // JSON is whole whatever the limit.
    expect(json('golden', '--limit', '1')).toEqual(json('golden'));
  });

  describe('--at', () => {
    const open = (ns: number, pid: number): Record<number, string[]> => {
      const stacks: Record<number, string[]> = {};
      for (const range of golden.scenario.recording.nvtx) {
        if (range.pid !== pid || range.type !== NVTX.pushPop) continue;
        if (range.startNs <= ns && (range.endNs === null || range.endNs > ns))
          stacks[range.tid] = [...(stacks[range.tid] ?? []), range.text];
      }
      return stacks;
    };

    it('shows the ranges of every thread then', () => {
      const { oom } = golden.scenario.truth;
      const { at, reports } = json('golden', '--at', String(oom.atNs));
      expect(reports).toEqual(json('golden').reports);
      expect(at!.map(({ path, time_ns }) => [path, time_ns])).toEqual([['planted.sqlite', oom.atNs]]);
      for (const { pid, rank } of golden.scenario.processes) {
        const stacks = at![0]!.stacks.filter((stack) => stack.pid === pid);
        expect(Object.fromEntries(stacks.map(({ tid, ranges }) => [tid, ranges.map((range) => range.text)]))).toEqual(
          open(oom.atNs, pid),
        );
        for (const stack of stacks) {
          expect(stack.rank).toBe(rank);
          for (const { start_ns, end_ns } of stack.ranges) {
            expect(start_ns).toBeLessThanOrEqual(oom.atNs);
            expect(end_ns ?? Number.POSITIVE_INFINITY).toBeGreaterThan(oom.atNs);
          }
        }
      }
      const shown = text('golden', '--at', String(oom.atNs));
      for (const words of open(oom.atNs, oom.pid)[oom.pid]!) expect(shown).toContain(words);
      expect(shown).toContain(`process ${oom.pid}, thread ${oom.pid} pt_main_thread`);
    });

    it('knows ranges of a process and ranges that never end', () => {
      const { recording, durationNs } = golden.scenario;
      const save = recording.nvtx.find(({ type }) => type === NVTX.startEnd)!;
      const { at } = json('golden', '--at', String(save.startNs + 1));
      expect(at![0]!.stacks).toContainEqual(
        expect.objectContaining({
          pid: save.pid,
          tid: null,
          thread: null,
          ranges: [expect.objectContaining({ text: 'checkpoint save', type: 'start_end', end_ns: save.endNs })],
        }),
      );
      const late = text('golden', '--at', String(durationNs));
      expect(late).toMatch(/shutdown {2}\(from .*, never ended\)/);
    });

    it('reports moments without an open range, also before the collection', () => {
      expect(text('golden', '--at', '0')).toContain('no NVTX range is open then');
      expect(json('golden', '--at=-5').at![0]!.stacks).toEqual([]);
    });

    it.each(['soon', '1e9', '12.5', '', '0x10', '99999999999999999999'])('refuses %j', (time) => {
      expect(refused(2, 'golden', `--at=${time}`)).toContain('expected a time in ns');
    });
  });

  it('shows the work inside ranges with --range, and memory over time with --curve', () => {
    const { range_work, curves, at } = json('golden', '--range', 'forward', '--curve', '12');
    expect(at).toBeUndefined();
    expect(range_work![0]!.text).toBe('forward');
    expect(new Set(range_work![0]!.work.map(({ name }) => name))).toContain('vectorized_layer_norm_kernel');
    for (const { bytes, times_ns } of curves![0]!.series) expect([bytes.length, times_ns.length]).toEqual([12, 12]);
    const shown = text('golden', '--range', 'forward', '--curve');
    expect(shown).toContain('launched inside ranges with "forward"');
    expect(shown).toContain('vectorized_layer_norm_kernel');
    for (const line of shown.split('\n'))
      if (!isTableRow(line)) expect(line.length, line).toBeLessThanOrEqual(MOST_COLUMNS);
    expect(text('golden', '--range', 'no such range')).toContain('nothing');
    for (const slices of ['-3', 'x', '1.5']) expect(refused(2, 'golden', `--curve=${slices}`)).toContain('MBF1001');
  });

  describe('--against', () => {
    const perStep = (run: PlantedRun): Map<string, { ns: number; count: number }> => {
      const { recording, truth, processes } = run.scenario;
      const pace = truth.steps[processes[0]!.pid]!;
      const sums = new Map<string, { ns: number; count: number }>();
      for (const { shortName, startNs, endNs } of recording.kernels) {
        if (startNs < pace[1]!.startNs || startNs >= pace.at(-1)!.endNs) continue;
        const sum = sums.get(shortName) ?? { ns: 0, count: 0 };
        const share = (pace.length - 1) * processes.length;
        sums.set(shortName, { ns: sum.ns + (endNs - startNs) / share, count: sum.count + 1 / share });
      }
      return sums;
    };

    function expectComparison(comparison: NsysComparison, a: NsysReport, b: NsysReport): void {
      expect(comparison.devices.map(({ rank, a_device, b_device }) => [rank, a_device, b_device])).toEqual([
        [0, 0, 0],
        [1, 1, 1],
      ]);
      for (const [i, { figures }] of comparison.devices.entries()) {
        const [left, right] = [a.budgets![i]!.per_step, b.budgets![i]!.per_step];
        for (const { figure, a_ns, b_ns, delta_ns } of figures) {
          const key = `${figure === 'step' ? 'window' : figure}_ns` as keyof typeof left;
          expect([a_ns, b_ns]).toEqual([left[key], right[key]]);
          expect(delta_ns).toBe(b_ns - a_ns);
        }
        expect(figures.map(({ figure }) => figure)).toEqual([
          ...['step', 'compute', 'exposed_communication', 'exposed_copy', 'idle', 'communication', 'copy'],
        ]);
      }
      const [left, right] = [perStep(golden), perStep(night)];
      expect(comparison.kernels.map(({ name }) => name).sort()).toEqual([...left.keys()].sort());
      for (const { name, a_per_step_ns, b_per_step_ns, a_per_step, b_per_step, delta_ns } of comparison.kernels) {
        expect(a_per_step_ns).toBeCloseTo(left.get(name)!.ns, 3);
        expect(b_per_step_ns).toBeCloseTo(right.get(name)!.ns, 3);
        expect(a_per_step).toBeCloseTo(left.get(name)!.count, 6);
        expect(b_per_step).toBeCloseTo(right.get(name)!.count, 6);
        expect(delta_ns).toBe(b_per_step_ns - a_per_step_ns);
      }
      const moved = comparison.kernels.map(({ delta_ns }) => Math.abs(delta_ns));
      expect(moved).toEqual([...moved].sort((one, other) => other - one));
      const sum = (report: NsysReport, api: string): number =>
        report.memory_calls!.filter((call) => call.api === api).reduce((total, call) => total + call.per_step!, 0);
      for (const { api, a_per_step, b_per_step } of comparison.memory_calls)
        expect([a_per_step, b_per_step]).toEqual([sum(a, api), sum(b, api)]);
    }

    it.each([
      ['two runs of one store', 'golden', 'night-shift'],
      ['two paths', './golden', './night-shift'],
      ['a run and a path', 'run:golden', './night-shift'],
    ])('compares %s', (_, a, b) => {
      const { against, reports, run } = json(a, '--against', b);
      expect(run).toBe('golden');
      expect([against!.a, against!.b]).toEqual(['golden', 'night-shift']);
      expect(reports).toEqual(json('golden').reports);
      expectComparison(against!, only(json('golden')), only(json('night-shift')));
      // The two releases differ, and so do their notes on possible losses.
      expect(against!.warnings.join('\n')).toContain('the version of nsys differs');
      expect(against!.warnings.join('\n')).not.toContain('the GPU differs');
    });

    it('shows the figures and what moved', () => {
      const shown = text('golden', '--against', 'night-shift');
      for (const words of [
        'Steps of night-shift less those of golden',
        'beware',
        'Rank 0',
        'Rank 1',
        'communication alone',
        'nvjet_tst',
        'cudaMalloc',
      ])
        expect(shown).toContain(words);
      expect(shown).not.toMatch(/undefined|NaN|null/);
      for (const line of shown.split('\n'))
        if (!isTableRow(line)) expect(line.length, line).toBeLessThanOrEqual(MOST_COLUMNS);
    });

    it('finds no difference between a run and itself', () => {
      const { against } = json('golden', '--against', 'golden');
      for (const { figures } of against!.devices) for (const { delta_ns } of figures) expect(delta_ns).toBe(0);
      for (const { delta_ns } of against!.kernels) expect(delta_ns).toBe(0);
      // Losses of events are worth a word even so.
      for (const warning of against!.warnings) expect(warning).toContain('events may be missing');
    });

    it('needs two runs with exports', () => {
      expect(refused(2, '--against', 'golden')).toContain('MBF1001');
      for (const option of ['--at=5', '--range=forward', '--curve'])
        expect(refused(2, 'golden', '--against', 'night-shift', option)).toContain('MBF1001');
      expect(refused(2, 'golden', '--against', 'plain')).toContain('MBF1002');
      expect(refused(2, 'plain', '--against', 'golden')).toContain('MBF1002');
      expect(refused(2, 'golden', '--against', 'nowhere')).toContain('nowhere');
    });
  });

  it('suggests a fix for a run without an export', () => {
    for (const operand of ['plain', './plain']) {
      const message = refused(2, operand);
      expect(message).toContain('MBF1002');
      expect(message).toContain('nsys export --type sqlite');
    }
  });

  it.each(['-1', 'x', '1.5'])('refuses --limit %s', (limit) => {
    expect(refused(2, 'golden', `--limit=${limit}`)).toContain('expected a whole number');
  });

  it('shows no secret of the capture', () => {
    expect(outputs.length).toBeGreaterThan(20);
    const all = outputs.join('\n');
    for (const { scenario } of [golden, night])
      for (const secret of scenario.secrets) expect(all).not.toContain(secret);
  });
}

if (sqlite3Program() === undefined) skipLoudly('nsys', 'the sqlite3 program');
else describe('nsys', describeCli);
