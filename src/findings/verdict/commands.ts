/** The verbs that show more of a verdict, ready to run: at most two. */
import type { Verdict } from '../../model/results/common.js';

/**
 * `number`: of the verdict, from 1. `handle`: of its snapshot, null for a log alone. `snapshots`: of the run; a single
 * one does not need a handle. A command without a handle takes the diagnosed run or path as its last operand.
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
    verdict.evidence.find((entry) => entry.query !== undefined);
  // Where there is little evidence, the capture that adds more comes next.
  const isThin = verdict.captures.length > 0 && (verdict.cause === 'undecided' || handle === null);
  const commands = isThin
    ? [`mbforensics show captures${number === 1 ? '' : ` --verdict ${number}`}`]
    : shown === undefined
      ? []
      : [`mbforensics show ${shown.id}${number === 1 ? '' : ` --verdict ${number}`}`];
  const of = snapshots > 1 && handle !== null ? ` ${handle}` : '';
  if (verdict.cause === 'not_oom' && handle !== null) commands.push(`mbforensics peak${of}`);
  else if (handle !== null && verdict.replay !== null && verdict.replay.status !== 'refused')
    commands.push(`mbforensics whatif${of}`);
  else if (verdict.cause === 'fragmentation' && handle !== null) commands.push(`mbforensics segments oom${of}`);
  else if (handle !== null) commands.push(`mbforensics at oom${of}`);
  else commands.push(hasMemoryLines ? 'mbforensics memory' : 'mbforensics log');
  return commands;
}
