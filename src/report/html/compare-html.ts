/** Tables that a difference and a bisection have in common: what `difference-markdown.ts` shows, as HTML. Pure. */
import type { DiffComponent, DiffSite } from '../../model/diff-parts.js';
import { maxOf } from '../../model/lists.js';
import type { ChangedValue, CompareCheck } from '../../model/results/compare.js';
import { formatBytes, formatCount } from '../../model/units.js';
import {
  changeOf,
  checkFigure,
  nameOf,
  relativeOf,
  remarkOf,
  shortCommit,
  toleranceOf,
} from '../compare/check-words.js';
import {
  alsoChangedText,
  blockCounts,
  changedComponents,
  placeOf,
  type Sides,
  type Suspected,
  valueWords,
} from '../compare/difference-lines.js';
import { counted, signedBytes } from '../text-pieces.js';
import { type Child, element, list, preformatted, text, textElement, textList } from './html.js';
import { bytes, code, figures, type HtmlColumn, htmlTable, markup, words } from './html-table.js';
import { leftOut } from './page-pieces.js';

const MOST_SITES = 50;
const MOST_VALUES = 200;
const MOST_SUSPECTS = 20;
const MOST_COMMITS = 5;
const MOST_LINES = 12;
const JSON_HAS_ALL = '--json prints all';

/** A change in bytes with a bar from the middle: to the right for more, to the left for less. */
export function changeColumn<Row>(title: string, rows: readonly Row[], of: (row: Row) => number): HtmlColumn<Row> {
  const most = Math.max(1, maxOf(rows.map((row) => Math.abs(of(row)))));
  return {
    title,
    kind: null,
    cell: (row) => {
      const change = of(row);
      const width = Number(((50 * Math.abs(change)) / most).toFixed(2));
      const bar = element('rect', {
        ...{ class: change > 0 ? 'more' : 'less', x: `${change > 0 ? 50 : 50 - width}%` },
        ...{ width: `${width}%`, height: '100%' },
      });
      const axis = element('rect', { class: 'axis', x: '50%', width: 1, height: '100%' });
      return {
        content: [
          element('svg', { class: 'change', width: 90, height: 10, 'aria-hidden': 'true' }, bar, axis),
          text(signedBytes(change)),
        ],
        attributes: { 'data-bytes': change },
      };
    },
  };
}

export function checksTable(checks: readonly CompareCheck[], [a, b]: Sides, caption: string): Child {
  return htmlTable(
    checks,
    [
      words('check', nameOf),
      figures(a, (check) => checkFigure(check.golden, check.unit)),
      figures(b, (check) => checkFigure(check.current, check.unit)),
      figures('change', (check) => [changeOf(check), relativeOf(check)].filter((part) => part !== '').join(', ')),
      figures('tolerance', toleranceOf),
      markup('status', ({ status }) => textElement('span', status, { class: `status ${status}` })),
      words('remark', (check) => remarkOf(check)),
    ],
    { caption },
  );
}

export function componentsTable(components: readonly DiffComponent[], [a, b]: Sides): Child {
  const changed = changedComponents(components);
  return htmlTable(
    changed,
    [
      words('component', ({ component }) => component.replaceAll('_', ' ')),
      changeColumn('change', changed, (one) => one.delta_bytes),
      bytes(a, (one) => one.a_bytes),
      bytes(b, (one) => one.b_bytes),
    ],
    { caption: 'Components that differ' },
  );
}

/** The largest differences first, whichever way they go. */
export function sitesTable(sites: readonly DiffSite[], sides: Sides): Child {
  const [a, b] = sides;
  const changed = sites
    .filter(({ delta_bytes: change }) => change !== 0)
    .toSorted((one, other) => Math.abs(other.delta_bytes) - Math.abs(one.delta_bytes));
  const shown = changed.slice(0, MOST_SITES);
  return htmlTable(
    shown,
    [
      markup('call site', (site) => siteCell(site, sides)),
      changeColumn('change', shown, (site) => site.delta_bytes),
      bytes(a, (site) => site.a_bytes),
      bytes(b, (site) => site.b_bytes),
      figures('blocks', (site) => blockCounts(site.a_count, site.b_count)),
    ],
    {
      caption: 'Call sites that differ, the largest change first',
      note: leftOut(changed.length - shown.length, 'call sites', JSON_HAS_ALL),
    },
  );
}

function siteCell({ site, match, a_site: before, b_site: after, through, callers }: DiffSite, [a, b]: Sides): Child {
  const note = (...children: Child[]): Child => element('div', { class: 'muted' }, children);
  const alone = match === 'only_a' ? a : match === 'only_b' ? b : null;
  return [
    textElement('code', site),
    alone !== null && note(text(`only in ${alone}`)),
    (match === 'renamed' || match === 'moved') &&
      before !== null &&
      before !== after &&
      note(text(`${match} from `), textElement('code', before)),
    through !== null && note(text('through '), textElement('code', through)),
    callers
      .filter(({ delta_bytes: change }) => change !== 0)
      .slice(0, 2)
      .map(({ caller, delta_bytes: change }) => note(text(`${signedBytes(change)} `), textElement('code', caller))),
  ];
}

export function changedTable(title: string, values: readonly ChangedValue[], [a, b]: Sides): Child {
  return htmlTable(
    values.slice(0, MOST_VALUES),
    [code(title, ({ key }) => key), code(a, (value) => valueWords(value.a)), code(b, (value) => valueWords(value.b))],
    {
      caption: `${title}: ${counted(values.length, 'difference')}`,
      note: leftOut(values.length - MOST_VALUES, 'keys', JSON_HAS_ALL),
    },
  );
}

export function suspectsList(result: Suspected): Child {
  const { suspects } = result;
  if (suspects.length === 0) return null;
  const also = alsoChangedText(result);
  const more = leftOut(suspects.length - MOST_SUSPECTS, 'suspects', JSON_HAS_ALL);
  return [
    textElement('h3', `Suspects: ${formatCount(suspects.length)}, the likeliest first`),
    list(
      suspects.slice(0, MOST_SUSPECTS).map((suspect) => {
        const [place, hunk] = placeOf(suspect);
        const commits = suspect.commits.slice(0, MOST_COMMITS);
        const hidden = suspect.commits.length - commits.length;
        return element(
          'div',
          {},
          textElement('b', `score ${suspect.score.toFixed(2)}`),
          text(' '),
          textElement('code', place),
          hunk !== '' && [text(' '), textElement('code', hunk, { class: 'muted' })],
          textElement('p', suspect.reason),
          suspect.lines.length > 0 && preformatted(suspect.lines.slice(0, MOST_LINES)),
          textList([
            ...commits.map(({ sha, subject }) => `${shortCommit(sha)} ${subject}`),
            ...(hidden > 0 ? [counted(hidden, 'more commit')] : []),
          ]),
        );
      }),
      { class: 'suspects' },
      'ol',
    ),
    more !== null && textElement('p', more, { class: 'note' }),
    also !== '' && textElement('p', also, { class: 'note' }),
  ];
}

export const notesList = (notes: readonly string[]): Child => textList(notes, { class: 'notes' });

/** `54.80 GiB → 58.10 GiB`. */
export const fromTo = (a: number, b: number): string => `${formatBytes(a)} → ${formatBytes(b)}`;
