/**
 * What differs between two runs, the same in `diff`, `compare`, `gate`, `golden` and `bisect report`: judged figures,
 * components, call sites, values, suspects. Pure.
 */
import type { DiffComponent, DiffSite } from '../../model/diff-parts.js';
import { sumOf } from '../../model/lists.js';
import type { ChangedValue, CompareCheck, CompareResult, Preset, Suspect } from '../../model/results/compare.js';
import * as d from '../document/document.js';
import * as words from './check-words.js';
import { upstreamWords } from './upstream-words.js';

/** The words for the two sides of a comparison. */
export type Sides = readonly [a: string, b: string];

const MORE = '--json=full has all';
export const moreNote = (more: number): d.Text | false => more > 0 && d.t`${more} more; ${MORE}`;

const MOST_CHARACTERS = 1_000;

/** A text of a file or a message, without the end of an extremely long one. */
export function longText(text: string, most = MOST_CHARACTERS): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= most ? line : `${line.slice(0, most)}… (${line.length - most} more characters)`;
}

export const notesSection = (notes: readonly string[]): d.MaybePart =>
  d.section('Notes', {}, d.items(notes.map((text) => longText(text))));

// ---- judged figures

const isBytes = (unit: string): boolean => unit === 'bytes';

/** As its source writes it; words as they are. */
export function checkCell(value: number | string | null, unit: string): d.Cell {
  if (typeof value === 'string') return value.trim() || '(empty)';
  return d.shownAs(value, words.checkFigure(value, unit), isBytes(unit) ? 'bytes' : null);
}

interface ChecksLook {
  readonly sides: Sides;
  readonly key?: string;
  readonly preset?: Preset;
  /** The status in other words. */
  readonly status?: (check: CompareCheck) => string;
  /** Changes are shares, next to what noise explains. */
  readonly hasNoise?: boolean;
  readonly caption?: string;
  readonly notes?: readonly (d.Text | null | false)[];
}

/** What the figures of a check are of is below it where it is odd, unless the row before has the same. */
export function checksTable(checks: readonly CompareCheck[], look: ChecksLook): d.MaybePart {
  const { sides, key = 'checks', preset = 'default', status = statusOf, hasNoise = false, ...rest } = look;
  const remarks = checks.map((check) => {
    const isExplained = words.failsGate(check, preset) || (words.isOdd(check) && check.status !== 'improvement');
    // How sure the change of a component is follows from that of the whole.
    return isExplained ? longText(words.remarkOf(check, !hasNoise && !check.name.startsWith('component:'))) : '';
  });
  return d.table(
    checks,
    [
      d.names('name', words.nameOf, { title: hasNoise ? 'metric' : 'check' }),
      d.column('golden', ({ golden, unit }) => checkCell(golden, unit), { title: sides[0], align: 'right' }),
      d.column('current', ({ current, unit }) => checkCell(current, unit), { title: sides[1], align: 'right' }),
      !hasNoise &&
        d.column(
          'delta',
          (check) => d.shownAs(check.delta, words.changeOf(check), isBytes(check.unit) ? 'change_bytes' : null),
          {
            ...{ title: 'change', align: 'right' },
          },
        ),
      d.column(
        'relative',
        (check) => d.shownAs(check.relative, words.relativeOf(check) || (hasNoise ? words.changeOf(check) : '')),
        // Next to the absolute change it needs no title.
        { title: hasNoise ? 'change' : '', align: 'right' },
      ),
      d.column('tolerance', (check) => d.shownAs(check.tolerance, words.toleranceOf(check)), { align: 'right' }),
      hasNoise && d.column('noise', (check) => d.shownAs(check.noise, noiseOf(check)), { align: 'right' }),
      d.column('status', (check) => d.mark(status(check), toneOf(check, preset))),
    ],
    {
      key,
      under: (check, i) => {
        const upstream = upstreamWords(check, preset);
        const remark = remarks[i] === '' || remarks[i] === remarks[i - 1] ? [] : [remarks[i]!];
        return upstream === null ? remark : [...remark, `"${upstream}"`];
      },
      fields: ({ name, unit, gate, reason }) => ({ name, unit, gate, reason }),
      ...rest,
    },
  );
}

const statusOf = ({ why, status }: CompareCheck): string => (why?.code === 'ended_early' ? 'not comparable' : status);

function toneOf(check: CompareCheck, preset: Preset): d.Tone {
  if (words.failsGate(check, preset)) return 'bad';
  if (check.status === 'improvement') return 'good';
  return check.status === 'regression' || check.status === 'undecided' ? 'unsure' : 'plain';
}

/** Relative like the change and the tolerance, which it is compared with. */
function noiseOf({ noise, golden, unit }: CompareCheck): string {
  if (noise === null || typeof golden !== 'number') return '';
  if (golden === 0) return `±${words.checkFigure(noise, unit)}`;
  const percent = (100 * noise) / Math.abs(golden);
  return `±${percent.toFixed(percent < 1 ? 2 : 1)} %`;
}

// ---- memory

/** Components that grew or shrank, the largest change first; none where no component is known. */
export function changedComponents(components: readonly DiffComponent[]): DiffComponent[] {
  const changed = components.filter(({ delta_bytes }) => delta_bytes !== 0);
  if (changed.every(({ component }) => component === 'unattributed' || component === 'before_recording')) return [];
  return changed.toSorted((a, b) => Math.abs(b.delta_bytes) - Math.abs(a.delta_bytes));
}

export const componentsSection = (components: readonly DiffComponent[], sides: Sides): d.MaybePart =>
  d.section(
    'Components',
    { isFolded: true },
    d.table(
      changedComponents(components),
      [
        d.column('component', ({ component }) => component),
        d.column('delta_bytes', (one) => one.delta_bytes, { title: 'change' }),
        d.column('a_bytes', (one) => one.a_bytes, { title: sides[0] }),
        d.column('b_bytes', (one) => one.b_bytes, { title: sides[1] }),
      ],
      { key: 'components' },
    ),
  );

/** `4`, or `5 → 10`. */
export const fromTo = (a: number, b: number): d.Text => (a === b ? d.count(a) : d.t`${a} → ${b}`);

/** A row of the table of sites: a site, what a limit leaves out, or the sum. */
export interface SiteRow extends Pick<DiffSite, 'delta_bytes'> {
  readonly sides: Pick<DiffSite, 'a_bytes' | 'b_bytes' | 'a_count' | 'b_count'> | null;
  readonly name: d.Text;
  readonly site?: DiffSite;
  readonly kind?: 'others' | 'sum';
}

export const siteRow = (site: DiffSite): SiteRow => ({
  ...{ delta_bytes: site.delta_bytes, sides: site, name: d.code(site.site), site },
});

/** Sites with the callers, and sizes of blocks, that make the difference. */
const EXPLAINED = 5;
const MOST_CALLERS = 3;

export const sitesTable = (
  rows: readonly SiteRow[],
  [a, b]: Sides,
  notes: readonly (d.Text | null | false)[] = [],
  title = 'call site',
): d.MaybePart =>
  d.table(
    rows,
    [
      d.column('delta_bytes', (row) => row.delta_bytes, { title: 'change' }),
      d.column('a_bytes', ({ sides }) => sides?.a_bytes ?? '', { title: a }),
      d.column('b_bytes', ({ sides }) => sides?.b_bytes ?? '', { title: b }),
      d.column('blocks', ({ sides }) => (sides === null ? '' : fromTo(sides.a_count, sides.b_count)), {
        align: 'right',
      }),
      d.names('site', ({ name }) => name, { title }),
    ],
    {
      key: 'sites',
      under: ({ site }, i) => (site === undefined ? [] : siteDetails(site, [a, b], i < EXPLAINED)),
      kind: ({ kind }) => kind,
      fields: ({ site }) => site && { match: site.match, a_count: site.a_count, b_count: site.b_count },
      notes,
    },
  );

function siteDetails(site: DiffSite, [a, b]: Sides, isExplained: boolean): d.Text[] {
  const { match, a_site: before, through, callers, sizes } = site;
  const line = /:(\d+)(?: \(.*)?$/.exec(before ?? '')?.[1];
  const isMoved = match === 'renamed' || (match === 'moved' && before !== site.site);
  return [
    match === 'only_a' && `only in ${a}`,
    match === 'only_b' && `only in ${b}`,
    match === 'line_shifted' && (line === undefined ? 'another line' : `line ${line} in ${a}`),
    match === 'moved' && !isMoved && `elsewhere in ${a}`,
    isMoved && d.t`${match} from ${d.code(before ?? '')}`,
    through !== null && d.t`through ${d.code(through)}`,
    ...(isExplained ? callers.filter(({ delta_bytes }) => delta_bytes !== 0).slice(0, MOST_CALLERS) : []).map(
      ({ delta_bytes, caller }) => d.t`${d.changeBytes(delta_bytes)} called by ${d.code(caller)}`,
    ),
    // Memory without a stack can only be described by its sizes.
    ...(isExplained && site.site.startsWith('(') ? sizes.slice(0, MOST_CALLERS) : []).map(
      ({ size_bytes, a_count, b_count }) => d.t`blocks of ${d.bytes(size_bytes)}: ${a_count} → ${b_count}`,
    ),
  ].filter((text): text is d.Text => text !== false);
}

/** The sites that hold more in b than in a, `limit` of them, and what became of the others. */
export function grownSites(sites: readonly DiffSite[], names: Sides, limit: number, howToSeeAll = MORE): d.MaybePart {
  const grown = sites.filter(({ delta_bytes }) => delta_bytes > 0).toSorted((a, b) => b.delta_bytes - a.delta_bytes);
  const shrunk = sites.filter(({ delta_bytes }) => delta_bytes < 0);
  const words = (of: readonly DiffSite[], word: string, verb: string): d.Text | false => {
    const size = Math.abs(sumOf(of.map(({ delta_bytes }) => delta_bytes)));
    return of.length > 0 && d.t`${d.counted(of.length, word)} ${verb} by ${d.bytes(size)}`;
  };
  const hidden = grown.slice(limit);
  const summary = d.joined([words(hidden, 'more site', 'grew'), words(shrunk, 'site', 'shrank')], ', ');
  const note = hidden.length > 0 ? d.t`${summary} (${howToSeeAll})` : shrunk.length > 0 && summary;
  const shown = sitesTable(grown.slice(0, limit).map(siteRow), names, [note], 'call site that grew');
  return d.section('Call sites', { isFolded: true }, shown ?? (note !== false && d.items([note])));
}

// ---- settings and suspects

const MOST_VALUES = 20;

/** Null is what a side does not set. */
export const settingCell = (value: string | null): d.Cell =>
  value === null ? d.shownAs(null, '(not set)') : value || '(empty)';

export const changedSection = (
  title: string,
  key: string,
  values: readonly ChangedValue[],
  [a, b]: Sides,
  note: d.Text | false = false,
): d.MaybePart =>
  d.section(
    `${title}: ${values.length} ${values.length === 1 ? 'differs' : 'differ'}`,
    { isFolded: true },
    d.table(
      values.slice(0, MOST_VALUES),
      [
        d.names('key', (value) => value.key),
        d.names('a', (value) => settingCell(value.a), { title: a }),
        d.names('b', (value) => settingCell(value.b), { title: b }),
      ],
      { key, notes: [moreNote(values.length - MOST_VALUES), note] },
    ),
  );

/** The suspects of a comparison, and what else differs between its runs. */
export type Suspected = Pick<CompareResult, 'suspects' | 'config' | 'env'>;

const MOST_SUSPECTS = 6;
const MOST_LINES = 8;
const MOST_COMMITS = 3;
const MOST_KEYS = 8;

export function suspectsSection({ suspects, config, env }: Suspected, most = MOST_SUSPECTS): d.MaybePart {
  const named = new Set(suspects.map(({ key }) => key));
  const unsuspected = [...env, ...config].map(({ key }) => key).filter((key) => !named.has(key));
  const more = unsuspected.length - MOST_KEYS;
  const also = d.t`also changed, not suspected: ${d.joined(unsuspected.slice(0, MOST_KEYS).map(d.code), ', ')}${more > 0 ? d.t` and ${more} more` : ''}`;
  return d.section(
    'Suspects, the likeliest first',
    {},
    d.table(
      suspects.slice(0, most),
      [
        d.column('score', ({ score }) => d.shownAs(score, score.toFixed(2)), { align: 'right' }),
        d.names('suspect', placeOf),
      ],
      {
        key: 'suspects',
        under: suspectDetails,
        fields: ({ file, hunk = null, key = null, reason, lines, commits }) => ({
          ...{ file, hunk, key, reason, lines, commits: commits.map(({ sha }) => sha) },
        }),
        notes: [moreNote(suspects.length - most), unsuspected.length > 0 && also],
      },
    ),
  );
}

/** File and hunk, or key and file. */
const placeOf = ({ file, hunk, key }: Suspect): d.Text =>
  key !== undefined
    ? d.t`${d.code(key)}${file === '' ? '' : d.t` (${d.code(file)})`}`
    : d.joined([d.code(file), hunk !== undefined && d.code(hunk)], '  ');

function suspectDetails({ reason, lines, commits }: Suspect): d.Text[] {
  const more = commits.length - MOST_COMMITS;
  return [
    longText(reason),
    ...lines.slice(0, MOST_LINES).map((line) => d.code(`${line.slice(0, 1)} ${line.slice(1).trim()}`)),
    ...commits.slice(0, MOST_COMMITS).map(({ sha, subject }) => d.t`${d.code(words.shortCommit(sha))} ${subject}`),
    ...(more > 0 ? [d.t`and ${d.counted(more, 'more commit')}`] : []),
  ];
}
