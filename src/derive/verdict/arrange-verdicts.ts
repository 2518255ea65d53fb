/** The verdicts of a run together: where one contradicts another, their order, and the verbs that show more of each. */
import type { FirstFailureResult } from '../../model/first-failure.js';
import { known, statement } from '../../model/statement.js';
import type { Verdict } from '../../model/verdict.js';
import { CONFIDENCES } from '../../model/vocabulary.js';
import type { Arranged } from './combine.js';

/**
 * Notes where the evidence of one rank contradicts the verdict on another, which could not test that cause. Ranks that
 * fail together mostly fail alike; the view `rule_verdict` lowered the confidence.
 */
export function withContradiction(verdict: Verdict, { contradiction }: Pick<Arranged, 'contradiction'>): Verdict {
  if (contradiction === null) return verdict;
  const { rank, cause } = contradiction;
  const rule = statement('other_device', { names: { cause }, numbers: known({ rank }) });
  return { ...verdict, rules: [...verdict.rules, rule] };
}

/**
 * Of devices that did not run out: as `verdict.arranged` orders failures, but those that look like dumps at a failure
 * come first, then those with the most live memory.
 */
export function orderVerdicts(verdicts: readonly Verdict[], first: FirstFailureResult | null): Verdict[] {
  const doubt = (verdict: Verdict): number => CONFIDENCES.indexOf(verdict.confidence);
  const isFirst = (verdict: Verdict): number =>
    first !== null && verdict.rank === first.rank && (first.device === null || verdict.device === first.device) ? 0 : 1;
  const causeOfFirst = verdicts.find((verdict) => isFirst(verdict) === 0)?.cause;
  const kinship = (verdict: Verdict): number => (verdict.cause === causeOfFirst ? 0 : 1);
  const isUnclear = (verdict: Verdict): number => (verdict.cause === 'undecided' ? 0 : 1);
  const idle = (a: Verdict, b: Verdict): number => {
    const [live, other] = [liveBytes(a), liveBytes(b)];
    return live === undefined || other === undefined ? 0 : isUnclear(a) - isUnclear(b) || other - live;
  };
  return verdicts.toSorted(
    (a, b) =>
      doubt(a) - doubt(b) ||
      kinship(a) - kinship(b) ||
      isFirst(a) - isFirst(b) ||
      idle(a, b) ||
      (a.rank ?? -1) - (b.rank ?? -1) ||
      (a.device ?? -1) - (b.device ?? -1),
  );
}

/** Of a device that did not run out, at its peak or at the dump. */
function liveBytes({ evidence }: Verdict): number | undefined {
  return evidence.find(({ kind }) => kind === 'peak')?.numbers?.['live_bytes'];
}

/** The line that a run ended with shows nothing more. */
const PROGRESS: ReadonlySet<string> = new Set(['run_finished', 'last_iteration']);

/**
 * The verbs that show more of a verdict, ready to run: at most two. `number`: of the verdict, from 1. `handle`: of its
 * snapshot, null for a log alone. `snapshots`: of the run; a single one does not need a handle. A command without a
 * handle takes the diagnosed run or path as its last operand.
 */
export function commandsOf(
  verdict: Verdict,
  number: number,
  handle: string | null,
  snapshots: number,
  hasMemoryLines: boolean,
): string[] {
  const shown =
    verdict.evidence.find((entry) => entry.about === 'test' && entry.query !== undefined) ??
    verdict.evidence.find(({ kind, query }) => query !== undefined && !PROGRESS.has(kind));
  // Where there is little evidence, the capture that adds more comes next.
  const isThin = verdict.captures.length > 0 && (verdict.cause === 'undecided' || handle === null);
  const ranOut = verdict.cause !== 'not_oom' && liveBytes(verdict) === undefined;
  const commands = isThin
    ? [`mbforensics show captures${number === 1 ? '' : ` --verdict ${number}`}`]
    : shown === undefined
      ? []
      : [`mbforensics show ${shown.id}${number === 1 ? '' : ` --verdict ${number}`}`];
  const of = snapshots > 1 && handle !== null ? ` ${handle}` : '';
  // Of a screen with little space only the first one is left: the picture leads to everything else.
  if (handle !== null) commands.splice(isThin ? 1 : 0, 0, `mbforensics report${of}`);
  if (!ranOut && handle !== null) commands.push(`mbforensics peak${of}`);
  else if (handle !== null && verdict.replay !== null && verdict.replay.status !== 'refused')
    commands.push(`mbforensics whatif${of}`);
  else if (verdict.cause === 'fragmentation' && handle !== null) commands.push(`mbforensics state --map --at oom${of}`);
  else if (handle !== null) commands.push(`mbforensics state --at oom${of}`);
  else commands.push(hasMemoryLines ? 'mbforensics log memory' : 'mbforensics log');
  return commands;
}
