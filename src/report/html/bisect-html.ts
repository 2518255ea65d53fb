/** A bisection: the culprit at the head, the judged commits as a chart, and what changed in memory. Pure. */
import type { BisectReportResult, BisectStep } from '../../model/results/bisect.js';
import { formatCount, GIB } from '../../model/units.js';
import { changeWords, settingTexts } from '../compare/bisect-report-text.js';
import { checkFigure, shortCommit } from '../compare/check-words.js';
import type { Sides } from '../compare/difference-lines.js';
import { counted, figure } from '../text-pieces.js';
import { changedTable, checksTable, componentsTable, notesList, sitesTable, suspectsList } from './compare-html.js';
import { type Child, list, text, textElement, textList } from './html.js';
import { code, counts, figures, htmlTable, markup, words } from './html-table.js';
import { box, type PageHead } from './page-head.js';
import { type PageSection, section } from './page-pieces.js';
import { pointChart } from './point-chart.js';

const SIDES: Sides = ['before', 'after'];

export function bisectHead(bisection: BisectReportResult): PageHead {
  const { state, culprit, criterion, golden, confidence, confidence_reason: why, suspects_left: left } = bisection;
  const commits = counted(left.length, 'commit');
  return {
    tone: state === 'found' ? 'bad' : 'unsure',
    badge: 'BISECT',
    places: [`judged on ${criterion}`, `golden ${golden}`, `confidence ${confidence}`],
    title:
      culprit !== null
        ? `first bad commit: ${shortCommit(culprit.sha)} ${culprit.subject}`
        : state === 'suspects'
          ? `one of ${commits} is the first bad commit`
          : `not finished${left.length === 0 ? '' : `: ${commits} left`}`,
    summary: [
      changeWords(bisection) !== null && textElement('p', changeWords(bisection)!, { class: 'summary' }),
      culprit !== null && textElement('p', `judged by ${counted(culprit.judged_runs, 'run')}`),
    ],
    boxes: [
      box(
        'why',
        'Why',
        why !== '' && textElement('p', why),
        textList(settingTexts(bisection).map((setting) => `setting ${setting}`)),
      ),
      box('left', state === 'suspects' ? 'In question' : 'Not judged yet', leftList(bisection)),
    ],
    below: notesList(bisection.notes),
  };
}

function leftList({ suspects_left: left }: BisectReportResult): Child {
  return list(
    left.map(({ sha, subject, why_skipped: reason }) =>
      text(`${shortCommit(sha)} ${subject}${reason === null ? '' : `, skipped: ${reason}`}`),
    ),
  );
}

export function bisectSections(bisection: BisectReportResult | null): (PageSection | null)[] {
  if (bisection === null) return [];
  const { components, sites, checks, config, steps } = bisection;
  return [
    section(
      'commits',
      { name: 'Commits', title: `Judged commits: ${formatCount(steps.length)}`, about: 'In the order of the history.' },
      chartOf(bisection),
      stepTable(steps),
    ),
    section(
      'differences',
      { name: 'Differences', title: 'What changed', about: changeWords(bisection) },
      componentsTable(components, SIDES),
      sitesTable(sites, SIDES),
      checksTable(checks, SIDES, 'Peaks, step time and loss'),
      changedTable('setting', config, SIDES),
      suspectsList(bisection),
    ),
  ];
}

/** Commits by their place in the history; a run may lack the figure of the others. */
function chartOf({ steps, culprit }: BisectReportResult): Child {
  const commits = inHistory(steps).filter(({ place }) => place !== null);
  const name = commits.find((step) => step.figure !== null)?.figure?.name;
  if (name === undefined || commits.length < 2) return null;
  const unit = commits.find((step) => step.figure !== null)!.figure!.unit;
  return pointChart({
    title: name.replaceAll('_', ' '),
    unit: unit === 'bytes' ? GIB : 1,
    format: (value) => (unit === 'bytes' ? `${figure(value / GIB)} GiB` : `${figure(value)} ${unit}`),
    points: commits.map((step) => {
      const value = step.figure?.name === name ? step.figure.value : null;
      return {
        ...{ name: shortCommit(step.sha), value, low: null, high: null, kind: step.judgement },
        isBound: false,
        mark: step.sha === culprit?.sha ? { text: 'first bad', isWorse: true } : null,
        text: `${shortCommit(step.sha)} ${step.subject}: ${step.judgement}${value === null ? '' : `, ${checkFigure(value, unit)}`}`,
      };
    }),
    legend: (['good', 'bad', 'skip'] as const).map((kind) => ({ kind, text: kind })),
  });
}

/** Commits that git lacks come last. */
const inHistory = (steps: readonly BisectStep[]): BisectStep[] =>
  steps.toSorted((a, b) => (a.place ?? Number.MAX_SAFE_INTEGER) - (b.place ?? Number.MAX_SAFE_INTEGER));

function stepTable(steps: readonly BisectStep[]): Child {
  return htmlTable(
    inHistory(steps),
    [
      code('commit', ({ sha }) => shortCommit(sha)),
      words('subject', ({ subject }) => subject),
      markup('judgement', ({ judgement }) => textElement('span', judgement, { class: `status ${judgement}` })),
      figures('figure', (step) => (step.figure === null ? '' : checkFigure(step.figure.value, step.figure.unit))),
      counts('runs', ({ runs }) => runs),
      words('reason', ({ reason }) => reason),
      code('kept in', ({ bundle }) => bundle),
    ],
    { caption: 'Judged commits, oldest first' },
  );
}
