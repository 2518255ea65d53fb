/**
 * The share of the registry that tells settings, without the rest: a question about one configuration is answered
 * before the readers of snapshots and exports would be loaded.
 */
import type { ParserSpec } from '../src/model/parser.js';

export { readEnviron, readEnvLines } from './config/env-dump.js';
export { configParser } from './config/index.js';

/** The whole registry, for what {@link configParser} does not claim. */
export async function allParsers(): Promise<readonly ParserSpec[]> {
  return (await import('./index.js')).PARSERS;
}
