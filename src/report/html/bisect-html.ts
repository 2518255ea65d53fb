/** A bisection: its document, with the judged commits as a chart. Pure. */
import type { BisectReportResult, BisectStep } from '../../model/results/bisect.js';
import { formatCount, GIB } from '../../model/units.js';
import { bisectDocument, figureName } from '../compare/bisect-document.js';
import { checkFigure, shortCommit } from '../compare/check-words.js';
import { partsHtml } from '../render/html.js';
import { figure } from '../text-pieces.js';
import type { Child } from './html.js';
import { documentHead, documentRest, type PageHead } from './page-head.js';
import { type PageSection, section } from './page-pieces.js';
import { pointChart } from './point-chart.js';

export const bisectHead = (bisection: BisectReportResult): PageHead =>
  documentHead('BISECT', bisection.state === 'found' ? 'bad' : 'unsure', bisectDocument(bisection));

export function bisectSections(bisection: BisectReportResult | null): (PageSection | null)[] {
  if (bisection === null) return [];
  const { steps, culprit } = bisection;
  return [
    section(
      'commits',
      {
        name: 'Commits',
        title: `Judged commits: ${formatCount(steps.length)}`,
        about: 'In the order of the history.',
      },
      chartOf(steps, culprit?.sha),
    ),
    section(
      'differences',
      { name: 'Differences', title: 'What changed' },
      partsHtml(documentRest(bisectDocument(bisection))),
    ),
  ];
}

/** Commits by their place in the history; a run may lack the figure of the others. */
function chartOf(steps: readonly BisectStep[], culprit: string | undefined): Child {
  const commits = steps.filter(({ place }) => place !== null).toSorted((a, b) => a.place! - b.place!);
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
