/** The differences between two commits of a repository: files and lines, commits in between, submodules. */

/**
 * One hunk of a diff without context lines. Lines are 1-based; a side without lines has 0 of them, after the line
 * named.
 */
export interface ChangedHunk {
  readonly old_start: number;
  readonly old_lines: number;
  readonly new_start: number;
  readonly new_lines: number;
  /** What git takes for the enclosing function or section (`def forward(self, x):`); empty where it names none. */
  readonly context: string;
  /** Texts of the lines, without their sign. Fewer than counted, or none, where a limit cut them off. */
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

export interface ChangedFile {
  /** Paths relative to the repository (or to the submodule); null where the side does not have the file. */
  readonly old_path: string | null;
  readonly new_path: string | null;
  /** Path of the file's submodule, relative to the repository; empty: the repository itself. */
  readonly submodule: string;
  /** Per cent that git found alike, of renamed and copied files; null for others. */
  readonly similarity: number | null;
  readonly binary: boolean;
  readonly hunks: readonly ChangedHunk[];
}

/** A submodule whose pin differs. */
export interface SubmoduleChange {
  readonly path: string;
  readonly from: string | null;
  readonly to: string | null;
  /** Whether both commits are present in its checkout, so that {@link ChangedFile} entries list the changes inside. */
  readonly is_readable: boolean;
}

export interface CommitInfo {
  readonly sha: string;
  readonly parents: readonly string[];
  readonly subject: string;
  /** Author's time, seconds since 1970. */
  readonly time_s: number;
}

/** A commit between two others, with the paths it touches. */
export interface CommitInBetween extends CommitInfo {
  readonly paths: readonly string[];
}

export interface CommitComparison {
  readonly from: string;
  readonly to: string;
  /** Whether `from` is an ancestor of `to`; if not, `commits` are those of both since they parted. */
  readonly is_ancestor: boolean;
  readonly files: readonly ChangedFile[];
  readonly submodules: readonly SubmoduleChange[];
  /** Newest first. */
  readonly commits: readonly CommitInBetween[];
  /**
   * Set where a limit cut something off: texts of hunks, whole hunks (their files are listed without), or the oldest
   * commits.
   */
  readonly truncated?: boolean;
}

/** One judgement of a bisection. `good` and `bad` whatever words the session uses for them. */
export interface BisectMark {
  readonly mark: 'good' | 'bad' | 'skip';
  readonly sha: string;
}

/** What `git bisect log` has. */
export interface BisectLog {
  /**
   * Words of the session: `old`/`new`, `fast`/`slow`, …; `good` is what the first commits are, `bad` what the last are.
   */
  readonly terms: { readonly good: string; readonly bad: string };
  /** As they were given, the first one first. */
  readonly marks: readonly BisectMark[];
  /** Null while the session goes on, and where it ended with skipped commits only. */
  readonly first_bad: string | null;
  /** Where only skipped commits were left: those of which one is the first bad one. Empty otherwise. */
  readonly possible: readonly string[];
}

/**
 * Commits in between that touch a file, newest first; for a file of a submodule those that change the submodule's pin.
 */
export function commitsTouching(
  commits: readonly CommitInBetween[],
  file: Pick<ChangedFile, 'old_path' | 'new_path' | 'submodule'>,
): CommitInBetween[] {
  const isNested = (path: string): boolean => file.submodule.startsWith(`${path}/`);
  return commits.filter(({ paths }) =>
    file.submodule === ''
      ? paths.some((path) => path === file.new_path || path === file.old_path)
      : // A submodule of a submodule is pinned by a commit of the latter; ours pins that.
        paths.some((path) => path === file.submodule || isNested(path)),
  );
}
