/** What holds of every bisection of a history with one planted regression. */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type Bisected, bisectPlanted, type History } from '../../bench/planted-bisection.js';
import type { DiffResult } from '../../src/model/results/diff.js';
import type { Cli } from '../support/cli.js';
import { type RecordedHistory, recordedHistory } from './recorded-histories.js';

export interface BisectedHistory extends Bisected {
  readonly history: RecordedHistory;
}

/** Bisects a recorded history, as {@link expectFound}. */
export async function expectBisected(cli: Cli, root: string, name: string): Promise<BisectedHistory> {
  const directory = mkdtempSync(join(root, `${name}-`));
  const history = recordedHistory(name, directory);
  return { ...(await expectFound(cli, directory, history)), history };
}

/**
 * No commit is blamed or cleared wrongly, git finds the planted commit or is left with the suspects it must be left
 * with, and the report has the same.
 */
export async function expectFound(cli: Cli, directory: string, history: History): Promise<Bisected> {
  const found = await bisectPlanted(directory, history, { script: cli.script, goldenRuns: 2 });
  const { planted, expectedSuspects } = history;
  const { report, firstBad, output, left, blamed, cleared } = found;
  expect({ blamed, cleared }).toEqual({ blamed: [], cleared: [] });
  if (expectedSuspects.length === 1) {
    expect(firstBad, output).toBe(planted.sha);
    expect(report).toMatchObject({ state: 'found', culprit: { sha: planted.sha }, suspects_left: [] });
    expect(found.hasSuspect, JSON.stringify([planted, report.suspects.slice(0, 3)])).toBe(true);
  } else {
    expect(firstBad).toBeNull();
    expect([...left].sort()).toEqual([...expectedSuspects].sort());
    expect(report.state).toBe('suspects');
    expect(report.suspects_left.map(({ sha }) => sha)).toEqual(expectedSuspects);
  }
  return found;
}

/** Commits that only move and rename code differ by no site. */
export async function expectNoSites(
  cli: Cli,
  root: string,
  pairs: readonly (readonly [string, string])[],
  history: History,
): Promise<void> {
  expect(pairs.length).toBeGreaterThan(0);
  // A commit may be in two pairs.
  const outputs = new Map<string, string>();
  for (const sha of new Set(pairs.flat())) {
    const output = mkdtempSync(join(root, 'refactor-'));
    await history.train(sha, 1, output);
    outputs.set(sha, output);
  }
  for (const pair of pairs) {
    const args = ['diff', ...pair.map((sha) => outputs.get(sha)!), '--json=full'];
    const diff = cli.expect(0, args, { env: { XDG_CACHE_HOME: join(root, 'cache') } }).json<DiffResult>();
    expect(diff.sites).toEqual([]);
    expect(diff.total_delta_bytes).toBe(0);
  }
}
