/** Which ranges are the steps of a report, why, and which are not. */
import { pushAll } from '../../../model/lists.js';
import type { NsysReport, NsysStepBasis, NsysStepCandidate, NsysStepReason } from '../../../model/results/nsys.js';
import { formatCount } from '../../../model/units.js';
import { labelled, shortText } from '../../text-pieces.js';
import { duration } from './pieces.js';

/** Most characters of a range's text, and of the texts of a combination, which `--step-range` takes whole. */
const MOST_TEXT = 90;
const MOST_TEXTS = 300;
/** Most ranges that are listed for one reason. */
const MOST_ALIKE = 3;

const METHODS: Readonly<Record<NsysStepBasis['by'], string>> = {
  range: 'ranges',
  combination: 'from the first to the last phase of',
  anchor: 'from the end of one to the end of the next',
  recurring: 'recurring ranges',
  period: 'from the beginning of one to the next',
};

const CHOSEN: Readonly<Partial<Record<NsysStepReason, string>>> = {
  named: 'its text names a step',
  phases: 'these ranges follow each other at one level, once per iteration',
  ends: 'a step ends with the optimizer, and no range covers a whole iteration',
  fills: 'it repeats at the outermost level and fills it; no text names a step',
  regular: 'it repeats at equal distances; no text names a step, and no range covers a whole iteration',
  requested: '--step-range',
};

const NO_STEP: Readonly<Partial<Record<NsysStepReason, string>>> = {
  part_of_iteration: 'named as a step, but one part of an iteration',
  phase: 'one phase of an iteration',
  micro_batch: 'repeats more often than the optimizer steps: a micro-batch',
  several_steps: 'contains several optimizer steps',
  inside_modules: 'goes from one numbered module to the next',
  overlaps: 'overlaps itself',
  module_index: 'numbered modules, not repetitions over time',
  module: 'a module',
  epoch: 'an epoch',
  numbers_repeat: 'its numbers begin anew, as those of layers and micro-batches do',
  inside: 'inside other ranges that repeat',
  few: 'repeats only twice, and its text does not name a step',
  little: 'together they cover less than half of the time',
  irregular: 'covers little of the time, at no regular distance',
};

/** Lines about steps; without steps, why there are none. */
export function stepBasisLines({ steps, steps_by, step_candidates, nvtx_ranges }: NsysReport): string[] {
  const lines: string[] = [];
  const chosen = step_candidates.find(({ status }) => status === 'chosen');
  if (steps_by === null || chosen === undefined) {
    const why =
      nvtx_ranges === null || nvtx_ranges === 0
        ? 'the report has no NVTX range'
        : step_candidates.length === 0
          ? 'no range names them, and none repeats'
          : 'no range or combination of ranges is one';
    pushAll(lines, labelled('steps', `none known: ${why}`));
  } else {
    const firstSteps = steps.filter(({ pid }) => pid === steps[0]!.pid);
    const lengths = firstSteps.map(({ start_ns, end_ns }) => end_ns - start_ns).sort((a, b) => a - b);
    const numbers = `${firstSteps[0]!.index} to ${firstSteps.at(-1)!.index}`;
    const median = duration(lengths[lengths.length >> 1] ?? 0);
    pushAll(
      lines,
      labelled('steps', `${formatCount(firstSteps.length)} (${how(chosen)}), ${numbers}, median ${median}`),
    );
    pushAll(lines, labelled('', `chosen: ${CHOSEN[chosen.reason]}${shareText(chosen)}`));
  }
  const possible = step_candidates.filter(({ status }) => status === 'possible');
  for (const candidate of possible.slice(0, MOST_ALIKE))
    pushAll(
      lines,
      labelled('', `also possible: ${formatCount(candidate.count)} ${how(candidate)}${shareText(candidate)}`),
    );
  const rejected = new Map<NsysStepReason, NsysStepCandidate[]>();
  for (const candidate of step_candidates) {
    if (candidate.status !== 'rejected') continue;
    rejected.set(candidate.reason, [...(rejected.get(candidate.reason) ?? []), candidate]);
  }
  for (const [reason, candidates] of rejected) {
    const texts = candidates.slice(0, MOST_ALIKE).map(({ text }) => `"${shortText(text, MOST_TEXT)}"`);
    const more = candidates.length > MOST_ALIKE ? ` and ${candidates.length - MOST_ALIKE} more` : '';
    pushAll(lines, labelled('', `no step: ${texts.join(', ')}${more} (${NO_STEP[reason] ?? reason})`));
  }
  if (possible.length > 0 || (steps_by === null && rejected.size > 0))
    pushAll(lines, labelled('', '--step-range NAME takes another range'));
  return lines;
}

function how({ method, text }: NsysStepCandidate): string {
  const most = method === 'combination' ? MOST_TEXTS : MOST_TEXT;
  return `${method === null ? 'ranges' : METHODS[method]} "${shortText(text, most)}"`;
}

/** The windows contain this share of the work between the first and the last of them. */
function shareText({ share, is_of_time, count }: NsysStepCandidate): string {
  if (share === null || count < 2) return '';
  const percent = `${Math.floor(100 * share)} %`;
  return is_of_time
    ? `; covers ${percent} of the time from the first to the last`
    : `; contains ${percent} of the CUDA calls from the first to the last`;
}
