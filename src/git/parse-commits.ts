/** What `git log -z` prints with {@link COMMIT_FORMAT}. */
import type { CommitInBetween } from '../model/git.js';

/** A mark no id begins with, id, parents, author's time, subject. */
export const COMMIT_FORMAT = '--format=%x01%H%x00%P%x00%at%x00%s';

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
