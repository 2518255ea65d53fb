/** `ingest` with all parsers, labels and facts of failures. Loaded with the first path whose files are new. */
import { PARSERS } from '../../parsers/index.js';
import { type IngestOptions, ingest } from '../ingest/ingest.js';
import type { SeenBlocks } from '../ingest/seen-blocks.js';
import type { IngestResult } from '../model/results/common.js';
import type { Store } from '../store/store.js';

export function ingestPaths(
  options: Omit<IngestOptions, 'parsers' | 'finishRuns' | 'prepareLabels'>,
): Promise<IngestResult> {
  return ingest({ ...options, parsers: PARSERS, finishRuns, prepareLabels });
}

const prepareLabels = () => import('../derive/attribution/label-run.js');

/** Without a snapshot the rules, which take time to load, are not needed. */
async function finishRuns(store: Store, runIds: readonly number[], seen: SeenBlocks | undefined): Promise<void> {
  for (const runId of runIds) {
    if ((await store.one('attribution.devices', { run_id: runId })) === undefined) continue;
    const { labelRun } = await prepareLabels();
    await labelRun(store, runId, seen);
  }
  const { writeFacts } = await import('../derive/verdict/write-facts.js');
  await writeFacts(store, runIds);
}
