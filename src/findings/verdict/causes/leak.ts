/** Words for memory that grows from iteration to iteration. */
import { maxOf, minOf } from '../../../model/lists.js';
import { formatBytes, formatCount } from '../../../model/units.js';
import type { EvidenceLog, Growth, OomFacts, TraceFacts } from '../facts.js';
import { type Answer, type CauseWords, numberOf, unknownReason, type Words } from './words.js';

const COMPARE = 'compare two memory snapshots some iterations apart: what is live in the later one only is what leaks';
const KEPT_TENSORS =
  'look for tensors kept across iterations: losses or metrics appended without .item(), hooks, growing caches';

export const leak: CauseWords = (answer, facts, evidence) => {
  switch (answer.reason) {
    case 'message_missing':
      return { text: 'the figures of the OOM message' };
    case 'lines_missing':
      return {
        text: 'allocated memory after at least 4 iterations of this rank (Megatron-LM: --log-memory-interval)',
      };
    case 'fits':
      return { text: `what is live and asked fits: no growth filled the device${reservedOnly(answer)}` };
    case 'too_early': {
      const when =
        numberOf(answer, 'completed_steps') === 0 ? 'before the first iteration was over' : 'in the second iteration';
      return { text: `it failed ${when}: nothing can have grown over several` };
    }
    case 'foretold':
      return foretold(answer, facts, evidence);
    case 'lines_not_steady':
    case 'lines_level_off':
    case 'lines_grow_too_little':
    case 'lines_grow':
      return linesWords(answer, facts.growth!, evidence);
  }
  const words = traceWords(answer, facts.trace!, evidence);
  // Two sources that agree are more certain; where they do not, the reader sees both.
  if (answer.numbers['grown_in_lines_bytes'] !== undefined) addGrowthEvidence(facts.growth!, evidence);
  return words;
};

function reservedOnly({ numbers }: Answer): string {
  const bytes = numbers['reserved_only_growth_bytes'];
  return bytes === undefined ? '' : ` (reserved memory grew by ${formatBytes(bytes)}, allocated memory did not)`;
}

// ---- from the snapshot ---------------------------------------------------------------------

function traceWords(answer: Answer, trace: TraceFacts, evidence: EvidenceLog): Words {
  const bytes = (name: string): string => formatBytes(numberOf(answer, name));
  const doubts = answer.doubts.map(
    () => 'printed memory grows from iteration to iteration, the trace does not show it',
  );
  switch (answer.reason) {
    case 'kept_of_steps': {
      const { site } = trace.keeping[0]!;
      addKeepingEvidence(trace, evidence);
      return {
        text: `${bytes('kept_bytes')} were kept of earlier steps, about ${bytes('kept_bytes_per_step')} of each, by ${site}; without them the request would have fitted`,
        next: [
          `look at ${site}: what it makes in every step is never freed (a list that is appended to, an output without .detach())`,
          COMPARE,
        ],
      };
    }
    case 'step_ends_rise': {
      const perStep = Math.round(numberOf(answer, 'grown_bytes') / (numberOf(answer, 'whole_steps') - 1));
      addEndsEvidence(trace, evidence);
      return {
        text: `live memory at the end of a step grew by ${formatBytes(perStep)} each step; without that growth the request would have fitted`,
        next: [KEPT_TENSORS, COMPARE],
      };
    }
    case 'no_repeated_site':
      return {
        text: `no call site has enough blocks alive: those with several hold ${bytes('repeated_bytes')}, less than what is missing`,
        doubts,
      };
    case 'no_earlier_step': {
      const passed = trace.steps!.length === 0 ? 'no step' : 'only one step';
      return { text: `${passed} was over before it: nothing can have grown over several`, doubts };
    }
    case 'kept_too_little':
      return { text: `the ${bytes('kept_bytes')} kept of earlier steps do not decide it`, doubts };
    case 'none_kept': {
      const steps = formatCount(numberOf(answer, 'whole_steps'));
      return {
        text: `no call site keeps a block of each step over the ${steps} whole steps of the trace${levelText(trace)}`,
        doubts,
      };
    }
  }
  return unknownReason(answer);
}

function levelText({ steps }: TraceFacts): string {
  const settled = (steps ?? []).filter((step) => step.settled);
  const [ends, peaks] = [settled.map((step) => step.endBytes), settled.map((step) => step.peakBytes)];
  const range = (bytes: readonly number[]): number => maxOf(bytes) - minOf(bytes);
  return `: their ends differ by ${formatBytes(range(ends))}, their peaks by ${formatBytes(range(peaks))}`;
}

function addKeepingEvidence(trace: TraceFacts, evidence: EvidenceLog): void {
  for (const { site, bytes, blocks, steps: keeps, bytesPerStep } of trace.keeping.slice(0, 3)) {
    evidence.add(
      `${formatBytes(bytes)} in ${formatCount(blocks)} blocks of ${site} are from before the failing step: ${formatBytes(bytesPerStep)} left over from each of ${formatCount(keeps)} whole steps (${trace.stepsBy})`,
      trace.source,
    );
  }
  addEndsEvidence(trace, evidence);
}

function addEndsEvidence({ steps, source }: TraceFacts, evidence: EvidenceLog): void {
  const ends = (steps ?? []).map((step) => formatBytes(step.endBytes));
  if (ends.length > 1) evidence.add(`live at the ends of the steps before: ${ends.slice(-6).join(', ')}`, source);
}

// ---- from the log --------------------------------------------------------------------------

function spanOf({ firstIteration, lastIteration }: Growth): string {
  return `iterations ${formatCount(firstIteration)} to ${formatCount(lastIteration)}`;
}

function linesWords(answer: Answer, growth: Growth, evidence: EvidenceLog): Words {
  const bytes = (name: string): string => formatBytes(numberOf(answer, name));
  const span = spanOf(growth);
  switch (answer.reason) {
    case 'lines_not_steady': {
      const grown = numberOf(answer, 'grown_bytes');
      const change = `${grown < 0 ? '−' : '+'}${formatBytes(Math.abs(grown))}`;
      return { text: `allocated memory does not grow steadily over ${span} (${change})${reservedOnly(answer)}` };
    }
    case 'lines_level_off': {
      const late = formatBytes(Math.max(0, numberOf(answer, 'late_bytes')));
      return {
        text: `allocated memory levels off over ${span}: of ${bytes('grown_bytes')} only ${late} came in the later half`,
      };
    }
    case 'lines_grow_too_little':
      return { text: `even without the ${bytes('grown_bytes')} that grew over ${span} it would not have fitted` };
  }
  addGrowthEvidence(growth, evidence);
  return {
    text: `allocated memory grows by ${formatBytes(Math.round(growth.bytesPerIteration))} every iteration; without that growth the request would have fitted`,
    next: [KEPT_TENSORS, COMPARE],
  };
}

function foretold(answer: Answer, { run }: OomFacts, evidence: EvidenceLog): Words {
  const { firstIteration, secondIteration, peakBytes, lastIteration, source } = run!.early!;
  const perStep = formatBytes(Math.round(numberOf(answer, 'grown_bytes_per_step')));
  const span = `${formatCount(firstIteration)} to ${formatCount(secondIteration)}`;
  const [peak, limit] = [formatBytes(peakBytes), formatBytes(numberOf(answer, 'limit_bytes'))];
  const fullAt = formatCount(secondIteration + numberOf(answer, 'full_after_steps'));
  evidence.add(
    `what rests after a step grew by ${perStep} from iteration ${span}; growing on so, its peak of ${peak} reaches ${limit} in iteration ${fullAt}, and iteration ${formatCount(lastIteration + 1)} failed`,
    source,
  );
  return {
    text: `allocated memory grew by ${perStep} an iteration where it was printed, and growing on so it fills the device in just the iteration that failed`,
    next: [
      KEPT_TENSORS,
      'confirm it: print the memory of every iteration (Megatron-LM: --log-memory-interval 1), or dump a snapshot at the OOM',
    ],
  };
}

function addGrowthEvidence(growth: Growth, evidence: EvidenceLog): void {
  const perStep = formatBytes(Math.round(growth.bytesPerIteration));
  const grown = formatBytes(Math.max(0, growth.lastBytes - growth.firstBytes));
  evidence.add(
    `allocated memory grew by ${perStep} an iteration over ${spanOf(growth)}, ${grown} in all (fit ${growth.r2.toFixed(2)})`,
    growth.source,
  );
}
