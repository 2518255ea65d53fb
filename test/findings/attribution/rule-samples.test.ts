/** Every sample stack of every rule is classified by that rule, and says where upstream it comes from. */
import { describe, expect, it } from 'vitest';
import { classifyStack, labelOf } from '../../../src/findings/attribution/match/classify-stack.js';
import { listOf } from '../../../src/findings/attribution/match/frame-pattern.js';
import { sampleMatches } from '../../../src/findings/attribution/match/sample-frames.js';
import { compiledRules, TIERS } from '../../../src/findings/attribution/rules/index.js';
import { PHASE_RULES } from '../../../src/findings/attribution/rules/phases.js';
import { COMPONENTS } from '../../../src/model/vocabulary.js';

const RULES = TIERS.flatMap(({ rules }) => rules);
const SAMPLES = RULES.flatMap((rule) => rule.samples.map((sample, i) => ({ id: `${rule.id} ${i + 1}`, rule, sample })));

describe('attribution rules', () => {
  const compiled = compiledRules();

  it.each(SAMPLES)('$id', ({ rule, sample }) => {
    const facts = { pool: sample.pool, lifetime: sample.lifetime, bytes: sample.bytes };
    const stack = classifyStack(compiled, sampleMatches(compiled, sample.frames));
    const label = labelOf(stack, facts);
    expect(label?.rule.id).toBe(rule.id);
    expect(label?.component).toBe(sample.component ?? rule.component);
    if (sample.phase !== undefined) expect(label?.phase).toBe(sample.phase);
    // An upstream file, and where it was read.
    expect(sample.from).toMatch(/\S+\.(?:py|cpp|h|cu)\b/);
  });

  it.each(RULES)('$id is well formed', (rule) => {
    expect(rule.id).toMatch(/^[a-z0-9]+(?:-[a-z0-9]+)*\.[a-z0-9]+(?:-[a-z0-9]+)*$/);
    expect(rule.sub_component).toMatch(/^[a-z0-9]+(?:_[a-z0-9]+)*$/);
    expect(COMPONENTS).toContain(rule.component);
    expect(rule.samples.length).toBeGreaterThan(0);
    expect(rule.source.length).toBeGreaterThan(8);
    expect(listOf(rule.at).length).toBeGreaterThan(0);
  });

  it('has unique ids', () => {
    expect(new Set(RULES.map(({ id }) => id)).size).toBe(RULES.length);
  });

  it('cites a source for every phase', () => {
    for (const rule of PHASE_RULES) expect(rule.source.length).toBeGreaterThan(8);
  });
});
