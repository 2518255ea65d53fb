/** The timeline of every snapshot of the corpus: every view has the same peak, and steps account for every alloc. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import type { PeakResult, SnapshotResult } from '../../src/model/results/common.js';
import type { TimelineResult, TimelineTrace } from '../../src/model/results/timeline.js';
import { CORPUS } from '../support/corpus.js';
import { validSnapshots } from '../support/stores.js';
import { askCorpus, corpusSuite, sum } from './corpus-suite.js';

const files = validSnapshots();

/**
 * What a peer found of steps: an object keyed by step number; its other figures differ in definition, so only the
 * numbers are compared.
 */
function peerSteps(name: string): string[] | undefined {
  const file = join(CORPUS, 'peers', 'bridge', `${name}.parse.json`);
  if (!existsSync(file)) return undefined;
  const { profiler_steps } = JSON.parse(readFileSync(file, 'utf8')) as { profiler_steps?: Record<string, unknown> };
  return profiler_steps === undefined ? undefined : Object.keys(profiler_steps);
}

corpusSuite('timelines of the corpus', files, () => {
  let result: TimelineResult;
  let snapshots: SnapshotResult;

  beforeAll(() => {
    result = askCorpus<TimelineResult>('timeline');
    snapshots = askCorpus<SnapshotResult>('snapshot');
  });

  const traces = (): { name: string; device: number; trace: TimelineTrace }[] =>
    result.snapshots.flatMap(({ path, devices }) =>
      devices.flatMap(({ device, trace }) => (trace === null ? [] : [{ name: path, device, trace }])),
    );
  const deviceOf = (name: string, device: number) =>
    snapshots.snapshots.find(({ path }) => path === name)!.devices.find((other) => other.device === device)!;

  it('exist for every device with a trace', () => {
    const expected = snapshots.snapshots.flatMap(({ path, devices }) =>
      devices.filter(({ events }) => events !== null && events > 0).map(({ device, events }) => [path, device, events]),
    );
    expect(traces().map(({ name, device, trace }) => [name, device, trace.entries])).toEqual(expected);
    expect(expected.length).toBeGreaterThan(0);
  });

  it('have the peaks of the other verbs, in value and place, also through their columns', () => {
    const peaks = askCorpus<PeakResult>('peak', '--limit', '1');
    let exact = 0;
    for (const { name, device, trace } of traces()) {
      const where = `${name} device ${device}`;
      const snapshot = deviceOf(name, device);
      const peak = peaks.snapshots.find(({ path }) => path === name)!.devices.find((other) => other.device === device)!;
      const most = (pick: (column: TimelineTrace['columns'][number]) => number): number =>
        Math.max(...trace.columns.map(pick));
      const { peak_active: active, peak_reserved: reserved } = trace.marks;
      const highest = [most((column) => column.active_max_bytes), most((column) => column.reserved_max_bytes)];
      expect(highest, where).toEqual([active.bytes, reserved.bytes]);
      for (const column of trace.columns) {
        expect(column.allocated_max_bytes, where).toBeLessThanOrEqual(column.active_max_bytes);
        expect(column.active_min_bytes, where).toBeLessThanOrEqual(column.active_max_bytes);
      }
      if (trace.basis !== 'actual') continue;
      exact += 1;
      expect([snapshot.peak_active_bytes, peak.active_bytes], where).toEqual([active.bytes, active.bytes]);
      const seq = snapshot.peak_seq ?? 0;
      expect(seq, where).toBeGreaterThanOrEqual(active.first_seq);
      expect(seq, where).toBeLessThanOrEqual(active.last_seq);
      expect(reserved.bytes, where).toBe(snapshot.peak_reserved_bytes);
    }
    expect(exact).toBeGreaterThan(0);
  });

  it('end in the state that was dumped, where the walk back began', () => {
    for (const { name, device, trace } of traces()) {
      if (trace.basis !== 'actual') continue;
      const last = trace.columns.at(-1)!;
      const final = deviceOf(name, device);
      expect(final.active_bytes, name).toBeGreaterThanOrEqual(last.active_min_bytes);
      expect(final.active_bytes, name).toBeLessThanOrEqual(last.active_max_bytes);
      expect(final.allocated_bytes, name).toBeGreaterThanOrEqual(last.allocated_min_bytes);
      expect(final.allocated_bytes, name).toBeLessThanOrEqual(last.allocated_max_bytes);
    }
  });

  it('mark every failure', () => {
    for (const { name, device, trace } of traces()) {
      const ooms = trace.marks.ooms.map(({ seq, requested_bytes, device_free_bytes }) => ({
        ...{ seq, requested_bytes, device_free_bytes },
      }));
      expect(ooms, name).toEqual(deviceOf(name, device).ooms);
    }
  });

  it('have disjoint steps in order, which together account for every alloc where optimizers bound them', () => {
    for (const { name, device, trace } of traces()) {
      const { rows, origin, without_entries } = trace.steps;
      rows.forEach((step, i) => {
        expect(step.first_seq, name).toBeGreaterThan(rows[i - 1]?.last_seq ?? -1);
        expect(step.last_seq, name).toBeGreaterThanOrEqual(step.first_seq);
        expect(step.peak_active_bytes, name).toBeGreaterThanOrEqual(step.end_active_bytes);
        expect(step.peak_active_bytes, name).toBeLessThanOrEqual(trace.marks.peak_active.bytes);
        if (step.partial === null) expect(step.duration_us, name).toBeGreaterThan(0);
      });
      if (origin !== 'optimizer_step' || without_entries > 0) continue;
      const counts = deviceOf(name, device).actions!;
      const [allocs, frees] = [sum(rows.map((step) => step.allocs)), sum(rows.map((step) => step.frees))];
      expect([allocs, frees], name).toEqual([counts['alloc'] ?? 0, counts['free_completed'] ?? 0]);
      expect(Math.max(...rows.map((step) => step.peak_active_bytes)), name).toBe(trace.marks.peak_active.bytes);
    }
  });

  it('have the profiler steps that a peer found', () => {
    let compared = 0;
    for (const { name, trace } of traces()) {
      const steps = peerSteps(name);
      if (steps === undefined) continue;
      compared += 1;
      const own = trace.steps.origin === 'profiler_step' ? trace.steps.rows.map((step) => step.step) : [];
      expect(own, name).toEqual([...new Set(steps.map((step) => Number(/\d+/.exec(step)?.[0])))].sort((a, b) => a - b));
    }
    expect(compared).toBeGreaterThan(0);
  });
});
