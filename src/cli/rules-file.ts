/** `--rules FILE`: the built-in attribution rules, with those of the file before them. */

import { builtInRules, compiledRules } from '../attribution/built-in-rules.js';
import type { CompiledRules } from '../attribution/match/compile-rules.js';
import { readTextFile } from './text-input.js';

/** The YAML reader is only loaded where there is something to read. */
export async function readRules(file: string | undefined): Promise<CompiledRules> {
  if (file === undefined) return builtInRules();
  const { parseRules } = await import('../attribution/match/user-rules.js');
  return compiledRules(parseRules(await readTextFile(file), file));
}
