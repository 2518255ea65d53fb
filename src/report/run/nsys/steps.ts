/** Which ranges are the steps of a report, why, and which are not. */
import { groupBy } from '../../../model/group-by.js';
import { median } from '../../../model/median.js';
import type * as results from '../../../model/results/nsys.js';
import * as d from '../../document/document.js';
import { excerpt } from '../../document/values.js';
import { wordOf, wordTable } from '../../words/fill.js';

/** Most ranges that are listed for one reason. */
const MOST_ALIKE = 3;

const stepMethod = wordOf('codes', 'step_methods');

/** Without steps, why there are none. */
export function stepSection({
  steps,
  step_candidates: candidates,
  nvtx_ranges: ranges,
  ...report
}: results.NsysReport): d.MaybePart {
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
        return d.t`no step: ${d.joined(texts, ', ')}${more} (${wordTable('codes', 'step_rejected')[reason] ?? reason})`;
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

function chosenFacts(steps: readonly results.NsysStep[], chosen: results.NsysStepCandidate) {
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
    d.fact('chosen', d.t`${wordTable('codes', 'step_chosen')[chosen.reason] ?? chosen.reason}${coverage(chosen)}`),
  ];
}

const how = ({ method, text }: results.NsysStepCandidate): d.Text =>
  d.t`${method === null ? 'ranges' : stepMethod(method)} ${d.code(`"${excerpt(text, 300)}"`)}`;

/** The windows contain this share of the work between the first and the last of them. */
function coverage({ share, is_of_time: isOfTime, count: n }: results.NsysStepCandidate): string {
  if (share === null || n < 2) return '';
  const percent = `${Math.floor(100 * share)} %`;
  return isOfTime
    ? `; covers ${percent} of the time from the first to the last`
    : `; contains ${percent} of the CUDA calls from the first to the last`;
}
