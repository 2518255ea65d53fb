/** Which ranges are the steps of a report, why, and which are not. */

import { groupBy } from '../../../model/group-by.js';
import { median } from '../../../model/median.js';
import type * as results from '../../../model/results/nsys.js';
import * as d from '../../document/document.js';
import { excerpt } from '../../document/values.js';
import { wordOf, wordTable } from '../../words/fill.js';
import { factsOf, textMaker } from '../../words/fill-pieces.js';

/** Most ranges that are listed for one reason. */
const MOST_ALIKE = 3;

const stepMethod = wordOf('codes', 'step_methods');

const textOf = textMaker('nsys', 'coverage');

/** Without steps, why there are none. */
export function stepSection({
  steps,
  step_candidates: candidates,
  nvtx_ranges: ranges,
  ...report
}: results.NsysReport) {
  const of = (status: results.NsysStepCandidate['status']) => candidates.filter((one) => one.status === status);
  const [[chosen], possible] = [of('chosen'), of('possible')];
  const rejected = groupBy(of('rejected'), ({ reason }) => reason);
  const first = steps.filter(({ pid }) => pid === steps[0]!.pid);
  const isKnown = report.steps_by !== null && chosen !== undefined;
  const choice = isKnown && {
    ...{ step_count: first.length, how: candidateText(chosen), from: first[0]!.index, to: first.at(-1)!.index },
    median_ns: median(first.map(({ start_ns: from, end_ns: to }) => to - from)),
    reason: wordTable('codes', 'step_chosen')[chosen.reason] ?? chosen.reason,
    coverage: coverage(chosen),
  };
  return d.section(
    'Steps',
    { key: 'steps' },
    d.facts(
      factsOf('nsys', 'steps', choice || { ranges: (ranges ?? 0) > 0, candidates: candidates.length > 0, none: true }, {
        possible: d.joined(
          possible.slice(0, MOST_ALIKE).map((one) => d.t`${one.count} ${candidateText(one)}${coverage(one)}`),
          '; ',
        ),
      }),
    ),
    d.items(
      [...rejected].map(([reason, all]) => {
        const texts = all.slice(0, MOST_ALIKE).map(({ text }) => d.code(`"${excerpt(text)}"`));
        const more = all.length > MOST_ALIKE ? d.t` and ${all.length - MOST_ALIKE} more` : '';
        const why = wordTable('codes', 'step_rejected')[reason] ?? reason;
        return d.t`no step: ${d.joined(texts, ', ')}${more} (${why})`;
      }),
      { key: 'rejected' },
    ),
    (possible.length > 0 || (report.steps_by === null && rejected.size > 0)) &&
      d.items(['--step-range NAME takes another range']),
  );
}

const candidateText = ({ method, text }: results.NsysStepCandidate): d.Text =>
  d.t`${method === null ? 'ranges' : stepMethod(method)} ${d.code(`"${excerpt(text, 300)}"`)}`;

/** The windows contain this share of the work between the first and the last of them. */
const coverage = ({ share, is_of_time: isOfTime, count }: results.NsysStepCandidate): d.Text =>
  share === null || count < 2 ? '' : textOf(isOfTime ? 'covers' : 'contains', { share });
