import { describe, expect, it } from 'vitest';
import { dumpTrigger } from '../../src/ingest/dump-trigger.js';
import { rankFromName } from '../../src/ingest/names/rank-from-name.js';
import { STEP_RULES, stepFromName } from '../../src/ingest/names/step-from-name.js';

/** By rule: paths that it decides, with the step they give. */
const SAMPLES: Readonly<Record<string, readonly (readonly [path: string, step: number])[]>> = {
  'step in file name': [
    ['snapshot_step_100_rank_3.pickle', 100],
    ['memory_snapshot_step_50.pickle', 50],
    ['memory_snapshot_step3.pkl', 3],
    ['rank0_memory_snapshot_step_250.pickle', 250],
    ['memory_snapshot_rank0_step6.pkl.gz', 6],
    ['snapshot_iter_0000100.pickle', 100],
    ['mem-iteration-20-rank1.pickle', 20],
    ['snapshot_global_step1500.pickle', 1500],
    ['iteration_10/rank0_step_12.pickle', 12],
  ],
  'rank<r>.<batch> of Composer': [
    ['rank3.250.memory_snapshot.pickle', 250],
    ['rank0.12.run.memory_snapshot.html', 12],
  ],
  'step in directory name': [
    ['memory_snapshot/iteration_10/rank0_memory_snapshot.pickle', 10],
    ['memory_snapshot/iteration_10_exit/rank1023_memory_snapshot.pickle', 10],
    ['iter_0000500/snapshot_0.pickle', 500],
    ['global_step20/rank0/memory.pickle', 20],
  ],
  'checkpoint directory of Transformers': [['checkpoint-1500/snapshot.pickle', 1500]],
};

describe('every step rule', () => {
  for (const rule of STEP_RULES) {
    it(`${rule.name}: decides its own samples`, () => {
      expect(SAMPLES).toHaveProperty([rule.name]);
      for (const [path, step] of SAMPLES[rule.name]!) {
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
    'snapshot-4096.pickle',
    'rank3_memory_snapshot-2000.pkl',
    'mem_8192.pickle',
    'snapshot_bs4.pickle',
    'rank3.250.pickle',
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
    ['step_000000000012_exit/000007_step_12.pickle', false, 'oom', 'name: exit directory of torchtitan'],
    ['step_000000000012_exit/replica_0/000007_step_12.pickle', false, 'oom', 'name: exit directory of torchtitan'],
    ['oom_20260906-1201/torch_memory_rank3_pid9.pickle', false, 'oom', 'name: oom directory'],
    ['cuda_out_of_memory_r3.pickle', false, 'oom', 'name: oom'],
    ['memory_1_oom_snapshot.pickle', false, 'oom', 'name: oom'],
    ['crash_rank0_step_12.pickle', false, 'failure', 'name: crash'],
    ['snapshot_on_exception.pickle', false, 'failure', 'name: exception'],
    ['step_000000000100/000007_step_100.pickle', false, 'periodic', 'name: step in file name'],
    ['iteration_10/rank0_memory_snapshot.pickle', false, 'periodic', 'name: step in directory name'],
    ['snapshot_step_100_rank_3.pickle', false, 'periodic', 'name: step in file name'],
    ['20260301-1002/periodic_rank12_pid4242.pickle', false, 'periodic', 'name: periodic'],
  ])('%s (OOM last: %s): %s', (path, last, trigger, origin) => {
    expect(dumpTrigger(path, last, stepFromName(path))).toEqual({ trigger, origin });
  });

  it.each([
    'snapshot_3.pickle',
    'bloom_3.pickle',
    'room/snapshot.pickle',
    'oom-study/snapshot_3.pickle',
    'mirror_3.pickle',
  ])('%s: no step', (path) => expect(dumpTrigger(path, false, stepFromName(path))).toBeUndefined());
});
