/** Names of runs in a lake: safe as a directory, and unique. */
import { createHash } from 'node:crypto';

const MOST = 64;
const HASH = 8;

/**
 * `[a-z0-9._-]`, at most 64 characters, of which the last eight are a hash of what makes the run unique: two runs that
 * users call `night-shift` are two runs.
 */
export function runKey(name: string, unique: readonly (string | number | null)[]): string {
  const slug = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[-._]+|(?<![-._])[-._]+$/g, '')
    .slice(0, MOST - HASH - 1);
  const hash = createHash('sha256').update(JSON.stringify(unique)).digest('hex').slice(0, HASH);
  return `${slug === '' ? 'run' : slug}-${hash}`;
}
