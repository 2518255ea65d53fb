/** The allocator of one device at one moment. Its tables are those of the page, too. */
import { poolWords } from '../../model/pool-words.js';
import type { AtResult, PinnedSegment, ReserveShare } from '../../model/results/at.js';
import {
  as,
  bytes,
  type Cell,
  type Column,
  code,
  column,
  count,
  counted,
  counts,
  type Document,
  document,
  fact,
  facts,
  fieldsOf,
  joined,
  type MaybePart,
  names,
  section,
  share,
  type Text,
  t,
  table,
} from '../document/document.js';
import { nvtxTexts } from '../run/nvtx-text.js';
import { deviceTitle } from './device-title.js';

export function stateDocument(result: AtResult): Document {
  const { schema, snapshot, rank, device, moment, seq, streams } = result;
  const nvtx = nvtxTexts(result.nvtx);
  return {
    ...document(
      schema,
      t`${deviceTitle(result)} · ${momentWords(result)}`,
      facts([
        fact(
          'reserved',
          t`${as('reserved_bytes', bytes(result.reserved_bytes))} = allocated ${as('allocated_bytes', bytes(result.allocated_bytes))} + pending free ${as('pending_bytes', bytes(result.pending_bytes))} + inactive ${as('inactive_bytes', bytes(result.inactive_bytes))}${basis(result)}`,
        ),
        fact(
          'inside',
          t`${counted(result.segments, 'segment', 'segments', 'segments')}, ${counted(result.blocks, 'live block', 'live blocks', 'blocks')}, ${counted(result.holes, 'hole', 'holes', 'holes')} (largest ${as('largest_hole_bytes', bytes(result.largest_hole_bytes))}); a flush would give back ${as('releasable_bytes', bytes(result.releasable_bytes))}; rounding ${as('rounding_bytes', bytes(result.rounding_bytes))}`,
        ),
        fact('fragmentation', fragmentation(result)),
        fact('failed_request', failedText(result), { title: 'failed' }),
        fact('entry', entryText(result)),
        nvtx.length > 0 && fact('nvtx', joined(nvtx, '; ')),
        fact('start', startText(result)),
      ]),
      poolTable(result),
      (streams.length > 1 || streams.some(({ stream }) => stream !== 0)) && streamTable(result),
      siteTable(result),
      holeTable(result),
      section('Segments that live blocks keep from going back to the driver', {}, pinnedTable(result)),
    ),
    fields: { snapshot, rank, device, moment, seq, last_seq: result.last_seq, basis: result.basis },
  };
}

/** `at its peak, after entry 421 of 595`, `before the first entry`, `at the dump`. */
export function momentWords({ moment, seq, last_seq: last }: Pick<AtResult, 'moment' | 'seq' | 'last_seq'>): Text {
  const named = moment.startsWith('seq:') || moment === 'end' ? '' : `${moment}, `;
  if (seq === null) return last === null ? 'at the dump (no trace recorded)' : `${named}before the first entry`;
  return t`${named}after entry ${seq}${last === null ? '' : t` of ${last}`}`;
}

function basis({ basis, uncertain_blocks: blocks, uncertain_bytes: size }: AtResult): Text {
  if (basis === 'approximate') return ' (approximate: the trace contradicts itself)';
  return blocks === 0 ? '' : t` (up to ${bytes(size)} more allocated: ${counted(blocks, 'block')} of uncertain size)`;
}

const fragmentation = ({ fragmentation: of }: AtResult): Text =>
  t`inactive ÷ reserved ${as('inactive_of_reserved', share(of.inactive_of_reserved))} · largest hole ÷ inactive ${as('largest_hole_of_inactive', share(of.largest_hole_of_inactive))}`;

function failedText({ failed_request: failed }: AtResult): Text | undefined {
  if (failed === null) return undefined;
  const { requested_bytes: size, site, seq } = failed;
  return t`${as('requested_bytes', bytes(size))} requested${site === null ? '' : t` in ${as('site', code(site))}`}, entry ${as('seq', count(seq))}`;
}

function entryText({ entry }: AtResult): Text | undefined {
  if (entry === null) return undefined;
  const { action, size_bytes: size, address, site } = entry;
  return t`${as('action', action)}${size === 0 ? '' : t` of ${as('size_bytes', bytes(size))}`}${address === null ? '' : ` at 0x${address}`}${site === null ? '' : t` by ${as('site', code(site))}`}`;
}

function startText({ start, ring_note: note }: AtResult): string {
  switch (start) {
    case 'cold':
      return 'the trace begins with an empty allocator: nothing is missing';
    case 'late':
      return `the recording began with live memory; its state was reconstructed from the dump${note === null ? '' : ` (${note})`}`;
    case 'overwritten':
      return 'the ring lost its oldest entries; the state before the first that is left was walked back from the dump';
    default:
      return 'no trace: only the dumped state is known';
  }
}

// ---- tables

const shareColumns = <Row extends ReserveShare>(rows: readonly Row[]): Column<Row>[] => [
  ...fieldsOf(rows, 'segments', 'reserved_bytes', 'active_bytes', 'pending_bytes', 'inactive_bytes'),
  ...fieldsOf(rows, 'largest_hole_bytes'),
];

const streamName = ({ stream }: { readonly stream: number | null }): Cell => stream ?? 'unknown';

export const poolTable = ({ pools }: AtResult, caption?: string): MaybePart =>
  table(
    pools,
    [
      column(
        'pool',
        ({ pool, segment_type: type, expandable }) => `${poolWords(pool)} ${type}${expandable ? ' expandable' : ''}`,
      ),
      ...shareColumns(pools),
    ],
    { key: 'pools', caption },
  );

const streamTable = ({ streams }: AtResult): MaybePart =>
  table(streams, [column('stream', streamName), ...shareColumns(streams)], { key: 'streams' });

export const holeTable = ({ largest_holes: holes }: AtResult, caption?: string): MaybePart =>
  table(
    holes,
    [
      column('bytes', (hole) => hole.bytes, { title: 'hole' }),
      names('address', ({ address }) => `0x${address}`, { title: 'at' }),
      names('segment', ({ segment }) => `0x${segment}`, { title: 'in segment' }),
      column('pool', ({ pool, segment_type: type }) => `${poolWords(pool)} ${type}`),
      column('stream', streamName),
    ],
    { key: 'largest_holes', caption },
  );

const siteTable = ({ sites, other_sites: others, active_bytes: active }: AtResult): MaybePart =>
  table(
    others.groups === 0 ? sites : [...sites, { ...others, site: null }],
    [
      column('bytes', (row) => row.bytes, { title: 'live' }),
      column('share', (row) => (active === 0 ? null : row.bytes / active)),
      counts('blocks', (row) => row.count),
      names('site', ({ site }) => site ?? t`${counted(others.groups, 'more site')} (--limit 0 shows all)`, {
        title: 'call site',
      }),
    ],
    { key: 'sites', kind: ({ site }) => (site === null ? 'others' : undefined) },
  );

/** Their live blocks by call site below each. */
export function pinnedTable(state: AtResult, caption?: string): MaybePart {
  const { pinned_segments: pinned, other_pinned_segments: others, snapshot, moment } = state;
  return table(
    pinned,
    [
      names('segment', ({ segment }) => `0x${segment}`),
      ...fieldsOf(pinned, ['total_bytes', 'size'], 'inactive_bytes', 'largest_hole_bytes'),
      pinned.some((one) => one.releasable_bytes > 0) && column('releasable_bytes', (one) => one.releasable_bytes),
      ...fieldsOf(pinned, ['active_bytes', 'live'], 'blocks'),
    ],
    {
      key: 'pinned_segments',
      caption,
      under: pins,
      notes: [
        others.segments > 0 &&
          t`${counted(others.segments, 'more segment')} with ${bytes(others.inactive_bytes)} inactive: mbforensics state ${snapshot} --at ${moment} --limit 0`,
      ],
    },
  );
}

function pins({ pinned_by: sites, blocks }: PinnedSegment): Text[] {
  const more = blocks - sites.reduce((sum, pin) => sum + pin.count, 0);
  return [
    ...sites.map(
      ({ bytes: size, count: n, site, label }) =>
        t`${bytes(size)}${n > 1 ? t` in ${count(n)} blocks` : ''} of ${code(site)}${label === null ? '' : t` (${code(label)})`}`,
    ),
    ...(more > 0 ? [t`${counted(more, 'more block')}`] : []),
  ];
}
