/**
 * Generated incidents as the program gets them: whole, without logs, without snapshots, with a ring that lost its
 * oldest entries.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CAUSES_TO_GENERATE } from '../../samples/generate/causes/index.js';
import type { GeneratedRun } from '../../samples/generate/run.js';
import { runDirectory, TRUTH_NAME } from '../../samples/generate/write/run-directory.js';
import type { DiagnoseResult } from '../../src/model/results/common.js';
import type { Cause, CauseDetail } from '../../src/model/vocabulary.js';
import { openStore } from '../../src/store/open-store.js';
import { diagnose } from '../findings/verdict/worded.js';
import { sharedFolder, storeOf } from './stores.js';

/** `ring` and `ring-alone`: the traces lost their oldest half or two thirds; with the logs, and without them. */
export const VIEWS = ['whole', 'snapshots', 'logs', 'ring', 'ring-alone'] as const;
export type View = (typeof VIEWS)[number];

/** The truth of an incident, as far as a verdict can report it. */
export interface Truth {
  readonly cause: Cause;
  readonly detail: CauseDetail | null;
  readonly rank: number | null;
  /** Recorded ranks that ran out of memory. */
  readonly dumpedAtOom: readonly number[];
}

export interface Incident {
  readonly name: string;
  readonly seed: number;
  readonly truth: Truth;
  readonly results: Readonly<Partial<Record<View, DiagnoseResult>>>;
}

const isSnapshot = (name: string): boolean => name.includes('.pickle');
const isLog = (name: string): boolean => !isSnapshot(name);

/** The files of a view: none where the run has none of that kind. The truth is not among them. */
function filesOf(run: GeneratedRun, seed: number, view: View): (readonly [name: string, bytes: Buffer])[] {
  const entries = Math.max(...run.attempts.at(-1)!.ranks.map(({ process }) => process.trace.length));
  const maxEntries = Math.max(1, Math.round(entries / (seed % 2 === 0 ? 2 : 3)));
  const files = runDirectory(run, view.startsWith('ring') ? { maxEntries } : {});
  files.delete(TRUTH_NAME);
  const isSeen = view === 'logs' ? isLog : view === 'snapshots' || view === 'ring-alone' ? isSnapshot : () => true;
  return [...files].filter(([name]) => isSeen(name));
}

const truthOf = ({ truth, snapshots }: GeneratedRun): Truth => ({
  ...{ cause: truth.cause, detail: truth.detail, rank: truth.firstFailingRank },
  dumpedAtOom: snapshots.filter(({ trigger }) => trigger === 'oom').map(({ rank }) => rank),
});

/** Generates a run, and judges each of these views of it. */
export async function judgeIncident(name: string, seed: number, views: readonly View[] = VIEWS): Promise<Incident> {
  const folder = sharedFolder(`incident-${name}-${seed}-${views.join('-')}`, (unfinished) => {
    const run = CAUSES_TO_GENERATE.find((cause) => cause.name === name)!.build(seed);
    for (const view of views)
      for (const [file, bytes] of filesOf(run, seed, view)) {
        mkdirSync(join(unfinished, 'views', view), { recursive: true });
        writeFileSync(join(unfinished, 'views', view, file), bytes);
      }
    writeFileSync(join(unfinished, TRUTH_NAME), JSON.stringify(truthOf(run)));
  });
  const truth = JSON.parse(readFileSync(join(folder, TRUTH_NAME), 'utf8')) as Truth;
  const store = await openStore(storeOf(join(folder, 'views'), ['--each']), { mode: 'read' });
  try {
    const results: Partial<Record<View, DiagnoseResult>> = {};
    for (const { run_id, name: view } of await store.all('store.runs', { run_id: null }))
      results[view as View] = await diagnose(store, run_id, view);
    expectViews(folder, results);
    return { name, seed, truth, results };
  } finally {
    await store.close();
  }
}

function expectViews(folder: string, results: Incident['results']): void {
  for (const view of VIEWS)
    if (existsSync(join(folder, 'views', view)) !== view in results) throw new Error(`${folder}: ${view}`);
}
