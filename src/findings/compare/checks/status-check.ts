/**
 * Whether the runs completed: before any figure, because a run that failed with normal throughput is still a failure.
 */

import type { MeasuredStatus, Measurement } from '../../../model/measurement.js';
import type { CheckStatus, CompareCheck } from '../../../model/results/compare.js';
import { formatCount } from '../../../model/units.js';
import type { IncidentKind } from '../../../model/vocabulary.js';

/** Failures of the machines a job ran on, or of its time limit: they are not evidence about its code. */
const ENVIRONMENT: ReadonlySet<IncidentKind> = new Set<IncidentKind>([
  'timeout',
  'connection_lost',
  'hardware',
  'time_limit',
  'nccl_unknown',
  'nccl_not_oom',
]);

export function isEnvironmentFailure(status: MeasuredStatus): boolean {
  if (status.verdict?.cause === 'external_pressure' && status.verdict.detail === 'other_process') return true;
  return status.ending === 'failed' && status.failure !== null && ENVIRONMENT.has(status.failure.kind);
}

export function statusWords(status: MeasuredStatus): string {
  switch (status.ending) {
    case 'completed':
      return 'completed';
    case 'stopped':
      return status.last_iteration === null
        ? 'ends without a word'
        : `ends without a word after iteration ${formatCount(status.last_iteration)}`;
    case 'no_training':
      return 'no training seen';
    case 'oom': {
      const { verdict } = status;
      return verdict === null
        ? 'out of memory'
        : `out of memory: ${[verdict.cause, verdict.detail].filter(Boolean).join(', ').replaceAll('_', ' ')}`;
    }
    case 'failed':
      return status.failure === null ? 'failed' : `failed: ${status.failure.kind.replaceAll('_', ' ')}`;
  }
}

/** Whether a run without a last word went as far as one that completed. */
export function cameAsFar(current: MeasuredStatus, golden: MeasuredStatus): boolean {
  return (
    current.last_iteration !== null && golden.last_iteration !== null && current.last_iteration >= golden.last_iteration
  );
}

export function statusCheck(golden: readonly Measurement[], current: readonly Measurement[]): CompareCheck {
  const base = golden.find(({ status }) => status.ending === 'completed')?.status ?? golden[0]!.status;
  const worst = current.toSorted((a, b) => rankOf(b.status, base) - rankOf(a.status, base))[0]!.status;
  const status = judge(worst, base);
  const failure = worst.failure;
  const place = failure === null ? null : `${failure.file} line ${formatCount(failure.line)}: ${failure.text}`;
  return {
    name: 'status',
    golden: statusWords(base),
    current: statusWords(worst),
    unit: '',
    delta: null,
    relative: null,
    tolerance: null,
    status,
    gate: true,
    noise: null,
    reason: worst.verdict !== null && worst.ending === 'oom' ? worst.verdict.summary : place,
  };
}

function judge(current: MeasuredStatus, golden: MeasuredStatus): CheckStatus {
  if (current.ending === 'completed') return 'pass';
  if (current.ending === 'oom') {
    if (golden.ending === 'oom') return 'info';
    return isEnvironmentFailure(current) ? 'undecided' : 'regression';
  }
  if (current.ending === 'failed') return isEnvironmentFailure(current) ? 'undecided' : 'regression';
  if (current.ending === 'stopped') return cameAsFar(current, golden) ? 'pass' : 'undecided';
  return 'info';
}

const ORDER: readonly CheckStatus[] = ['pass', 'info', 'undecided', 'regression'];
const rankOf = (status: MeasuredStatus, golden: MeasuredStatus): number => ORDER.indexOf(judge(status, golden));
