/** Where the history of a submodule is: in its checkout, or where git keeps it for checkouts to come. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { MbfError } from '../model/errors.js';
import { MIB } from '../model/units.js';
import { checkGitDirectory } from './check-files.js';
import { askGit, openRepository, type Repository } from './repository.js';
import { hasCommit } from './resolve-revision.js';

/** Paths and names come out of commits: none of them may lead outside. */
const isInside = (path: string): boolean => path !== '' && !path.startsWith('/') && !path.split(/[\\/]/).includes('..');

/** Of a repository, for any of its submodules. */
interface Places {
  /** Git directories that may keep histories. */
  readonly homes: ReadonlySet<string>;
  /** Names by path. */
  readonly names: ReadonlyMap<string, ReadonlySet<string>>;
}

/** The first place that has all `pins`; undefined if none has. */
export type FindSubmodule = (path: string, pins: readonly string[]) => Promise<Repository | undefined>;

/** @param commits of the repository, whose `.gitmodules` contain the names of submodules */
export function submoduleFinder(repository: Repository, commits: readonly string[]): FindSubmodule {
  let places: Promise<Places> | undefined;
  return async (path, pins) => {
    if (!isInside(path)) return undefined;
    places ??= placesOf(repository, commits);
    for await (const candidate of candidates(repository, path, await places)) {
      const known = await Promise.all(pins.map((pin) => hasCommit(candidate, pin)));
      if (known.every(Boolean)) return candidate;
    }
    return undefined;
  };
}

async function* candidates(repository: Repository, path: string, places: Places): AsyncGenerator<Repository> {
  const { environment } = repository;
  const checkout = join(repository.root, path);
  // Without this git would find the repository around it.
  if (existsSync(join(checkout, '.git'))) {
    const opened = await unlessRefused(() => openRepository(checkout, environment));
    if (opened !== undefined) yield opened;
  }
  for (const home of places.homes) {
    for (const name of new Set([path, ...(places.names.get(path) ?? [])])) {
      const gitDir = join(home, 'modules', name);
      if (!existsSync(join(gitDir, 'HEAD'))) continue;
      const inside = { root: gitDir, gitDir, environment };
      const checked = await unlessRefused(async () => {
        await checkGitDirectory({ directory: gitDir, gitDir, environment });
        return inside;
      });
      if (checked !== undefined) yield checked;
    }
  }
}

/** A checkout whose repository is gone, or is not to be trusted: there may be another place. */
async function unlessRefused<Opened>(open: () => Promise<Opened>): Promise<Opened | undefined> {
  try {
    return await open();
  } catch (error) {
    if (error instanceof MbfError) return undefined;
    throw error;
  }
}

async function placesOf(repository: Repository, commits: readonly string[]): Promise<Places> {
  const { text } = await askGit(repository, ['rev-parse', '--git-common-dir']);
  const names = new Map<string, Set<string>>();
  for (const commit of commits) {
    for (const [path, name] of await namesOf(repository, commit))
      names.set(path, (names.get(path) ?? new Set<string>()).add(name));
  }
  return { homes: new Set([repository.gitDir, resolve(repository.root, text.trim())]), names };
}

/** Paths and names in the `.gitmodules` of a commit. It could include any file of this machine. */
async function namesOf(repository: Repository, commit: string): Promise<(readonly [string, string])[]> {
  const blob = ['--no-includes', '--blob', `${commit}:.gitmodules`];
  const args = ['config', ...blob, '-z', '--get-regexp', '^submodule\\..*\\.path$'];
  const { status, text } = await askGit(repository, args, { bytes: MIB });
  if (status !== 0) return [];
  return text.split('\0').flatMap((entry) => {
    const [key, value] = entry.split('\n');
    const name = key?.slice('submodule.'.length, -'.path'.length) ?? '';
    return value !== undefined && isInside(name) ? [[value, name] as const] : [];
  });
}
