import { constraintOf } from '../../src/knowledge/constraint-texts.js';
import { loadData } from '../../src/knowledge/load-data.js';
import { remember } from '../../src/model/group-by.js';
import type { IncidentKind } from '../../src/model/vocabulary.js';

export interface ClassifiedException {
  readonly kind: IncidentKind;
  /** Id of the configuration rule that its text names. */
  readonly constraint: string | null;
}

/** First match wins; a rule with both needs both. `src/knowledge/inputs/exception-rules.yaml`. */
const RULES = (
  loadData('inputs/exception-rules') as readonly {
    readonly kind: IncidentKind;
    readonly name?: string;
    readonly message?: string;
    readonly flags?: string;
  }[]
).map(({ kind, name, message, flags }) => ({
  kind,
  name: name === undefined ? undefined : new RegExp(name),
  message: message === undefined ? undefined : new RegExp(message, flags),
}));

/**
 * Ends that are not failures (a user's interrupt), and the exception that torchrun raises to print its footer; the
 * footer is read instead.
 */
const NO_FAILURE = /^(?:KeyboardInterrupt|GeneratorExit|ChildFailedError)$/;

/** All ranks raise one exception: the answers for the last texts. */
const known = new Map<string, ClassifiedException | null>();
const MOST_REMEMBERED = 64;

/**
 * The kind of an exception that no entry of the message grammar covers, or null if it is not a failure. The text is
 * matched before the class: libraries raise `RuntimeError` for everything.
 */
export function classifyException(name: string | null, message: string): ClassifiedException | null {
  return remember(known, MOST_REMEMBERED, `${name}\n${message}`, () => classify(name, message));
}

function classify(name: string | null, message: string): ClassifiedException | null {
  const last = name === null ? '' : name.slice(name.lastIndexOf('.') + 1);
  if (NO_FAILURE.test(last)) return null;
  if (last === 'SystemExit') {
    return message === '' || message === '0' || message === 'None' ? null : { kind: 'other', constraint: null };
  }
  const constraint = constraintOf(message);
  if (constraint !== null && !/Memory/.test(last)) return { kind: 'config_error', constraint: constraint.id };
  const head = message.slice(0, 2000);
  for (const rule of RULES) {
    if (rule.name !== undefined && (name === null || !rule.name.test(name))) continue;
    if (rule.message !== undefined && !rule.message.test(head)) continue;
    return { kind: rule.kind, constraint: null };
  }
  return { kind: 'other', constraint: null };
}
