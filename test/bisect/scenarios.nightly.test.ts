/** Bisections that mislead: no wrong commit is named with medium confidence or more. */
import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { buildCli } from '../support/cli.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { bisectScenario, type Scenario } from './scenarios.js';

const TEXT = readFileSync(new URL('scenarios.yaml', import.meta.url), 'utf8');
const SCENARIOS = Object.entries(parse(TEXT) as Readonly<Record<string, Scenario>>);

describe('git bisect run over a hundred commits', () => {
  const root = temporaryDirectory();

  it.each(SCENARIOS)('%s', (_, scenario) => {
    expect(SCENARIOS.length).toBeGreaterThanOrEqual(30);
    const { report, planted, output, runs } = bisectScenario(
      buildCli().script,
      mkdtempSync(join(root, 's-')),
      scenario,
    );
    const { confidence, culprit, state, suspects_left: left, settings } = report;
    const answer = JSON.stringify({ confidence, state, culprit: culprit?.subject, why: report.confidence_reason });
    // A build that breaks is a run without figures, and not a point.
    const hasFigures = report.steps.filter((step) => step.runs > 0 && !step.reason.includes('ModuleNotFoundError'));
    expect(runs).toBe(hasFigures.length);
    // Never a wrong commit.
    if (confidence !== 'low') expect(culprit?.sha, answer).toBe(planted);
    if (scenario.expected === 'named') expect([culprit?.sha, confidence === 'low'], output).toEqual([planted, false]);
    if (scenario.expected === 'held') expect([culprit?.sha, ...left.map(({ sha }) => sha)], answer).toContain(planted);
    if (scenario.setting !== undefined) expect(settings.map(({ key }) => key)).toContain(scenario.setting);
  });
});
