/** A bisection: the culprit at the head, the judged commits as a chart, and what changed in memory. Pure. */
import type { BisectReportResult, BisectStep } from '../../model/results/bisect.js';
import { formatCount, GIB } from '../../model/units.js';
import {
  changeParts,
  changeWords,
  figureName,
  leftSection,
  settingItems,
  stepTable,
} from '../compare/bisect-document.js';
import { checkFigure, shortCommit } from '../compare/check-words.js';
import { notesSection } from '../compare/difference.js';
import { type MaybePart, parts } from '../document/document.js';
import { partsHtml } from '../render/html.js';
import { counted, figure } from '../text-pieces.js';
import { type Child, textElement } from './html.js';
import { box, type PageHead } from './page-head.js';
import { type PageSection, section } from './page-pieces.js';
import { pointChart } from './point-chart.js';

const html = (...list: readonly MaybePart[]): Child[] => partsHtml(parts(list));

export function bisectHead(bisection: BisectReportResult): PageHead {
  const { state, culprit, criterion, golden, confidence, confidence_reason: why, suspects_left: left } = bisection;
  const commits = counted(left.length, 'commit');
  const change = changeWords(bisection);
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
      change !== null && textElement('p', change, { class: 'summary' }),
      culprit !== null && textElement('p', `judged by ${counted(culprit.judged_runs, 'run')}`),
    ],
    boxes: [box('why', 'Why', why !== '' && textElement('p', why), html(settingItems(bisection)))],
    below: html(leftSection(bisection), notesSection(bisection.notes)),
  };
}

export function bisectSections(bisection: BisectReportResult | null): (PageSection | null)[] {
  if (bisection === null) return [];
  const commits = inHistory(bisection.steps);
  return [
    section(
      'commits',
      {
        name: 'Commits',
        title: `Judged commits: ${formatCount(commits.length)}`,
        about: 'In the order of the history.',
      },
      chartOf(commits, bisection.culprit?.sha),
      html(stepTable(commits)),
    ),
    section(
      'differences',
      { name: 'Differences', title: 'What changed', about: changeWords(bisection) },
      html(...changeParts(bisection)),
    ),
  ];
}

/** Commits by their place in the history; a run may lack the figure of the others. */
function chartOf(steps: readonly BisectStep[], culprit: string | undefined): Child {
  const commits = steps.filter(({ place }) => place !== null);
  const name = figureName(commits);
  if (name === undefined || commits.length < 2) return null;
  const { unit } = commits.find((step) => step.figure !== null)!.figure!;
  return pointChart({
    title: name.replaceAll('_', ' '),
    unit: unit === 'bytes' ? GIB : 1,
    format: (value) => (unit === 'bytes' ? `${figure(value / GIB)} GiB` : `${figure(value)} ${unit}`),
    points: commits.map((step) => {
      const value = step.figure?.name === name ? step.figure.value : null;
      return {
        ...{ name: shortCommit(step.sha), value, low: null, high: null, kind: step.judgement, isBound: false },
        mark: step.sha === culprit ? { text: 'first bad', isWorse: true } : null,
        text: `${shortCommit(step.sha)} ${step.subject}: ${step.judgement}${value === null ? '' : `, ${checkFigure(value, unit)}`}`,
      };
    }),
    legend: (['good', 'bad', 'skip'] as const).map((kind) => ({ kind, text: kind })),
  });
}

/** Commits that git lacks come last. */
const inHistory = (steps: readonly BisectStep[]): BisectStep[] =>
  steps.toSorted((a, b) => (a.place ?? Number.MAX_SAFE_INTEGER) - (b.place ?? Number.MAX_SAFE_INTEGER));
