/** Trains one commit of a repository without checking it out. */

import type { TrainedRun } from '../train/train-tree.js';
import { trainTree } from '../train/train-tree.js';
import type { BuiltRepository } from './build-repository.js';
import { git, gitText } from './git.js';
import { SUBMODULE, type Tree } from './tree.js';

/** The files of a commit as git has them, the submodule's under its path. */
export async function readCommit(repository: BuiltRepository, sha: string): Promise<Tree> {
  const tree: Tree = new Map();
  await readFiles(repository.directory, sha, '', tree);
  const pin = await gitText(repository.directory, ['rev-parse', `${sha}:${SUBMODULE.slice(0, -1)}`]);
  await readFiles(repository.submodule, pin, SUBMODULE, tree);
  return tree;
}

/** Writes the files of the run into `output`. The same commit and attempt give the same run as `launch.sh` in a checkout. */
export async function trainCommit(
  repository: BuiltRepository,
  sha: string,
  attempt: number,
  output: string,
): Promise<TrainedRun> {
  return trainTree(await readCommit(repository, sha), { ...repository.launch, commit: sha, attempt }, output);
}

async function readFiles(directory: string, sha: string, prefix: string, into: Tree): Promise<void> {
  const listing = (await git(directory, ['ls-tree', '-r', '-z', sha])).toString().split('\0').filter(Boolean);
  const blobs = listing.flatMap((line) => {
    const [, type, name, path] = /^\d+ (\w+) (\w+)\t(.*)$/s.exec(line)!;
    return type === 'blob' ? [{ name: name!, path: path! }] : [];
  });
  const contents = await git(directory, ['cat-file', '--batch'], `${blobs.map(({ name }) => name).join('\n')}\n`);
  let at = 0;
  for (const { path } of blobs) {
    const end = contents.indexOf(10, at);
    const size = Number(contents.toString('latin1', at, end).split(' ')[2]);
    into.set(prefix + path, contents.toString('utf8', end + 1, end + 1 + size));
    at = end + 1 + size + 1;
  }
}
