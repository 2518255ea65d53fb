/**
 * Memory that grows from iteration to iteration filled the device; without the growth the request would have fitted.
 * There are two sources: memory lines of the log, and the snapshot, where blocks of one call site remain from step
 * after step. Not leaks, though similar: a warm-up that levels off, peaks that vary with the data while the ends of the
 * steps do not grow, parameters and optimizer states (never freed either, but allocated in one burst), reserved memory
 * that grows while allocated memory does not.
 */
import { maxOf, minOf } from '../../../model/lists.js';
import { formatBytes, formatCount } from '../../../model/units.js';
import {
  budget,
  type CauseTest,
  type EvidenceLog,
  type Growth,
  type KeepingSite,
  numbersOf,
  type OomFacts,
  type Sums,
  sums,
  type TestOutcome,
  type TraceFacts,
} from '../facts.js';
import {
  FEWEST_FORETOLD_STEPS,
  FEWEST_KEEPING_STEPS,
  FEWEST_SAMPLES,
  FORETOLD_WITHIN_STEPS,
  LEAST_KEPT_SHARE,
  LEAST_LATE_SHARE,
  LEAST_R2,
  NOISE_BYTES,
  NOISE_SHARE,
  SURE_STEPS,
} from '../thresholds.js';

const COMPARE = 'compare two memory snapshots some iterations apart: what is live in the later one only is what leaks';

export const leak: CauseTest = {
  cause: 'leak',
  run(facts, evidence) {
    const sum = sums(facts);
    if (sum !== null && sum.shortBytes <= 0)
      return {
        outcome: 'fails',
        why: `what is live and asked fits: no growth filled the device${reservedOnly(facts)}`,
        numbers: numbersOf(sum),
      };
    const trace = facts.trace ?? null;
    const log = fromLog(facts, sum);
    if (sum !== null && trace !== null) {
      const seen = fromTrace(trace, sum);
      if (seen?.outcome === 'holds') {
        addKeepingEvidence(trace, evidence, seen.kept);
        // Two sources give more confidence than one.
        if (log?.outcome === 'holds') addGrowthEvidence(facts.growth!, evidence);
        const sure = seen.confidence === 'high' || log?.outcome === 'holds';
        const { kept: _, ...answer } = seen;
        return { ...answer, confidence: sure ? 'high' : 'medium' };
      }
      if (seen?.outcome === 'fails') {
        // The snapshot contains every block: where it contradicts a trend of printed lines, it is right, and the
        // contradiction becomes a doubt.
        if (log?.outcome !== 'holds') return seen;
        addGrowthEvidence(facts.growth!, evidence);
        return { ...seen, doubts: ['printed memory grows from iteration to iteration, the trace does not show it'] };
      }
    }
    if (log?.outcome === 'holds') addGrowthEvidence(facts.growth!, evidence);
    if (log !== null) return log;
    const early = foretold(facts, sum, evidence);
    if (early !== null) return early;
    const completed = facts.run?.completed ?? null;
    if (completed !== null && completed <= 1) {
      return {
        outcome: 'fails',
        why: `it failed ${completed === 0 ? 'before the first iteration was over' : 'in the second iteration'}: nothing can have grown over several`,
        numbers: { completed_steps: completed },
      };
    }
    if (sum === null && facts.request === null)
      return { outcome: 'not_testable', needs: 'the figures of the OOM message', capture: 'whole_oom_message' };
    return {
      outcome: 'not_testable',
      needs: `allocated memory after at least ${FEWEST_SAMPLES + 1} iterations of this rank (Megatron-LM: --log-memory-interval)`,
      capture: 'memory_each_iteration',
    };
  },
};

function reservedOnly({ run }: OomFacts): string {
  const bytes = run?.reservedOnlyGrowthBytes ?? null;
  return bytes === null ? '' : ` (reserved memory grew by ${formatBytes(bytes)}, allocated memory did not)`;
}

// ---- from the snapshot ---------------------------------------------------------------------

type Kept = Extract<TestOutcome, { outcome: 'holds' }> & { readonly kept: readonly KeepingSite[] };

/** Undefined where the trace shows too few whole steps to decide. */
function fromTrace(trace: TraceFacts, sum: Sums): Kept | Extract<TestOutcome, { outcome: 'fails' }> | undefined {
  const { keeping } = trace;
  if (trace.repeatedBytes < sum.shortBytes) {
    return {
      outcome: 'fails',
      why: `no call site has enough blocks alive: those with several hold ${formatBytes(trace.repeatedBytes)}, less than what is missing`,
      numbers: { ...numbersOf(sum), repeated_bytes: trace.repeatedBytes },
    };
  }
  const { steps } = trace;
  if (steps === null) return undefined;
  const settled = steps.filter((step) => step.settled);
  const keptBytes = keeping.reduce((total, site) => total + site.bytes, 0);
  const numbers = { ...numbersOf(sum), kept_bytes: keptBytes, whole_steps: settled.length };
  if (keptBytes >= sum.shortBytes && keptBytes >= LEAST_KEPT_SHARE * sum.limitBytes) {
    const [largest] = keeping;
    const perStep = keeping.reduce((total, site) => total + site.bytesPerStep, 0);
    return {
      outcome: 'holds',
      detail: null,
      confidence: settled.length >= SURE_STEPS ? 'high' : 'medium',
      summary: `${formatBytes(keptBytes)} were kept of earlier steps, about ${formatBytes(perStep)} of each, by ${largest!.site}; without them the request would have fitted`,
      next: [
        `look at ${largest!.site}: what it makes in every step is never freed (a list that is appended to, an output without .detach())`,
        COMPARE,
      ],
      numbers: { ...numbers, kept_bytes_per_step: perStep },
      kept: keeping,
    };
  }
  const grown = growthOfEnds(trace);
  if (grown !== null && grown.bytes >= sum.shortBytes && grown.bytes >= LEAST_KEPT_SHARE * sum.limitBytes) {
    const perStep = Math.round(grown.bytes / grown.steps);
    return {
      outcome: 'holds',
      detail: null,
      confidence: 'medium',
      summary: `live memory at the end of a step grew by ${formatBytes(perStep)} each step; without that growth the request would have fitted`,
      next: [
        'look for tensors kept across iterations: losses or metrics appended without .item(), hooks, growing caches',
        COMPARE,
      ],
      numbers: { ...numbers, grown_bytes: grown.bytes },
      kept: [],
    };
  }
  const enough = settled.length >= FEWEST_KEEPING_STEPS;
  if (!enough && !(trace.whole && steps.length <= 1)) return undefined;
  const noneKept = `no call site keeps a block of each step`;
  if (!enough) {
    return {
      outcome: 'fails',
      why: `${steps.length === 0 ? 'no step' : 'only one step'} was over before it: nothing can have grown over several`,
      numbers,
    };
  }
  const why =
    keptBytes > 0
      ? `the ${formatBytes(keptBytes)} kept of earlier steps do not decide it`
      : `${noneKept} over the ${formatCount(settled.length)} whole steps of the trace${levelText(trace)}`;
  return { outcome: 'fails', why, numbers };
}

/** Strictly rising step ends over the settled steps; null where one does not rise, or there are too few. */
function growthOfEnds({ steps }: TraceFacts): { readonly bytes: number; readonly steps: number } | null {
  const ends = (steps ?? []).filter((step) => step.settled).map((step) => step.endBytes);
  if (ends.length <= SURE_STEPS) return null;
  const differences = ends.slice(1).map((bytes, i) => bytes - ends[i]!);
  const bytes = ends.at(-1)! - ends[0]!;
  const noise = Math.max(NOISE_BYTES, ends.at(-1)! * NOISE_SHARE);
  const half = Math.floor(ends.length / 2);
  const late = ends.at(-1)! - ends[half]!;
  if (bytes <= noise || differences.some((each) => each <= 0) || late < LEAST_LATE_SHARE * bytes) return null;
  return { bytes, steps: differences.length };
}

function levelText({ steps }: TraceFacts): string {
  const settled = (steps ?? []).filter((step) => step.settled);
  const [ends, peaks] = [settled.map((step) => step.endBytes), settled.map((step) => step.peakBytes)];
  const range = (bytes: readonly number[]): number => maxOf(bytes) - minOf(bytes);
  return `: their ends differ by ${formatBytes(range(ends))}, their peaks by ${formatBytes(range(peaks))}`;
}

function addKeepingEvidence(trace: TraceFacts, evidence: EvidenceLog, kept: readonly KeepingSite[]): void {
  const { steps, stepsBy, source } = trace;
  for (const { site, bytes, blocks, steps: keeps, bytesPerStep } of kept.slice(0, 3)) {
    evidence.add(
      `${formatBytes(bytes)} in ${formatCount(blocks)} blocks of ${site} are from before the failing step: ${formatBytes(bytesPerStep)} left over from each of ${formatCount(keeps)} whole steps (${stepsBy})`,
      source,
    );
  }
  const ends = (steps ?? []).map((step) => formatBytes(step.endBytes));
  if (ends.length > 1) evidence.add(`live at the ends of the steps before: ${ends.slice(-6).join(', ')}`, source);
}

// ---- from the log --------------------------------------------------------------------------

/** Null without a trend. */
function fromLog(facts: OomFacts, sum: Sums | null): TestOutcome | null {
  const { growth } = facts;
  if (growth === null || growth.samples < FEWEST_SAMPLES) return null;
  const span = `iterations ${formatCount(growth.firstIteration)} to ${formatCount(growth.lastIteration)}`;
  const grown = growth.lastBytes - growth.firstBytes;
  const numbers = {
    ...(sum === null ? {} : numbersOf(sum)),
    grown_bytes: grown,
    samples: growth.samples,
    r2: growth.r2,
  };
  const noise = Math.max(NOISE_BYTES, growth.lastBytes * NOISE_SHARE);
  if (grown <= noise || growth.r2 < LEAST_R2) {
    const sign = grown < 0 ? '−' : '+';
    return {
      outcome: 'fails',
      why: `allocated memory does not grow steadily over ${span} (${sign}${formatBytes(Math.abs(grown))})${reservedOnly(facts)}`,
      numbers,
    };
  }
  const late = growth.lateBytes ?? null;
  if (late !== null && late < LEAST_LATE_SHARE * grown) {
    return {
      outcome: 'fails',
      why: `allocated memory levels off over ${span}: of ${formatBytes(grown)} only ${formatBytes(Math.max(0, late))} came in the later half`,
      numbers: { ...numbers, late_bytes: late },
    };
  }
  if (sum !== null && sum.shortBytes > grown) {
    return {
      outcome: 'fails',
      why: `even without the ${formatBytes(grown)} that grew over ${span} it would not have fitted`,
      numbers,
    };
  }
  if (budget(facts) === null && facts.request === null)
    return { outcome: 'not_testable', needs: 'the figures of the OOM message', capture: 'whole_oom_message', numbers };
  const perStep = formatBytes(Math.round(growth.bytesPerIteration));
  const certain = sum !== null && growth.samples >= 2 * FEWEST_SAMPLES && growth.r2 >= 0.95;
  return {
    outcome: 'holds',
    detail: null,
    confidence: certain ? 'high' : 'medium',
    summary: `allocated memory grows by ${perStep} every iteration; without that growth the request would have fitted`,
    next: [
      'look for tensors kept across iterations: losses or metrics appended without .item(), hooks, growing caches',
      COMPARE,
    ],
    numbers,
  };
}

/**
 * By default Megatron prints memory only after the first two iterations. The memory left after a step should not grow
 * between them. If it does, and the same growth would fill the device in just the iteration that failed, that is not a
 * coincidence. Varying sequence lengths change the peaks, not what is left after a step.
 */
function foretold({ run }: OomFacts, sum: Sums | null, evidence: EvidenceLog): TestOutcome | null {
  const early = run?.early ?? null;
  if (early === null || sum === null) return null;
  const { bytesPerIteration, peakBytes, secondIteration, lastIteration, source } = early;
  if (bytesPerIteration <= Math.max(NOISE_BYTES, NOISE_SHARE * peakBytes)) return null;
  const failing = lastIteration + 1 - secondIteration;
  const full = Math.ceil((sum.limitBytes - peakBytes) / bytesPerIteration);
  if (failing < FEWEST_FORETOLD_STEPS || Math.abs(failing - full) > FORETOLD_WITHIN_STEPS) return null;
  const perStep = formatBytes(Math.round(bytesPerIteration));
  const span = `${formatCount(early.firstIteration)} to ${formatCount(secondIteration)}`;
  const [peak, limit] = [formatBytes(peakBytes), formatBytes(sum.limitBytes)];
  const [fullAt, failed] = [formatCount(secondIteration + full), formatCount(lastIteration + 1)];
  evidence.add(
    `what rests after a step grew by ${perStep} from iteration ${span}; growing on so, its peak of ${peak} reaches ${limit} in iteration ${fullAt}, and iteration ${failed} failed`,
    source,
  );
  return {
    outcome: 'holds',
    detail: null,
    confidence: 'medium',
    summary: `allocated memory grew by ${perStep} an iteration where it was printed, and growing on so it fills the device in just the iteration that failed`,
    next: [
      'look for tensors kept across iterations: losses or metrics appended without .item(), hooks, growing caches',
      'confirm it: print the memory of every iteration (Megatron-LM: --log-memory-interval 1), or dump a snapshot at the OOM',
    ],
    numbers: {
      ...numbersOf(sum),
      grown_bytes_per_step: bytesPerIteration,
      failing_after_steps: failing,
      full_after_steps: full,
    },
  };
}

function addGrowthEvidence(growth: Growth, evidence: EvidenceLog): void {
  const span = `iterations ${formatCount(growth.firstIteration)} to ${formatCount(growth.lastIteration)}`;
  const perStep = formatBytes(Math.round(growth.bytesPerIteration));
  const grown = formatBytes(Math.max(0, growth.lastBytes - growth.firstBytes));
  evidence.add(
    `allocated memory grew by ${perStep} an iteration over ${span}, ${grown} in all (fit ${growth.r2.toFixed(2)})`,
    growth.source,
  );
}
