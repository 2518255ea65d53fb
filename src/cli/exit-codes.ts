/** Exit codes; README's table is tested against this one. */

import type { ErrorKind } from '../model/errors.js';
import type { CompareVerdict, Judgement } from '../model/results/compare.js';
import type { GateVerdict } from '../model/results/gate.js';
import type { VerifyVerdict } from '../model/results/verify.js';

export const EXIT = {
  done: 0,
  finding: 1,
  usage: 2,
  undecided: 3,
  input: 4,
  store: 5,
  bug: 70,
} as const;

export const EXIT_OF_ERROR: Readonly<Record<ErrorKind, number>> = {
  usage: EXIT.usage,
  input: EXIT.input,
  store: EXIT.store,
  internal: EXIT.bug,
};

/** Of verbs that judge a commit; `git bisect run` defines these codes. */
export const EXIT_OF_JUDGEMENT: Readonly<Record<Judgement, number>> = { good: 0, bad: 1, skip: 125 };

export const EXIT_OF_VERDICT: Readonly<Record<CompareVerdict | GateVerdict | VerifyVerdict, number>> = {
  pass: EXIT.done,
  warning: EXIT.done,
  updated: EXIT.done,
  fixed: EXIT.done,
  regression: EXIT.finding,
  progress: EXIT.finding,
  no_effect: EXIT.finding,
  not_active: EXIT.finding,
  worse: EXIT.finding,
  undecided: EXIT.undecided,
};
