/** What two commits differ in, submodules included, and the commits in between. */

import type { ChangedFile, CommitComparison, SubmoduleChange } from '../model/git.js';
import { pushAll } from '../model/lists.js';
import { commitsBetween, isAncestor } from './commits.js';
import { submoduleFinder } from './find-submodule.js';
import { type DiffEntry, MOST_HUNK_LINES, parseDiff } from './parse-diff.js';
import { type Repository, readGit } from './repository.js';
import { resolveRevision } from './resolve-revision.js';

/** Submodules of submodules are followed so far, */
const MOST_NESTING = 3;
/** and so many submodules in all: each takes some calls of git. Chromium has 200. */
const MOST_SUBMODULES = 500;

const DIFF = [
  ...['diff-tree', '-r', '--raw', '--patch', '--unified=0', '--inter-hunk-context=0'],
  ...['--no-abbrev', '--find-renames', '-l1000', '--diff-algorithm=histogram', '--ignore-submodules=none'],
  ...['--submodule=short', '--src-prefix=a/', '--dst-prefix=b/', '--no-color', '--no-ext-diff', '--no-textconv'],
];

/**
 * Files with their hunks, renames found, without lines of context; pins of submodules, and the files inside where their
 * history is at hand. `truncated` is set where the diff exceeds 64 MiB or 200,000 lines, or there are more than 5,000
 * commits or 500 changed submodules; files over 4 MiB count as binary.
 *
 * @param isFirst files whose lines are kept before all others, should there be too many; by their path in the
 * repository or submodule
 * @throws MbfError MBF1008: a revision is unknown, or objects are missing (a partial clone: nothing is fetched)
 */
export async function compareCommits(
  repository: Repository,
  from: string,
  to: string,
  isFirst?: (path: string) => boolean,
): Promise<CommitComparison> {
  const [first, last] = await Promise.all([resolveRevision(repository, from), resolveRevision(repository, to)]);
  const isStraight = await isAncestor(repository, first, last);
  const budget = { lines: MOST_HUNK_LINES, submodules: MOST_SUBMODULES, isCut: false, isFirst };
  const [difference, between] = await Promise.all([
    differenceOf(repository, '', first, last, budget, 0),
    commitsBetween(repository, first, last, !isStraight),
  ]);
  return {
    from: first,
    to: last,
    is_ancestor: isStraight,
    files: difference.files,
    submodules: difference.submodules,
    commits: between.commits,
    ...(difference.isCut || between.isCut ? { truncated: true } : {}),
  };
}

/** Shared by the repository and its submodules. */
interface Budget {
  lines: number;
  submodules: number;
  isCut: boolean;
  readonly isFirst: ((path: string) => boolean) | undefined;
}

interface Difference {
  readonly files: readonly ChangedFile[];
  readonly submodules: readonly SubmoduleChange[];
  readonly isCut: boolean;
}

async function differenceOf(
  repository: Repository,
  prefix: string,
  from: string,
  to: string,
  budget: Budget,
  depth: number,
): Promise<Difference> {
  const { text, isCut } = await readGit(repository, [...DIFF, from, to, '--']);
  const parsed = parseDiff(text, isCut, budget.lines, budget.isFirst);
  budget.isCut ||= parsed.isCut;
  for (const file of parsed.files) {
    for (const hunk of file.hunks) budget.lines -= hunk.removed.length + hunk.added.length;
  }
  const files: ChangedFile[] = [];
  const submodules: SubmoduleChange[] = [];
  const findSubmodule = submoduleFinder(repository, [to, from]);
  for (const entry of parsed.files) {
    const file = fileOf(entry, prefix);
    if (file !== undefined) files.push(file);
    const pins = pinsOf(entry);
    if (pins === undefined) continue;
    const path = entry.new_path ?? entry.old_path!;
    const known = [pins.from, pins.to].filter((pin) => pin !== null);
    const isFollowed = known.length === 2 && depth < MOST_NESTING && budget.submodules > 0;
    budget.submodules -= 1;
    budget.isCut ||= budget.submodules < 0;
    const inside = isFollowed ? await findSubmodule(path, known) : undefined;
    const fullPath = prefix === '' ? path : `${prefix}/${path}`;
    submodules.push({ path: fullPath, ...pins, is_readable: inside !== undefined });
    if (inside === undefined) continue;
    const nested = await differenceOf(inside, fullPath, pins.from!, pins.to!, budget, depth + 1);
    pushAll(files, nested.files);
    pushAll(submodules, nested.submodules);
  }
  return { files, submodules, isCut: budget.isCut };
}

const SUBMODULE = '160000';

/** A submodule in place of a file, or the other way round, is a file taken out or put in besides. */
function fileOf(entry: DiffEntry, submodule: string): ChangedFile | undefined {
  const { similarity, binary, hunks } = entry;
  const old_path = entry.old_mode === SUBMODULE ? null : entry.old_path;
  const new_path = entry.new_mode === SUBMODULE ? null : entry.new_path;
  if (old_path === null && new_path === null) return undefined;
  const isMixed = entry.old_mode === SUBMODULE || entry.new_mode === SUBMODULE;
  return { old_path, new_path, submodule, similarity, binary, hunks: isMixed ? [] : hunks };
}

function pinsOf(entry: DiffEntry): Pick<SubmoduleChange, 'from' | 'to'> | undefined {
  const from = entry.old_mode === SUBMODULE ? entry.old_id : null;
  const to = entry.new_mode === SUBMODULE ? entry.new_id : null;
  return from === null && to === null ? undefined : { from, to };
}
