/** Commits: one, whether one contains another, those between two, those a bisection has left. */
import { MbfError } from '../model/errors.js';
import type { CommitInBetween, CommitInfo } from '../model/git.js';
import { askGit, type Repository, readGit } from './repository.js';
import { resolveRevision } from './resolve-revision.js';

/** Commits that are read at once. */
export const MOST_COMMITS = 5_000;

/** A mark no id begins with, id, parents, author's time, subject. */
const COMMIT_FORMAT = '--format=%x01%H%x00%P%x00%at%x00%s';

const LOG = [
  ...['log', '-z', COMMIT_FORMAT, '--encoding=UTF-8', '--no-color', '--no-decorate'],
  // `-G` would read files through the `diff.NAME.textconv` command of a repository.
  ...['--no-ext-diff', '--no-textconv'],
];

/** @throws MbfError MBF1008 for an unknown revision */
export async function readCommit(repository: Repository, revision: string): Promise<CommitInfo> {
  const sha = await resolveRevision(repository, revision);
  const { text } = await readGit(repository, [...LOG, '--no-patch', '--max-count=1', sha]);
  const commit = parseCommits(text)[0];
  if (commit === undefined) throw new MbfError('MBF1008', `commit ${sha} cannot be read`, { file: repository.root });
  return withoutPaths(commit);
}

/** Whether `b` is `a` or was made on top of it. @throws MbfError MBF1008 for an unknown revision */
export async function isAncestor(repository: Repository, a: string, b: string): Promise<boolean> {
  const [first, second] = await Promise.all([resolveRevision(repository, a), resolveRevision(repository, b)]);
  const { status, complaint } = await askGit(repository, ['merge-base', '--is-ancestor', first, second]);
  if (status === 0 || status === 1) return status === 0;
  throw new MbfError('MBF1008', `git merge-base: ${complaint}`, { file: repository.root });
}

/**
 * Commits of `to` that `from` has not, and, where `both`, the other way round; newest first, parents never before their
 * children. A merge touches only what differs from all of its parents.
 *
 * @param from, to ids
 */
export async function commitsBetween(
  repository: Repository,
  from: string,
  to: string,
  both: boolean,
): Promise<{ readonly commits: CommitInBetween[]; readonly isCut: boolean }> {
  const args = [
    ...LOG,
    '--date-order',
    `--max-count=${MOST_COMMITS + 1}`,
    // Both names of a renamed file are touched.
    ...['--name-only', '-c', '--no-renames', '--ignore-submodules=none'],
    both ? `${from}...${to}` : `${from}..${to}`,
    '--',
  ];
  const { text, isCut } = await readGit(repository, args);
  const commits = parseCommits(text, isCut);
  return { commits: commits.slice(0, MOST_COMMITS), isCut: isCut || commits.length > MOST_COMMITS };
}

/**
 * Commits that a bisection has not cleared: `bad` and its ancestors, without those of any `good`. Newest first, parents
 * never before their children; with the first commit of a finished bisection as `bad` and its parents as `good` this is
 * that commit alone.
 *
 * @param bad, good ids
 */
export async function suspectCommits(
  repository: Repository,
  bad: string,
  good: readonly string[],
): Promise<CommitInfo[]> {
  const args = [...LOG, '--no-patch', '--topo-order', bad, ...good.map((sha) => `^${sha}`), '--'];
  const { text, isCut } = await readGit(repository, args);
  return parseCommits(text, isCut).map(withoutPaths);
}

/**
 * Commits of `to` that `from` has not, and whose changed lines match a regular expression; newest first.
 *
 * @param pattern as `git log -G` takes it
 */
export async function commitsTouching(
  repository: Repository,
  from: string,
  to: string,
  pattern: string,
): Promise<CommitInfo[]> {
  const args = [...LOG, '--no-patch', `-G${pattern}`, `${from}..${to}`, '--'];
  const { text, isCut } = await readGit(repository, args);
  return parseCommits(text, isCut).map(withoutPaths);
}

function withoutPaths({ sha, parents, subject, time_s }: CommitInBetween): CommitInfo {
  return { sha, parents, subject, time_s };
}

const ID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const isBeginning = (field: string): boolean => field.startsWith('\u0001') && ID.test(field.slice(1));

/**
 * Commits in the order printed. With `--name-only` their paths follow each: git puts a line break before the first
 * path, which does not belong to it. A commit that the output ends within is left out if `isCut`.
 */
export function parseCommits(text: string, isCut = false): CommitInBetween[] {
  const commits: { -readonly [K in keyof CommitInBetween]: CommitInBetween[K] }[] = [];
  const fields = text.split('\0');
  for (let at = 0; at + 3 < fields.length; ) {
    if (!isBeginning(fields[at]!)) {
      at += 1;
      continue;
    }
    const [mark, parents, time, subject] = fields.slice(at, at + 4) as [string, string, string, string];
    at += 4;
    const paths: string[] = [];
    for (; at < fields.length && !isBeginning(fields[at]!); at += 1) {
      const path = paths.length === 0 ? fields[at]!.replace(/^\n/, '') : fields[at]!;
      if (path !== '') paths.push(path);
    }
    commits.push({
      sha: mark.slice(1),
      parents: parents.split(' ').filter((id) => id !== ''),
      subject,
      time_s: Number(time),
      paths,
    });
  }
  if (isCut) commits.pop();
  return commits;
}
