/**
 * Each sample stack of a built-in rule is classified by that rule and names its upstream source. The files have the
 * documented shape.
 */
import { describe, expect, it } from 'vitest';
import { builtInTiers, compiledRules, RULE_FAMILIES, readPhases } from '../../src/attribution/built-in-rules.js';
import { classifyStack, labelOf } from '../../src/attribution/match/classify-stack.js';
import { listOf } from '../../src/attribution/match/frame-pattern.js';
import { sampleMatches } from '../../src/attribution/match/sample-frames.js';
import { loadData } from '../../src/knowledge/load-data.js';
import { PHASES } from '../../src/model/log-rows.js';
import { COMPONENTS } from '../../src/model/vocabulary.js';
import { anyOf, checkShape, oneOf, repeated } from '../../src/text/check-shape.js';
import { readSampleFile, readSamples } from './read-samples.js';

const RULES = builtInTiers().flatMap(({ rules }) => rules);
const BY_RULE = readSamples();
const SAMPLES = RULES.flatMap((rule) =>
  (BY_RULE.get(rule.id) ?? []).map((sample, i) => ({ id: `${rule.id} ${i + 1}`, rule, sample })),
);

const LIST = anyOf('string', ['string']);
const PATTERN = anyOf({ file: LIST, 'function?': LIST }, { function: LIST });
const PATTERNS = anyOf([PATTERN], PATTERN);
const PHASE = oneOf(...PHASES);
const POOL = oneOf('default', 'private');
const LIFETIME = oneOf('resident', 'transient');
const RULE = {
  id: 'string',
  component: oneOf(...COMPONENTS),
  sub_component: 'string',
  'phase?': PHASE,
  tested: 'integer',
  'when?': {
    'pool?': POOL,
    'lifetime?': LIFETIME,
    'bytes?': ['integer'],
    'min_bytes?': 'integer',
    'max_bytes?': 'integer',
  },
  at: PATTERNS,
  'within?': PATTERNS,
  'through?': PATTERNS,
  'without?': PATTERNS,
  source: 'string',
} as const;
const SAMPLE = {
  'in?': 'string',
  'pool?': POOL,
  'lifetime?': LIFETIME,
  'bytes?': 'integer',
  'component?': oneOf(...COMPONENTS),
  'phase?': PHASE,
  frames: ['string'],
  from: 'string',
} as const;

describe('the files of attribution rules', () => {
  it.each([...RULE_FAMILIES])('%s', (family) => {
    const tiers = { 'owner?': [RULE], 'framework?': [RULE], 'generic?': [RULE] };
    expect(checkShape(loadData(`attribution/${family}`), tiers)).toEqual([]);
    expect(checkShape(readSampleFile(family), { '*': [SAMPLE] })).toEqual([]);
  });

  it('phases', () => {
    const shape = {
      phases: [{ phase: PHASE, at: PATTERNS, source: 'string' }],
      recompute: [PATTERN],
      engine: [PATTERN],
    };
    expect(checkShape(loadData('attribution/phases'), shape)).toEqual([]);
  });
});

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
    expect(rule.tested).toBeGreaterThan(0);
    expect(BY_RULE.get(rule.id)).toHaveLength(rule.tested);
    expect(rule.source.length).toBeGreaterThan(8);
    expect(listOf(rule.at).length).toBeGreaterThan(0);
  });

  it('has unique ids', () => {
    expect(repeated(RULES.map(({ id }) => id))).toEqual([]);
    expect([...BY_RULE.keys()].sort()).toEqual(RULES.map(({ id }) => id).sort());
  });

  it('cites a source for every phase', () => {
    for (const rule of readPhases().phases) expect(rule.source.length).toBeGreaterThan(8);
  });
});
