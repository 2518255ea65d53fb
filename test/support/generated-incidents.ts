/**
 * Generated incidents as the tool sees them: in whole, without logs, without snapshots, with a ring that lost its
 * oldest entries.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PARSERS } from '../../parsers/index.js';
import { CAUSES_TO_GENERATE } from '../../samples/generate/causes/index.js';
import type { GeneratedRun } from '../../samples/generate/run.js';
import { runDirectory, TRUTH_NAME } from '../../samples/generate/write/run-directory.js';
import { ingest } from '../../src/ingest/ingest.js';
import type { DiagnoseResult } from '../../src/model/results/common.js';
import type { Cause, CauseDetail } from '../../src/model/vocabulary.js';
import { openStore } from '../../src/store/open-store.js';
import { diagnose } from '../findings/verdict/worded.js';
import { newStore } from './new-store.js';

/** `ring` and `ring-alone`: the traces lost their oldest half or two thirds; with the logs, and without them. */
export const VIEWS = ['whole', 'snapshots', 'logs', 'ring', 'ring-alone'] as const;
export type View = (typeof VIEWS)[number];

/** The truth of an incident, as far as a verdict can report it. */
export interface Truth {
  readonly cause: Cause;
  readonly detail: CauseDetail | null;
  readonly because: string;
  readonly numbers: Readonly<Record<string, number>>;
  readonly rank: number | null;
  /** Ranks of the last launch that ran out of memory. */
  readonly failedRanks: readonly number[];
  /** Recorded ranks that ran out of memory. */
  readonly dumpedAtOom: readonly number[];
}

export interface Incident {
  readonly name: string;
  readonly seed: number;
  readonly truth: Truth;
  readonly results: Readonly<Partial<Record<View, DiagnoseResult>>>;
}

function isSnapshot(name: string): boolean {
  return name.includes('.pickle');
}

/** Files of each view, by name; a view without any file is left out. */
function filesOfViews(run: GeneratedRun, seed: number, wanted: readonly View[]): Map<View, Map<string, Buffer>> {
  const files = runDirectory(run);
  // The tool never reads it, and a test must not tempt it.
  files.delete(TRUTH_NAME);
  const entries = Math.max(...run.attempts.at(-1)!.ranks.map(({ process }) => process.trace.length));
  const kept = Math.max(1, Math.round(entries / (seed % 2 === 0 ? 2 : 3)));
  // Compressing every snapshot once more takes as long as judging the run.
  const ring = wanted.some((view) => view.startsWith('ring')) ? runDirectory(run, { maxEntries: kept }) : new Map();
  ring.delete(TRUTH_NAME);
  const only = (files: ReadonlyMap<string, Buffer>, keep: (name: string) => boolean): Map<string, Buffer> =>
    new Map([...files].filter(([name]) => keep(name)));
  const views = new Map<View, Map<string, Buffer>>([
    ['whole', files],
    ['snapshots', only(files, isSnapshot)],
    ['logs', only(files, (name) => !isSnapshot(name))],
    ['ring', ring],
    ['ring-alone', only(ring, isSnapshot)],
  ]);
  for (const [view, files] of views) if (files.size === 0 || !wanted.includes(view)) views.delete(view);
  return views;
}

function truthOf(run: GeneratedRun): Truth {
  const { ranks } = run.attempts.at(-1)!;
  return {
    cause: run.truth.cause,
    detail: run.truth.detail,
    because: run.truth.because,
    numbers: run.truth.numbers,
    rank: run.truth.firstFailingRank,
    failedRanks: ranks.filter(({ ending }) => ending.kind === 'oom').map(({ rank }) => rank),
    dumpedAtOom: run.snapshots.filter(({ trigger }) => trigger === 'oom').map(({ rank }) => rank),
  };
}

/** Generates a run and lets the tool judge each view of it; `views` absent: all there are. */
export async function judgeIncident(name: string, seed: number, views: readonly View[] = VIEWS): Promise<Incident> {
  const run = CAUSES_TO_GENERATE.find((cause) => cause.name === name)!.build(seed);
  const truth = truthOf(run);
  const selected = [...filesOfViews(run, seed, views)];
  const directory = mkdtempSync(join(tmpdir(), 'mbf-incident-'));
  try {
    for (const [view, contents] of selected) {
      mkdirSync(join(directory, view));
      for (const [file, bytes] of contents) writeFileSync(join(directory, view, file), bytes);
    }
    const file = join(directory, 'store.duckdb');
    const written = await newStore(file);
    try {
      const paths = selected.map(([view]) => join(directory, view));
      // Of one directory, `each` would take the directories in it for runs.
      await ingest({ store: written, parsers: PARSERS, paths, each: paths.length > 1, now: new Date(0) });
    } finally {
      await written.close();
    }
    const store = await openStore(file, { mode: 'read' });
    try {
      const runs = await store.all('store.runs', { run_id: null });
      const results: Partial<Record<View, DiagnoseResult>> = {};
      for (const [view] of selected) {
        const { run_id, name: runName } = runs.find((row) => row.name === view)!;
        results[view] = await diagnose(store, run_id, runName);
      }
      return { name, seed, truth, results };
    } finally {
      await store.close();
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
