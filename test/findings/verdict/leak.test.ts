/** Growth over iterations as a cause: it must be steady, and it must be what made the difference. */
import { describe, expect, it } from 'vitest';
import { leak } from '../../../src/findings/verdict/causes/leak.js';
import { EvidenceLog, type Growth, type OomFacts } from '../../../src/findings/verdict/facts.js';
import { judge } from '../../../src/findings/verdict/index.js';
import { GIB, MIB } from '../../../src/model/units.js';
import { messageFacts, printed, tracedFacts } from './facts.js';

/** 77 GiB live + 4 GiB asked on 79 GiB: 2 GiB short. */
const growth = (changes: Partial<Growth> = {}): Growth => ({
  samples: 10,
  firstIteration: 2,
  lastIteration: 11,
  firstBytes: 40 * GIB,
  lastBytes: 44.5 * GIB,
  bytesPerIteration: 0.5 * GIB,
  r2: 0.999,
  source: 'log.out',
  ...changes,
});
const run = (facts: OomFacts) => leak.run(facts, new EvidenceLog());

describe('a leak', () => {
  it('holds where the growth is what was missing, and goes before capacity', () => {
    for (const facts of [tracedFacts({ growth: growth() }), messageFacts({ growth: growth() })]) {
      expect(run(facts)).toMatchObject({ outcome: 'holds', confidence: 'high' });
      const { holds } = judge(facts, new EvidenceLog());
      expect(holds?.cause).toBe('leak');
      expect(holds?.summary).toContain('512.00 MiB every iteration');
    }
  });

  it('is less sure with few samples or a poorer fit', () => {
    expect(run(tracedFacts({ growth: growth({ samples: 3 }) }))).toMatchObject({ confidence: 'medium' });
    expect(run(tracedFacts({ growth: growth({ r2: 0.9 }) }))).toMatchObject({ confidence: 'medium' });
    // Without the message's figures nothing says whether the growth made the difference.
    expect(run(messageFacts({ growth: growth(), reserved: null }))).toMatchObject({ confidence: 'medium' });
  });

  it('fails where memory is steady, jumps, or falls', () => {
    const steady = growth({ lastBytes: 40 * GIB + 4 * MIB, bytesPerIteration: MIB });
    for (const one of [steady, growth({ r2: 0.4 }), growth({ lastBytes: 39 * GIB })]) {
      expect(run(tracedFacts({ growth: one })).outcome).toBe('fails');
    }
  });

  it('fails where the growth does not decide it', () => {
    const little = growth({ lastBytes: 41 * GIB, bytesPerIteration: 0.1 * GIB });
    expect(run(tracedFacts({ growth: little })).outcome).toBe('fails');
    // Fits anyway: something else is wrong.
    const fits = { request: printed(GIB), requestAtLeastBytes: GIB - 2 * MIB };
    expect(run(messageFacts({ growth: growth(), ...fits })).outcome).toBe('fails');
  });

  it('is not testable without a trend', () => {
    expect(run(tracedFacts()).outcome).toBe('not_testable');
    expect(run(tracedFacts({ growth: growth({ samples: 2 }) })).outcome).toBe('not_testable');
    expect(run(messageFacts({ growth: growth(), reserved: null, request: null })).outcome).toBe('not_testable');
  });
});
