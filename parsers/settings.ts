/**
 * The part of the registry that reads settings. A question about one configuration does not load the readers of
 * snapshots and exports.
 */
import type { ParserSpec } from '../src/model/parser.js';

export { readEnviron, readEnvLines } from './config/env-dump.js';
export { configParser } from './config/index.js';

/** The whole registry, for what {@link configParser} does not claim. */
export async function allParsers(): Promise<readonly ParserSpec[]> {
  return (await import('./index.js')).PARSERS;
}
