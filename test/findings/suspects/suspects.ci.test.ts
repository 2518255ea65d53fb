/** Suspects of regressions that a generator plants among changes that do no harm. */
import { describe, expect, it } from 'vitest';
import { isOfInterest } from '../../../src/findings/suspects/rank-suspects.js';
import { compareCommits } from '../../../src/git/compare-commits.js';
import { openRepository } from '../../../src/git/repository.js';
import type { ChangedFile, ChangedHunk } from '../../../src/model/git.js';
import type { Suspect } from '../../../src/model/results/compare.js';
import { gitEnvironment, repositoryAt, scratch } from '../../git/repositories.js';
import { runs } from '../../support/level.js';
import { PLANTS, plantRegression, type Regression } from '../../support/planted-regressions.js';
import { changed, compared, rank } from './by-hand.js';

/** A diff of whole files, for tests that need many hunks and no repository. */
function readChangedFiles({ before, after }: Regression): ChangedFile[] {
  return Object.keys(after).flatMap((path) => {
    const [a, b] = [(before[path] ?? '').split('\n'), after[path]!.split('\n')];
    const hunks = b.flatMap((line, i): ChangedHunk[] => {
      const place = { old_start: i + 1, old_lines: 1, new_start: i + 1, new_lines: 1, context: '' };
      return line === a[i] ? [] : [{ ...place, removed: [a[i] ?? ''], added: [line] }];
    });
    return hunks.length === 0 ? [] : [{ ...changed(path), hunks }];
  });
}

describe('the list', () => {
  it('does not depend on the order of what it is made of', () => {
    const { components, config, total: totalDeltaBytes, sites, ...regression } = plantRegression(11, 'line');
    const files = readChangedFiles({ components, config, total: totalDeltaBytes, sites, ...regression });
    const ranked = rank({ components, config, totalDeltaBytes, comparison: compared(files, { commits: [] }), sites });
    const comparison = compared(files.toReversed(), { commits: [] });
    const reversed = { config: config.toReversed(), sites: sites.toReversed() };
    expect(rank({ components, totalDeltaBytes, comparison, ...reversed })).toEqual(ranked);
    expect(ranked.length).toBeGreaterThan(0);
  });

  it('is in descending order, scores between 0 and 1', () => {
    const regression = plantRegression(12, 'knob_yaml');
    const { sites, components, config } = regression;
    const ranked = rank({ comparison: compared(readChangedFiles(regression)), sites, components, config });
    for (const [i, { score }] of ranked.entries()) {
      expect(score).toBeGreaterThan(0);
      expect(score).toBeLessThanOrEqual(1);
      expect(score).toBeLessThanOrEqual(ranked[i - 1]?.score ?? 1);
    }
  });
});

async function suspectsOf({ before, after, sites, components, config, total }: Regression): Promise<Suspect[]> {
  const first = repositoryAt(scratch());
  first.commit('before', before);
  const gone = Object.keys(before).filter((path) => !(path in after));
  first.commit('after', { ...Object.fromEntries(gone.map((path) => [path, null])), ...after });
  const repository = await openRepository(first.root, gitEnvironment());
  const comparison = await compareCommits(repository, 'HEAD~1', 'HEAD', isOfInterest(sites));
  return rank({ comparison, sites, components, config, totalDeltaBytes: total });
}

function isPlanted({ key, file, line }: Regression, suspect: Suspect): boolean {
  if (key !== null) return suspect.key === key && suspect.file === file;
  const [, start, lines] = /\+(\d+)(?:,(\d+))?/.exec(suspect.hunk ?? '') ?? [];
  if (suspect.file !== file || start === undefined) return false;
  // Lines that were only taken out lie between two.
  return line >= Number(start) - 1 && line <= Number(start) + Math.max(Number(lines ?? 1), 1);
}

it('planted regressions are found in at least 95 of 100, by the first suspect', async () => {
  const CASES = runs(30, 60);
  const missed: string[] = [];
  for (let seed = 0; seed < CASES; seed += 1) {
    const plant = PLANTS[seed % PLANTS.length]!;
    const regression = plantRegression(seed * 7919 + 1, plant);
    const [first] = await suspectsOf(regression);
    expect(first).toBeDefined();
    if (!isPlanted(regression, first!)) missed.push(`${seed} ${plant}: ${JSON.stringify(first)}`);
  }
  expect(missed.length, missed.join('\n')).toBeLessThanOrEqual(CASES * 0.05);
});
