/** Names that a walk skips without opening the files: `src/knowledge/inputs/skip-rules.yaml`. */
import { loadData } from '../../knowledge/load-data.js';

export interface SkipRule {
  readonly id: string;
  readonly on: 'file' | 'directory' | 'any';
  /** Matched against the base name. */
  readonly pattern: RegExp;
  /** Completes "skipped: …". */
  readonly why: string;
}

/** The first match wins. */
export const SKIP_RULES: readonly SkipRule[] = (
  loadData('inputs/skip-rules') as readonly (Omit<SkipRule, 'pattern'> & {
    readonly pattern: string;
    readonly flags?: string;
  })[]
).map(({ pattern, flags, ...rule }) => ({ ...rule, pattern: new RegExp(pattern, flags) }));

/** The rule that passes over an entry met while walking, or undefined if it is worth opening. */
export function skipRuleFor(name: string, kind: 'file' | 'directory'): SkipRule | undefined {
  return SKIP_RULES.find((rule) => (rule.on === 'any' || rule.on === kind) && rule.pattern.test(name));
}
