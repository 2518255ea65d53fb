/** From path arguments to the files worth opening. Opens nothing: names, types and sizes only. */

import type { BigIntStats, Dirent } from 'node:fs';
import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import { basename, join, relative, sep } from 'node:path';
import { MbfError } from '../../model/errors.js';
import { groupBy } from '../../model/group-by.js';
import { pushAll } from '../../model/lists.js';
import { skipRuleFor } from './skip-rules.js';
import { type TableFolder, tableFolder } from './table-folder.js';

/** A regular file to look into. */
export interface Candidate {
  /** Real path: links resolved, so the same bytes always carry the same name. */
  readonly path: string;
  /** Relative to the argument, `/` between segments; the base name if the argument is the file itself. */
  readonly displayPath: string;
  /** The path argument as given. */
  readonly root: string;
  /** The argument is this very file: it must be usable, while a file met on a walk may turn out to be anything. */
  readonly isNamed: boolean;
  readonly sizeBytes: number;
  readonly mtimeMs: number;
  /**
   * Set if this is a folder that is one input: the names of the files in it that are, sorted. `sizeBytes` is their sum.
   */
  readonly files?: readonly string[] | undefined;
}

/** What a walk passed over, summed up per argument and rule: a checkpoint has 10⁵ shards and one reason. */
export interface Skipped {
  readonly root: string;
  /**
   * Id of the skip rule, or `hidden`, `special`, `broken-link`, `outward-link`, {@link NOT_FOLLOWED}, `duplicate`,
   * `excluded`, `too-deep`, `vanished`.
   */
  readonly rule: string;
  readonly why: string;
  /** Files, links and whole directories; what a skipped directory holds is not counted. */
  readonly count: number;
  /** The first few, in walking order. */
  readonly examples: readonly string[];
}

/** Something that could not even be looked at. */
export interface FailedEntry {
  readonly root: string;
  readonly displayPath: string;
  readonly error: MbfError;
}

export interface Discovery {
  /** By argument, then by displayPath (code unit order). */
  readonly candidates: readonly Candidate[];
  readonly skipped: readonly Skipped[];
  readonly failed: readonly FailedEntry[];
}

export interface DiscoverOptions {
  /** Paths a walk must not return: the store being written. Compared as real paths. */
  readonly exclude?: readonly string[];
  /** Whether links out of the argument are followed. */
  readonly followLinks?: boolean | undefined;
}

/** The rule of links out of a directory. Their examples are `LINK -> TARGET`, and more of them are given. */
export const NOT_FOLLOWED = 'not-followed';

/** Deeper than any run directory; bind mounts can nest without a link to notice. */
const MAX_DEPTH = 64;
const MAX_EXAMPLES = 3;
const MAX_LINKS = 20;

/**
 * Walks the arguments in order. Each argument is one run, so a file is returned once per argument even if links or hard
 * links lead to it several times; real entries are preferred to links. An argument may be a link. Links met on a walk
 * are followed below the argument only, unless `followLinks`: a directory of another user must not bring files of the
 * reader into a store that is then passed on. Never followed are those to a directory that contains the argument
 * (`up -> ..` would walk the whole machine).
 *
 * @throws {MbfError} MBF1003 if an argument does not exist or is neither a file nor a directory, MBF2007 if it cannot
 * be looked at.
 */
export async function discover(paths: readonly string[], options: DiscoverOptions = {}): Promise<Discovery> {
  const excluded = new Set<string>();
  for (const path of options.exclude ?? []) excluded.add(await realpath(path).catch(() => path));

  const candidates: Candidate[] = [];
  const skipped: Skipped[] = [];
  const failed: FailedEntry[] = [];
  for (const root of paths) {
    const { path, stats } = await resolveArgument(root);
    if (stats.isDirectory()) {
      const walk = await walkDirectory(root, path, identity(stats), excluded, options.followLinks === true);
      pushAll(candidates, walk.candidates);
      pushAll(skipped, walk.skipped);
      pushAll(failed, walk.failed);
    } else if (stats.isFile()) {
      candidates.push(candidate(path, basename(root), root, true, stats));
    } else {
      // Opening a pipe without a writer would hang, and a device may never end.
      throw new MbfError('MBF1003', `is ${specialKind(stats)}, neither a file nor a directory`, { file: root });
    }
  }
  return { candidates: withDirectories(candidates), skipped, failed };
}

/** Where names of several roots collide, with as many directories above them as make them differ. */
function withDirectories(candidates: readonly Candidate[]): Candidate[] {
  let named = [...candidates];
  for (let above = 1; above <= MAX_DEPTH; above += 1) {
    const counts = groupBy(named, ({ displayPath }) => displayPath);
    if (counts.size === named.length) return named;
    named = named.map((one, i) => {
      if (counts.get(one.displayPath)!.length === 1) return one;
      const { displayPath, path } = candidates[i]!;
      const parts = path.slice(0, -displayPath.length - 1).split('/');
      return { ...one, displayPath: [...parts.slice(-above), displayPath].join('/') };
    });
  }
  return named;
}

async function resolveArgument(root: string): Promise<{ path: string; stats: BigIntStats }> {
  try {
    const path = await realpath(root);
    return { path, stats: await stat(path, { bigint: true }) };
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      throw new MbfError('MBF1003', 'no such file or directory', { file: root }, error);
    }
    throw unreadable(root, error);
  }
}

interface Pending {
  readonly path: string;
  readonly displayPath: string;
  readonly depth: number;
}

async function walkDirectory(
  root: string,
  rootPath: string,
  rootIdentity: string,
  excluded: ReadonlySet<string>,
  followLinks: boolean,
): Promise<Discovery> {
  const candidates: Candidate[] = [];
  const failed: FailedEntry[] = [];
  const skipped = new Map<string, { rule: string; why: string; count: number; examples: string[] }>();
  const seen = new Set([rootIdentity]);
  const directories: Pending[] = [{ path: rootPath, displayPath: '', depth: 0 }];
  /** Links wait until everything real has been seen: `latest -> run_042` must not rename the files of run_042. */
  const links: Pending[] = [];

  function skip(displayPath: string, rule: string, why: string): void {
    const group = skipped.get(rule) ?? { rule, why, count: 0, examples: [] };
    group.count += 1;
    if (group.examples.length < (rule === NOT_FOLLOWED ? MAX_LINKS : MAX_EXAMPLES)) group.examples.push(displayPath);
    skipped.set(rule, group);
  }

  function visit(entry: Pending, path: string, stats: BigIntStats): void {
    const { displayPath, depth } = entry;
    if (!stats.isDirectory() && !stats.isFile()) {
      skip(displayPath, 'special', 'a pipe, socket or device; never opened');
    } else if (excluded.has(path)) {
      skip(displayPath, 'excluded', 'the store being written');
    } else if (seen.has(identity(stats))) {
      skip(displayPath, 'duplicate', 'another name of something already found');
    } else if (stats.isDirectory() && depth > MAX_DEPTH) {
      skip(displayPath, 'too-deep', `more than ${MAX_DEPTH} directories deep`);
    } else {
      seen.add(identity(stats));
      if (stats.isDirectory()) directories.push({ path, displayPath, depth });
      else candidates.push(candidate(path, displayPath, root, false, stats));
    }
  }

  function fail(displayPath: string, error: unknown): void {
    if (errnoOf(error) === 'ENOENT' && !displayPath.includes('\ufffd')) {
      skip(displayPath, 'vanished', 'gone before it could be looked at');
    } else {
      failed.push({ root, displayPath, error: unreadable(displayPath === '' ? root : join(root, displayPath), error) });
    }
  }

  async function list(directory: Pending): Promise<void> {
    let entries: Dirent[];
    try {
      entries = await readdir(directory.path, { withFileTypes: true });
    } catch (error) {
      fail(directory.displayPath, error);
      return;
    }
    entries.sort((a, b) => compare(a.name, b.name));
    const folder = tableFolder(
      entries.map(({ name }) => name),
      basename(directory.path),
    );
    const taken = folder !== undefined && (await takeFolder(directory, folder)) ? folder.files : [];
    for (const dirent of entries) {
      if (taken.includes(dirent.name)) continue;
      const displayPath = directory.displayPath === '' ? dirent.name : `${directory.displayPath}/${dirent.name}`;
      const entry: Pending = { path: join(directory.path, dirent.name), displayPath, depth: directory.depth + 1 };
      const rule = skipRuleFor(dirent.name, dirent.isDirectory() ? 'directory' : 'file');
      if (rule !== undefined) {
        skip(displayPath, rule.id, rule.why);
        continue;
      }
      try {
        // Not the dirent's own type: some network file systems report every entry as unknown.
        const stats = await lstat(entry.path, { bigint: true });
        const late = stats.isDirectory() && !dirent.isDirectory() ? skipRuleFor(dirent.name, 'directory') : undefined;
        if (late !== undefined) skip(displayPath, late.id, late.why);
        else if (stats.isSymbolicLink()) links.push(entry);
        else visit(entry, entry.path, stats);
      } catch (error) {
        fail(displayPath, error);
      }
    }
  }

  /** A folder that is one input as a whole; false if it is none after all. */
  async function takeFolder(directory: Pending, folder: TableFolder): Promise<boolean> {
    const displayPath = directory.displayPath === '' ? basename(directory.path) : directory.displayPath;
    if (folder.refusal !== undefined) {
      if (directory.depth === 0) failed.push({ root, displayPath, error: new MbfError('MBF2003', folder.refusal) });
      else skip(displayPath, 'nsys-arrow', folder.refusal);
      return true;
    }
    const files: string[] = [];
    let sizeBytes = 0;
    let mtimeMs = 0;
    for (const name of folder.files) {
      const stats = await lstat(join(directory.path, name), { bigint: true }).catch(() => undefined);
      if (stats?.isFile() !== true) continue;
      files.push(name);
      sizeBytes += Number(stats.size);
      mtimeMs = Math.max(mtimeMs, Number(stats.mtimeNs) / 1e6);
    }
    if (files.length === 0) return false;
    candidates.push({
      path: directory.path,
      displayPath,
      root,
      isNamed: directory.depth === 0,
      sizeBytes,
      mtimeMs,
      files,
    });
    return true;
  }

  async function follow(link: Pending): Promise<void> {
    let path: string;
    let stats: BigIntStats;
    try {
      path = await realpath(link.path);
      stats = await stat(path, { bigint: true });
    } catch (error) {
      const code = errnoOf(error);
      if (code === 'ENOENT' || code === 'ELOOP') skip(link.displayPath, 'broken-link', 'a link that leads nowhere');
      else fail(link.displayPath, error);
      return;
    }
    // The target's own name counts too: `latest -> iter_0000100/model.pt` is still a checkpoint.
    const rule = skipRuleFor(basename(path), stats.isDirectory() ? 'directory' : 'file');
    if (rule !== undefined) skip(link.displayPath, rule.id, rule.why);
    else if (stats.isDirectory() && contains(path, rootPath)) {
      skip(link.displayPath, 'outward-link', 'a link to a directory that contains this one');
    } else if (!followLinks && !contains(rootPath, path)) {
      skip(`${link.displayPath} -> ${path}`, NOT_FOLLOWED, 'a link out of the directory; --follow-links reads it');
    } else visit(link, path, stats);
  }

  for (;;) {
    const directory = directories.shift();
    if (directory !== undefined) {
      await list(directory);
      continue;
    }
    const link = links.shift();
    if (link === undefined) break;
    await follow(link);
  }

  candidates.sort((a, b) => compare(a.displayPath, b.displayPath));
  return { candidates, skipped: [...skipped.values()].map((group) => ({ root, ...group })), failed };
}

function candidate(path: string, displayPath: string, root: string, isNamed: boolean, stats: BigIntStats): Candidate {
  return { path, displayPath, root, isNamed, sizeBytes: Number(stats.size), mtimeMs: Number(stats.mtimeNs) / 1e6 };
}

/** Inode numbers of parallel file systems use all 64 bits, so they never pass through a double. */
function identity(stats: BigIntStats): string {
  return `${stats.dev}:${stats.ino}`;
}

function contains(outer: string, inner: string): boolean {
  const path = relative(outer, inner);
  return path === '' || !(path === '..' || path.startsWith(`..${sep}`));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function specialKind(stats: BigIntStats): string {
  if (stats.isFIFO()) return 'a pipe';
  if (stats.isSocket()) return 'a socket';
  return 'a device';
}

function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

function unreadable(file: string, error: unknown): MbfError {
  return new MbfError('MBF2007', `cannot be read: ${errnoOf(error) ?? String(error)}`, { file }, error);
}
