/**
 * Sections with the views of one device's memory over its trace. Each has the table of the same figures, at the moments
 * that the page opens with. Pure.
 */
import { groupBy } from '../../model/group-by.js';
import { sumOf } from '../../model/lists.js';
import type { LifetimeCell } from '../../model/picture/page-data.js';
import type { AtResult, PinnedSegment } from '../../model/results/at.js';
import type { ComponentBytes } from '../../model/results/attribute.js';
import type { ReportDevice, ReportMoment, ReportResult } from '../../model/results/report.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { afterEntry, counted, UNKNOWN } from '../text-pieces.js';
import { type Child, element, join, type SafeHtml, text, textElement } from './html.js';
import {
  bytes,
  code,
  counts,
  figures,
  type HtmlColumn,
  htmlTable,
  markup,
  share,
  shareText,
  short,
  words,
} from './html-table.js';
import { type PageSection, section, twin } from './page-pieces.js';

const WHEN = { oom: 'at the OOM', peak: 'at the peak', end: 'at the end' } as const;

/** `at the OOM (after entry 23,998)`; without a trace `as dumped`. */
const momentName = ({ name, state }: ReportMoment): string =>
  state.last_seq === null ? 'as dumped' : `${WHEN[name]} (${afterEntry(state.seq)})`;

/** What the scripts draw into. */
export const VIEW: SafeHtml = element('div', { class: 'view' });
const READOUT: SafeHtml = element('div', { id: 'readout', class: 'readout', 'aria-live': 'polite' });

export function viewSections({ devices }: ReportResult): (PageSection | null)[] {
  if (devices.length === 0) return [];
  const isDump = devices.every(({ page }) => page.isDump);
  const tables = (title: string, of: (device: ReportDevice) => Child): Child =>
    twin(
      title,
      devices.map((device) => {
        const content = join([of(device)]);
        if (content === '') return null;
        return [devices.length > 1 && textElement('h3', device.page.title), content];
      }),
    );
  return [
    section(
      'stacked',
      {
        name: 'Timeline',
        title: isDump ? 'Memory by component, as dumped' : 'Memory over the trace, by component',
        about: isDump
          ? 'No trace was recorded: the only state is the dumped one.'
          : 'Live bytes by component after each entry, below what is reserved and the size of the device. Every column is a true state: the moment of the column at which most was live.',
      },
      VIEW,
      READOUT,
      tables('Table: components', componentTable),
    ),
    section(
      'map',
      {
        name: 'Address map',
        title: isDump ? 'Addresses, as dumped' : 'Addresses over the trace',
        about:
          'Every block at its address, from its allocation to its free. Blocks with long lives separate the holes between them.',
      },
      VIEW,
      tables('Table: segments that live blocks keep from the driver', ({ moments }) =>
        moments.map((moment) => pinnedTable(moment)),
      ),
    ),
    section(
      'segments',
      {
        name: 'Segments',
        title: 'Segments at the cursor',
        about: 'Each segment with its live blocks and holes, and the request that failed to the same scale.',
      },
      VIEW,
      tables('Table: state of the allocator, pools and largest holes', stateTables),
    ),
    section(
      'flame',
      {
        name: 'Call sites',
        title: 'Live memory by call stack',
        about: 'What is live at the cursor, by the stack that allocated it. Width: bytes.',
      },
      VIEW,
      tables('Table: call sites', ({ moments }) => moments.map(siteTable)),
    ),
    section(
      'lifetimes',
      {
        name: 'Lifetimes',
        title: 'Sizes and lifetimes',
        about: 'Bytes of all blocks of the trace by size and by the number of entries for which they lived.',
      },
      VIEW,
      tables('Table: sizes and lifetimes', ({ page }) => lifetimeTable(page.lifetimes)),
    ),
  ];
}

// ---- components

interface ComponentRow {
  readonly component: string;
  /** Null: the whole component. */
  readonly part: Pick<ComponentBytes, 'sub_component' | 'phase' | 'by' | 'confidence'> | null;
  /** By moment. */
  readonly bytes: readonly number[];
}

const subKey = (one: ComponentBytes): string => `${one.component} ${one.sub_component} ${one.phase}`;

/** One row for each component, followed by its parts; columns are the moments. They add up to what is live. */
function componentTable({ moments }: ReportDevice): Child {
  const totals = moments.map(({ attribution }) => attribution.total_bytes);
  const all = moments.flatMap(({ attribution }) => attribution.components);
  const bytesOf = (matches: (one: ComponentBytes) => boolean): number[] =>
    moments.map(({ attribution }) => sumOf(attribution.components.filter(matches).map((one) => one.bytes)));
  const groups = [...groupBy(all, ({ component }) => component)].map(([component, members]): ComponentRow[] => [
    { component, part: null, bytes: bytesOf((one) => one.component === component) },
    ...[...groupBy(members, subKey)].map(([key, [first]]) => ({
      component,
      part: first!,
      bytes: bytesOf((one) => subKey(one) === key),
    })),
  ]);
  const rows = groups.toSorted(([a], [b]) => b!.bytes[0]! - a!.bytes[0]! || b!.bytes.at(-1)! - a!.bytes.at(-1)!).flat();
  const sum: ComponentRow = { component: 'all live memory', part: null, bytes: totals };
  return htmlTable(
    [...rows, sum],
    [
      short('component', ({ component, part }) => (part?.sub_component ?? component).replaceAll('_', ' ')),
      short('allocated in', ({ part }) => (part === null ? '' : part.phase.replaceAll('_', ' '))),
      ...moments.flatMap((moment, i): HtmlColumn<ComponentRow>[] => [
        bytes(momentName(moment), (row) => row.bytes[i]!),
        share('share', (row) => (row.part === null ? row.bytes[i]! / Math.max(1, totals[i]!) : null)),
      ]),
      short('label', ({ part }) => (part === null ? '' : `${part.by}, confidence ${part.confidence}`)),
    ],
    {
      caption: 'Live memory by component',
      rowClass: (row) => (row === sum ? 'sum' : row.part === null ? 'group' : 'share'),
    },
  );
}

// ---- segments

function pinnedTable({ state, ...moment }: ReportMoment): Child {
  const { pinned_segments: pinned, other_pinned_segments: others } = state;
  return htmlTable(
    pinned,
    [
      code('segment', ({ segment }) => segment),
      bytes('size', (one) => one.total_bytes),
      bytes('inactive', (one) => one.inactive_bytes),
      bytes('largest hole', (one) => one.largest_hole_bytes),
      bytes('live', (one) => one.active_bytes),
      counts('blocks', ({ blocks }) => blocks),
      markup('pinned by', pinnedBy),
    ],
    {
      caption: `Segments with free memory that cannot be released, ${momentName({ state, ...moment })}`,
      note:
        others.segments === 0
          ? null
          : `${counted(others.segments, 'more segment')} with ${formatBytes(others.inactive_bytes)} inactive not shown: mbforensics state ${state.snapshot} --at ${state.moment} --limit 0`,
    },
  );
}

const pinnedBy = ({ pinned_by: sites }: PinnedSegment): Child =>
  sites.map(({ site, bytes: size, count }) =>
    element(
      'div',
      {},
      textElement('span', formatBytes(size), { 'data-bytes': size }),
      text(` in ${counted(count, 'block')} of `),
      textElement('code', site),
    ),
  );

interface StateRow {
  readonly name: string;
  readonly bytesOf?: (state: AtResult) => number | null;
  readonly textOf?: (state: AtResult) => string;
}

const shareOr = (value: number | null): string => (value === null ? UNKNOWN : shareText(value));

const STATE_ROWS: readonly StateRow[] = [
  { name: 'reserved', bytesOf: (state) => state.reserved_bytes },
  { name: 'allocated', bytesOf: (state) => state.allocated_bytes },
  { name: 'freed, pending', bytesOf: (state) => state.pending_bytes },
  { name: 'inactive', bytesOf: (state) => state.inactive_bytes },
  { name: 'largest hole', bytesOf: (state) => state.largest_hole_bytes },
  { name: 'requested by the program', bytesOf: (state) => state.requested_bytes },
  { name: 'rounding', bytesOf: (state) => state.rounding_bytes },
  { name: 'released by a flush', bytesOf: (state) => state.releasable_bytes },
  { name: 'failed request', bytesOf: (state) => state.failed_request?.requested_bytes ?? null },
  { name: 'in', textOf: (state) => state.failed_request?.site ?? UNKNOWN },
  { name: 'segments', textOf: (state) => formatCount(state.segments) },
  { name: 'live blocks', textOf: (state) => formatCount(state.blocks) },
  { name: 'holes', textOf: (state) => formatCount(state.holes) },
  { name: 'inactive of reserved', textOf: ({ fragmentation }) => shareOr(fragmentation.inactive_of_reserved) },
  {
    name: 'largest hole of inactive',
    textOf: ({ fragmentation }) => shareOr(fragmentation.largest_hole_of_inactive),
  },
  { name: 'basis', textOf: ({ basis }) => basis },
];

function stateTables({ moments }: ReportDevice): Child {
  return [
    htmlTable(
      STATE_ROWS,
      [
        short('', ({ name }) => name),
        ...moments.map(
          (moment): HtmlColumn<StateRow> => ({
            title: momentName(moment),
            kind: null,
            cell: ({ bytesOf, textOf }) => {
              const value = bytesOf?.(moment.state) ?? null;
              if (value === null) return { content: text(textOf?.(moment.state) ?? UNKNOWN) };
              return { content: text(formatBytes(value)), attributes: { 'data-bytes': value } };
            },
          }),
        ),
      ],
      { caption: 'State of the allocator' },
    ),
    moments.map((moment) => [
      htmlTable(
        moment.state.pools,
        [
          words('pool', ({ pool, segment_type: type, expandable }) =>
            [pool === null ? 'unknown' : pool.join(', '), type, ...(expandable ? ['expandable'] : [])].join(' · '),
          ),
          counts('segments', ({ segments }) => segments),
          bytes('reserved', (one) => one.reserved_bytes),
          bytes('live', (one) => one.active_bytes),
          bytes('pending', (one) => one.pending_bytes),
          bytes('inactive', (one) => one.inactive_bytes),
          bytes('largest hole', (one) => one.largest_hole_bytes),
        ],
        { caption: `Pools ${momentName(moment)}` },
      ),
      htmlTable(
        moment.state.largest_holes,
        [
          bytes('hole', (one) => one.bytes),
          code('address', ({ address }) => address),
          code('segment', ({ segment }) => segment),
          words('pool', ({ pool, segment_type: type }) => `${pool === null ? 'unknown' : pool.join(', ')} · ${type}`),
          figures('stream', ({ stream }) => (stream === null ? UNKNOWN : String(stream))),
        ],
        { caption: `Largest holes ${momentName(moment)}` },
      ),
    ]),
  ];
}

// ---- call sites

interface SiteRow {
  readonly site: string;
  readonly bytes: number;
  readonly count: number;
  readonly kind: 'site' | 'sum';
}

function siteTable(moment: ReportMoment): Child {
  const { peak } = moment;
  const { other_sites: others } = peak;
  const rows: SiteRow[] = [
    ...peak.sites.map((site): SiteRow => ({ ...site, kind: 'site' })),
    ...(others.groups === 0
      ? []
      : [
          {
            site: counted(others.groups, 'other call site'),
            bytes: others.bytes,
            count: others.count,
            kind: 'site',
          } as const,
        ]),
    { site: 'all live memory', bytes: peak.active_bytes, count: peak.blocks, kind: 'sum' },
  ];
  return htmlTable(
    rows,
    [
      code('call site', ({ site }) => site),
      bytes('live', (row) => row.bytes),
      share('share', (row) => row.bytes / Math.max(1, peak.active_bytes)),
      counts('blocks', ({ count }) => count),
    ],
    {
      caption: `Live memory by call site ${momentName(moment)}`,
      rowClass: ({ kind }) => (kind === 'sum' ? kind : null),
    },
  );
}

// ---- lifetimes

const LEAST_SIZE = 512;
/** Classes of the sequential scale. */
const STEPS = 9;

/** `4.00 KiB`: a size class begins with it. */
const sizeName = (size: number): string =>
  size === 0 ? `< ${formatBytes(2 * LEAST_SIZE)}` : formatBytes(LEAST_SIZE * 2 ** size);
const lifeName = (life: number): string => (life < 0 ? 'live at the end' : formatCount(2 ** life));

/** Rows by size, columns by life; a cell has its bytes and its blocks, and a shade by the logarithm of its bytes. */
function lifetimeTable(cells: readonly LifetimeCell[]): Child {
  if (cells.length === 0) return null;
  const sizes = [...new Set(cells.map(({ size }) => size))].sort((a, b) => b - a);
  const endOf = (life: number): number => (life < 0 ? Number.POSITIVE_INFINITY : life);
  const lives = [...new Set(cells.map(({ life }) => life))].sort((a, b) => endOf(a) - endOf(b));
  const at = new Map(cells.map((cell) => [`${cell.size} ${cell.life}`, cell]));
  const logs = cells.filter((cell) => cell.bytes > 0).map((cell) => Math.log(cell.bytes));
  const least = logs.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const most = logs.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const shade = (size: number): number =>
    most === least ? STEPS - 1 : Math.min(STEPS - 1, Math.floor((STEPS * (Math.log(size) - least)) / (most - least)));
  return htmlTable(
    sizes,
    [
      figures('block size from', sizeName),
      ...lives.map(
        (life): HtmlColumn<number> => ({
          title: lifeName(life),
          kind: null,
          cell: (size) => {
            const cell = at.get(`${size} ${life}`);
            if (cell === undefined) return { content: null };
            return {
              content: [text(formatBytes(cell.bytes)), textElement('small', ` ×${formatCount(cell.blocks)}`)],
              attributes: { class: `q${shade(cell.bytes)}`, 'data-bytes': cell.bytes },
            };
          },
        }),
      ),
    ],
    {
      caption: 'Bytes and blocks by size and by entries lived, from',
      note: 'Classes are powers of two; a class is named by its beginning.',
    },
  );
}
