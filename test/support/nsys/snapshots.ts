/** The memory snapshots of a planted run, as torch 2.8 writes them. */
import type { RankProcess } from '../../../samples/generate/simulate/rank-process.js';
import { settingsFromConf } from '../../../samples/generate/simulate/simulated-driver.js';
import { pickle } from '../../../samples/generate/write/pickle-writer.js';
import { snapshotValue } from '../../../samples/generate/write/snapshot-pickle.js';
import type { PlantedProcess, Scenario } from './scenario.js';

/** As Megatron-LM names them: of a rank that ran out of memory, and of one that dumps after a step. */
export function snapshotName(scenario: Scenario, { rank }: PlantedProcess): string {
  return scenario.truth.oom.rank === rank ? `oom_rank-${rank}_snapshot.pickle` : `snapshot_${rank}.pickle`;
}

export function snapshotBytes({ allocConf, gpus }: Scenario, { device, torch }: PlantedProcess): Buffer {
  const { trace, segments } = torch;
  const allocator = { settings: settingsFromConf(allocConf), snapshot: () => segments };
  // The writer of the samples asks no more of a process.
  const process = { device, trace, annotations: [], allocator } as unknown as RankProcess;
  const form = { torch: '2.8', deviceCount: gpus.length, allocConf, maxEntries: Number.POSITIVE_INFINITY } as const;
  return pickle(snapshotValue(process, form));
}
