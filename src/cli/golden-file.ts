/** Whether a file has golden values, by its content. */
import { readFileSync, statSync } from 'node:fs';
import { looksLikeGolden } from '../../parsers/index.js';
import { MIB } from '../model/units.js';

export const MOST_GOLDEN_BYTES = 256 * MIB;

export function isGoldenFile(path: string): boolean {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat?.isFile() !== true || !/\.json$/i.test(path) || stat.size > MOST_GOLDEN_BYTES) return false;
  return looksLikeGolden(readFileSync(path, 'utf8'));
}
