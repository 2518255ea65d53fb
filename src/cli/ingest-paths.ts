/** `ingest` with all parsers, labels and facts of failures. Loaded with the first path whose files are new. */
import { PARSERS } from '../../parsers/index.js';
import { type IngestOptions, ingest } from '../ingest/ingest.js';
import type { IngestResult } from '../model/results/common.js';
import type { Store } from '../store/store.js';

export function ingestPaths(options: Omit<IngestOptions, 'parsers' | 'finishRun'>): Promise<IngestResult> {
  return ingest({ ...options, parsers: PARSERS, finishRun });
}

/** Without a snapshot the rules, and without a failure the facts, take time to load and are not needed. */
async function finishRun(store: Store, runId: number): Promise<void> {
  if ((await store.one('attribution.devices', { run_id: runId })) !== undefined) {
    const { labelRun } = await import('../findings/attribution/label-run.js');
    await labelRun(store, runId);
  }
  const { judgeRun } = await import('../findings/flows/judge-run.js');
  await judgeRun(store, runId);
}
