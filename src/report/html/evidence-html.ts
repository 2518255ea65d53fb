/** Every piece of evidence as `show` prints it, closed until a reader opens it. Pure. */
import type { ShowResult } from '../../model/results/common.js';
import type { ReportResult } from '../../model/results/report.js';
import { formatCount } from '../../model/units.js';
import { parts } from '../document/document.js';
import { partsHtml } from '../render/html.js';
import { quotedParts, sourceParts } from '../start/show-document.js';
import { rankName } from '../text-pieces.js';
import { causeName } from '../words/fill.js';
import { element, type SafeHtml, text, textElement } from './html.js';
import { type PageSection, section } from './page-pieces.js';

export function evidenceSection({ evidence }: ReportResult): PageSection | null {
  const shown = evidence.filter((one) => one.evidence !== null);
  const several = new Set(shown.map(({ verdict }) => verdict)).size > 1;
  return section(
    'evidence',
    {
      name: 'Evidence',
      title: `Evidence: ${formatCount(shown.length)}`,
      about:
        'Each statement with its place, the lines of the log, and the query behind it with its first rows: ' +
        'mbforensics show E1 --limit 0 prints all.',
    },
    shown.map((one, i) => [
      several && one.verdict !== shown[i - 1]?.verdict && textElement('h3', verdictName(one)),
      entryHtml(one),
    ]),
  );
}

const verdictName = ({ verdict, rank, device, cause }: ShowResult): string =>
  `Verdict ${verdict}: ${causeName(cause)}, ${rankName(rank)}${device === null ? '' : `, device ${device}`}`;

/** `E6` of the first verdict, `2-E6` of the second one. */
function entryHtml(result: ShowResult): SafeHtml {
  const { id, text: sentence, source } = result.evidence!;
  const name = result.verdict === 1 ? id : `${result.verdict}-${id}`;
  return element(
    'details',
    { class: 'evidence', id: `evidence-${name}`, 'data-e': name },
    element(
      'summary',
      {},
      textElement('b', id, { class: 'e' }),
      text(` ${sentence} `),
      textElement('span', source, { class: 'muted' }),
    ),
    partsHtml(parts([...quotedParts(result), ...sourceParts(result)]), 4),
  );
}
