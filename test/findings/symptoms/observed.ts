/** Runs ingested as a user would, and what the symptom rules see of them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PARSERS } from '../../../parsers/index.js';
import { measureRun } from '../../../src/findings/flows/measure-run.js';
import { readSymptomEvidence } from '../../../src/findings/flows/read-symptom-evidence.js';
import type { SymptomEvidence } from '../../../src/findings/symptoms/evidence.js';
import { findSymptoms } from '../../../src/findings/symptoms/find-symptoms.js';
import { ingest } from '../../../src/ingest/ingest.js';
import type { SymptomHit } from '../../../src/model/results/advise.js';
import { openStore } from '../../../src/store/open-store.js';
import { newStore } from '../../support/new-store.js';
import { diagnose } from '../verdict/worded.js';

/** Files by name, or a directory that is there. */
export type RunFiles = Readonly<Record<string, string | Uint8Array>> | string;

export interface Observed {
  /** Evidence of a run of the store; `baseline`: another one by its name. */
  of(run: string, baseline?: string): Promise<SymptomEvidence>;
  close(): Promise<void>;
}

/** One store with all of these runs. Every file must be usable. */
export async function observe(runs: Readonly<Record<string, RunFiles>>): Promise<Observed> {
  const root = mkdtempSync(join(tmpdir(), 'mbf-symptoms-'));
  const file = join(root, 'store.duckdb');
  const written = await newStore(file, { threads: 1 });
  for (const [name, files] of Object.entries(runs)) {
    const path = typeof files === 'string' ? files : join(root, name);
    if (typeof files !== 'string') {
      mkdirSync(path);
      for (const [file, content] of Object.entries(files)) writeFileSync(join(path, file), content);
    }
    const { sources } = await ingest({ store: written, parsers: PARSERS, paths: [path], run: name, now: new Date(0) });
    // A sample's truth.json is meant to be read by nobody.
    const failed = sources.find(({ path: file, error }) => error !== null && !file.endsWith('truth.json'));
    if (failed !== undefined) throw new Error(`${failed.path}: ${failed.error!.text}`);
  }
  await written.close();
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
    async close() {
      await store.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** What one rule says of a run; undefined: nothing. */
export function hitOf(evidence: SymptomEvidence, id: string): SymptomHit | undefined {
  return findSymptoms(evidence).find((hit) => hit.id === id);
}

/** The answer of one rule in a word; `silent` where it does not fire. */
export function answer(evidence: SymptomEvidence, id: string): SymptomHit['confirmation'] | 'silent' {
  return hitOf(evidence, id)?.confirmation ?? 'silent';
}

/** A process's whole environment, as the kernel has it in /proc/PID/environ. */
export function envDump(variables: Readonly<Record<string, string>>, rank = 0): string {
  return Object.entries({ PATH: '/usr/bin', HOSTNAME: 'node-1', RANK: String(rank), ...variables })
    .map(([key, value]) => `${key}=${value}\0`)
    .join('');
}

/** How Python ends where a check of the configuration fails. */
export function raised(error: string, rank = 0): string[] {
  return [
    `[rank${rank}]: Traceback (most recent call last):`,
    `[rank${rank}]:   File "/opt/megatron/core/transformer/transformer_config.py", line 900, in __post_init__`,
    `[rank${rank}]:     raise ValueError(`,
    `[rank${rank}]: ${error}`,
  ];
}
