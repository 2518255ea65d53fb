/**
 * What is said where the figures are missing: the tuning guides' rules, at low confidence and for no more than they
 * cover.
 */
import { describe, expect, it } from 'vitest';
import type { Bystanders } from '../../../src/findings/verdict/facts.js';
import { type AllocatorFacts, EvidenceLog, type OomFacts } from '../../../src/findings/verdict/facts.js';
import { conclude } from '../../../src/findings/verdict/judge-message.js';
import { GIB } from '../../../src/model/units.js';
import { wordVerdict } from '../../../src/report/verdict/word-verdict.js';
import { messageFacts, printed } from './facts.js';
import { judging } from './judging.js';

const bystanders: Bystanders = {
  failedAlone: true,
  ranks: 15,
  mostReservedBytes: 74 * GIB,
  ownReservedBytes: 74 * GIB,
  hasEnvironment: true,
};
const allocator = (expandableSegments: boolean): AllocatorFacts => ({
  expandableSegments,
  maxSplitBytes: Number.POSITIVE_INFINITY,
  source: { path: 'launch.sbatch', line: 4 },
});

const { judge } = judging();

async function verdicts(...all: readonly Partial<OomFacts>[]) {
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
  const inputs = all.map((facts) => ({ ...bare, ...facts }));
  return (await judge(...inputs)).map(({ judged }, i) => wordVerdict(conclude(inputs[i]!, judged, new EvidenceLog())));
}

describe.concurrent('an OOM without figures', () => {
  it('is probably fragmentation where one rank fails among ranks alike and expandable segments are not set', async () => {
    const all = await verdicts({ bystanders }, { bystanders, allocator: allocator(false) });
    expect(all).toHaveLength(2);
    for (const result of all) {
      expect(result).toMatchObject({ cause: 'fragmentation', confidence: 'low' });
      expect(result.summary).toContain('of 16 ranks only this one failed');
    }
  });

  it('is probably capacity where they are set', async () => {
    const [result] = await verdicts({ bystanders, allocator: allocator(true) });
    expect(result).toMatchObject({ cause: 'capacity', confidence: 'low' });
    expect(result!.combination.join(' ')).toContain('the guides decide');
    expect(result!.captures.length).toBeGreaterThan(0);
  });

  it.each([
    ['several ranks failed', { ...bystanders, failedAlone: false }],
    ['no other rank prints memory', { ...bystanders, ranks: 0, mostReservedBytes: null }],
    ['the rank holds more than any other', { ...bystanders, ownReservedBytes: 79 * GIB }],
    ['no environment was read', { ...bystanders, hasEnvironment: false }],
  ])('stays undecided where %s', async (_, changed) => {
    expect(await verdicts({ bystanders: changed })).toMatchObject([{ cause: 'undecided' }]);
  });

  it('is judged by its figures where there are any', async () => {
    const full = { reserved: printed(78 * GIB), allocated: printed(77.75 * GIB), deviceFree: printed(0.25 * GIB) };
    expect(await verdicts({ bystanders, ...full })).toMatchObject([{ cause: 'capacity' }]);
  });
});
