/** Which paths make which run, and what it is called. */

import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { MbfError } from '../../model/errors.js';

export interface RunPlan {
  readonly name: string;
  /** Real path of the directory or file; of the first one for `--run` over several. */
  readonly rootPath: string;
  readonly paths: readonly string[];
  /** Named by the user with `--run`: the name alone then identifies the run. */
  readonly named: boolean;
}

export interface RunPlanOptions {
  /** One run of all paths. */
  readonly run?: string | undefined;
  /** Every direct subdirectory of each path is a run. */
  readonly each?: boolean | undefined;
}

/** @throws {MbfError} MBF1003 for a path that does not exist, MBF1001 for `--each` on a file. */
export async function planRuns(paths: readonly string[], options: RunPlanOptions): Promise<RunPlan[]> {
  const roots: string[] = [];
  for (const path of paths) {
    const root = await realpath(path).catch((cause: unknown) => {
      throw new MbfError('MBF1003', 'no such file or directory', { file: path }, cause);
    });
    if (options.each !== true) {
      roots.push(root);
      continue;
    }
    if (!(await stat(root)).isDirectory()) throw new MbfError('MBF1001', '--each needs directories', { file: path });
    const entries = await readdir(root, { withFileTypes: true });
    const directories = entries
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
      .map((entry) => entry.name);
    for (const name of directories.sort()) roots.push(join(root, name));
  }
  if (options.run !== undefined) {
    const [first] = roots;
    return first === undefined ? [] : [{ name: options.run, rootPath: first, paths: roots, named: true }];
  }
  return [...new Set(roots)].map((root) => ({
    name: basename(root) || root,
    rootPath: root,
    paths: [root],
    named: false,
  }));
}

/**
 * A name for a run at `rootPath` that no run of another root has: `run`, then `parent/run`, then `run-2` and so on. Two
 * directories named `latest` are two runs.
 */
export function freeName(wanted: string, rootPath: string, taken: (name: string) => boolean): string {
  const parent = basename(dirname(rootPath));
  const candidates = [wanted, ...(parent === '' ? [] : [`${parent}/${wanted}`])];
  for (const name of candidates) if (!taken(name)) return name;
  for (let n = 2; ; n++) if (!taken(`${wanted}-${n}`)) return `${wanted}-${n}`;
}
