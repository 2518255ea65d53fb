/** Every rule on its own samples, and what all rules have in common. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { conditionOf, lint } from '../../../src/derive/lint/lint.js';
import type { LintRule } from '../../../src/derive/lint/rule.js';
import { LINT_TOPICS, lintRecords, lintRule, lintRules } from '../../../src/derive/lint/rules.js';
import { SECTION_KEYS } from '../../../src/derive/settings/facts-of-config.js';
import { CODE_TERMS, conditionOfText, textTerms } from '../../../src/derive/settings/terms.js';
import { canonicalConfigKey } from '../../../src/knowledge/config-keys.js';
import { constraintOf, constraintTexts } from '../../../src/knowledge/constraint-texts.js';
import { loadData } from '../../../src/knowledge/load-data.js';
import { LINT_SEVERITIES } from '../../../src/model/results/lint.js';
import { VERSION_NAMES } from '../../../src/model/results/log.js';
import { checkShape, oneOf } from '../../../src/text/check-shape.js';
import { factsOfSample, lintSamples, type RuleSamples, type Sample } from '../../support/lint-sample.js';

const CONSTRAINTS = new Set(constraintTexts().map(({ id }) => id));

/** The rule's own outcome on a sample, as findings and unknowns are built from it. */
const tried = (rule: LintRule, sample: Sample) => lint(factsOfSample(sample), [rule]);
const shown = (sample: Sample): string => JSON.stringify(sample);

/** Every condition names settings that the dictionary of keys knows. */
const isSetting = (key: string): boolean => SECTION_KEYS.includes(key) || canonicalConfigKey(key) === key;

const RECORD = {
  id: /[a-z0-9]+(?:-[a-z0-9]+)*/,
  severity: oneOf(...LINT_SEVERITIES),
  message: /.*\./,
  when: 'string',
  'versions?': [{ package: oneOf(...VERSION_NAMES), 'from?': 'string', 'before?': 'string' }],
  fix: /.+/,
  'error?': /.+/,
  source: /.+/,
  evidence: oneOf('asserted', 'measured', 'documented', 'config'),
};

describe.each(LINT_TOPICS.map((topic) => [topic] as const))('the data file %s', (topic) => {
  it('has the shape of a list of rules', () => {
    expect(checkShape(lintRecords(topic), [RECORD])).toEqual([]);
  });

  it('has conditions on known settings, variables and terms', () => {
    for (const { id, when } of lintRecords(topic))
      expect(conditionOfText(when, `${topic}: ${id}`, isSetting).text).toBe(lintRule(id)!.when.text);
  });

  it('has samples for its rules, and for no others', () => {
    expect([...lintSamples(topic).keys()]).toEqual(lintRecords(topic).map(({ id }) => id));
  });
});

describe('the list of rules', () => {
  it('has each id once', () => {
    const ids = lintRules().map(({ id }) => id);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    for (const rule of lintRules()) expect(lintRule(rule.id)).toBe(rule);
    expect(lintRule('no-such-rule')).toBeUndefined();
  });

  it('uses every named condition', () => {
    const conditions = LINT_TOPICS.flatMap((topic) => lintRecords(topic).map(({ when }) => when));
    const { proposals } = loadData('fixes') as { proposals: Record<string, { readonly when?: string }> };
    const fixes = Object.values(proposals).flatMap(({ when }) => when ?? []);
    const texts = [...conditions, ...fixes, ...Object.values(textTerms())].join('\n');
    const names = [...Object.keys(textTerms()), ...Object.keys(CODE_TERMS)];
    expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(texts))).toEqual([]);
  });
});

const CASES = LINT_TOPICS.flatMap((topic) =>
  [...lintSamples(topic)].map(([id, samples]): [string, LintRule, RuleSamples] => [id, lintRule(id)!, samples]),
);

describe.each(CASES)('%s', (id, rule, samples) => {
  it('has samples that fail and samples that pass', () => {
    expect(samples.fails.length).toBeGreaterThan(0);
    expect(samples.passes.length).toBeGreaterThan(0);
    expect(conditionOf(rule).text).not.toBe('');
  });

  it('reports an error to search logs for', () => {
    if (rule.error === null || !CONSTRAINTS.has(id)) return;
    expect(constraintOf(rule.error)?.id).toBe(id);
  });

  it.each(samples.fails.map((sample) => [shown(sample), sample] as const))('is broken by %s', (_, sample) => {
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

  it.each(samples.passes.map((sample) => [shown(sample), sample] as const))('is kept by %s', (_, sample) => {
    expect(tried(rule, sample)).toEqual({ findings: [], unknown: [] });
  });

  const { unknown } = samples;
  if (unknown.length > 0)
    it.each(unknown.map((sample) => [shown(sample), sample] as const))('is undecided by %s', (_, sample) => {
      const outcome = tried(rule, sample);
      expect(outcome.findings).toEqual([]);
      expect(outcome.unknown.map((one) => one.rule)).toEqual([id]);
      expect(outcome.unknown[0]!.message).not.toMatch(/[{}]/);
    });
});

it('docs/lint.md names only rules that exist', () => {
  const text = readFileSync(new URL('../../../docs/lint.md', import.meta.url), 'utf8');
  const [, covered = ''] = /## Checks that are covered\n([\s\S]*?)\n## /.exec(text) ?? [];
  const ids = covered
    .split('\n')
    .flatMap((line) => [...(line.split('|')[2] ?? '').matchAll(/`([a-z0-9-]+)`/g)].map((match) => match[1]!));
  expect(ids.length).toBeGreaterThan(100);
  expect(ids.filter((id) => lintRule(id) === undefined)).toEqual([]);
});
