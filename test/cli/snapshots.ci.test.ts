/** `snapshots` on series of dumps of simulated processes, as processes. */
import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RankProcess, Tensor } from '../../samples/generate/simulate/rank-process.js';
import type { SnapshotSeriesResult } from '../../src/model/results/snapshot-series.js';
import { GIB, MIB } from '../../src/model/units.js';
import { asker, expectFits } from '../support/ask.js';
import { codeLine, dumpedProcess } from '../support/dumped-process.js';

const { cwd, mbf, text, json, refuse, put } = asker();
const ask = (...args: string[]) => json<SnapshotSeriesResult>('snapshot', 'series', ...args);

const KEPT = [codeLine('append', '/app/metrics.py', 33), codeLine('train', '/app/train.py', 91)];
const STATE = [codeLine('init_state', '/app/optimizer.py', 5), codeLine('train', '/app/train.py', 92)];
const keep =
  (bytes: number, path = KEPT) =>
  (process: RankProcess): Tensor[] => [process.malloc(bytes, path)];
/** Longer than any trace here. */
const ALL = 100_000;

describe('a leak over five dumps', () => {
  it('grows every time, by what is kept, at the line that keeps it', () => {
    const rank = dumpedProcess(3);
    for (let step = 1; step <= 50; step += 1) {
      rank.step(keep(64 * MIB));
      // Written so that neither names nor file times are in the order of time.
      if (step % 10 === 0) put(`leak/snapshot_step_${step}_rank_3.pickle`, rank.dump(ALL));
    }
    for (const step of [10, 20, 30, 40, 50]) {
      const time = new Date(1_800_000_000_000 - step * 60_000);
      utimesSync(join(cwd, `leak/snapshot_step_${step}_rank_3.pickle`), time, time);
    }
    const { series, run } = ask('leak');
    expect(run).toBe('leak');
    expect(series).toHaveLength(1);
    const [one] = series;
    expect(one).toMatchObject({ rank: 3, device: 0, order: 'time' });
    expect(one!.snapshots.map(({ step }) => step)).toEqual([10, 20, 30, 40, 50]);
    expect(one!.snapshots.map(({ allocated_bytes }) => allocated_bytes)).toEqual(
      [10, 20, 30, 40, 50].map((step) => step * 64 * MIB),
    );
    for (const snapshot of one!.snapshots.slice(1)) {
      expect(snapshot.growth!.allocated_bytes).toBe(640 * MIB);
      expect(snapshot.growth_per_step_bytes).toBe(64 * MIB);
      expect(snapshot).toMatchObject({ relation: 'continues', trigger: 'periodic', lost: null });
    }
    for (let i = 1; i < 5; i += 1) {
      const [before, now] = [one!.snapshots[i - 1]!, one!.snapshots[i]!];
      expect(now.shared_entries).toBe(before.events);
      expect(now.new_entries).toBe(now.events! - before.events!);
    }
    expect(one!.trend).toMatchObject({ kind: 'growing', snapshots: 5, growth_per_step_bytes: 64 * MIB });
    expect(one!.sites).toMatchObject([{ bytes: 40 * 64 * MIB, blocks: 40, last_bytes: 50 * 64 * MIB }]);
    expect(one!.sites[0]!.site).toContain('metrics.py:33');
    const stdout = text('snapshot', 'series', 'leak');
    expect(stdout).toContain('allocated grows from dump to dump: +2.50 GiB, +64.00 MiB a step over 5 comparable dumps');
    expect(stdout).toContain('each trace continues the one before');
    expectFits(stdout);
  });
});

describe('a warm-up', () => {
  it('grows and then stays', () => {
    const rank = dumpedProcess(0);
    for (let step = 1; step <= 5; step += 1) {
      rank.step(step === 1 ? keep(2 * GIB) : step === 2 ? keep(4 * GIB, STATE) : undefined);
      put(`warm/iteration_${step}/rank0_memory_snapshot.pickle`, rank.dump(ALL));
    }
    const [one] = ask('warm').series;
    expect(one!.trend).toMatchObject({ kind: 'plateau', growth_bytes: 4 * GIB });
    expect(one!.snapshots.map(({ growth }) => growth?.allocated_bytes ?? null)).toEqual([null, 4 * GIB, 0, 0, 0]);
    expect(one!.sites).toHaveLength(1);
    expect(one!.sites[0]!.site).toContain('optimizer.py:5');
  });
});

describe('a ring', () => {
  it('that still holds the end of the dump before continues it, though every time differs a little', () => {
    const rank = dumpedProcess(1);
    for (let step = 1; step <= 6; step += 1) rank.step(keep(MIB * 8));
    put('ring/snapshot_step6_rank1.pickle', rank.dump(150));
    const before = rank.process.trace.length;
    for (let step = 7; step <= 8; step += 1) rank.step(keep(MIB * 8));
    const fresh = rank.process.trace.length - before;
    put('ring/snapshot_step8_rank1.pickle', rank.dump(150, 3));
    const [, second] = ask('ring').series[0]!.snapshots;
    expect(fresh).toBeLessThan(150);
    expect(second).toMatchObject({
      relation: 'continues',
      new_entries: fresh,
      shared_entries: 150 - fresh,
      lost: null,
    });
  });

  it('that has overflowed lost the entries in between and reports how much the device changed meanwhile', () => {
    const rank = dumpedProcess(1);
    for (let step = 1; step <= 3; step += 1) rank.step(keep(MIB * 8));
    put('gap/snapshot_step3_rank1.pickle', rank.dump(40));
    const lastUs = rank.process.trace.at(-1)!.timeUs!;
    for (let step = 4; step <= 23; step += 1) rank.step(keep(MIB * 8));
    // So many entries as the last step and a half have.
    const firstUs = rank.process.trace.at(-60)!.timeUs!;
    put('gap/snapshot_step23_rank1.pickle', rank.dump(60));
    const [one] = ask('gap').series;
    const second = one!.snapshots[1]!;
    expect(second).toMatchObject({ relation: 'gap', shared_entries: null, new_entries: null });
    expect(second.growth!.allocated_bytes).toBe(20 * 8 * MIB);
    expect(second.lost!.gap_us).toBe(firstUs - lastUs);
    // What was live when the second trace begins, by the process itself: only what was kept, and a part of a step.
    const live = new Map<number, number>();
    for (const entry of rank.process.trace.slice(0, -60)) {
      if (entry.action === 'alloc') live.set(entry.addr!, entry.sizeBytes);
      if (entry.action === 'free_completed') live.delete(entry.addr!);
    }
    const startBytes = [...live.values()].reduce((sum, bytes) => sum + bytes, 0);
    expect(second.lost!.active_bytes).toBe(startBytes - one!.snapshots[0]!.active_bytes);
    expect(text('snapshot', 'series', 'gap')).toMatch(/between #\d and #\d the ring lost/);
  });

  it('of a restarted process begins anew, and nothing grows from one process to the next', () => {
    const first = dumpedProcess(0);
    for (let step = 1; step <= 3; step += 1) {
      first.step(keep(GIB));
      put(`restart/snapshot_step${step}_rank0.pickle`, first.dump(ALL));
    }
    const second = dumpedProcess(0, { seed: 8, startUs: 1_700_000_100_000_000 });
    for (let step = 3; step <= 6; step += 1) {
      second.step(step === 3 ? keep(2 * GIB) : undefined);
      put(`restart/again/snapshot_step${step}_rank0.pickle`, second.dump(ALL));
    }
    const [one] = ask('restart').series;
    expect(one!.snapshots.map(({ relation }) => relation ?? 'first').join(' ')).toBe(
      'first continues continues restart continues continues continues',
    );
    expect(one!.snapshots[3]!.growth).toBeNull();
    expect(one!.trend).toMatchObject({ kind: 'steady', snapshots: 4 });
  });

  it('of another process at the same time is distinguished from it', () => {
    for (const seed of [1, 2]) {
      const process = dumpedProcess(0, { seed });
      for (let step = 1; step <= 3; step += 1) process.step(keep(GIB * seed));
      put(`two/dump_step${seed}.pickle`, process.dump(ALL));
    }
    const [one] = ask('two').series;
    expect(one).toMatchObject({ rank: null });
    expect(one!.snapshots[1]).toMatchObject({ relation: 'unrelated', growth: null });
    expect(text('snapshot', 'series', 'two')).toContain('no file name has a rank');
  });
});

describe('why it was dumped', () => {
  it('is known by trace, name or series; an OOM is not part of the trend', () => {
    const rank = dumpedProcess(2);
    for (let step = 1; step <= 4; step += 1) {
      rank.step();
      put(`why/part${step}/snapshot_2.pickle`, rank.dump(ALL));
    }
    expect(() => rank.step((process) => [process.malloc(200 * GIB, KEPT)])).toThrow();
    put('why/snapshot_oom_rank-2.pickle', rank.dump(ALL));
    const [one] = ask('why').series;
    expect(one!.snapshots.map(({ trigger, trigger_origin }) => [trigger, trigger_origin])).toEqual([
      ...[1, 2, 3, 4].map(() => ['periodic', 'series: one of 4 dumps of one process']),
      ['oom', 'trace: its last entry is an OOM'],
    ]);
    expect(one!.snapshots.at(-1)).toMatchObject({ oom_entries: 1, relation: 'continues' });
    expect(one!.trend).toMatchObject({ kind: 'steady', snapshots: 4, growth_bytes: 0 });
    const counts = 'SELECT dump_trigger, count(*) AS n FROM snapshot GROUP BY ALL ORDER BY 1';
    expect(text('sql', counts, 'why', '--format', 'csv')).toBe('dump_trigger,n\noom,1\n,4\n');
  });

  it('one dump alone is manual and gives no trend', () => {
    const rank = dumpedProcess(0);
    rank.step(keep(GIB));
    put('one/snapshot_0.pickle', rank.dump(ALL));
    const [one] = ask('one').series;
    expect(one!.snapshots).toMatchObject([{ trigger: 'manual', relation: null, growth: null, step: null }]);
    expect(one!.trend.kind).toBe('too_few');
    expect(ask('one', '--sites', '0').series[0]!.sites).toEqual([]);
  });
});

describe('snapshots', () => {
  it('without a rank or a step are neither ranks nor a series', () => {
    const names = ['mem_4096.pickle', 'mem_8192.pickle', 'snapshot_bs4.pickle', 'snapshot_2000.pickle'];
    for (const [i, name] of names.entries()) {
      const process = dumpedProcess(0, { seed: i });
      process.step(keep((i + 1) * GIB));
      put(`loose/${name}`, process.dump(ALL));
    }
    const { series } = ask('loose');
    expect(series.map(({ rank, snapshots }) => [rank, snapshots.length])).toEqual(names.map(() => [null, 1]));
    const stdout = text('snapshot', 'series', 'loose');
    expect(stdout).toContain('4 snapshots, no series');
    expect(stdout).not.toContain('growth');
    for (const name of names) expect(stdout).toContain(name);
  });

  it('without a rank are one series only where their names have steps and differ in numbers alone', () => {
    const process = dumpedProcess(0);
    for (let step = 1; step <= 12; step += 1) {
      process.step(keep(MIB * 20));
      put(`nameless/memory_snapshot_step${step}.pickle`, process.dump(30));
    }
    const secondProcess = dumpedProcess(0, { seed: 3 });
    secondProcess.step(keep(GIB));
    put('nameless/other.pickle', secondProcess.dump(ALL));
    process.step();
    put('nameless/after.pickle', process.dump(30));
    const { series } = ask('nameless');
    expect(series.map(({ snapshots }) => snapshots.length).sort()).toEqual([1, 1, 12]);
    const screen = text('snapshot', 'series', 'nameless');
    expect(screen).toContain('no file name has a rank');
    expect(screen).toMatch(/3 more such lines: --json=full/);
  });

  it('of several ranks are a series each; a handle asks for its own', () => {
    for (const rank of [0, 1, 2]) {
      const process = dumpedProcess(rank, { seed: rank });
      for (let step = 1; step <= 3; step += 1) {
        process.step(keep((rank + 1) * 16 * MIB));
        put(`ranks/iteration_${step}/rank${rank}_memory_snapshot.pickle`, process.dump(ALL));
      }
    }
    mbf('ingest', 'ranks', '--db', 'ranks.duckdb');
    const all = ask('--db', 'ranks.duckdb');
    expect(all.series.map(({ rank, snapshots }) => [rank, snapshots.length])).toEqual([
      [0, 3],
      [1, 3],
      [2, 3],
    ]);
    expect(all.series.map(({ trend }) => trend.growth_per_step_bytes)).toEqual([16 * MIB, 32 * MIB, 48 * MIB]);
    expect(ask('ranks/1/snapshot#2', '--db', 'ranks.duckdb').series.map(({ rank }) => rank)).toEqual([1]);
  });

  it('are asked for in vain in a run without', () => {
    put('log/train.log', Buffer.from('torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n'));
    expect(refuse(2, 'snapshot', 'series', 'log')).toContain('MBF1002');
    expect(refuse(2, 'snapshot', 'series', 'leak', '--sites', 'x')).toContain('MBF1001');
  });
});
