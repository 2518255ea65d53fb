/** Rules about a knob: those that the index names, and those whose condition looks at it. */

import type { LintRule } from '../../../derive/lint/rule.js';
import { lintRules } from '../../../derive/lint/rules.js';
import type { Knob } from '../../../knowledge/knobs/knob.js';

export function rulesOf(knob: Knob): readonly LintRule[] {
  const wholeName = new RegExp(`(?<![\\w.])${knob.id.replaceAll('.', '\\.')}(?![\\w.])`);
  return lintRules().filter((rule) => knob.rules.includes(rule.id) || wholeName.test(rule.when.text));
}
