/**
 * The memory was freed, but another stream had not finished with it: it would have been available a few milliseconds
 * later.
 */
import { formatBytes } from '../../../model/units.js';
import {
  type CauseTest,
  type EvidenceLog,
  numbersOf,
  type OomFacts,
  type Sums,
  sums,
  type TestOutcome,
} from '../facts.js';

const NEXT: readonly string[] = [
  'look at record_stream() on the large buffers of the communication stream; wait for it before the big allocation',
];

export const synchronisation: CauseTest = {
  cause: 'synchronisation',
  run(facts, evidence) {
    const sum = sums(facts);
    if (facts.pending === null || sum === null) {
      return {
        outcome: 'not_testable',
        needs: 'a memory snapshot taken at the OOM (pending frees are in no message)',
        capture: 'snapshot_at_oom',
      };
    }
    const pending = facts.pending.bytes;
    if (pending === 0) return freedByTheWait(facts, sum, evidence);
    const numbers = { ...numbersOf(sum), pending_bytes: pending };
    if (sum.shortBytes <= 0 || sum.shortBytes > pending) {
      return { outcome: 'fails', why: `${formatBytes(pending)} of pending frees do not decide it`, numbers };
    }
    evidence.add(
      `${formatBytes(pending)} were freed but still in use by another stream (record_stream)`,
      facts.pending.source,
    );
    return {
      outcome: 'holds',
      detail: null,
      confidence: 'high',
      summary: `${formatBytes(pending)} of freed memory was waiting for another stream; without it the request fits`,
      next: NEXT,
      numbers,
    };
  },
};

/**
 * Before an OOM, torch waits for all pending frees, so none is left at the OOM. It does not search again what that wait
 * freed (pytorch issue 189504): a block that fits, in the request's own pool and stream, cannot have been free before.
 */
function freedByTheWait(facts: OomFacts, sum: Sums, evidence: EvidenceLog): TestOutcome {
  const waited = facts.freedByWait?.bytes ?? 0;
  const largestBytes = facts.free?.usable.largestBytes ?? 0;
  const numbers = { ...numbersOf(sum), freed_by_wait_bytes: waited, largest_usable_bytes: largestBytes };
  const fits = facts.free !== null && largestBytes >= sum.needBytes;
  if (!fits || waited === 0 || Number.isFinite(facts.allocator?.maxSplitBytes ?? Number.POSITIVE_INFINITY)) {
    return { outcome: 'fails', why: 'no freed block was waiting for another stream', numbers };
  }
  const largest = formatBytes(largestBytes);
  evidence.add(
    `${formatBytes(waited)} came free only while the allocator waited for other streams, a block of ${largest} with them that would have served the request; torch does not search again after that (pytorch issue 189504)`,
    facts.freedByWait?.source ?? '',
  );
  return {
    outcome: 'holds',
    detail: null,
    confidence: facts.walk?.exact === true ? 'high' : 'medium',
    summary: `${largest} in one piece had been freed but was still in use by another stream when the request came`,
    next: NEXT,
    numbers,
  };
}
