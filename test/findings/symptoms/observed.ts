/** Runs in a store, and what the symptom rules see of them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PARSERS } from '../../../parsers/index.js';
import { measureRun } from '../../../src/findings/flows/measure-run.js';
import { readSymptomEvidence } from '../../../src/findings/flows/read-symptom-evidence.js';
import type { SymptomEvidence } from '../../../src/findings/symptoms/evidence.js';
import { findSymptoms } from '../../../src/findings/symptoms/index.js';
import { ingest } from '../../../src/ingest/ingest.js';
import type { SymptomHit } from '../../../src/model/results/advise.js';
import { wordSymptom } from '../../../src/report/start/symptom-words.js';
import { openStore } from '../../../src/store/open-store.js';
import { newStore } from '../../support/new-store.js';
import { diagnose } from '../verdict/worded.js';

/** Files by name. */
export type RunFiles = Readonly<Record<string, string | Uint8Array>>;

export interface Observed {
  /** Evidence of a run of the store; `baseline`: another one by its name. */
  of(run: string, baseline?: string): Promise<SymptomEvidence>;
  close(): Promise<void>;
}

/** One store with all of these runs. Every file must be usable. */
export async function observe(runs: Readonly<Record<string, RunFiles>>): Promise<Observed> {
  const root = mkdtempSync(join(tmpdir(), 'mbf-symptoms-'));
  const file = join(root, 'store.duckdb');
  const store = await newStore(file, { threads: 1 });
  for (const [run, files] of Object.entries(runs)) {
    const path = join(root, run);
    mkdirSync(path);
    for (const [name, content] of Object.entries(files)) writeFileSync(join(path, name), content);
    const { sources } = await ingest({ rowsOnly: true, store, parsers: PARSERS, paths: [path], run, now: new Date(0) });
    for (const source of sources)
      if (source.error !== null) throw new Error(`${run}: ${source.path}: ${source.error.text}`);
  }
  await store.close();
  const observed = await observedStore(file);
  return {
    ...observed,
    async close() {
      await observed.close();
      rmSync(dirname(file), { recursive: true, force: true });
    },
  };
}

/** The runs of a store that exists. */
export async function observedStore(file: string): Promise<Observed> {
  const store = await openStore(file, { mode: 'read', threads: 1 });
  const ids = new Map((await store.all('store.runs', { run_id: null })).map(({ run_id, name }) => [name, run_id]));
  const read = async (run: string, baseline?: string): Promise<SymptomEvidence> => {
    const before = baseline === undefined ? undefined : await measureRun(store, ids.get(baseline)!, baseline);
    const diagnosis = await diagnose(store, ids.get(run)!, run);
    return readSymptomEvidence(store, ids.get(run)!, run, { diagnosis, baseline: before });
  };
  const known = new Map<string, Promise<SymptomEvidence>>();
  return {
    of(run, baseline) {
      const key = `${run}/${baseline ?? ''}`;
      const evidence = known.get(key) ?? read(run, baseline);
      known.set(key, evidence);
      return evidence;
    },
    close: () => store.close(),
  };
}

/** What one rule finds in a run; undefined: nothing. */
export function hitOf(evidence: SymptomEvidence, id: string): SymptomHit | undefined {
  const sighting = findSymptoms(evidence).find((one) => one.id === id);
  return sighting && wordSymptom(sighting);
}

/** The answer of one rule in a word; `silent` where it does not fire. */
export function answer(evidence: SymptomEvidence, id: string): SymptomHit['confirmation'] | 'silent' {
  return hitOf(evidence, id)?.confirmation ?? 'silent';
}
