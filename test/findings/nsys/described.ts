/** Captures ingested as a user would, and what is reported of them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeNsys, type NsysQuestions } from '../../../src/findings/nsys/describe-nsys.js';
import type { NsysReport, NsysResult } from '../../../src/model/results/nsys.js';
import { worded } from '../../../src/report/words/worded.js';
import { ingested } from '../../support/new-store.js';

type Ask = (questions?: NsysQuestions) => Promise<NsysResult>;

/** A run in a store of its own. Every file of it must be usable. */
export async function askedOf<T>(run: string, work: (ask: Ask) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'mbf-nsys-store-'));
  const { store, result } = await ingested(join(folder, 'store.duckdb'), [run]);
  try {
    for (const { path, error } of result.sources) if (error !== null) throw new Error(`${path}: ${error.text}`);
    const { run_id, name } = (await store.one('store.runs', { run_id: null }))!;
    return await work(
      async (questions = {}) => worded(await describeNsys(store, run_id, name, questions)) as NsysResult,
    );
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Of a run with one export. */
export async function onlyReport(run: string): Promise<NsysReport> {
  const { reports } = await askedOf(run, (ask) => ask());
  if (reports.length !== 1) throw new Error(`${reports.length} reports`);
  return reports[0]!;
}
