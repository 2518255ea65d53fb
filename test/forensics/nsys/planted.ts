/** Planted captures, ingested as a user would, and what is said of them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PARSERS } from '../../../parsers/index.js';
import { describeNsys, type NsysQuestions } from '../../../src/forensics/nsys/describe-nsys.js';
import { ingest } from '../../../src/ingest/ingest.js';
import type { NsysResult } from '../../../src/model/nsys-results.js';
import { openStore } from '../../../src/store/open-store.js';

/** Ingests `path` into a store of its own and describes it. */
export async function described(path: string, questions: NsysQuestions = {}): Promise<NsysResult> {
  const folder = mkdtempSync(join(tmpdir(), 'mbf-nsys-store-'));
  const store = await openStore(join(folder, 'store.duckdb'), { mode: 'write' });
  try {
    const { sources } = await ingest({ store, parsers: PARSERS, paths: [path], now: new Date(0) });
    for (const { path: source, error } of sources) if (error !== null) throw new Error(`${source}: ${error.text}`);
    const [run] = await store.all('store.runs', { run_id: null });
    return await describeNsys(store, run!.run_id, run!.name, questions);
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
