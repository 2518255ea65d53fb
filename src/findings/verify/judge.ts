/** Gain and cost against what the advice on the run before expected. */

import type { Text } from '../../model/statement.js';
import { MIB } from '../../model/units.js';
import { throughputLost } from './measured.js';
import { isSetup } from './run-words.js';
import type { VerifyExpected, VerifyJudgement, VerifyMeasured, VerifyRun } from './unworded.js';
import { textOf } from './values.js';

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

type Judged = VerifyJudgement;

const judgement = (about: Judged['about'], outcome: Judged['outcome'], code: string, figures: object): Judged => ({
  about,
  outcome,
  text: textOf(code, figures),
});

export function judge({ before, after, expected, measured, isAllocator, sameWork }: JudgeInput): VerifyJudgement[] {
  return [
    failure(before, after),
    isAllocator ? fragmentation(measured) : memory(measured, expected, before.ending === 'oom'),
    time(measured, expected?.cost_percent ?? null, sameWork),
  ];
}

const isFailure = ({ ending }: VerifyRun): boolean => ending === 'oom' || ending === 'failed';
const endingText = (run: VerifyRun): Text => textOf('ending', { ...run, setup: isSetup(run.phase) });

function failure(before: VerifyRun, after: VerifyRun): VerifyJudgement {
  const better = isFailure(before) && (after.ending === 'completed' || after.ending === 'stopped');
  const outcome = better ? 'better' : isFailure(after) && !isFailure(before) ? 'worse' : 'note';
  return judgement('failure', outcome, 'endings', { before: endingText(before), after: endingText(after) });
}

function memory(
  { peak_allocated: peak, first_peak_allocated: first }: VerifyMeasured,
  expected: VerifyExpected | null,
  wasOom: boolean,
): VerifyJudgement {
  const saved = peak.delta === null ? null : -peak.delta;
  const expectedBytes = expected?.saving_bytes ?? null;
  // Published peaks are those of the first memory line: like has to be compared with like.
  const isPublished = expectedBytes !== null && expected?.saving_by === 'measured' && first.delta !== null;
  const got = isPublished ? -first.delta! : saved;
  const figures = {
    ...{ peak: peak.of, first: first.of, published: isPublished, expected_bytes: expectedBytes, cut: wasOom },
    ...{ by: expected?.saving_by === 'measured' ? 'published' : (expected?.saving_by ?? 'estimate'), got_bytes: got },
    later_bytes: isPublished && saved !== null && Math.abs(saved - got!) > BYTES ? saved : null,
  };
  if (got === null) return judgement('memory', 'untested', 'peak_unknown', figures);
  if (expectedBytes === null) return judgement('memory', 'note', 'peak_changed', figures);
  const outcome = compared(got, expectedBytes);
  return judgement('memory', outcome, 'saved', { ...figures, outcome: outcome === 'worse' ? 'less' : outcome });
}

function compared(got: number, expected: number): VerifyJudgement['outcome'] {
  const tolerance = Math.max(SHARE * Math.abs(expected), BYTES);
  if (got > expected + tolerance) return 'better';
  return got >= expected - tolerance ? 'as_expected' : got < -BYTES ? 'worse' : 'less';
}

function fragmentation({ cached, peak_allocated: peak }: VerifyMeasured): VerifyJudgement {
  const { before, after, of } = cached;
  const moments = typeof of === 'string' ? {} : of.of;
  const figures = {
    ...{ of, at: moments['before'], at_after: moments['after'], before_bytes: before, after_bytes: after },
    percent: peak.delta === null || peak.percent === null ? null : Math.abs(peak.percent),
    fell: (peak.percent ?? 0) < 0,
  };
  if (before === null || after === null) return judgement('fragmentation', 'untested', 'cached_unknown', figures);
  const shrank = before - after;
  const outcome = shrank > Math.max(SHARE * before, BYTES) ? 'better' : shrank < -BYTES ? 'worse' : 'note';
  return judgement('fragmentation', outcome, 'cached', figures);
}

function time(measured: VerifyMeasured, expected: number | null, sameWork: boolean): VerifyJudgement {
  const lost = throughputLost(measured, sameWork);
  const { step_ms: steps, tflops } = measured;
  if (lost === null) {
    const figures = { other_work: steps.delta !== null && !sameWork, of: steps.of, expected };
    return judgement('time', 'untested', 'time_unknown', figures);
  }
  const { percent, noise } = lost;
  const tolerance = noise + SHARE * Math.abs(expected ?? 0);
  const outcome =
    expected === null
      ? 'note'
      : percent > expected + tolerance
        ? 'worse'
        : percent < expected - tolerance
          ? 'better'
          : 'as_expected';
  return judgement('time', outcome, 'time', {
    ...{ slower: percent > 0, percent: Math.abs(percent), noise, of: tflops.percent === null ? steps.of : tflops.of },
    ...{ within: Math.abs(percent) <= noise, expected, outcome },
  });
}
