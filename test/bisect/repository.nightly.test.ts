/** Generated repositories, bisected by git with our judge: it finds what was planted. */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { buildRepository } from '../../samples/generate/repository/build-repository.js';
import { sharedBuild } from '../store/scratch.js';
import { buildCli } from '../support/cli.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { expectFound, expectNoSites } from './planted.js';

describe('git bisect run with our judge', () => {
  const work = temporaryDirectory();

  it.each([['oom', 101] as const, ['component', 104] as const])('%s (repository %i)', async (kind, seed) => {
    const directory = mkdtempSync(join(work, 'repository-'));
    const repository = await buildRepository(directory, { kind, seed }, sharedBuild());
    await expectFound(buildCli(), directory, repository);
    await expectNoSites(buildCli(), directory, repository.refactors.slice(0, 1), repository);
  });
});
