/** A comparison of two runs: what changed, both timelines on one axis, and the tables of the difference. Pure. */
import type { DiffResult } from '../../model/results/diff.js';
import type { ReportDevice, ReportResult } from '../../model/results/report.js';
import { diffDocument } from '../compare/diff-document.js';
import { partsHtml } from '../render/html.js';
import { type Child, textElement } from './html.js';
import { VIEW } from './moments-html.js';
import { documentHead, documentRest, type PageHead } from './page-head.js';
import { type PageSection, section, twin } from './page-pieces.js';
import { stepsTable } from './steps-html.js';

export function diffHead(diff: DiffResult): PageHead {
  const { total_delta_bytes: total } = diff;
  const tone = total === null || total === 0 ? 'plain' : total > 0 ? 'bad' : 'good';
  const head = documentHead('COMPARISON', tone, diffDocument(diff));
  return { ...head, places: [`a: ${diff.a_run}`, `b: ${diff.b_run}`] };
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
  section(
    'differences',
    { name: 'Differences', title: 'Differences, b − a' },
    partsHtml(documentRest(diffDocument(diff))),
  );
