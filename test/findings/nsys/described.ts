/** Captures ingested as a user would, and what is said of them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PARSERS } from '../../../parsers/index.js';
import { describeNsys, type NsysQuestions } from '../../../src/findings/nsys/describe-nsys.js';
import { ingest } from '../../../src/ingest/ingest.js';
import type { NsysReport, NsysResult } from '../../../src/model/results/nsys.js';
import { newStore } from '../../support/new-store.js';

export interface Ingested {
  ask(questions?: NsysQuestions): Promise<NsysResult>;
  close(): Promise<void>;
}

/** A run in a store of its own. Every file of it must be usable. */
export async function ingested(run: string): Promise<Ingested> {
  const folder = mkdtempSync(join(tmpdir(), 'mbf-nsys-store-'));
  const store = await newStore(join(folder, 'store.duckdb'));
  const close = async (): Promise<void> => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const { sources } = await ingest({ store, parsers: PARSERS, paths: [run], run: 'run', now: new Date(0) });
    for (const { path, error } of sources) if (error !== null) throw new Error(`${path}: ${error.text}`);
  } catch (error) {
    await close();
    throw error;
  }
  const { run_id, name } = (await store.one('store.runs', { run_id: null }))!;
  return { ask: (questions = {}) => describeNsys(store, run_id, name, questions), close };
}

export async function described(run: string, questions: NsysQuestions = {}): Promise<NsysResult> {
  const { ask, close } = await ingested(run);
  try {
    return await ask(questions);
  } finally {
    await close();
  }
}

/** Of a run with one export. */
export async function onlyReport(run: string): Promise<NsysReport> {
  const { reports } = await described(run);
  if (reports.length !== 1) throw new Error(`${reports.length} reports`);
  return reports[0]!;
}
