/**
 * Sections with the views of one device's memory over its trace. Each has the tables that the verb of its figures
 * prints, at the moments that the page opens with. Pure.
 */
import { maxOf, minOf } from '../../model/lists.js';
import type { LifetimeCell } from '../../model/picture/page-data.js';
import type { ReportDevice, ReportResult } from '../../model/results/report.js';
import { formatBytes, formatCount } from '../../model/units.js';
import * as d from '../document/document.js';
import { attributionParts } from '../moment/attribute-document.js';
import { peakSection } from '../moment/peak-document.js';
import { momentWords, pinnedTable, stateParts } from '../moment/state-document.js';
import { partsHtml } from '../render/html.js';
import { type Child, element, type SafeHtml, textElement } from './html.js';
import { type PageSection, section, twin } from './page-pieces.js';

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
      tables('Table: components', ({ moments }) =>
        moments.flatMap(({ attribution, name }) => attributionParts(attribution, name, 0)),
      ),
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
        moments.map(({ state }) => d.section(momentWords(state), {}, pinnedTable(state))),
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
      tables('Table: state of the allocator, pools and largest holes', ({ moments }) =>
        moments.map(({ state }) => d.section(momentWords(state), {}, ...stateParts(state))),
      ),
    ),
    section(
      'flame',
      {
        name: 'Call sites',
        title: 'Live memory by call stack',
        about: 'What is live at the cursor, by the stack that allocated it. Width: bytes.',
      },
      VIEW,
      tables('Table: call sites', ({ moments }) => moments.map(({ peak }) => peakSection(peak))),
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

/** Below the names of the devices, where there are several. */
export const perDevice = (
  devices: readonly ReportDevice[],
  of: (device: ReportDevice) => readonly d.MaybePart[],
): Child[] =>
  devices.map((device) => {
    const content = partsHtml(d.parts(of(device)));
    return content.length > 0 && [devices.length > 1 && textElement('h3', device.page.title), content];
  });

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
