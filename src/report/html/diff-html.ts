/** A comparison of two runs: what changed, both timelines on one axis, and the tables of the difference. Pure. */
import type { DiffResult } from '../../model/results/diff.js';
import type { ReportDevice, ReportResult } from '../../model/results/report.js';
import { differenceParts, diffTitle, growthText, sideText } from '../compare/diff-document.js';
import { notesSection } from '../compare/difference.js';
import { parts } from '../document/document.js';
import { inlineHtml, partsHtml } from '../render/html.js';
import { type Child, element, textElement } from './html.js';
import { VIEW } from './moments-html.js';
import type { PageHead } from './page-head.js';
import { type PageSection, section, twin } from './page-pieces.js';
import { stepsTable } from './steps-html.js';

export function diffHead(diff: DiffResult): PageHead {
  const { a_info: a, b_info: b, gate, total_delta_bytes: total } = diff;
  return {
    tone: total === null || total === 0 ? 'plain' : total > 0 ? 'bad' : 'good',
    badge: 'COMPARISON',
    places: [`a: ${diff.a_run}`, `b: ${diff.b_run}`],
    title: diffTitle(diff),
    summary: [
      a !== null &&
        [['a ', sideText(a, b)] as const, ['b ', sideText(b, a)] as const].map(([name, text]) =>
          element('p', { class: 'places' }, textElement('b', name), inlineHtml(text)),
        ),
      gate !== null && total !== null && element('p', {}, inlineHtml(growthText(total, gate))),
    ],
    boxes: [],
    below: partsHtml(parts([notesSection(diff.notes)])),
  };
}

/** Both timelines on one axis. */
export function pairSection({ devices, diff }: ReportResult): PageSection | null {
  const [a, b] = devices;
  if (diff === null || a === undefined || b === undefined) return null;
  return section(
    'pair',
    {
      name: 'Both runs',
      title: 'Both runs on one axis',
      about: 'Live memory of a and of b, aligned by training step where both have steps, and the difference below.',
    },
    VIEW,
    twin('Table: steps of both', stepsOf('a', a), stepsOf('b', b)),
  );
}

function stepsOf(name: string, device: ReportDevice): Child {
  const table = stepsTable(device);
  return table !== null && [textElement('h3', `${name}: ${device.page.title}`), table];
}

export const differencesSection = (diff: DiffResult | null): PageSection | null =>
  diff &&
  section('differences', { name: 'Differences', title: 'Differences, b − a' }, partsHtml(parts(differenceParts(diff))));
