/** Live memory and the request exceed what the process could have at all: no allocator setting can help. */
import { formatBytes } from '../../model/units.js';
import { active, budget, type CauseTest } from './facts.js';

export const capacity: CauseTest = {
  cause: 'capacity',
  run(facts, evidence) {
    const need = facts.requestAtLeastBytes;
    const request = facts.request;
    if (request !== null && facts.total !== null && need > facts.total.bytes) {
      evidence.add(
        `${formatBytes(request.bytes)} asked of a device of ${formatBytes(facts.total.bytes)}`,
        request.source,
      );
      return {
        outcome: 'holds',
        detail: 'impossible_request',
        confidence: 'high',
        summary: `the request of ${formatBytes(request.bytes)} is larger than the whole device`,
        next: ['suspect a shape, not memory: look at the tensor this call makes'],
      };
    }
    const limit = budget(facts);
    const live = active(facts);
    if (limit === null && live !== null && facts.total !== null && request !== null) {
      // Some messages (cudaMallocAsync) print no reserve; beyond the whole device no reserve can help.
      const short = live.bytes + need - facts.total.bytes;
      if (short > live.precisionBytes + facts.total.precisionBytes) {
        evidence.add(
          `${formatBytes(live.bytes)} live + ${formatBytes(need)} asked exceed the whole device of ${formatBytes(facts.total.bytes)}`,
          live.source,
        );
        return {
          outcome: 'holds',
          detail: null,
          confidence: 'medium',
          summary: `the device is full: ${formatBytes(short)} short of what is live and asked`,
          next: ['no allocator setting can help here; lower what is live, or ask for less at once'],
        };
      }
    }
    if (limit === null || live === null || request === null) {
      return {
        outcome: 'not_testable',
        needs: 'allocated, reserved and free bytes (a snapshot at the OOM, or the whole message)',
      };
    }
    const shortfall = live.bytes + need - limit.bytes;
    const precision = live.precisionBytes + limit.precisionBytes;
    const fits = (bytes: number): string =>
      `${formatBytes(bytes)} live and asked fit the ${formatBytes(limit.bytes)} this process could have`;
    const exact = precision === 0;
    // Rounding cuts both ways: printed figures that just fit do not rule it out either.
    if (shortfall <= -precision) return { outcome: 'fails', why: fits(live.bytes + need) };
    if (shortfall <= precision) {
      return {
        outcome: 'not_testable',
        needs: `exact figures: ${formatBytes(Math.abs(shortfall))} ${shortfall > 0 ? 'short' : 'to spare'} is below the message's rounding`,
      };
    }
    const slack = facts.oversizeSlack?.bytes ?? 0;
    if (shortfall <= slack) {
      return {
        outcome: 'fails',
        why: `${fits(live.bytes + need - slack)}, were it not for the slack of oversize blocks`,
      };
    }
    const fraction = facts.allowed !== null && limit === facts.allowed;
    evidence.add(
      `${formatBytes(live.bytes)} live + ${formatBytes(need)} asked exceed the ${formatBytes(limit.bytes)} ${
        fraction ? 'its memory fraction allows' : 'this process could have (reserved + device free)'
      } by ${formatBytes(shortfall)}`,
      live.source,
    );
    return {
      outcome: 'holds',
      detail: fraction ? 'fraction_limit' : need > limit.bytes ? 'impossible_request' : null,
      confidence: exact ? 'high' : 'medium',
      summary: fraction
        ? `the process's memory fraction is used up: ${formatBytes(shortfall)} short`
        : `the device is full: at least ${formatBytes(shortfall)} short even if every cached byte were usable`,
      next: fraction
        ? ['raise the memory fraction (set_per_process_memory_fraction), or find who needs the rest of the device']
        : ['no allocator setting can help here; see what is live with `mbforensics peak`, then lower that'],
    };
  },
};
