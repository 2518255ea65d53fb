/** Memory that grows from iteration to iteration filled the device: without the growth the request would have fitted. */
import { formatBytes, formatCount, MIB } from '../../model/units.js';
import { active, budget, type CauseTest } from './facts.js';

/** The fewest iterations, the first one left out, that make a trend. */
const FEWEST_SAMPLES = 3;
/** How well a straight line must fit. Steps of lazy initialisation fit worse. */
const LEAST_R2 = 0.8;
/** Growth below this share of what is allocated is noise: logs round to five digits, and buffers come and go. */
const NOISE_SHARE = 0.002;

export const leak: CauseTest = {
  cause: 'leak',
  run(facts, evidence) {
    const { growth } = facts;
    const limit = budget(facts);
    const live = active(facts);
    const short = limit === null || live === null ? null : live.bytes + facts.requestAtLeastBytes - limit.bytes;
    if (short !== null && short <= 0)
      return { outcome: 'fails', why: 'what is live and asked fits: no growth filled the device' };
    if (growth === null || growth.samples < FEWEST_SAMPLES) {
      return {
        outcome: 'not_testable',
        needs: `allocated memory after at least ${FEWEST_SAMPLES + 1} iterations of this rank (Megatron-LM: --log-memory-interval)`,
      };
    }
    const span = `iterations ${formatCount(growth.firstIteration)} to ${formatCount(growth.lastIteration)}`;
    const grown = growth.lastBytes - growth.firstBytes;
    const noise = Math.max(8 * MIB, growth.lastBytes * NOISE_SHARE);
    if (grown <= noise || growth.r2 < LEAST_R2) {
      const sign = grown < 0 ? '−' : '+';
      return {
        outcome: 'fails',
        why: `allocated memory does not grow steadily over ${span} (${sign}${formatBytes(Math.abs(grown))})`,
      };
    }
    const perStep = formatBytes(Math.round(growth.bytesPerIteration));
    if (short !== null && short > grown) {
      return {
        outcome: 'fails',
        why: `even without the ${formatBytes(grown)} that grew over ${span} it would not have fitted`,
      };
    }
    if (short === null && facts.request === null)
      return { outcome: 'not_testable', needs: 'the figures of the OOM message' };
    evidence.add(
      `allocated memory grew by ${perStep} an iteration over ${span}, ${formatBytes(grown)} in all (fit ${growth.r2.toFixed(2)})`,
      growth.source,
    );
    const certain = short !== null && growth.samples >= 2 * FEWEST_SAMPLES && growth.r2 >= 0.95;
    return {
      outcome: 'holds',
      detail: null,
      confidence: certain ? 'high' : 'medium',
      summary: `allocated memory grows by ${perStep} every iteration; without that growth the request would have fitted`,
      next: [
        'look for tensors kept across iterations: losses or metrics appended without .item(), hooks, growing caches',
        'compare two memory snapshots some iterations apart: what is live in the later one only is what leaks',
      ],
    };
  },
};
