/** Recorded runs: no fix is in force already, refuted by the replay, or against what rules and versions allow. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ChangeJudge } from '../../../src/derive/lint/change.js';
import { View } from '../../../src/derive/settings/view.js';
import { advise } from '../../../src/findings/advice/advise.js';
import { diagnose } from '../../../src/findings/flows/diagnose.js';
import { readSituation } from '../../../src/findings/flows/read-situation.js';
import { openStore } from '../../../src/store/open-store.js';
import { CORPUS, skipLoudly } from '../../support/corpus.js';
import { sampled } from '../../support/level.js';
import { storeOf } from '../../support/stores.js';

const runsIn = (name: string): string[] =>
  !existsSync(join(CORPUS, name))
    ? []
    : readdirSync(join(CORPUS, name), { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map((entry) => join(CORPUS, name, entry.name));
const RUNS = [...sampled(runsIn('lab'), 48), ...sampled(runsIn('megatron'), 4)];

describe('the fixes of a recorded run', () => {
  if (RUNS.length === 0) {
    skipLoudly('fixes of recorded runs', 'the corpus');
    return;
  }
  it.each(RUNS)('%s', async (path) => {
    const store = await openStore(storeOf(path), { mode: 'read' });
    try {
      const [run] = await store.all('store.runs', { run_id: null });
      const { run_id: runId, name } = run!;
      const diagnosis = await diagnose(store, runId, name, { advises: true });
      const situation = await readSituation(store, runId, diagnosis, null);
      const { fixes, plan } = advise(situation);
      const view = new View(situation.facts);
      const judge = new ChangeJudge(situation.facts);
      for (const { id, change, status, closes } of fixes) {
        if (status === 'forbidden') continue;
        const { broken, undecided } = judge.judge(change);
        expect(broken, id).toEqual([]);
        if (undecided.length > 0) {
          expect(closes, id).not.toBe(true);
          expect(plan?.fixes ?? [], id).not.toContain(id);
        }
        const changes = [
          ...Object.entries(change.settings).map(([key, value]) => [view.setting(key), value] as const),
          ...Object.entries(change.env).map(([key, value]) => [view.env(key), value] as const),
        ];
        const inForce = changes.filter(([{ by, value }, wanted]) => by !== 'unknown' && value === wanted);
        if (changes.length > 0) expect(inForce.length, id).toBeLessThan(changes.length);
      }
      const replays = situation.verdict.what_if.filter(({ setting }) => setting.startsWith('expandable_segments:True'));
      if (replays.length > 0 && replays.every(({ outcome }) => outcome !== 'fits'))
        expect(fixes.map(({ id }) => id)).not.toContain('expandable-segments');
      // The first screen names what the verb `advise` names.
      expect(diagnosis.advice!.fixes.map(({ id }) => id)).toEqual(fixes.map(({ id }) => id));
    } finally {
      await store.close();
    }
  });
});
