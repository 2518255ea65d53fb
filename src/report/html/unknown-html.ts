/** The test of every cause, what is not known, and what to record next time, as lines to paste. Pure. */

import { causeName } from '../../knowledge/words.js';
import type { CauseTestResult, DiagnoseResult, VerdictCapture, VerdictResult } from '../../model/results/common.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { FRAMEWORKS } from '../start/show-text.js';
import { plain } from '../text-pieces.js';
import { type Child, preformatted, text, textElement, textList } from './html.js';
import { htmlTable, markup, short, words } from './html-table.js';
import { folded, type PageSection, section } from './page-pieces.js';

const OUTCOMES = { holds: 'holds', fails: 'ruled out', not_testable: 'not tested' } as const;

/** Every cause with its test's answer, and how one verdict was made of them. */
export function testsSection(verdict: VerdictResult | undefined): PageSection | null {
  if (verdict === undefined || verdict.tests.length === 0) return null;
  return section(
    'tests',
    {
      name: 'Causes',
      title: 'Causes that were tested',
      about: 'Every cause has a test; the first that holds is the verdict.',
    },
    htmlTable(
      verdict.tests,
      [
        short('cause', ({ cause }) => causeName(cause)),
        markup('test', ({ outcome }) => textElement('span', OUTCOMES[outcome], { class: `status ${outcome}` })),
        words('why', ({ outcome, text: why }) => (outcome === 'not_testable' ? `needs ${why}` : why)),
        markup('figures', figuresOf),
      ],
      { caption: 'Tests of the causes' },
    ),
    folded('more', 'how one verdict was made of them', textList(verdict.combination)),
  );
}

function figuresOf({ numbers }: CauseTestResult): Child {
  return Object.entries(numbers).map(([name, value], i) => [
    i > 0 && text(' · '),
    ...(name.endsWith('_bytes')
      ? [
          text(`${plain(name.slice(0, -'_bytes'.length))} `),
          textElement('span', formatBytes(value), { 'data-bytes': value }),
        ]
      : [text(`${plain(name)} ${Number.isSafeInteger(value) ? formatCount(value) : value}`)]),
  ]);
}

export function unknownSection({ verdicts: [first], failed_sources: failed }: DiagnoseResult): PageSection | null {
  const missing = first?.missing ?? [];
  const captures = first?.captures ?? [];
  return section(
    'unknown',
    { name: 'Unknown', title: 'What is not known' },
    missing.length === 0 && first !== undefined && textElement('p', 'Nothing that the verdict needs is missing.'),
    textList(missing),
    captures.length > 0 && textElement('h3', 'Record next time'),
    captures.map(captureHtml),
    failed.length > 0 && [
      textElement('h3', `Files that were not read: ${formatCount(failed.length)}`),
      textList(failed.map(({ error }) => `${error.text} (${error.code}): ${error.remedy}`)),
    ],
  );
}

/** Frameworks with equal lines are one. */
function captureHtml({ title, settles, lines }: VerdictCapture): Child {
  const byLines = new Map<string, string[]>();
  for (const [key, name] of FRAMEWORKS) {
    const joined = lines[key].join('\n');
    byLines.set(joined, [...(byLines.get(joined) ?? []), name]);
  }
  const isOne = byLines.size === 1;
  return folded(
    'capture',
    [textElement('b', title), text(` settles: ${settles.map(causeName).join(', ')}`)],
    [...byLines].map(([joined, names]) => [
      !isOne && textElement('h4', names.join(', ')),
      preformatted([joined], { class: 'paste' }),
    ]),
  );
}
