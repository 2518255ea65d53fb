/** Which paths make which run, and what it is called. */

import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { MbfError } from '../../../model/errors.js';

export interface RunPlan {
  readonly name: string;
  /** Real path of the directory or file; several are separated by line feeds. With `--run`, the first one. */
  readonly rootPath: string;
  readonly paths: readonly string[];
  /** Named by the user with `--run`: the name alone then identifies the run. */
  readonly named: boolean;
}

export interface RunPlanOptions {
  /** The name of the run. */
  readonly run?: string | undefined;
  /** Every path is a run; of a single directory, every direct subdirectory. */
  readonly each?: boolean | undefined;
}

/**
 * All paths form one run, named by the first.
 *
 * @throws {MbfError} MBF1003 for a path that does not exist, MBF1001 for `--each` on a single file.
 */
export async function planRuns(paths: readonly string[], options: RunPlanOptions): Promise<RunPlan[]> {
  const roots: string[] = [];
  for (const path of paths) {
    const root = await realpath(path).catch((cause: unknown) => {
      throw new MbfError('MBF1003', 'no such file or directory', { file: path }, cause);
    });
    if (options.each !== true || paths.length > 1) {
      roots.push(root);
      continue;
    }
    if (!(await stat(root)).isDirectory())
      throw new MbfError('MBF1001', '--each needs a directory of runs, or several paths', { file: path });
    const entries = await readdir(root, { withFileTypes: true });
    const directories = entries
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
      .map((entry) => entry.name);
    for (const name of directories.sort()) roots.push(join(root, name));
  }
  const distinct = [...new Set(roots)];
  const [first] = distinct;
  if (first === undefined) return [];
  if (options.run !== undefined) return [{ name: options.run, rootPath: first, paths: distinct, named: true }];
  const groups = options.each === true ? distinct.map((root) => [root]) : [distinct];
  return groups.map((group) => ({
    name: basename(group[0]!) || group[0]!,
    rootPath: group.join('\n'),
    paths: group,
    named: false,
  }));
}

/**
 * A name for a run at `rootPath` that no run of another root has: `run`, then `parent/run`, then `run-2` and so on. Two
 * directories named `latest` are two runs.
 */
export function freeName(wanted: string, rootPath: string, taken: (name: string) => boolean): string {
  const parent = basename(dirname(rootPath.split('\n')[0]!));
  const candidates = [wanted, ...(parent === '' ? [] : [`${parent}/${wanted}`])];
  for (const name of candidates) if (!taken(name)) return name;
  for (let n = 2; ; n++) if (!taken(`${wanted}-${n}`)) return `${wanted}-${n}`;
}
