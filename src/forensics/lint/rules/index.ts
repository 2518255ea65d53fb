/** Every rule, in the order of the catalogue: the one list to read. */
import type { LintRule } from '../rule.js';
import { OFFLOAD_RULES } from './offload.js';

export const RULES: readonly LintRule[] = [...OFFLOAD_RULES];

const BY_ID = new Map(RULES.map((rule) => [rule.id, rule]));

export function ruleOf(id: string): LintRule | undefined {
  return BY_ID.get(id);
}
