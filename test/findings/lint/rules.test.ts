/** Every rule on its own samples, and what all rules have in common. */
import { describe, expect, it } from 'vitest';
import { conditionOf, lint } from '../../../src/findings/lint/lint.js';
import type { LintRule, Sample } from '../../../src/findings/lint/rule.js';
import { RULES, ruleOf } from '../../../src/findings/lint/rules/index.js';
import { SECTION_KEYS } from '../../../src/findings/settings/facts-of-config.js';
import { canonicalConfigKey } from '../../../src/knowledge/config-keys.js';
import { CONSTRAINT_TEXTS, constraintOf } from '../../../src/knowledge/constraint-texts.js';
import { factsOfSample } from '../../support/lint-sample.js';

const CONSTRAINTS = new Set(CONSTRAINT_TEXTS.map(({ id }) => id));

/** The rule's own outcome on a sample, as findings and unknowns are built from it. */
const tried = (rule: LintRule, sample: Sample) => lint(factsOfSample(sample), [rule]);
const shown = (sample: Sample): string => JSON.stringify(sample);

describe('the list of rules', () => {
  it('has each id once', () => {
    const ids = RULES.map(({ id }) => id);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    for (const rule of RULES) expect(ruleOf(rule.id)).toBe(rule);
    expect(ruleOf('no-such-rule')).toBeUndefined();
  });
});

describe.each(RULES.map((rule) => [rule.id, rule] as const))('%s', (id, rule) => {
  it('has samples that fail and samples that pass', () => {
    expect(rule.fails.length).toBeGreaterThan(0);
    expect(rule.passes.length).toBeGreaterThan(0);
  });

  it('is well formed', () => {
    expect(id).toMatch(/^[a-z0-9]+(?:-[a-z0-9]+)*$/);
    expect(rule.message).toMatch(/\.$/);
    expect(rule.fix).not.toBe('');
    expect(rule.source).not.toBe('');
    expect(conditionOf(rule).text).not.toBe('');
  });

  it('says an error that logs are searched for', () => {
    if (rule.error === null || !CONSTRAINTS.has(id)) return;
    expect(constraintOf(rule.error)?.id).toBe(id);
  });

  it.each(rule.fails.map((sample) => [shown(sample), sample] as const))('is broken by %s', (_, sample) => {
    const { findings, unknown } = tried(rule, sample);
    expect(unknown).toEqual([]);
    expect(findings.map((finding) => finding.rule)).toEqual([id]);
    const finding = findings[0]!;
    expect(finding.severity).toBe(rule.severity);
    // Every placeholder is a fact that was looked at.
    expect(finding.message).not.toMatch(/[{}?]/);
    expect(finding.fix).not.toMatch(/\{\w+\}/);
    expect(finding.keys.length).toBeGreaterThan(0);
    expect(finding.facts.map(({ key }) => key)).toEqual([...new Set(finding.keys)]);
    // Else no run's settings would ever be found under them.
    const known = (key: string) => (SECTION_KEYS.includes(key) ? key : canonicalConfigKey(key));
    expect(finding.keys.map(known)).toEqual(finding.keys);
    // The place is that of a fact that the sample tells, if it tells one of them.
    if (finding.file === null) {
      expect(finding.line).toBeNull();
      expect(finding.facts.filter(({ file }) => file !== null)).toEqual([]);
      return;
    }
    const place = finding.facts.find(({ file }) => file === finding.file)!;
    expect(finding.line).toBe(place.line);
    expect(place.by).toBe('told');
    const keys = Object.keys(finding.file === 'environ' ? (sample.env ?? {}) : sample.config);
    expect(keys[finding.line! - 1]).toBe(place.raw_key);
  });

  it.each(rule.passes.map((sample) => [shown(sample), sample] as const))('is kept by %s', (_, sample) => {
    expect(tried(rule, sample)).toEqual({ findings: [], unknown: [] });
  });

  const unknown = rule.unknown ?? [];
  if (unknown.length > 0)
    it.each(unknown.map((sample) => [shown(sample), sample] as const))('is undecided by %s', (_, sample) => {
      const outcome = tried(rule, sample);
      expect(outcome.findings).toEqual([]);
      expect(outcome.unknown.map((one) => one.rule)).toEqual([id]);
      expect(outcome.unknown[0]!.message).not.toMatch(/[{}]/);
    });
});
