/**
 * Advice and lint on whatever the corpus holds: nothing crashes, what trained breaks no rule that would have refused
 * it, and no advice is of a forbidden kind.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { diagnose } from '../../src/findings/flows/diagnose.js';
import { readSituation } from '../../src/findings/flows/read-situation.js';
import { readSymptomEvidence } from '../../src/findings/flows/read-symptom-evidence.js';
import { ChangeJudge } from '../../src/findings/lint/change.js';
import { lint } from '../../src/findings/lint/lint.js';
import { describeIterations } from '../../src/findings/run/iterations.js';
import { findSymptoms } from '../../src/findings/symptoms/find-symptoms.js';
import { ingest } from '../../src/ingest/ingest.js';
import { adviseText } from '../../src/report/start/advise-text.js';
import { wordDiagnosis } from '../../src/report/verdict/word-verdict.js';
import { openStore } from '../../src/store/open-store.js';
import { advise } from '../findings/verdict/worded.js';
import { scratchDirectory } from '../store/scratch.js';
import { CORPUS, SNAPSHOTS, skipLoudly, snapshotPickles, truthOf } from '../support/corpus.js';
import { sampled } from '../support/level.js';
import { newStore } from '../support/new-store.js';

const LOGS = join(CORPUS, 'logs');
const logs = existsSync(LOGS) ? readdirSync(LOGS).filter((name) => !name.endsWith('.meta.json')) : [];
const snapshots = snapshotPickles().filter((name) => truthOf(name).valid !== false);
const paths = [...logs.map((name) => join(LOGS, name)), ...snapshots.map((name) => join(SNAPSHOTS, name))];

describe('advice on the corpus', () => {
  if (paths.length === 0) skipLoudly('advice', 'the reference corpus (MBF_CORPUS)');
  it.each(sampled(paths, 2).map((path) => [path.slice(path.lastIndexOf('/') + 1), path]))('%s', async (_, path) => {
    const file = join(scratchDirectory(), 'store.duckdb');
    const written = await newStore(file);
    await ingest({ store: written, parsers: PARSERS, paths: [path!], now: new Date() });
    await written.close();
    const store = await openStore(file, { mode: 'read' });
    try {
      const [run] = await store.all('store.runs', { run_id: null });
      if (run === undefined) return;
      const { run_id: runId, name } = run;
      const found = await diagnose(store, runId, name, { advises: true });
      const diagnosis = wordDiagnosis(found);
      const situation = await readSituation(store, runId, found, null);
      const symptoms = findSymptoms(await readSymptomEvidence(store, runId, name, { diagnosis }));
      const advice = { ...advise(situation), symptoms };
      const judge = new ChangeJudge(situation.facts);
      for (const fix of advice.fixes)
        if (fix.status !== 'forbidden') expect(judge.judge(fix.change).broken.map(({ rule }) => rule)).toEqual([]);
      for (const line of adviseText(advice, { paste: [] }).split('\n'))
        expect([...line].length).toBeLessThanOrEqual(100);
      // The framework refuses before the first iteration what an error rule describes.
      const { rows } = await describeIterations(store, runId, name);
      const { findings } = lint(situation.facts);
      if (rows.length > 0)
        expect(findings.filter(({ severity }) => severity === 'error').map(({ rule }) => rule)).toEqual([]);
    } finally {
      await store.close();
    }
  });
});
