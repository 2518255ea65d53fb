/** The help of each verb as data: `src/knowledge/verbs.yaml`. */
import { loadData } from '../knowledge/load-data.js';

export interface VerbHelp {
  /** Its group in the help of all verbs; without one the verb is a part of another one. */
  readonly heading?: string;
  /** The words that call a part, such as `log memory`. */
  readonly called?: string;
  readonly summary: string;
  /** Before the examples. */
  readonly notes?: string;
  /** Command lines without the program's name. A verb that only has verbs of its own shows theirs. */
  readonly examples?: readonly string[];
  /** After the examples. */
  readonly closing?: string;
}

/** By the name of the verb, in the order of the help; `golden add` is inside `golden`. */
export const VERB_HELP = loadData('verbs') as Readonly<Record<string, VerbHelp>>;
