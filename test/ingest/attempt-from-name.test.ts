import { describe, expect, it } from 'vitest';
import { ATTEMPT_RULES, attemptFromName } from '../../src/ingest/attempt-from-name.js';

describe('the launch a file belongs to', () => {
  it.each(ATTEMPT_RULES.flatMap(({ samples }) => samples.map((sample) => [...sample] as [string, number])))(
    '%s is of launch %i',
    (path, attempt) => {
      expect(attemptFromName(path)).toBe(attempt);
      expect(attemptFromName(`${path}.gz`)).toBe(attempt);
    },
  );

  it.each(['log-allranks_0.out', 'slurm-123456.out', 'train.log', 'attempt_2', 'my_attempt_1/log.out'])(
    '%s says nothing',
    (path) => {
      expect(attemptFromName(path)).toBe(1);
    },
  );
});
