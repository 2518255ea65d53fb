/** Gain and cost against what the advice on the run before expected. */

import type { VerifyExpected, VerifyJudgement, VerifyMeasured, VerifyRun } from '../../model/results/verify.js';
import { formatBytes, MIB } from '../../model/units.js';
import { throughputLost } from './measured.js';

/** Estimates are as expected within this share, or so many bytes, whichever is more. */
export const SHARE = 0.25;
export const BYTES = 256 * MIB;

export interface JudgeInput {
  readonly before: VerifyRun;
  readonly after: VerifyRun;
  readonly expected: VerifyExpected | null;
  readonly measured: VerifyMeasured;
  /** Whether the change is of the allocator: then a lower peak is not the gain. */
  readonly isAllocator: boolean;
  readonly sameWork: boolean;
}

export function judge(input: JudgeInput): VerifyJudgement[] {
  return [failure(input), ...memory(input), ...time(input)];
}

function failure({ before, after }: JudgeInput): VerifyJudgement {
  const [a, b] = [endingWords(before), endingWords(after)];
  const better =
    (before.ending === 'oom' || before.ending === 'failed') &&
    (after.ending === 'completed' || after.ending === 'stopped');
  const worse =
    (after.ending === 'oom' || after.ending === 'failed') && before.ending !== 'oom' && before.ending !== 'failed';
  return { about: 'failure', outcome: better ? 'better' : worse ? 'worse' : 'note', text: `before: ${a}; after: ${b}` };
}

function endingWords({
  ending,
  rank,
  cause,
  phase,
  iteration,
  last_iteration: last,
  steady_steps: steps,
}: VerifyRun): string {
  if (ending === 'oom')
    return `out of memory${cause === null || cause === 'undecided' ? '' : ` (${cause.replaceAll('_', ' ')})`}${rank === null ? '' : ` on rank ${rank}`} ${iteration === null ? (/build|load|launch/.test(phase ?? '') ? 'before training' : 'in the first iteration') : `after iteration ${iteration}`}`;
  if (ending === 'failed') return 'failed, and not of memory';
  if (ending === 'no_training') return 'no training in the evidence';
  const done = last === null ? '' : `, ${last} iterations, ${steps} of them steady`;
  return `${ending === 'completed' ? 'completed' : 'no failure line'}${done}`;
}

function memory({ expected, measured, isAllocator, before }: JudgeInput): VerifyJudgement[] {
  if (isAllocator) return [fragmentation(measured)];
  const saved = measured.peak_allocated.delta === null ? null : -measured.peak_allocated.delta;
  if (expected === null || expected.saving_bytes === null) {
    if (saved === null) return [{ about: 'memory', outcome: 'untested', text: `peak: ${measured.peak_allocated.of}` }];
    const of = measured.peak_allocated.of;
    const cut = before.ending === 'oom' ? '; what the run before would have needed beyond its OOM is not in it' : '';
    return [
      {
        about: 'memory',
        outcome: 'note',
        text: `${changeWords(saved)} at the peak (${of})${cut}; no saving was expected by a figure`,
      },
    ];
  }
  // Published peaks are those of the first memory line: like has to be compared with like.
  const first = measured.first_peak_allocated.delta;
  const published = expected.saving_by === 'measured' && first !== null;
  const got = published ? -first : saved;
  if (got === null)
    return [
      {
        about: 'memory',
        outcome: 'untested',
        text: `${formatBytes(expected.saving_bytes)} were expected; ${measured.peak_allocated.of}`,
      },
    ];
  const { outcome, words } = compared(got, expected.saving_bytes);
  const of = published ? `${measured.first_peak_allocated.of}, as the published figure` : measured.peak_allocated.of;
  const later =
    published && saved !== null && Math.abs(saved - got) > BYTES
      ? `; at the later peak ${changeWords(saved)} (${measured.peak_allocated.of})`
      : '';
  return [
    {
      about: 'memory',
      outcome,
      text: `${changeWords(got)} at the peak (${of}), ${formatBytes(expected.saving_bytes)} expected (${expected.saving_by === 'measured' ? 'published' : (expected.saving_by ?? 'estimate').replaceAll('_', ' ')}): ${words}${later}`,
    },
  ];
}

function compared(
  got: number,
  expectedCost: number,
): { readonly outcome: VerifyJudgement['outcome']; readonly words: string } {
  const tolerance = Math.max(SHARE * Math.abs(expectedCost), BYTES);
  if (got > expectedCost + tolerance) return { outcome: 'better', words: 'better than expected' };
  if (got < expectedCost - tolerance) return { outcome: got < -BYTES ? 'worse' : 'less', words: 'less than expected' };
  return { outcome: 'as_expected', words: 'as expected (within 25 % or 256 MiB)' };
}

const changeWords = (saved: number): string =>
  saved >= 0 ? `${formatBytes(saved)} less` : `${formatBytes(-saved)} more`;

function fragmentation({ cached, peak_allocated: peak }: VerifyMeasured): VerifyJudgement {
  const peakNote =
    peak.delta === null || peak.percent === null
      ? ''
      : `; the peak itself does not measure it (${peak.percent >= 0 ? '+' : '−'}${Math.abs(peak.percent).toFixed(1)} %)`;
  if (cached.before === null || cached.after === null)
    return { about: 'fragmentation', outcome: 'untested', text: `reserved and not in use: ${cached.of}${peakNote}` };
  const text = `${cached.of.replace(', before', `: ${formatBytes(cached.before)} before`).replace(', after', `, ${formatBytes(cached.after)} after`)}${peakNote}`;
  const shrank = cached.before - cached.after;
  return {
    about: 'fragmentation',
    outcome: shrank > Math.max(SHARE * cached.before, BYTES) ? 'better' : shrank < -BYTES ? 'worse' : 'note',
    text,
  };
}

function time({ expected, measured, sameWork }: JudgeInput): VerifyJudgement[] {
  const lost = throughputLost(measured, sameWork);
  const expectedCost = expected?.cost_percent ?? null;
  if (lost === null) {
    const hoped = expectedCost === null ? '' : `; a cost of ${expectedCost} % was expected`;
    const why =
      measured.step_ms.delta !== null && !sameWork ? 'steps of different work do not compare' : measured.step_ms.of;
    return [{ about: 'time', outcome: 'untested', text: `${why}${hoped}` }];
  }
  const isNoise = Math.abs(lost.percent) <= lost.noise;
  const got = `throughput ${lost.percent > 0 ? '−' : '+'}${Math.abs(lost.percent).toFixed(1)} % (± ${lost.noise.toFixed(1)} %, ${measured.tflops.percent === null ? measured.step_ms.of : measured.tflops.of})${isNoise ? ', within the noise' : ''}`;
  if (expectedCost === null)
    return [{ about: 'time', outcome: 'note', text: `${got}; no cost was expected by a figure` }];
  const tolerance = lost.noise + SHARE * Math.abs(expectedCost);
  const outcome =
    lost.percent > expectedCost + tolerance
      ? 'worse'
      : lost.percent < expectedCost - tolerance
        ? 'better'
        : 'as_expected';
  const words = { worse: 'costs more than expected', better: 'costs less than expected', as_expected: 'as expected' }[
    outcome
  ];
  return [
    {
      about: 'time',
      outcome,
      text: `${got}; ${expectedCost === 0 ? 'no cost' : `−${expectedCost} %`} expected: ${words}`,
    },
  ];
}
