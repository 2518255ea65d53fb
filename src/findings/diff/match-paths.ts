/**
 * Which files of one recording are which of the other. Equal normal paths are the same file. The others pair by the
 * longest common end of their paths that only one file of each side has, if they also share a function. A pair whose
 * beginnings differ as an installation does (all files below changed alike) is the same file; one whose neighbours
 * stayed where they were has moved.
 */

/** Normal path → names of the functions seen in it. */
export type FilesOfSide = ReadonlyMap<string, ReadonlySet<string>>;

export interface PathPair {
  readonly a: string;
  readonly b: string;
  /** `same`: equal, or only installed elsewhere. */
  readonly relation: 'same' | 'moved';
}

/**
 * Every file is in at most one pair; files without a counterpart are in none. Linear in the number of path segments.
 */
export function matchPaths(a: FilesOfSide, b: FilesOfSide): PathPair[] {
  const pairs: PathPair[] = [];
  const restA = new Set<string>();
  const equal: string[] = [];
  for (const path of [...a.keys()].sort()) {
    if (b.has(path)) {
      pairs.push({ a: path, b: path, relation: 'same' });
      equal.push(path);
    } else restA.add(path);
  }
  const restB = new Set([...b.keys()].filter((path) => !a.has(path)).sort());
  const suffixPairs = pairBySuffix(restA, restB, a, b);
  const relation = relationOf(equal, suffixPairs);
  for (const [x, y] of suffixPairs) pairs.push({ a: x, b: y, relation: relation(x, y) });
  return pairs;
}

function pairBySuffix(restA: Set<string>, restB: Set<string>, a: FilesOfSide, b: FilesOfSide): [string, string][] {
  const pairs: [string, string][] = [];
  const longest = Math.min(deepest(restA), deepest(restB));
  for (let length = longest; length >= 1 && restA.size > 0 && restB.size > 0; length -= 1) {
    const endsA = bySuffix(restA, length);
    const endsB = bySuffix(restB, length);
    for (const [end, pathsA] of endsA) {
      const pathsB = endsB.get(end);
      if (pathsA.length !== 1 || pathsB?.length !== 1) continue;
      const [x] = pathsA as [string];
      const [y] = pathsB as [string];
      if (!sharesFunction(a.get(x)!, b.get(y)!)) continue;
      pairs.push([x, y]);
      restA.delete(x);
      restB.delete(y);
    }
  }
  return pairs;
}

const deepest = (paths: ReadonlySet<string>): number =>
  [...paths].reduce((most, path) => Math.max(most, path.split('/').length), 0);

function bySuffix(paths: ReadonlySet<string>, length: number): Map<string, string[]> {
  const ends = new Map<string, string[]>();
  for (const path of paths) {
    // Generated code does not have a place that could have changed.
    if (path.startsWith('<')) continue;
    const segments = path.split('/').filter((segment) => segment !== '');
    if (segments.length < length) continue;
    const end = segments.slice(-length).join('/');
    const known = ends.get(end);
    if (known === undefined) ends.set(end, [path]);
    else known.push(path);
  }
  return ends;
}

function sharesFunction(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  for (const name of a) if (b.has(name)) return true;
  return false;
}

function relationOf(
  equal: readonly string[],
  pairs: readonly (readonly [string, string])[],
): (a: string, b: string) => PathPair['relation'] {
  /** Directories, at any depth, with files that are the same on both sides. */
  const settled = new Set<string>();
  for (const path of equal) for (const directory of directoriesOf(path)) settled.add(directory);
  const votes = new Map<string, number>();
  const mapped = pairs.map(([a, b]) => changedPrefix(a, b));
  for (const { key } of mapped) votes.set(key, (votes.get(key) ?? 0) + 1);
  const bestOfA = new Map<string, number>();
  const bestOfB = new Map<string, number>();
  for (const { from, to, key } of mapped) {
    bestOfA.set(from, Math.max(bestOfA.get(from) ?? 0, votes.get(key)!));
    bestOfB.set(to, Math.max(bestOfB.get(to) ?? 0, votes.get(key)!));
  }
  return (a, b) => {
    const ownPrefix = changedPrefix(a, b);
    if (ownPrefix.common !== undefined && settled.has(ownPrefix.common)) return 'moved';
    const mine = votes.get(ownPrefix.key)!;
    const better =
      directoriesOf(a).some((directory) => (bestOfA.get(directory) ?? 0) > mine) ||
      directoriesOf(b).some((directory) => (bestOfB.get(directory) ?? 0) > mine);
    return better ? 'moved' : 'same';
  };
}

interface ChangedPrefix {
  readonly from: string;
  readonly to: string;
  readonly key: string;
  /** Directory that both are in, if it can be inside one checkout: `/opt` and a home directory are not. */
  readonly common: string | undefined;
}

function changedPrefix(a: string, b: string): ChangedPrefix {
  const x = a.split('/');
  const y = b.split('/');
  let end = 0;
  while (end < Math.min(x.length, y.length) - 1 && x.at(-1 - end) === y.at(-1 - end)) end += 1;
  const from = x.slice(0, x.length - end);
  const to = y.slice(0, y.length - end);
  let start = 0;
  while (start < Math.min(from.length, to.length) && from[start] === to[start]) start += 1;
  const least = a.startsWith('/') ? 4 : 1;
  return {
    from: from.join('/'),
    to: to.join('/'),
    key: `${from.join('/')}\0${to.join('/')}`,
    common: start >= least ? x.slice(0, start).join('/') : undefined,
  };
}

function directoriesOf(path: string): string[] {
  const directories: string[] = [];
  for (let at = path.lastIndexOf('/'); at >= 0; at = path.lastIndexOf('/', at - 1)) {
    directories.push(path.slice(0, at));
    if (at === 0) break;
  }
  return directories;
}
