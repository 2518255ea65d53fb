/** What a bisection hunts: the words of `--on`. */
import { MbfError } from '../../../model/errors.js';
import { CAUSES, type Cause, COMPONENTS, type Component } from '../../../model/vocabulary.js';

export type Criterion =
  | { readonly kind: 'oom' | 'memory' | 'throughput' }
  | { readonly kind: 'component'; readonly component: Component }
  | { readonly kind: 'site'; readonly pattern: string }
  | { readonly kind: 'cause'; readonly cause: Cause };

export const CRITERION_FORMS = 'oom, memory, throughput, component:NAME, site:PATTERN, cause:NAME';

/** Causes that can end a run; the others are not something to hunt. */
const HUNTED_CAUSES: readonly Cause[] = CAUSES.filter((cause) => cause !== 'not_oom' && cause !== 'undecided');

/** Throws MBF1001 on anything else: a misspelt criterion must stop a bisection. */
export function parseCriterion(text: string): Criterion {
  if (text === 'oom' || text === 'memory' || text === 'throughput') return { kind: text };
  const match = /^(component|site|cause):(.+)$/s.exec(text);
  const value = match?.[2] ?? '';
  if (match?.[1] === 'site') return { kind: 'site', pattern: value };
  const component = COMPONENTS.find((name) => name === value);
  if (match?.[1] === 'component' && component !== undefined) return { kind: 'component', component };
  const cause = HUNTED_CAUSES.find((name) => name === value);
  if (match?.[1] === 'cause' && cause !== undefined) return { kind: 'cause', cause };
  const list = match?.[1] === 'component' ? COMPONENTS : match?.[1] === 'cause' ? HUNTED_CAUSES : undefined;
  const forms = list === undefined ? `one of ${CRITERION_FORMS}` : `${match![1]} is one of ${list.join(', ')}`;
  throw new MbfError('MBF1001', `invalid --on ${JSON.stringify(text)}; ${forms}`);
}

export function criterionText(criterion: Criterion): string {
  switch (criterion.kind) {
    case 'component':
      return `component:${criterion.component}`;
    case 'site':
      return `site:${criterion.pattern}`;
    case 'cause':
      return `cause:${criterion.cause}`;
    default:
      return criterion.kind;
  }
}
