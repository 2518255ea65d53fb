/**
 * Which changed file contains a frame. A frame's file is absolute (`/opt/megatron-lm/megatron/core/x.py`) or begins at
 * its package; a repository's path may begin before it (`src/`, `3rdparty/Megatron-LM/`). The longest common end
 * decides: at least file and directory. If neither path is wholly the end of the other, other packages of a similar
 * layout (`utils/utils.py`) are not matched.
 */
import type { ChangedFile } from '../../model/git.js';
import { getOrAdd } from '../../model/group-by.js';
import { normalPath } from '../stacks/normal-path.js';

export interface FileMatch {
  /** Index into the given list. */
  readonly file: number;
  /** How sure, above 0 and up to 1. */
  readonly strength: number;
}

interface Candidate {
  readonly file: number;
  /** From the end: file name first. */
  readonly segments: readonly string[];
  /** Within the submodule, or without `src/` and the like, where that is shorter. */
  readonly inner: number;
}

export type FileMatcher = (filename: string) => readonly FileMatch[];

/** Directories in which a repository keeps its packages. */
const PACKAGE_ROOTS: ReadonlySet<string> = new Set(['src', 'lib', 'python', 'source']);

/** @param side of which commit the frames are */
export function fileMatcher(files: readonly ChangedFile[], side: 'old' | 'new'): FileMatcher {
  const byName = new Map<string, Candidate[]>();
  files.forEach((file, index) => {
    const path = side === 'new' ? file.new_path : file.old_path;
    if (path === null) return;
    const reversedPath = path.split('/').reverse();
    const segments = [...reversedPath, ...file.submodule.split('/').filter(Boolean).reverse()];
    const inner =
      PACKAGE_ROOTS.has(reversedPath.at(-1)!) && reversedPath.length > 1
        ? reversedPath.length - 1
        : reversedPath.length;
    getOrAdd(byName, reversedPath[0]!, () => []).push({ file: index, segments, inner });
  });
  const known = new Map<string, readonly FileMatch[]>();
  return (filename) => getOrAdd(known, filename, () => matchesOf(normalPath(filename), byName));
}

function matchesOf(path: string, byName: ReadonlyMap<string, readonly Candidate[]>): readonly FileMatch[] {
  if (path.startsWith('<')) return [];
  const isAbsolute = path.startsWith('/');
  const segments = path.split('/').filter(Boolean).reverse();
  let longest = 0;
  let matches: FileMatch[] = [];
  for (const candidate of byName.get(segments[0] ?? '') ?? []) {
    const common = commonLength(segments, candidate.segments);
    const strength = strengthOf(common, segments.length, candidate, isAbsolute);
    if (strength === 0 || common < longest) continue;
    if (common > longest) matches = [];
    longest = common;
    matches.push({ file: candidate.file, strength });
  }
  // Several files match equally well.
  return matches.length > 1 ? matches.map(({ file, strength }) => ({ file, strength: strength * 0.6 })) : matches;
}

function strengthOf(common: number, frame: number, { segments, inner }: Candidate, isAbsolute: boolean): number {
  const isWhole = common >= Math.min(frame, inner);
  if (common === 1) {
    // A script at the top of the repository, or one that was started by its bare name.
    if (inner === 1 && isAbsolute) return 0.8;
    return frame === 1 ? (segments.length === 1 ? 1 : 0.6) : 0;
  }
  if (isWhole) return 1;
  // Installed packages are named from their top: another end is another package.
  if (!isAbsolute) return 0;
  return common >= 3 ? 0.85 : 0.5;
}

function commonLength(a: readonly string[], b: readonly string[]): number {
  let length = 0;
  while (length < Math.min(a.length, b.length) && a[length] === b[length]) length += 1;
  return length;
}
