/**
 * A comparison as the gate of a CI job: components and single ranks count as well as the whole, and so do retries of
 * the allocator; what lies within the noise is a warning. A job that fails for noise is soon ignored.
 */
import type { CompareCheck, CompareVerdict, JudgedComparison } from '../../model/results/compare.js';
import { verdictOf } from './compare-runs.js';

export interface GateRules {
  /** Noise fails the gate as well: it is undecided then. */
  readonly strict: boolean;
}

export interface GateJudgement {
  readonly verdict: CompareVerdict;
  readonly checks: readonly CompareCheck[];
  /** Names of checks. */
  readonly warnings: readonly string[];
}

const MORE_GATES = /^(?:component:|peak_allocated:rank |alloc_retries$)/;

export function judgeGate(
  { is_refused, verdict, checks: judged }: JudgedComparison,
  { strict }: GateRules,
): GateJudgement {
  const checks = judged.map((check) => ({ ...check, gate: check.gate || MORE_GATES.test(check.name) }));
  const warnings = checks.filter(isNoise).map(({ name }) => name);
  const decisive = strict ? checks : checks.map((check) => (isNoise(check) ? { ...check, gate: false } : check));
  return { verdict: is_refused ? verdict : gateVerdict(decisive), checks, warnings };
}

/** Both sides have the figure, and it cannot be told from the tolerance. */
const isNoise = ({ gate, status, relative, is_least }: CompareCheck): boolean =>
  gate && status === 'undecided' && relative !== null && !is_least;

/** A run whose only figures lie within the noise passes: they were judged. */
function gateVerdict(checks: readonly CompareCheck[]): CompareVerdict {
  const verdict = verdictOf(checks);
  const isJudged = checks.some(({ name, relative }) => name !== 'status' && relative !== null);
  const isOpen = checks.some(({ gate, status }) => gate && status === 'undecided');
  return verdict === 'undecided' && isJudged && !isOpen ? 'pass' : verdict;
}
