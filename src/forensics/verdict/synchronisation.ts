/** The memory was freed, but another stream had not finished with it: it would have been there a few milliseconds later. */
import { formatBytes } from '../../model/units.js';
import { active, budget, type CauseTest, type EvidenceLog, type OomFacts, type TestOutcome } from './facts.js';

const NEXT: readonly string[] = [
  'look at record_stream() on the large buffers of the communication stream; wait for it before the big allocation',
];

export const synchronisation: CauseTest = {
  cause: 'synchronisation',
  run(facts, evidence) {
    const limit = budget(facts);
    const live = active(facts);
    if (facts.pending === null || limit === null || live === null) {
      return { outcome: 'not_testable', needs: 'a memory snapshot taken at the OOM (pending frees are in no message)' };
    }
    const pending = facts.pending.bytes;
    const need = facts.requestAtLeastBytes;
    if (pending === 0) return freedByTheWait(facts, need, evidence);
    const without = live.bytes - pending + need;
    if (live.bytes + need <= limit.bytes || without > limit.bytes) {
      return { outcome: 'fails', why: `${formatBytes(pending)} of pending frees do not decide it` };
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
    };
  },
};

/**
 * Before it gives up, torch waits for all pending frees, so none is left at the OOM. What that wait set free it does not search again
 * (pytorch issue 189504): a block that fits, in the request's own pool and stream, cannot have been free before.
 */
function freedByTheWait(facts: OomFacts, need: number, evidence: EvidenceLog): TestOutcome {
  const waited = facts.freedByWait?.bytes ?? 0;
  const fits = facts.free !== null && facts.free.usable.largestBytes >= need;
  if (!fits || waited === 0 || Number.isFinite(facts.allocator?.maxSplitBytes ?? Number.POSITIVE_INFINITY)) {
    return { outcome: 'fails', why: 'no freed block was waiting for another stream' };
  }
  const largest = formatBytes(facts.free?.usable.largestBytes ?? 0);
  evidence.add(
    `${formatBytes(waited)} came free only while the allocator waited for other streams, a block of ${largest} with them that would have served the request; torch does not search again after that`,
    facts.freedByWait?.source ?? '',
  );
  return {
    outcome: 'holds',
    detail: null,
    confidence: facts.walk?.exact === true ? 'high' : 'medium',
    summary: `${largest} in one piece had been freed but was still in use by another stream when the request came`,
    next: NEXT,
  };
}
