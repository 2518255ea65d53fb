import { join } from 'node:path';
import { repoRoot } from '../store/scratch.js';

/** The file of what is printed for a result that a test makes up; `npm run screens` rewrites it. */
export const goldenFile = (name: string): string => join(repoRoot, 'docs', 'screens', 'results', name);
