import { describe, expect, it } from 'vitest';
import { attemptsFromNames, LAUNCH_NAMES } from '../../src/ingest/names/attempt-from-name.js';

describe('the launch a file belongs to', () => {
  it.each([
    ['log-account-job.pretrain_1234567_0.out', 1234567, 0],
    ['logs/log-account-job.pretrain_1234567_2.out', 1234567, 2],
    ['log-nlp-nlp.run_5541081_h100-dgx-037_1.out', 5541081, 1],
    ['logs/none_ab12cd/attempt_1/3/stderr.log', null, 1],
    ['slurm-4480228.out', 4480228, null],
    ['logs/slurm-77_3.out', 77, null],
    ['llama3-1234567.out', 1234567, null],
    ['train_20251118.out', null, null],
  ])('%s is of job %s, restart %s', (path, job, restart) => {
    for (const name of [path, `${path}.gz`]) {
      const groups = LAUNCH_NAMES.map((pattern) => pattern.exec(path)).find((match) => match !== null)?.groups;
      expect(Number(groups?.['job'] ?? Number.NaN)).toBe(job ?? Number.NaN);
      expect(Number(groups?.['restart'] ?? Number.NaN)).toBe(restart ?? Number.NaN);
      expect(attemptsFromNames([name])).toEqual([1]);
    }
  });

  it('is counted over the files of a run, by job id and restart', () => {
    expect(attemptsFromNames(['slurm-991.out', 'slurm-1002.out', 'train.log', 'slurm-991.err'])).toEqual([1, 2, 1, 1]);
    expect(
      attemptsFromNames([
        'log-a-b_1234567_1.out.gz',
        'log-a-b_1234567_0.out',
        'log-a-b_1234567_node2_1.out',
        'snapshot_3.pickle',
      ]),
    ).toEqual([2, 1, 2, 1]);
    expect(attemptsFromNames(['x/attempt_0/0/stderr.log', 'x/attempt_1/0/stderr.log'])).toEqual([1, 2]);
  });

  it.each([
    'log-allranks_0.out',
    'train.log',
    'attempt_2',
    'my_attempt_1/log.out',
    'train_20251118.out',
    'step-500.log',
  ])('%s: no attempt', (path) => {
    expect(attemptsFromNames([path, 'slurm-99.out', 'slurm-1000.out'])).toEqual([1, 1, 2]);
  });
});
