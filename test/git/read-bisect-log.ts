/** The bisection under way in a repository. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseBisectLog } from '../../src/git/parse-bisect-log.js';
import type { Repository } from '../../src/git/repository.js';
import { MbfError } from '../../src/model/errors.js';
import type { BisectLog } from '../../src/model/git.js';

/** Undefined where none is (`git bisect reset` forgets it). Ids are whole, as git writes them. */
export async function readBisectLog(repository: Repository): Promise<BisectLog | undefined> {
  const [log, terms] = await Promise.all([
    textOf(join(repository.gitDir, 'BISECT_LOG')),
    textOf(join(repository.gitDir, 'BISECT_TERMS')),
  ]);
  if (log === undefined) return undefined;
  // Two lines: the word for bad, the word for good.
  const [bad, good] = terms?.split('\n') ?? [];
  return parseBisectLog(log, { ...(bad ? { bad } : {}), ...(good ? { good } : {}) });
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new MbfError('MBF1008', `cannot be read: ${(error as Error).message}`, { file: path }, error);
  }
}
