/** JUnit XML of a comparison: well-formed whatever is in it, and a test case for whatever was to be judged. */
import { describe, expect, it } from 'vitest';
import type { CompareResult } from '../../src/model/results/compare.js';
import { compareJunit } from '../../src/report/compare/compare-junit.js';
import { goldenFile } from '../screens/golden-file.js';
import {
  bridge,
  check,
  emptyCompare,
  hostileCompare,
  refused,
  regression,
  statusCheck,
} from '../support/compare-results.js';
import { type Node, readHtml, textOf } from './html/sound-html.js';

/** The root of a document; fails for whatever is not XML 1.0 as the reports use it. */
function parseXml(xml: string): Node {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 cannot hold them
  expect(xml).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Cs}/u);
  expect(xml.startsWith('<?xml version="1.0" encoding="UTF-8"?>\n')).toBe(true);
  expect(xml.replaceAll(/<[^<>]*>/g, '')).not.toMatch(/[<>]|&(?!(?:amp|lt|gt|quot|apos);)/);
  for (const [tag] of xml.matchAll(/<[a-z][^<>]*>/g)) {
    const keys = [...tag.matchAll(/ ([a-z]+)="[^"]*"/g)].map(([, key]) => key);
    expect(new Set(keys).size).toBe(keys.length);
  }
  const [root, ...others] = elementsOf(readHtml(xml));
  expect(others).toEqual([]);
  return root!;
}

const elementsOf = ({ children }: Node): Node[] => children.filter((child) => typeof child !== 'string');
const named = (element: Node, name: string): Node[] => elementsOf(element).filter((child) => child.name === name);

/** Test cases by name: `failure`, `skipped` or nothing. */
function casesOf(result: CompareResult): Map<string, Node> {
  const root = parseXml(compareJunit(result));
  expect(root.name).toBe('testsuites');
  const [suite, ...others] = named(root, 'testsuite');
  expect(others).toEqual([]);
  const cases = named(suite!, 'testcase');
  const count = (name: string): string => String(cases.filter((one) => named(one, name).length > 0).length);
  for (const attributes of [root, suite!].map((one) => Object.fromEntries(one.attributes))) {
    const counts = { failures: count('failure'), skipped: count('skipped') };
    expect(attributes).toMatchObject({ tests: String(cases.length), errors: '0', ...counts });
    expect(Object.keys(attributes)).not.toContain('timestamp');
  }
  return new Map(cases.map((one) => [one.attributes.get('name')!, one]));
}

function outcomes(result: CompareResult): Record<string, string> {
  return Object.fromEntries(
    [...casesOf(result)].map(([name, one]) => {
      const [odd] = elementsOf(one).filter((child) => child.name !== 'system-out');
      return [name, odd === undefined ? 'passed' : `${odd.name}: ${odd.attributes.get('message')}`];
    }),
  );
}

describe('compareJunit', () => {
  it('is this for a refusal', async () => {
    await expect(compareJunit(refused({ notes: ['a < b'] }))).toMatchFileSnapshot(goldenFile('compare.xml'));
  });

  it('has a test case for every check of the gate', () => {
    const growth = '58.10 GiB against 54.80 GiB, +3.30 GiB, +6.0 %, tolerance 2 %';
    expect(outcomes(regression())).toEqual({
      contract: 'passed',
      status: 'passed',
      peak_allocated: `failure: ${growth}`,
      step_time: 'skipped: undecided: a straggler was reported in iterations 20 to 31; change known to ±80.00 ms',
      'peak_allocated:stage 0': `failure: ${growth}`,
      'peak_allocated:stage 1': 'passed',
      loss: 'skipped: skipped: a side prints no loss',
    });
  });

  it("fails with upstream's words where a preset fails", () => {
    expect(outcomes(bridge())).toEqual({
      status: 'passed',
      contract: 'passed',
      'GPU utilization':
        'failure: REGRESSION: GPU util dropped 6.12% (current=666.4800%, golden=709.9300%, threshold=5.0%)',
      alloc: 'passed',
      max_alloc: 'failure: Memory validation FAILED: 6.00% > 5.0%',
      max_reserved: 'failure: Max reserved validation FAILED: metric not found in current logs',
    });
  });

  it('fails for an improvement where it gates', () => {
    const checks = [check('max_alloc', 10, 8, { gate: true, status: 'improvement', unit: 'GB', tolerance: 0.05 })];
    expect(outcomes(emptyCompare({ checks }))['max_alloc']).toBe('passed');
    expect(outcomes(emptyCompare({ checks, preset: 'bridge' }))['max_alloc']).toMatch(/^failure: Memory validation/);
  });

  it('fails for a failed run', () => {
    const checks = [statusCheck('completed', 'out of memory: capacity', { reason: 'asked for 2 GiB' })];
    const status = casesOf(emptyCompare({ checks })).get('status')!;
    const [failure] = named(status, 'failure');
    const message = 'out of memory: capacity against completed';
    expect(Object.fromEntries(failure!.attributes)).toEqual({ type: 'regression', message });
    expect(textOf(failure!)).toBe(`${message}\nasked for 2 GiB`);
  });

  it('reports the status of an empty result as unknown', () => {
    expect(outcomes(emptyCompare())).toEqual({
      status: 'skipped: not judged: golden completed, current unknown',
      contract: 'passed',
    });
  });

  it.each([
    ['a regression', regression()],
    ['a refusal', refused()],
    ['a preset', bridge()],
    ['nothing', emptyCompare()],
  ])('is well-formed and the same twice for %s with hostile texts', (_, result) => {
    const hostile = hostileCompare(result);
    expect(casesOf(hostile).size).toBeGreaterThan(casesOf(result).size);
    expect(compareJunit(hostile)).toBe(compareJunit(structuredClone(hostile)));
    expect(compareJunit(hostile)).not.toMatch(/undefined|NaN/);
  });
});
