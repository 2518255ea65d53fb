/** Ranks by the names of files and their folders. */
import { readdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { getOrAdd } from '../../../model/group-by.js';
import type { Candidate } from '../discover.js';
import { type NamedRank, needsSiblings, rankFromName } from './rank-from-name.js';

/** A named file's display path is its base name; rules about folders (`rank_3/trace.pickle`) need the real one. */
export const namedPath = ({ isNamed, path, displayPath }: Candidate): string => (isNamed ? path : displayPath);

export class RanksOfFiles {
  private readonly namesByDirectory = new Map<string, Promise<string[]>>();

  async of(candidate: Candidate): Promise<NamedRank | undefined> {
    const path = namedPath(candidate);
    return rankFromName(path, needsSiblings(path) ? await this.siblingNames(candidate.path) : []);
  }

  /** Names of the entries of its directory, read once: thousands of ranks write into one. */
  private siblingNames(path: string): Promise<string[]> {
    const directory = dirname(path);
    return getOrAdd(this.namesByDirectory, directory, () => readdir(directory).catch(() => []));
  }
}
