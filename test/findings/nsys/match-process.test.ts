/**
 * Ranks of one node are alike: the same addresses and sizes at almost the same times. Each snapshot is of its own
 * process all the same.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratchDirectory } from '../../store/scratch.js';
import { skipLoudly } from '../../support/levels/skip-loudly.js';
import type { Recording } from '../../support/nsys/rows.js';
import { plantedScenario, type Scenario } from '../../support/nsys/scenario.js';
import { snapshotBytes, snapshotName } from '../../support/nsys/snapshots.js';
import { sqlite3Program, writeNsysExport } from '../../support/nsys/write-export.js';
import { onlyReport } from './described.js';

/** The twin is a few milliseconds late, now more and now less. */
const lateNs = (ns: number): number => Math.round(3_000_000 + 1_500_000 * Math.sin(ns / 20_000_000));

/** The first process of a planted capture, twice. `device` is what the twin takes its GPU for. */
function twins(seed: number, device: number): Scenario {
  const scenario = plantedScenario(seed);
  const [first, second] = scenario.processes;
  const { api, memory, frames } = scenario.recording;
  const own = <Row extends { readonly pid: number }>(rows: readonly Row[]): Row[] =>
    rows.filter(({ pid }) => pid === first!.pid);
  const { pid, rank, threads } = second!;
  const twinTid = (tid: number): number => threads[first!.threads.findIndex((thread) => thread.tid === tid)]!.tid;
  const empty = Object.fromEntries(Object.keys(scenario.recording).map((table) => [table, []]));
  const late = <Row extends { readonly startNs: number }>(row: Row): Row => {
    return { ...row, startNs: row.startNs + lateNs(row.startNs) };
  };
  const recording = {
    ...(empty as unknown as Recording),
    frames,
    api: own(api).flatMap((call) => [
      call,
      { ...late(call), pid, tid: twinTid(call.tid), endNs: call.endNs + lateNs(call.endNs) },
    ]),
    memory: own(memory).flatMap((event) => [event, { ...late(event), pid, device }]),
  };
  const originUs = Number(scenario.utcEpochNs / 1000n);
  const trace = first!.torch.trace.map((entry) => ({
    ...entry,
    timeUs: entry.timeUs === null ? null : entry.timeUs + Math.round(lateNs((entry.timeUs - originUs) * 1000) / 1000),
  }));
  const twin = { ...first!, pid, rank, device, threads, torch: { ...first!.torch, trace } };
  return { ...scenario, recording, processes: [first!, twin] };
}

if (sqlite3Program() === undefined) skipLoudly('twin ranks', 'the sqlite3 program');
else {
  describe('ranks that are alike', () => {
    it.each([
      ['devices of their own', 1],
      ['one visible device each', 0],
    ])('with %s', async (_, device) => {
      const scenario = twins(1, device);
      const directory = join(scratchDirectory(), 'run');
      mkdirSync(directory);
      writeNsysExport(join(directory, 'twins.sqlite'), scenario, '3.28');
      for (const process of scenario.processes)
        writeFileSync(join(directory, snapshotName(scenario, process)), snapshotBytes(scenario, process));
      const { accounts } = await onlyReport(directory);
      expect(accounts!.map(({ pid, rank, snapshot }) => [pid, rank, snapshot])).toEqual(
        scenario.processes.map((process) => [process.pid, process.rank, `run/${process.rank}/snapshot#1`]),
      );
      const torch = accounts!.map(({ moments }) =>
        moments.map(({ shares }) => shares.find(({ owner }) => owner === 'torch')),
      );
      expect(torch[1]).toEqual(torch[0]);
      for (const { alignment } of accounts!) expect(alignment!.error_us).toBeLessThan(20);
    });
  });
}
