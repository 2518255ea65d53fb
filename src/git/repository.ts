/** A repository: where it is, and how to ask it. */
import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { MbfError } from '../model/errors.js';
import { checkRepository } from './check-files.js';
import { type Environment, type GitLimits, type GitOutput, runGit } from './run-git.js';

/** A plain record; nothing is held open. */
export interface Repository {
  /** Absolute: the top of the work tree, or the git directory of a bare repository. */
  readonly root: string;
  /** Absolute; of a linked worktree its own one, where a bisection in it keeps its log. */
  readonly gitDir: string;
  /** What git inherits. */
  readonly environment: Environment;
}

/**
 * The repository that contains a directory.
 *
 * @param environment of the user, for git; variables such as `GIT_DIR`, which hooks set, are kept from pointing
 * elsewhere
 * @throws MbfError MBF1008: the directory does not exist, is outside a repository (or in one git does not trust), or
 * git is missing; MBF2961: git would wait for one of its files, or never finish reading it
 */
export async function openRepository(directory: string, environment: Environment): Promise<Repository> {
  const place = { directory: resolve(directory), environment };
  await checkRepository(place);
  const answer = await runGit(place, ['rev-parse', '--absolute-git-dir']);
  const gitDir = withoutNewline(answer.text);
  if (answer.status !== 0 || gitDir === '') {
    const why = answer.complaint === '' ? '' : `: ${answer.complaint}`;
    throw new MbfError('MBF1008', `no git repository to read${why}`, { file: directory });
  }
  const top = await runGit(place, ['rev-parse', '--show-toplevel']);
  const root = top.status === 0 ? withoutNewline(top.text) : '';
  return {
    root: root === '' ? gitDir : root,
    gitDir: await realpath(gitDir).catch(() => gitDir),
    environment,
  };
}

/** Paths may end in white space of their own. */
const withoutNewline = (text: string): string => (text.endsWith('\n') ? text.slice(0, -1) : text);

/** One call in a known repository; see {@link runGit}. */
export function askGit(
  repository: Repository,
  args: readonly string[],
  limits?: Partial<GitLimits>,
): Promise<GitOutput> {
  const { root, gitDir, environment } = repository;
  return runGit({ directory: root, gitDir, environment }, args, limits);
}

/** The same, for calls that fail only if the repository is damaged, or lacks objects (a partial clone). */
export async function readGit(
  repository: Repository,
  args: readonly string[],
  limits?: Partial<GitLimits>,
): Promise<Pick<GitOutput, 'text' | 'isCut'>> {
  const { status, text, complaint, isCut } = await askGit(repository, args, limits);
  if (status === 0) return { text, isCut };
  throw new MbfError('MBF1008', `git ${args[0]}: ${complaint === '' ? `ended with ${status}` : complaint}`, {
    file: repository.root,
  });
}
