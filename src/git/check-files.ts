/**
 * Files of a repository that git opens before anything else. It waits for a pipe in the place of one, and reads a
 * device for ever. Git's own search for the repository is followed as far as needed; what this misses meets the limits
 * of `run-git.ts`.
 */
import { existsSync, type Stats, statSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { MbfError } from '../model/errors.js';
import { pushAll } from '../model/lists.js';
import { KIB, MIB } from '../model/units.js';
import { readSmallFile } from './read-small-file.js';
import { type GitPlace, runGit } from './run-git.js';

/** In the git directory, and in that of the repository of a linked worktree. */
const FILES = [
  ...['HEAD', 'config', 'config.worktree', 'commondir', 'gitdir', 'index', 'packed-refs', 'shallow'],
  ...['info/attributes', 'info/exclude', 'info/grafts', 'info/sparse-checkout'],
  ...['objects/info/alternates', 'objects/info/commit-graph', 'objects/pack/multi-pack-index'],
];
const WORK_TREE_FILES = ['.git', '.gitattributes', '.gitmodules'];

/** A clone with 10,000 branches has a tenth of this. */
const MOST_CONFIG_BYTES = 8 * MIB;
const MOST_PATH_BYTES = 8 * KIB;
/** Git follows ten levels of includes. */
const MOST_INCLUDED = 50;

/** The repository around a directory. @throws MbfError MBF2961 */
export async function checkRepository({ directory, environment }: GitPlace): Promise<void> {
  const start = await realpath(directory).catch(() => undefined);
  // Git reports that the directory is missing.
  if (start === undefined) return;
  for (let top = start; ; top = dirname(top)) {
    const gitDir = gitDirectoryOf(top);
    if (gitDir !== undefined) {
      for (const name of WORK_TREE_FILES) checkFile(join(top, name));
      await checkGitDirectory({ directory: start, gitDir, environment });
      return;
    }
    if (dirname(top) === top) return;
  }
}

/** @throws MbfError MBF2961 */
export async function checkGitDirectory({ directory, gitDir, environment }: Required<GitPlace>): Promise<void> {
  for (const name of FILES) checkFile(join(gitDir!, name));
  const common = pathIn(join(gitDir!, 'commondir'));
  const homes = new Set([gitDir!, ...(common === undefined ? [] : [resolve(gitDir!, common)])]);
  const unread: string[] = [];
  for (const home of homes) {
    if (home !== gitDir) for (const name of FILES) checkFile(join(home, name));
    unread.push(join(home, 'config'), join(home, 'config.worktree'));
  }
  const seen = new Set<string>();
  for (let file = unread.pop(); file !== undefined; file = unread.pop()) {
    if (seen.has(file)) continue;
    seen.add(file);
    if (seen.size > MOST_INCLUDED) throw refusal(gitDir!, `its settings include more than ${MOST_INCLUDED} files`);
    pushAll(unread, await includedIn(file, { directory, environment }));
  }
}

/** What git takes for a repository at this place; undefined: it looks further up. */
function gitDirectoryOf(top: string): string | undefined {
  const inside = join(top, '.git');
  const stats = statsOf(inside);
  if (stats?.isFile() === true) {
    const path = /^gitdir: (.+)$/s.exec(pathIn(inside) ?? '')?.[1];
    return path === undefined ? undefined : resolve(top, path);
  }
  if (stats?.isDirectory() === true && statsOf(join(inside, 'HEAD')) !== undefined) return inside;
  return existsSync(join(top, 'HEAD')) && existsSync(join(top, 'objects')) ? top : undefined;
}

/** Files that a file of settings includes. Git itself reads it: its notation has quotes and continued lines. */
async function includedIn(file: string, { directory, environment }: GitPlace): Promise<string[]> {
  checkFile(file);
  const text = textOf(file, MOST_CONFIG_BYTES);
  if (text === undefined || !/include/i.test(text)) return [];
  // Without a repository nothing but this file is read.
  const nowhere = { directory, gitDir: join(file, 'none'), environment };
  const args = ['config', '--file', file, '--no-includes', '-z', '--get-regexp', '^include(if\\..*)?\\.path$'];
  const answer = await runGit(nowhere, args);
  return answer.text.split('\0').flatMap((entry) => {
    const written = entry.slice(entry.indexOf('\n') + 1).replace(/^:\(optional\)/, '');
    if (entry === '' || written === '') return [];
    const home = environment['HOME'];
    const path = written.startsWith('~/') && home !== undefined ? join(home, written.slice(2)) : written;
    return [resolve(dirname(file), path)];
  });
}

/** A file with one path. */
const pathIn = (file: string): string | undefined => textOf(file, MOST_PATH_BYTES)?.split(/[\r\n]/, 1)[0];

function textOf(file: string, mostBytes: number): string | undefined {
  const read = readSmallFile(file, { mostBytes });
  if (read !== undefined && 'problem' in read) throw refusal(file, read.problem);
  return read?.text;
}

/** Directories and missing files are git's to complain about. */
function checkFile(file: string): void {
  const stats = statsOf(file);
  if (stats !== undefined && !stats.isFile() && !stats.isDirectory()) throw refusal(file, 'is not a regular file');
}

function statsOf(file: string): Stats | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false });
  } catch {
    // Not to be reached; then git does not reach it either.
    return undefined;
  }
}

const refusal = (file: string, fact: string): MbfError => new MbfError('MBF2961', fact, { file });
