/** The attribution rules of a user: a YAML file whose rules have the same format as the built-in ones. */
import { readUserList } from '../../text/user-list.js';
import { checkRule, checkSamples, RULE_KEYS } from './check-rule.js';
import type { UserRule } from './rule.js';

/** Throws MBF2601 with the line of the first thing that is wrong. */
export function parseRules(text: string, file: string): UserRule[] {
  return readUserList(text, file, { key: 'rules', item: 'rule', code: 'MBF2601' }, (rule, wrong) => ({
    ...checkRule(rule, RULE_KEYS, wrong),
    samples: checkSamples(rule, wrong),
  }));
}
