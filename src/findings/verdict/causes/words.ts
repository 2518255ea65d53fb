/** Words for the answer of a test. The answers are rows of the library's `cause_…` views. */
import type { Cause, CauseDetail, Confidence } from '../../../model/vocabulary.js';
import type { CaptureId } from '../captures.js';
import type { EvidenceLog, OomFacts } from '../facts.js';

export interface Answer {
  readonly cause: Cause;
  readonly outcome: 'holds' | 'fails' | 'not_testable';
  readonly reason: string;
  readonly detail: CauseDetail | null;
  /** Of an outcome that holds. */
  readonly confidence: Confidence | null;
  /** Where it could not be tested. */
  readonly capture: CaptureId | null;
  readonly doubts: readonly string[];
  /** Names end in their unit. */
  readonly numbers: Readonly<Record<string, number>>;
}

/** A step to take. */
export interface Step {
  readonly text: string;
  /** It is the setting itself: a replay may prove or refute it, and a configuration may forbid it. */
  readonly isExpandable?: boolean;
  /** Added where the configuration allows expandable segments, which are another way to the same end. */
  readonly orExpandable?: string;
}

export interface Words {
  /** The summary, why it is ruled out, or what the test needs. */
  readonly text: string;
  readonly next?: readonly (string | Step)[];
  readonly doubts?: readonly string[];
}

/** Adds the evidence of the answer. Throws for a reason that it does not know. */
export type CauseWords = (answer: Answer, facts: OomFacts, evidence: EvidenceLog) => Words;

/** A number that the answer must have. */
export function numberOf({ cause, reason, numbers }: Answer, name: string): number {
  const value = numbers[name];
  if (value === undefined) throw new Error(`${cause} ${reason} has no ${name}`);
  return value;
}

export function stepsOf(next: readonly (string | Step)[]): Step[] {
  return next.map((step) => (typeof step === 'string' ? { text: step } : step));
}

export function unknownReason({ cause, reason }: Answer): never {
  throw new Error(`no words for ${cause} ${reason}`);
}
