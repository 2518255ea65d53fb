/** Where the reference corpus is. Tests loop over what is there, name no file of it, and skip loudly without it. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repoRoot } from '../store/scratch.js';

export { skipLoudly } from './levels/skip-loudly.js';

export const CORPUS = process.env['MBF_CORPUS'] ?? join(repoRoot, '..', 'shared', 'corpus');
export const SNAPSHOTS = join(CORPUS, 'snapshots');

export const hasPython = spawnSync('python3', ['--version']).status === 0;

/** Base names of the snapshot pickles of the corpus, with and without a truth worth comparing. */
export function snapshotPickles(): string[] {
  if (!existsSync(SNAPSHOTS)) return [];
  return readdirSync(SNAPSHOTS)
    .filter((name) => /\.(?:pickle|pkl)$/.test(name))
    .sort();
}

/** Base names of the snapshots of the corpus in other encodings, and of pages that look like them. */
export function convertedSnapshots(): string[] {
  if (!existsSync(SNAPSHOTS)) return [];
  return readdirSync(SNAPSHOTS)
    .filter((name) => /\.(?:json|html)(?:\.gz|\.zst)?$/.test(name) && !/\.truth\.json$/.test(name))
    .sort();
}

export interface TruthOom {
  readonly index: number;
  readonly requested: number;
  readonly device_free: number;
  readonly reserved_at_oom: number;
}

/** What an independent decoder found in a snapshot; only what tests read. */
export interface Truth {
  /** False for files that are not snapshots. */
  readonly valid?: boolean;
  readonly num_segments?: number;
  readonly num_blocks?: number;
  readonly num_device_traces?: number;
  readonly per_device_final?: Readonly<
    Record<
      string,
      {
        readonly segments: number;
        readonly blocks: number;
        readonly reserved_bytes: number;
        readonly seg_allocated_bytes?: number;
        readonly seg_active_bytes?: number;
        readonly state_active_allocated_bytes?: number;
        readonly state_active_pending_free_bytes?: number;
        readonly state_active_awaiting_free_bytes?: number;
        readonly state_inactive_bytes?: number;
        readonly largest_free_block?: number;
      }
    >
  >;
  readonly traces?: Readonly<
    Record<
      string,
      {
        readonly entries: number;
        readonly actions: Readonly<Record<string, number>>;
        readonly unmatched_free_completed_bytes: number;
        readonly anchored_start_allocated: number;
        readonly anchored_peak_allocated: number;
        readonly anchored_start_reserved: number;
        readonly anchored_peak_reserved: number;
        readonly oom_entries: readonly TruthOom[];
      }
    >
  >;
}

/** Of a page: of the first file embedded in it. */
export function truthOf(name: string): Truth {
  const truth = JSON.parse(readFileSync(join(SNAPSHOTS, `${name}.truth.json`), 'utf8')) as Truth & {
    readonly embedded?: readonly Truth[];
  };
  if (!name.includes('.html')) return truth;
  return truth.embedded?.[0] ?? { valid: false };
}
