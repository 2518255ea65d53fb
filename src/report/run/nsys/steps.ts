/** Which ranges are the steps of a report, why, and which are not. */
import { groupBy } from '../../../model/group-by.js';
import { median } from '../../../model/median.js';
import type {
  NsysReport,
  NsysStep,
  NsysStepBasis,
  NsysStepCandidate,
  NsysStepReason,
} from '../../../model/results/nsys.js';
import * as d from '../../document/document.js';
import { excerpt } from '../../document/values.js';

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

/** Without steps, why there are none. */
export function stepSection({
  steps,
  step_candidates: candidates,
  nvtx_ranges: ranges,
  ...report
}: NsysReport): d.MaybePart {
  const by = report.steps_by;
  const chosen = candidates.find(({ status }) => status === 'chosen');
  const possible = candidates.filter(({ status }) => status === 'possible');
  const rejected = groupBy(
    candidates.filter(({ status }) => status === 'rejected'),
    ({ reason }) => reason,
  );
  return d.section(
    'Steps',
    { key: 'steps' },
    d.facts([
      ...(by === null || chosen === undefined
        ? [d.fact('none', noStepText(ranges, candidates.length), { title: 'none known' })]
        : chosenFacts(steps, chosen)),
      possible.length > 0 &&
        d.fact(
          'also_possible',
          d.joined(
            possible.slice(0, MOST_ALIKE).map((one) => d.t`${d.count(one.count)} ${how(one)}${coverage(one)}`),
            '; ',
          ),
        ),
    ]),
    d.items(
      [...rejected].map(([reason, of]) => {
        const texts = of.slice(0, MOST_ALIKE).map(({ text }) => d.code(`"${excerpt(text)}"`));
        const more = of.length > MOST_ALIKE ? d.t` and ${of.length - MOST_ALIKE} more` : '';
        return d.t`no step: ${d.joined(texts, ', ')}${more} (${NO_STEP[reason] ?? reason})`;
      }),
      { key: 'rejected' },
    ),
    (possible.length > 0 || (by === null && rejected.size > 0)) && d.items(['--step-range NAME takes another range']),
  );
}

const noStepText = (ranges: number | null, candidates: number): string =>
  ranges === null || ranges === 0
    ? 'the report has no NVTX range'
    : candidates === 0
      ? 'no range names them, and none repeats'
      : 'no range or combination of ranges is one';

function chosenFacts(steps: readonly NsysStep[], chosen: NsysStepCandidate) {
  const first = steps.filter(({ pid }) => pid === steps[0]!.pid);
  const length: d.Figure = {
    value: median(first.map(({ start_ns: from, end_ns: to }) => to - from)) ?? null,
    unit: 'ns',
  };
  return [
    d.fact(
      'steps',
      d.t`${d.as('count', d.count(first.length))} (${how(chosen)}), ${first[0]!.index} to ${first.at(-1)!.index}, median ${d.as('median_ns', length)}`,
      { title: 'found' },
    ),
    d.fact('chosen', d.t`${CHOSEN[chosen.reason] ?? chosen.reason}${coverage(chosen)}`),
  ];
}

const how = ({ method, text }: NsysStepCandidate): d.Text =>
  d.t`${method === null ? 'ranges' : METHODS[method]} ${d.code(`"${excerpt(text, 300)}"`)}`;

/** The windows contain this share of the work between the first and the last of them. */
function coverage({ share, is_of_time: isOfTime, count: n }: NsysStepCandidate): string {
  if (share === null || n < 2) return '';
  const percent = `${Math.floor(100 * share)} %`;
  return isOfTime
    ? `; covers ${percent} of the time from the first to the last`
    : `; contains ${percent} of the CUDA calls from the first to the last`;
}
