/**
 * What is said where the figures are missing: the tuning guides' rules, at low confidence and for no more than they
 * cover.
 */
import { describe, expect, it } from 'vitest';
import type { Bystanders } from '../../../src/findings/verdict/facts.js';
import { type AllocatorFacts, EvidenceLog, type OomFacts } from '../../../src/findings/verdict/facts.js';
import { conclude } from '../../../src/findings/verdict/judge-message.js';
import { GIB } from '../../../src/model/units.js';
import { messageFacts, printed } from './facts.js';

const bystanders: Bystanders = {
  failedAlone: true,
  ranks: 15,
  mostReservedBytes: 74 * GIB,
  ownReservedBytes: 74 * GIB,
  environmentSource: 'launch.sbatch',
};
const allocator = (expandableSegments: boolean): AllocatorFacts => ({
  expandableSegments,
  maxSplitBytes: Number.POSITIVE_INFINITY,
  source: 'launch.sbatch line 4',
});

function verdict(facts: Partial<OomFacts>) {
  const bare = messageFacts({
    reserved: null,
    allocated: null,
    deviceFree: null,
    total: null,
    process: null,
    privatePoolFree: null,
    allocator: null,
    growth: null,
  });
  return conclude({ ...bare, ...facts }, new EvidenceLog(), undefined);
}

describe('an OOM without figures', () => {
  it('is probably fragmentation where one rank fails among ranks alike and expandable segments are not set', () => {
    expect(verdict({ bystanders })).toMatchObject({ cause: 'fragmentation', confidence: 'low' });
    expect(verdict({ bystanders, allocator: allocator(false) })).toMatchObject({ cause: 'fragmentation' });
  });

  it('is probably capacity where they are set', () => {
    const told = verdict({ bystanders, allocator: allocator(true) });
    expect(told).toMatchObject({ cause: 'capacity', confidence: 'low' });
    expect(told.combination.join(' ')).toContain('the guides are asked');
    expect(told.captures.length).toBeGreaterThan(0);
  });

  it.each([
    ['several ranks failed', { ...bystanders, failedAlone: false }],
    ['no other rank prints memory', { ...bystanders, ranks: 0, mostReservedBytes: null }],
    ['the rank holds more than any other', { ...bystanders, ownReservedBytes: 79 * GIB }],
    ['no environment was read', { ...bystanders, environmentSource: null }],
  ])('stays undecided where %s', (_, beside) => {
    expect(verdict({ bystanders: beside })).toMatchObject({ cause: 'undecided' });
  });

  it('is judged by its figures where there are any', () => {
    const full = { reserved: printed(78 * GIB), allocated: printed(77.9 * GIB), deviceFree: printed(0.1 * GIB) };
    expect(verdict({ bystanders, ...full })).toMatchObject({ cause: 'capacity' });
  });
});
