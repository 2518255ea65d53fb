import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repoRoot } from '../store/scratch.js';

const FOLDER = join(repoRoot, 'docs', 'screens');

/** The file of what is printed for a result that a test makes up; `npm run screens` rewrites it. */
export const goldenFile = (name: string): string => join(FOLDER, 'results', name);

/** A document that a verb prints, as a base for results that a test makes up. */
export const goldenDocument = <T>(name: string): T =>
  JSON.parse(readFileSync(join(FOLDER, `${name}.json`), 'utf8')) as T;
