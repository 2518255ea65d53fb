/** `truth.json` of generated runs, as far as tests read it: what is true by construction. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { monitorTruth } from '../../samples/generate/write/monitor/monitor-truth.js';
import { TRUTH_NAME } from '../../samples/generate/write/run-directory.js';

type Numbers<Name extends string> = Readonly<Record<Name, number>>;

interface StateTruth extends Numbers<'rank' | 'device' | 'reserved_bytes' | 'allocated_bytes'> {}

export interface SnapshotTruth extends StateTruth {
  readonly file: string;
  readonly attempt: number;
  readonly trigger: 'oom' | 'step';
  readonly trace_entries: number;
  readonly overwritten_entries: number;
  readonly segments: number;
  readonly blocks: number;
  readonly active_bytes: number;
  readonly peak_active_bytes: number | null;
  readonly peak_reserved_bytes: number | null;
}

/** The bytes from `rounded_bytes` on are there if the rank ran out of memory. */
export interface RankTruth extends StateTruth {
  readonly ending: string;
  readonly rounded_bytes: number;
  readonly device_total_bytes: number;
  readonly device_free_bytes: number;
  readonly non_torch_bytes: number;
  readonly other_process_bytes: number;
}

export interface ProfileTruth extends Numbers<'rank' | 'pid' | 'mallocs' | 'frees' | 'refused' | 'ranges' | 'kernels'> {
  readonly file: string;
  readonly driver_bytes_at_oom: Numbers<'torch' | 'nccl' | 'cublas'>;
  readonly unseen_bytes: number;
  readonly complete_steps: readonly number[];
}

export interface RunTruth {
  readonly cause: string;
  readonly is_oom: boolean;
  readonly numbers: Readonly<Record<string, number>>;
  /** Live bytes at their highest in the failing step on a device without limit; less what the process could have. */
  readonly step_need_bytes: number | null;
  readonly step_deficit_bytes: number | null;
  readonly first_failing_rank: number | null;
  readonly failed_iteration: number | null;
  readonly logs: readonly string[];
  readonly attempts: readonly object[];
  readonly ranks: readonly RankTruth[];
  readonly snapshots: readonly SnapshotTruth[];
  /** Of runs with an Nsight Systems export, and of runs that were watched. */
  readonly profiles?: readonly ProfileTruth[];
  readonly monitors?: ReturnType<typeof monitorTruth>;
}

export function truthOf(directory: string): RunTruth {
  return JSON.parse(readFileSync(join(directory, TRUTH_NAME), 'utf8')) as RunTruth;
}
