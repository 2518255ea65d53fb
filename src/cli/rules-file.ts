/** `--rules FILE`: the built-in attribution rules, with those of the file before them. */
import type { CompiledRules } from '../findings/attribution/match/compile-rules.js';
import { builtInRules, compiledRules } from '../findings/attribution/rules/index.js';
import { readTextFile } from './text-input.js';

/** The YAML reader is only loaded where there is something to read. */
export async function readRules(file: string | undefined): Promise<CompiledRules> {
  if (file === undefined) return builtInRules();
  const { parseRules } = await import('../findings/attribution/match/user-rules.js');
  return compiledRules(parseRules(await readTextFile(file), file));
}
