/**
 * Real bisections of generated repositories, each with one planted commit: whether it is found, and whether its hunk or
 * setting comes first.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type BuiltRepository, buildRepository } from '../../samples/generate/repository/build-repository.js';
import type { RepositoryKind } from '../../samples/generate/repository/facts.js';
import { packageRoot } from '../../src/store/load-queries.js';
import type { BenchContext, Case } from '../case.js';
import type { Sample } from '../measure.js';
import { type Bisected, bisectPlanted } from '../planted-bisection.js';
import type { Group } from '../report.js';

const KINDS: readonly RepositoryKind[] = ['oom', 'memory', 'throughput', 'component'];
const SKIPPED_NEIGHBOURS = 3;
/** In a run of all cases. */
const SMALL = 4;
/** The tests have others. */
const FIRST_SEED = 101;
const BISECT = 'git bisect run, with its launches';

interface Found extends Bisected {
  readonly repository: BuiltRepository;
}

export const bisectCase: Case = {
  name: 'bisect',
  async *run(context) {
    for (const asked of context.events) {
      const count = asked > 1000 ? SMALL : asked;
      const plain = [];
      for (let i = 0; i < count; i += 1)
        plain.push(await bisectSeed(context, KINDS[i % KINDS.length]!, FIRST_SEED + i, false));
      yield group(`${count} repositories of 40 commits`, plain);
      const skipped = [];
      for (let i = 0; i < (asked > 1000 ? 1 : SKIPPED_NEIGHBOURS); i += 1)
        skipped.push(await bisectSeed(context, KINDS[(i + 1) % KINDS.length]!, FIRST_SEED + i, true));
      yield group(`${skipped.length} repositories whose planted commit has neighbours that cannot be judged`, skipped);
    }
  },
};

async function bisectSeed(
  context: BenchContext,
  kind: RepositoryKind,
  seed: number,
  skippedNeighbour: boolean,
): Promise<Found> {
  const directory = await mkdtemp(join(context.directory, 'bisect-'));
  try {
    const dist = join(packageRoot(), 'dist');
    const repository = await buildRepository(directory, { kind, seed, skippedNeighbour }, dist);
    const script = join(dist, 'src', 'cli', 'main.js');
    const bisected = { ...(await bisectPlanted(directory, repository, { script })), repository };
    context.progress(
      `${kind} ${seed}: ${isRight(bisected) ? 'right' : 'WRONG'}${bisected.hasSuspect ? '' : ', suspect missed'}\n`,
    );
    return bisected;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** The planted commit, or the set that git reports, and no other commit blamed or cleared on the way. */
function isRight({ repository, report, firstBad, left, blamed, cleared }: Found): boolean {
  const { expectedSuspects, planted } = repository;
  if (blamed.length > 0 || cleared.length > 0) return false;
  if (expectedSuspects.length === 1) return firstBad === planted.sha && report.culprit?.sha === planted.sha;
  const names = (shas: readonly string[]): string => [...shas].sort().join(' ');
  const reportedSuspects = report.suspects_left.map(({ sha }) => sha);
  return names(left) === names(expectedSuspects) && names(reportedSuspects) === names(expectedSuspects);
}

function group(title: string, all: readonly Found[]): Group {
  const samples = new Map<string, readonly Sample[]>([
    [BISECT, all.map(({ seconds }) => ({ seconds, peakRssBytes: null }))],
  ]);
  const count = (of: (found: Found) => boolean): string => `${all.filter(of).length} of ${all.length}`;
  const missed = all.filter((found) => !found.hasSuspect || !isRight(found));
  return {
    case: 'bisect',
    title,
    baselines: [],
    samples,
    work: {},
    bars: {},
    notes: [
      `${count(isRight)} right; ${count(({ blamed }) => blamed.length === 0)} without a commit blamed that is not to blame`,
      `${count(({ hasSuspect }) => hasSuspect)} with the planted hunk or setting as the first suspect`,
      ...missed.map(({ repository: { criterion, planted }, report }) => {
        const first = report.suspects[0];
        const place = `${planted.file} line ${planted.line}`;
        const suspect = `${first?.file ?? 'none'} ${first?.key ?? first?.hunk ?? ''}`;
        return `missed: ${criterion} ${planted.regression.name} (${place}); first suspect: ${suspect}`;
      }),
    ],
  };
}
