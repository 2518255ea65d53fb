/** The memory was freed, but another stream had not finished with it: it would have been there a few milliseconds later. */
import { formatBytes } from '../../model/units.js';
import { active, budget, type CauseTest } from './facts.js';

export const synchronisation: CauseTest = {
  cause: 'synchronisation',
  run(facts, evidence) {
    const limit = budget(facts);
    const live = active(facts);
    if (facts.pending === null || limit === null || live === null) {
      return { outcome: 'not_testable', needs: 'a memory snapshot taken at the OOM (pending frees are in no message)' };
    }
    const pending = facts.pending.bytes;
    if (pending === 0) return { outcome: 'fails', why: 'no freed block was waiting for another stream' };
    const need = facts.requestAtLeastBytes;
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
      next: [
        'look at record_stream() on the large buffers of the communication stream; wait for it before the big allocation',
      ],
    };
  },
};
