/** Where the history of a submodule is: in its checkout, or where git keeps it for checkouts to come. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { MbfError } from '../model/errors.js';
import { askGit, openRepository, type Repository } from './repository.js';
import { hasCommit } from './resolve-revision.js';

/** Paths and names come out of commits: none of them may lead outside. */
const isInside = (path: string): boolean => path !== '' && !path.startsWith('/') && !path.split(/[\\/]/).includes('..');

/**
 * The first place that has both commits; undefined if none has.
 *
 * @param commits of the repository, whose `.gitmodules` contain the submodule's name
 */
export async function findSubmodule(
  repository: Repository,
  path: string,
  pins: readonly string[],
  commits: readonly string[],
): Promise<Repository | undefined> {
  if (!isInside(path)) return undefined;
  for await (const candidate of candidates(repository, path, commits)) {
    const known = await Promise.all(pins.map((pin) => hasCommit(candidate, pin)));
    if (known.every(Boolean)) return candidate;
  }
  return undefined;
}

async function* candidates(
  repository: Repository,
  path: string,
  commits: readonly string[],
): AsyncGenerator<Repository> {
  const checkout = join(repository.root, path);
  // Without this git would find the repository around it.
  if (existsSync(join(checkout, '.git'))) {
    try {
      yield await openRepository(checkout, repository.environment);
    } catch (error) {
      // A checkout whose repository is gone, or is not to be trusted: there may be another place.
      if (!(error instanceof MbfError)) throw error;
    }
  }
  const { text } = await askGit(repository, ['rev-parse', '--git-common-dir']);
  const homes = new Set([repository.gitDir, resolve(repository.root, text.trim())]);
  const names = new Set([path]);
  for (const commit of commits) for (const name of await namesOf(repository, path, commit)) names.add(name);
  for (const home of homes) {
    for (const name of names) {
      const gitDir = join(home, 'modules', name);
      if (existsSync(join(gitDir, 'HEAD'))) yield { ...repository, root: gitDir, gitDir };
    }
  }
}

async function namesOf(repository: Repository, path: string, commit: string): Promise<string[]> {
  const args = ['config', '--blob', `${commit}:.gitmodules`, '-z', '--get-regexp', '^submodule\\..*\\.path$'];
  const { status, text } = await askGit(repository, args);
  if (status !== 0) return [];
  return text.split('\0').flatMap((entry) => {
    const [key, value] = entry.split('\n');
    const name = key?.slice('submodule.'.length, -'.path'.length) ?? '';
    return value === path && isInside(name) ? [name] : [];
  });
}
