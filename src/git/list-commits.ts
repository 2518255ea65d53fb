/** All commits of a repository in the order of its history. */
import { MbfError } from '../model/errors.js';
import type { CommitParents } from '../model/results/history.js';
import { MIB } from '../model/units.js';
import { type Repository, readGit } from './repository.js';

/** Some 80 bytes a commit: the Linux kernel, with a million of them, stays below a fifth of this. */
const MOST_BYTES = 512 * MIB;

/**
 * What HEAD and any branch or tag reaches, oldest first: parents before their children, and each line of development in
 * one piece. Of a shallow clone as far back as it goes.
 *
 * @throws MbfError MBF1008 if the repository is damaged, or too large
 */
export async function listCommits(repository: Repository): Promise<CommitParents[]> {
  const args = ['rev-list', '--topo-order', '--reverse', '--parents', '--all'];
  const { text, isCut } = await readGit(repository, args, { bytes: MOST_BYTES });
  if (isCut) throw new MbfError('MBF1008', 'its history is too long to be read', { file: repository.root });
  const commits: CommitParents[] = [];
  for (const line of text.split('\n')) {
    const [sha, ...parents] = line.split(' ');
    if (sha !== undefined && sha !== '') commits.push({ sha, parents });
  }
  return commits;
}
