/** Captures ingested as a user would, and what is said of them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PARSERS } from '../../../parsers/index.js';
import { describeNsys, type NsysQuestions } from '../../../src/forensics/nsys/describe-nsys.js';
import { ingest } from '../../../src/ingest/ingest.js';
import type { NsysReport, NsysResult } from '../../../src/model/nsys-results.js';
import { openStore } from '../../../src/store/open-store.js';

/** Ingests a run into a store of its own. Other files than exports may be unusable; an export may not. */
export async function described(run: string, questions: NsysQuestions = {}): Promise<NsysResult> {
  const folder = mkdtempSync(join(tmpdir(), 'mbf-nsys-store-'));
  const store = await openStore(join(folder, 'store.duckdb'), { mode: 'write' });
  try {
    const { sources } = await ingest({ store, parsers: PARSERS, paths: [run], run: 'run', now: new Date(0) });
    for (const { path, error } of sources) if (error !== null) throw new Error(`${path}: ${error.text}`);
    const { run_id, name } = (await store.one('store.runs', { run_id: null }))!;
    return await describeNsys(store, run_id, name, questions);
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Of a run with one export. */
export async function onlyReport(run: string): Promise<NsysReport> {
  const { reports } = await described(run);
  if (reports.length !== 1) throw new Error(`${reports.length} reports`);
  return reports[0]!;
}
