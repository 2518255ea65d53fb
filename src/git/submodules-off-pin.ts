/**
 * Submodules whose checkout is not at the commit the index pins: `git bisect` and `git checkout` leave them where they
 * were.
 */
import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { openRepository, type Repository, readGit } from './repository.js';

export interface SubmoduleOffPin {
  readonly path: string;
  readonly pinned: string;
  readonly checked_out: string;
}

/** Uninitialised submodules lack a checkout, and are left out. */
export async function submodulesOffPin(repository: Repository): Promise<SubmoduleOffPin[]> {
  const { text } = await readGit(repository, ['ls-files', '--stage', '-z']);
  const offPin: SubmoduleOffPin[] = [];
  for (const entry of text.split('\0')) {
    const match = /^160000 ([0-9a-f]{40,64}) \d\t(.+)$/s.exec(entry);
    if (match === null) continue;
    const [, pinned, path] = match as unknown as [string, string, string];
    const directory = join(repository.root, path);
    // An empty folder belongs to the repository around it.
    if (!existsSync(join(directory, '.git'))) continue;
    const inside = await openRepository(directory, repository.environment).catch(() => undefined);
    if (inside === undefined || (await realpath(inside.root)) !== (await realpath(directory).catch(() => ''))) continue;
    const checked_out = (await readGit(inside, ['rev-parse', 'HEAD'])).text.trim();
    if (checked_out !== pinned) offPin.push({ path, pinned, checked_out });
  }
  return offPin;
}
