/** SARIF of a comparison, held against what the standard asks of the parts it uses. */
import { describe, expect, it } from 'vitest';
import { compareSarif } from '../../src/report/compare/compare-sarif.js';
import {
  bridge,
  emptyCompare,
  hostileCompare,
  KNOB,
  refused,
  regression,
  SUSPECT,
} from '../support/compare-results.js';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

function object(value: Json | undefined): JsonObject {
  expect(value).toBeTypeOf('object');
  expect(value).not.toBeNull();
  expect(Array.isArray(value)).toBe(false);
  return value as JsonObject;
}
function list(value: Json | undefined): Json[] {
  expect(Array.isArray(value)).toBe(true);
  return value as Json[];
}
function text(value: Json | undefined): string {
  expect(value).toBeTypeOf('string');
  expect(value).not.toMatch(/\p{Cs}|undefined|NaN/u);
  return value as string;
}
const onlyKeys = (value: JsonObject, ...keys: string[]): void =>
  expect(keys).toEqual(expect.arrayContaining(Object.keys(value)));

interface Found {
  readonly rule: string;
  readonly level: string;
  readonly text: string;
  readonly location: JsonObject;
}

/**
 * SARIF 2.1.0, sections 3.13 (file), 3.14 (run), 3.19 (driver), 3.49 (rule), 3.27 (result), 3.28 to 3.33 (locations).
 */
function expectSarif(result: object): Found[] {
  const log = object(JSON.parse(JSON.stringify(result)) as Json);
  onlyKeys(log, '$schema', 'version', 'runs');
  expect(new URL(text(log['$schema'])).protocol).toBe('https:');
  expect(log['version']).toBe('2.1.0');
  const [only, ...others] = list(log['runs']);
  expect(others).toEqual([]);
  const run = object(only);
  onlyKeys(run, 'tool', 'results', 'properties');
  const driver = object(object(run['tool'])['driver']);
  expect(driver['name']).toBe('mbforensics');
  const rules = list(driver['rules']).map((rule) => {
    onlyKeys(object(rule), 'id', 'shortDescription');
    expect(text(object(object(rule)['shortDescription'])['text'])).not.toBe('');
    return text(object(rule)['id']);
  });
  expect(new Set(rules).size).toBe(rules.length);
  return list(run['results']).map((one) => {
    const member = object(one);
    onlyKeys(member, 'ruleId', 'ruleIndex', 'level', 'message', 'locations');
    expect(rules[member['ruleIndex'] as number]).toBe(member['ruleId']);
    expect(['error', 'warning', 'note']).toContain(member['level']);
    const words = text(object(member['message'])['text']);
    expect(words).not.toBe('');
    expect(words.replaceAll('{{', '').replaceAll('}}', '')).not.toMatch(/[{}]|\]\(/);
    const [location, ...more] = list(member['locations']);
    expect(more).toEqual([]);
    expectLocation(object(location));
    return { rule: text(member['ruleId']), level: text(member['level']), text: words, location: object(location) };
  });
}

function expectLocation(location: JsonObject): void {
  onlyKeys(location, 'physicalLocation', 'logicalLocations');
  expect(Object.keys(location).length).toBeGreaterThan(0);
  for (const logical of list(location['logicalLocations'] ?? [])) text(object(logical)['name']);
  if (location['physicalLocation'] === undefined) return;
  const physical = object(location['physicalLocation']);
  onlyKeys(physical, 'artifactLocation', 'region');
  const artifact = object(physical['artifactLocation']);
  const uri = text(artifact['uri']);
  // RFC 3986: the first part of a relative reference lacks a colon; both kinds contain only these characters.
  expect(uri).toMatch(/^(?:file:\/\/\/)?[\w.~!*'()%/-]+$/);
  expect(artifact['uriBaseId']).toBe(uri.startsWith('file:') ? undefined : '%SRCROOT%');
  if (physical['region'] === undefined) return;
  const { startLine, endLine } = object(physical['region']);
  expect(Number.isInteger(startLine) && (startLine as number) >= 1).toBe(true);
  if (endLine !== undefined) expect(endLine).toBeGreaterThan(startLine as number);
}

const LINES = {
  physicalLocation: {
    artifactLocation: { uri: '3rdparty/Megatron-LM/megatron/core/transformer/mlp.py', uriBaseId: '%SRCROOT%' },
    region: { startLine: 121, endLine: 124 },
  },
};

describe('compareSarif', () => {
  it('has regressions as errors, the undecided as notes, suspects as warnings', () => {
    const runs = expectSarif(compareSarif(regression()));
    expect(runs.map(({ rule, level }) => `${level} ${rule}`)).toEqual([
      'error peak_allocated',
      'note step_time',
      'error peak_allocated:stage 0',
      'warning component:activation',
      'warning suspect',
      'warning suspect',
    ]);
    expect(runs[0]).toMatchObject({
      text: 'peak_allocated: regression; 58.10 GiB against 54.80 GiB, +3.30 GiB, +6.0 %, tolerance 2 %; rank 0 (stage 0), the largest of 4 ranks; change known to ±51.20 MiB',
      location: LINES,
    });
    expect(runs[4]).toEqual({
      rule: 'suspect',
      level: 'warning',
      text: 'it changes the lines of the call site that grew most (score 0.92); changed by abc1234 Keep the MLP input for the backward pass',
      location: LINES,
    });
    expect(runs[5]!.location).toEqual({ logicalLocations: [{ name: 'recompute_granularity' }] });
  });

  it("has upstream's words, and units", () => {
    const [first] = expectSarif(compareSarif(bridge()));
    expect(first!.text).toContain('666.48 against 709.93 TFLOP/s/GPU');
    expect(first!.text).toContain('; REGRESSION: GPU util dropped 6.12%');
    expect(first!.location).toEqual({ logicalLocations: [{ name: 'GPU utilization' }] });
  });

  it('warns of a refusal, and is silent about nothing', () => {
    const [only, ...others] = expectSarif(compareSarif(refused()));
    expect(only).toMatchObject({ rule: 'contract', level: 'warning' });
    expect(only!.text).toContain('--force');
    expect(others).toEqual([]);
    expect(expectSarif(compareSarif(emptyCompare()))).toEqual([]);
  });

  it.each([
    ['@@ -12 +13 @@', { startLine: 13 }],
    ['@@ -12,2 +0,0 @@', { startLine: 1 }],
    ['@@ -1,0 +2,3 @@ class A:', { startLine: 2, endLine: 4 }],
    ['nonsense', undefined],
  ])('finds the lines of %s', (hunk, region) => {
    const [one] = expectSarif(compareSarif(emptyCompare({ suspects: [{ ...SUSPECT, hunk }] })));
    expect((one!.location['physicalLocation'] as JsonObject)['region']).toEqual(region);
  });

  it.each([
    ['./a b/ü#?.py', 'a%20b/%C3%BC%23%3F.py', '%SRCROOT%'],
    ['c:/x.py', 'c%3A/x.py', '%SRCROOT%'],
    ['/home/me/run.yaml', 'file:///home/me/run.yaml', undefined],
  ])('makes a URI of %s', (file, uri, uriBaseId) => {
    const [one] = expectSarif(compareSarif(emptyCompare({ suspects: [{ ...KNOB, file }] })));
    const artifact = (one!.location['physicalLocation'] as JsonObject)['artifactLocation'];
    expect(artifact).toEqual(uriBaseId === undefined ? { uri } : { uri, uriBaseId });
  });

  it.each([
    ['a regression', regression()],
    ['a refusal', refused()],
    ['nothing', emptyCompare()],
  ])('keeps its form for %s with hostile texts', (_, result) => {
    const hostile = hostileCompare({ ...result, notes: ['{0} [a](b)'] });
    expect(expectSarif(compareSarif(hostile)).length).toBeGreaterThan(expectSarif(compareSarif(result)).length);
    expect(compareSarif(hostile)).toEqual(compareSarif(structuredClone(hostile)));
    const braces = { ...KNOB, reason: '{0} became {1} [see](http://x)' };
    const [one] = expectSarif(compareSarif(emptyCompare({ suspects: [braces] })));
    expect(one!.text).toContain('{{0}} became {{1}} [see] (http://x)');
  });
});
