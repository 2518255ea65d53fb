/** Growth over iterations as a cause: it must be steady, and it must be what made the difference. */
import { describe, expect, it } from 'vitest';
import type { Growth, OomFacts } from '../../../src/findings/verdict/facts.js';
import { GIB, MIB } from '../../../src/model/units.js';
import { messageFacts, printed, tracedFacts } from './facts.js';
import { judging, testOf } from './judging.js';

const { judge } = judging();

/** 77 GiB live + 4 GiB asked on 79 GiB: 2 GiB short. */
const growth = (changes: Partial<Growth> = {}): Growth => ({
  samples: 10,
  firstIteration: 2,
  lastIteration: 11,
  firstBytes: 40 * GIB,
  lastBytes: 44.5 * GIB,
  bytesPerIteration: 0.5 * GIB,
  r2: 0.999,
  source: { path: 'log.out' },
  ...changes,
});
const run = async (...all: readonly OomFacts[]) => (await judge(...all)).map((outcome) => testOf(outcome, 'leak'));

describe.concurrent('a leak', () => {
  it('holds where the growth is what was missing, and goes before capacity', async () => {
    for (const outcome of await judge(tracedFacts({ growth: growth() }), messageFacts({ growth: growth() }))) {
      expect(testOf(outcome, 'leak')).toMatchObject({ outcome: 'holds', confidence: 'high' });
      expect(outcome.holds?.cause).toBe('leak');
      expect(outcome.holds?.summary).toContain('512.00 MiB every iteration');
    }
  });

  it('is less sure with few samples or a poorer fit', async () => {
    const all = await run(
      tracedFacts({ growth: growth({ samples: 3 }) }),
      tracedFacts({ growth: growth({ r2: 0.9 }) }),
      // Without the message's figures nothing says whether the growth made the difference.
      messageFacts({ growth: growth(), reserved: null }),
    );
    for (const one of all) expect(one).toMatchObject({ outcome: 'holds', confidence: 'medium' });
  });

  it('fails where memory is steady, jumps, or falls', async () => {
    const steady = growth({ lastBytes: 40 * GIB + 4 * MIB, bytesPerIteration: MIB });
    const all = [steady, growth({ r2: 0.4 }), growth({ lastBytes: 39 * GIB })];
    for (const { outcome } of await run(...all.map((one) => tracedFacts({ growth: one }))))
      expect(outcome).toBe('fails');
  });

  it('fails where the growth does not decide it', async () => {
    const little = growth({ lastBytes: 41 * GIB, bytesPerIteration: 0.1 * GIB });
    // Fits anyway: something else is wrong.
    const fits = { request: printed(GIB), requestAtLeastBytes: GIB - 2 * MIB };
    const all = await run(tracedFacts({ growth: little }), messageFacts({ growth: growth(), ...fits }));
    expect(all.map(({ outcome }) => outcome)).toEqual(['fails', 'fails']);
  });

  it('is not testable without a trend', async () => {
    const all = await run(
      tracedFacts(),
      tracedFacts({ growth: growth({ samples: 2 }) }),
      messageFacts({ growth: growth(), reserved: null, request: null }),
    );
    for (const { outcome } of all) expect(outcome).toBe('not_testable');
  });
});
