import { describe, expect, it } from 'vitest';
import { dumpTrigger } from '../../src/ingest/dump-trigger.js';
import { rankFromName } from '../../src/ingest/names/rank-from-name.js';
import { STEP_RULES, stepFromName } from '../../src/ingest/names/step-from-name.js';

describe('every step rule', () => {
  for (const rule of STEP_RULES) {
    it(`${rule.name}: decides its own samples`, () => {
      expect(rule.samples.length).toBeGreaterThan(0);
      for (const [path, step] of rule.samples) {
        expect([path, stepFromName(path)]).toEqual([path, { step, rule: rule.name }]);
      }
    });
  }

  it('has a unique name', () => {
    expect(new Set(STEP_RULES.map((rule) => rule.name)).size).toBe(STEP_RULES.length);
  });
});

describe('no step is guessed', () => {
  const names = [
    'snapshot.pickle',
    // Ranks.
    'snapshot_3.pickle',
    'snapshot_oom_rank-3.pickle',
    'memory_snapshot-rank3.pickle',
    'oom_rank-12_snapshot.pickle',
    // Times, dates, ids.
    'snapshot_20260301.pickle',
    'snapshot-20260301.pickle',
    'snapshot-1772359323.pickle',
    'snapshot_10_02_03.pickle',
    'step20260301.pickle',
    'snapshot_2026-03-01-10-02_5.pickle',
    'periodic_rank12_pid4242.pickle',
    // A number that may be anything.
    'snap-04.pickle',
    'memory-3.pickle',
    // Other words.
    'substep_3.pickle',
    'num_steps_100.pickle',
    'profile_step_end.pickle',
    'stepper3.pickle',
    'run_3/snapshot.pickle',
    'checkpoint-1500-final/snapshot.pickle',
  ];
  for (const name of names) it(name, () => expect(stepFromName(name)).toBeUndefined());
});

it('a step is not a rank, and a rank is not a step', () => {
  expect(rankFromName('snapshot_step_100.pickle')).toBeUndefined();
  expect([
    stepFromName('snapshot_step_100_rank_3.pickle')?.step,
    rankFromName('snapshot_step_100_rank_3.pickle')?.rank,
  ]).toEqual([100, 3]);
});

describe('why a snapshot was dumped', () => {
  it.each([
    ['run/snapshot_3.pickle', true, 'oom', 'trace: its last entry is an OOM'],
    ['iteration_10/rank0_memory_snapshot.pickle', true, 'oom', 'trace: its last entry is an OOM'],
    ['snapshot_oom_rank-3.pickle', false, 'oom', 'name: oom'],
    ['oom_rank-12_snapshot.pickle.gz', false, 'oom', 'name: oom'],
    ['oom_rank3/snapshot.pickle', false, 'oom', 'name: oom directory'],
    ['x/iteration_10_exit/rank0_memory_snapshot.pickle', false, 'oom', 'name: exit directory of torchtitan'],
    ['iteration_10/rank0_memory_snapshot.pickle', false, 'periodic', 'name: step in directory name'],
    ['snapshot_step_100_rank_3.pickle', false, 'periodic', 'name: step in file name'],
    ['20260301-1002/periodic_rank12_pid4242.pickle', false, 'periodic', 'name: periodic'],
  ])('%s (OOM last: %s): %s', (path, last, trigger, origin) => {
    expect(dumpTrigger(path, last, stepFromName(path))).toEqual({ trigger, origin });
  });

  it.each(['snapshot_3.pickle', 'bloom_3.pickle', 'room/snapshot.pickle', 'oom-study/snapshot_3.pickle'])(
    '%s: no step',
    (path) => expect(dumpTrigger(path, false, stepFromName(path))).toBeUndefined(),
  );
});
