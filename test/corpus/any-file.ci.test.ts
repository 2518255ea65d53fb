/**
 * Whatever the corpus has can be measured, compared with itself, and advised on: it adds up, survives its JSON, is
 * never worse than itself; no advice is of a forbidden kind, and what trained breaks no rule that would have refused
 * it.
 */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readGolden } from '../../parsers/index.js';
import { ChangeJudge } from '../../src/derive/lint/change.js';
import { lint } from '../../src/derive/lint/lint.js';
import { describeIterations } from '../../src/derive/run/iterations.js';
import { compareRuns } from '../../src/findings/compare/compare-runs.js';
import { diagnose } from '../../src/findings/flows/diagnose.js';
import { measureRun } from '../../src/findings/flows/measure-run.js';
import { readSituation } from '../../src/findings/flows/read-situation.js';
import { readSymptomEvidence } from '../../src/findings/flows/read-symptom-evidence.js';
import { findSymptoms } from '../../src/findings/symptoms/index.js';
import type { Measurement } from '../../src/model/measurement.js';
import { compareDocument } from '../../src/report/compare/compare-document.js';
import { wordedComparison } from '../../src/report/compare/worded-comparison.js';
import { documentText } from '../../src/report/render/text.js';
import { adviseDocument } from '../../src/report/start/advise-document.js';
import { wordSymptom } from '../../src/report/start/symptom-words.js';
import { summaryText } from '../../src/report/verdict/cause-words.js';
import { wordDiagnosis } from '../../src/report/verdict/word-verdict.js';
import { worded } from '../../src/report/words/worded.js';
import { openWithoutTables } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import { advise } from '../findings/verdict/worded.js';
import { scratchDirectory } from '../store/scratch.js';
import { sampled } from '../support/level.js';
import { ingested } from '../support/new-store.js';
import { corpusFiles, corpusSuite, sum } from './corpus-suite.js';

const rules = openWithoutTables();

async function expectLikeItself(run: Measurement): Promise<void> {
  for (const peak of run.peaks) {
    expect(sum(peak.sites.map(({ bytes }) => bytes)) + peak.rest_bytes).toBe(peak.active_bytes);
    expect(sum(Object.values(peak.components))).toBe(peak.active_bytes);
  }
  const golden = { schema: 'mbforensics/golden@1', name: 'x', written_at: '2026-01-01', runs: [run] };
  const read = readGolden(JSON.stringify(golden), 'x.json');
  expect(read).toMatchObject({ kind: 'document', document: { runs: [JSON.parse(JSON.stringify(run))] } });
  const side = { goldenName: 'itself', goldenOrigin: 'run', currentOrigin: 'run' } as const;
  const limits = { tolerances: {}, allowed: [], isWithoutSettings: false, force: false };
  const compared = await compareRuns(await rules, { ...side, ...limits, golden: [run], current: [run] });
  const result = wordedComparison(compared);
  // A log without a single setting shows nothing that it has in common with any other run.
  const hasGround = result.contract.some(({ group, golden }) => group !== 'revision' && golden !== null);
  if (!hasGround && run.peaks.length === 0) return expect(result.refused).toContain('no setting is known');
  expect(result.refused).toBeNull();
  expect(result.contract.every(({ same }) => same)).toBe(true);
  expect([result.sites, result.config, result.env]).toEqual([[], [], []]);
  for (const { name, delta, status } of result.checks) {
    expect(delta ?? 0, name).toBe(0);
    // A run that failed did so twice.
    if (name !== 'status' && name !== 'loss') expect(status, name).not.toBe('regression');
  }
  expect(documentText(compareDocument(result))).not.toMatch(/undefined|NaN/);
}

async function expectAllowedAdvice(store: Store, runId: number, name: string): Promise<void> {
  const found = await diagnose(store, runId, name, { advises: true });
  const diagnosis = wordDiagnosis(found);
  const situation = await readSituation(store, runId, found, null);
  const symptoms = findSymptoms(await readSymptomEvidence(store, runId, name, { diagnosis })).map(wordSymptom);
  const advice = { ...worded(advise(situation)), symptoms };
  const judge = new ChangeJudge(situation.facts);
  for (const fix of advice.fixes)
    if (fix.status !== 'forbidden') expect(judge.judge(fix.change).broken.map(({ rule }) => rule)).toEqual([]);
  for (const line of documentText(adviseDocument(advice, { paste: [] })).split('\n'))
    expect([...line].length).toBeLessThanOrEqual(100);
  // The framework refuses before the first iteration what an error rule describes.
  const { rows } = await describeIterations(store, runId, name);
  const errors = lint(situation.facts).findings.filter(({ severity }) => severity === 'error');
  if (rows.length > 0) expect(errors.map(({ rule }) => rule)).toEqual([]);
}

corpusSuite('measuring and advising on the corpus', corpusFiles, () => {
  it.each(sampled(corpusFiles, 8))('%s', async (_, path) => {
    const { store } = await ingested(join(scratchDirectory(), 'store.duckdb'), [path]);
    try {
      const [run] = await store.all('store.runs', { run_id: null });
      if (run === undefined) return;
      await expectLikeItself(await measureRun(store, run.run_id, run.name, { summaryOf: summaryText }));
      await expectAllowedAdvice(store, run.run_id, run.name);
    } finally {
      await store.close();
    }
  });
});
