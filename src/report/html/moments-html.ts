/**
 * Sections with the views of one device's memory over its trace. Each has the table of the same figures, at the moments
 * that the page opens with. Pure.
 */
import { groupBy } from '../../model/group-by.js';
import { maxOf, minOf, sumOf } from '../../model/lists.js';
import type { LifetimeCell } from '../../model/picture/page-data.js';
import type { AtResult } from '../../model/results/at.js';
import type { ComponentBytes } from '../../model/results/attribute.js';
import type { ReportDevice, ReportMoment, ReportResult } from '../../model/results/report.js';
import { formatBytes, formatCount } from '../../model/units.js';
import * as d from '../document/document.js';
import { holeTable, pinnedTable, poolTable } from '../moment/state-document.js';
import { partsHtml } from '../render/html.js';
import { afterEntry, plain } from '../text-pieces.js';
import { type Child, element, type SafeHtml, textElement } from './html.js';
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
  const tables = (title: string, of: (device: ReportDevice) => readonly d.MaybePart[]): Child =>
    twin(
      title,
      devices.map((device) => {
        const content = partsHtml(d.parts(of(device)));
        return content.length > 0 && [devices.length > 1 && textElement('h3', device.page.title), content];
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
      tables('Table: components', (device) => [componentTable(device)]),
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
        moments.map((moment) =>
          pinnedTable(moment.state, `Segments with free memory that cannot be released, ${momentName(moment)}`),
        ),
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
      tables('Table: state of the allocator, pools and largest holes', stateParts),
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
      tables('Table: sizes and lifetimes', ({ page }) => [lifetimeTable(page.lifetimes)]),
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
function componentTable({ moments }: ReportDevice): d.MaybePart {
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
  return d.table(
    [...rows, sum],
    [
      d.column('component', ({ component }) => plain(component)),
      d.column('part', ({ part }) => (part === null ? '' : plain(part.sub_component))),
      d.column('phase', ({ part }) => (part === null ? '' : plain(part.phase)), { title: 'allocated in' }),
      ...moments.flatMap((moment, i): d.Column<ComponentRow>[] => [
        d.column(`${moment.name}_bytes`, (row) => row.bytes[i]!, { title: momentName(moment) }),
        d.column(`${moment.name}_share`, (row) => (row.part === null ? row.bytes[i]! / Math.max(1, totals[i]!) : ''), {
          title: 'share',
        }),
      ]),
      d.column('label', ({ part }) => (part === null ? '' : `${part.by}, confidence ${part.confidence}`)),
    ],
    {
      caption: 'Live memory by component',
      kind: (row) => (row === sum ? 'sum' : row.part === null ? 'group' : undefined),
    },
  );
}

// ---- segments

const stateRow = (name: string, cell: (state: AtResult) => d.Cell) => ({ name, cell });

const STATE_ROWS = [
  stateRow('reserved', (state) => d.bytes(state.reserved_bytes)),
  stateRow('allocated', (state) => d.bytes(state.allocated_bytes)),
  stateRow('freed, pending', (state) => d.bytes(state.pending_bytes)),
  stateRow('inactive', (state) => d.bytes(state.inactive_bytes)),
  stateRow('largest hole', (state) => d.bytes(state.largest_hole_bytes)),
  stateRow('requested by the program', (state) => d.bytes(state.requested_bytes)),
  stateRow('rounding', (state) => d.bytes(state.rounding_bytes)),
  stateRow('released by a flush', (state) => d.bytes(state.releasable_bytes)),
  stateRow('failed request', ({ failed_request: failed }) => failed && d.bytes(failed.requested_bytes)),
  stateRow('in', ({ failed_request: failed }) => (failed?.site ? d.code(failed.site) : null)),
  stateRow('segments', (state) => d.count(state.segments)),
  stateRow('live blocks', (state) => d.count(state.blocks)),
  stateRow('holes', (state) => d.count(state.holes)),
  stateRow('inactive of reserved', (state) => d.share(state.fragmentation.inactive_of_reserved)),
  stateRow('largest hole of inactive', (state) => d.share(state.fragmentation.largest_hole_of_inactive)),
  stateRow('basis', (state) => state.basis),
] as const;

const stateParts = ({ moments }: ReportDevice): d.MaybePart[] => [
  d.table(
    STATE_ROWS,
    [
      d.column('name', ({ name }) => name, { title: '' }),
      ...moments.map((moment) =>
        d.column<(typeof STATE_ROWS)[number]>(moment.name, ({ cell }) => cell(moment.state), {
          title: momentName(moment),
          align: 'right',
        }),
      ),
    ],
    { caption: 'State of the allocator' },
  ),
  ...moments.flatMap((moment) => [
    poolTable(moment.state, `Pools ${momentName(moment)}`),
    holeTable(moment.state, `Largest holes ${momentName(moment)}`),
  ]),
];

// ---- call sites

function siteTable(moment: ReportMoment): d.MaybePart {
  const { sites, other_sites: others, active_bytes: active, blocks } = moment.peak;
  const rows = [
    ...sites.map((one) => ({ ...one, kind: undefined })),
    ...(others.groups === 0
      ? []
      : [{ ...others, site: `${formatCount(others.groups)} other call sites`, kind: 'others' as const }]),
    { site: 'all live memory', bytes: active, count: blocks, kind: 'sum' as const },
  ];
  return d.table(
    rows,
    [
      d.column('site', ({ site, kind }) => (kind === undefined ? d.code(site) : site), { title: 'call site' }),
      d.column('bytes', (row) => row.bytes, { title: 'live' }),
      d.column('share', (row) => row.bytes / Math.max(1, active)),
      d.counts('blocks', (row) => row.count),
    ],
    { caption: `Live memory by call site ${momentName(moment)}`, kind: ({ kind }) => kind },
  );
}

// ---- lifetimes

const LEAST_SIZE = 512;
/** `4.00 KiB`: a size class begins with it. */
const sizeName = (size: number): string =>
  size === 0 ? `< ${formatBytes(2 * LEAST_SIZE)}` : formatBytes(LEAST_SIZE * 2 ** size);
const lifeName = (life: number): string => (life < 0 ? 'live at the end' : formatCount(2 ** life));

/** Rows by size, columns by life; a cell has its bytes and its blocks, and a shade by the logarithm of its bytes. */
function lifetimeTable(cells: readonly LifetimeCell[]): d.MaybePart {
  const sizes = [...new Set(cells.map(({ size }) => size))].sort((a, b) => b - a);
  const endOf = (life: number): number => (life < 0 ? Number.POSITIVE_INFINITY : life);
  const lives = [...new Set(cells.map(({ life }) => life))].sort((a, b) => endOf(a) - endOf(b));
  const at = new Map(cells.map((cell) => [`${cell.size} ${cell.life}`, cell]));
  const logs = cells.filter((cell) => cell.bytes > 0).map((cell) => Math.log(cell.bytes));
  const [least, most] = [minOf(logs), maxOf(logs)];
  return d.table(
    sizes,
    [
      d.column('size', sizeName, { title: 'block size from', align: 'right' }),
      ...lives.map((life) => {
        const cellOf = (size: number): d.Cell => {
          const cell = at.get(`${size} ${life}`);
          if (cell === undefined) return '';
          const shade = most === least ? 1 : (Math.log(Math.max(1, cell.bytes)) - least) / (most - least);
          return d.t`${{ ...d.bytes(cell.bytes), shade }} ×${cell.blocks}`;
        };
        return d.column(lifeName(life), cellOf, { title: lifeName(life), align: 'right' });
      }),
    ],
    {
      caption: 'Bytes and blocks by size and by entries lived, from',
      notes: ['Classes are powers of two; a class is named by its beginning.'],
    },
  );
}
