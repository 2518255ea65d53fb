/** Every rule, in the order of the catalogue, from the data files of `knowledge/lint`. */
import { loadData } from '../../knowledge/load-data.js';
import type { Condition } from '../settings/condition.js';
import { conditionOfText } from '../settings/terms.js';
import type { LintRule } from './rule.js';

/** The data files, in the order of the catalogue. */
export const LINT_TOPICS = [
  // Offload, recompute and CUDA graphs.
  ...['offload', 'fine-grained', 'recompute', 'recompute-modules', 'expert-overlap', 'graphs', 'graph-environment'],
  // Sharding, the optimizer, parallel sizes and experts; data and profilers.
  ...[
    'fsdp',
    'optimizer',
    'precision',
    'parallel',
    'pipeline',
    'context-parallel',
    'experts',
    'model',
    'data',
    'schedule',
    'profiling',
  ],
  // Communication and the environment; what only the guides contain.
  ...['communication', 'allocator', 'environment', 'guides'],
  // Configurations that no framework refuses.
  ...['soft-activations', 'soft-offload', 'soft-graphs'],
] as const;

/** A rule as in the data files. `error` is missing where upstream prints nothing. */
export type LintRecord = Omit<LintRule, 'when' | 'error'> & { readonly when: string; readonly error?: string };

/** Records of one data file. */
export function lintRecords(topic: string): readonly LintRecord[] {
  return loadData(`lint/${topic}`) as readonly LintRecord[];
}

let rules: readonly LintRule[] | undefined;

export function lintRules(): readonly LintRule[] {
  rules ??= LINT_TOPICS.flatMap((topic) => lintRecords(topic).map((record) => ruleOfRecord(topic, record)));
  return rules;
}

export function lintRule(id: string): LintRule | undefined {
  return lintRules().find((rule) => rule.id === id);
}

/** The condition is parsed when it is first needed: most commands only look up a rule by its id. */
function ruleOfRecord(topic: string, { when, ...record }: LintRecord): LintRule {
  let condition: Condition | undefined;
  return {
    ...record,
    error: record.error ?? null,
    get when() {
      condition ??= conditionOfText(when, `lint/${topic}: ${record.id}`);
      return condition;
    },
  };
}
