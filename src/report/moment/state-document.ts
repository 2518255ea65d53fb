/** The allocator of one device at one moment. Its tables are those of the page, too. */
import { poolWords } from '../../model/pool-words.js';
import type { AtResult, PinnedSegment, ReserveShare } from '../../model/results/at.js';
import * as d from '../document/document.js';
import { nvtxTexts } from '../run/nvtx-text.js';
import { deviceTitle } from './device-title.js';

export function stateDocument(result: AtResult): d.Document {
  const { schema, snapshot, rank, device, moment, seq, streams } = result;
  const nvtx = nvtxTexts(result.nvtx);
  return {
    ...d.document(
      schema,
      d.t`${deviceTitle(result)} · ${momentWords(result)}`,
      d.facts([
        d.fact(
          'reserved',
          d.t`${d.as('reserved_bytes', d.bytes(result.reserved_bytes))} = allocated ${d.as('allocated_bytes', d.bytes(result.allocated_bytes))} + pending free ${d.as('pending_bytes', d.bytes(result.pending_bytes))} + inactive ${d.as('inactive_bytes', d.bytes(result.inactive_bytes))}${basis(result)}`,
        ),
        d.fact(
          'inside',
          d.t`${d.counted(result.segments, 'segment', 'segments', 'segments')}, ${d.counted(result.blocks, 'live block', 'live blocks', 'blocks')}, ${d.counted(result.holes, 'hole', 'holes', 'holes')} (largest ${d.as('largest_hole_bytes', d.bytes(result.largest_hole_bytes))}); a flush would give back ${d.as('releasable_bytes', d.bytes(result.releasable_bytes))}; rounding ${d.as('rounding_bytes', d.bytes(result.rounding_bytes))}`,
        ),
        d.fact('fragmentation', fragmentation(result)),
        d.fact('failed_request', failedText(result), { title: 'failed' }),
        d.fact('entry', entryText(result)),
        nvtx.length > 0 && d.fact('nvtx', d.joined(nvtx, '; ')),
        d.fact('start', startText(result)),
      ]),
      poolTable(result),
      (streams.length > 1 || streams.some(({ stream }) => stream !== 0)) && streamTable(result),
      siteTable(result),
      holeTable(result),
      d.section('Segments that live blocks keep from going back to the driver', {}, pinnedTable(result)),
    ),
    fields: { snapshot, rank, device, moment, seq, last_seq: result.last_seq, basis: result.basis },
  };
}

/** `at its peak, after entry 421 of 595`, `before the first entry`, `at the dump`. */
export function momentWords({ moment, seq, last_seq: last }: Pick<AtResult, 'moment' | 'seq' | 'last_seq'>): d.Text {
  const named = moment.startsWith('seq:') || moment === 'end' ? '' : `${moment}, `;
  if (seq === null) return last === null ? 'at the dump (no trace recorded)' : `${named}before the first entry`;
  return d.t`${named}after entry ${seq}${last === null ? '' : d.t` of ${last}`}`;
}

function basis({ basis, uncertain_blocks: blocks, uncertain_bytes: size }: AtResult): d.Text {
  if (basis === 'approximate') return ' (approximate: the trace contradicts itself)';
  return blocks === 0
    ? ''
    : d.t` (up to ${d.bytes(size)} more allocated: ${d.counted(blocks, 'block')} of uncertain size)`;
}

const fragmentation = ({ fragmentation: of }: AtResult): d.Text =>
  d.t`inactive ÷ reserved ${d.as('inactive_of_reserved', d.share(of.inactive_of_reserved))} · largest hole ÷ inactive ${d.as('largest_hole_of_inactive', d.share(of.largest_hole_of_inactive))}`;

function failedText({ failed_request: failed }: AtResult): d.Text | undefined {
  if (failed === null) return undefined;
  const { requested_bytes: size, site, seq } = failed;
  return d.t`${d.as('requested_bytes', d.bytes(size))} requested${site === null ? '' : d.t` in ${d.as('site', d.code(site))}`}, entry ${d.as('seq', d.count(seq))}`;
}

function entryText({ entry }: AtResult): d.Text | undefined {
  if (entry === null) return undefined;
  const { action, size_bytes: size, address, site } = entry;
  return d.t`${d.as('action', action)}${size === 0 ? '' : d.t` of ${d.as('size_bytes', d.bytes(size))}`}${address === null ? '' : ` at 0x${address}`}${site === null ? '' : d.t` by ${d.as('site', d.code(site))}`}`;
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

const shareColumns = <Row extends ReserveShare>(rows: readonly Row[]): d.Column<Row>[] => [
  ...d.fieldsOf(rows, 'segments', 'reserved_bytes', 'active_bytes', 'pending_bytes', 'inactive_bytes'),
  ...d.fieldsOf(rows, 'largest_hole_bytes'),
];

const streamName = ({ stream }: { readonly stream: number | null }): d.Cell => stream ?? 'unknown';

export const poolTable = ({ pools }: AtResult, caption?: string): d.MaybePart =>
  d.table(
    pools,
    [
      d.column(
        'pool',
        ({ pool, segment_type: type, expandable }) => `${poolWords(pool)} ${type}${expandable ? ' expandable' : ''}`,
      ),
      ...shareColumns(pools),
    ],
    { key: 'pools', caption },
  );

const streamTable = ({ streams }: AtResult): d.MaybePart =>
  d.table(streams, [d.column('stream', streamName), ...shareColumns(streams)], { key: 'streams' });

export const holeTable = ({ largest_holes: holes }: AtResult, caption?: string): d.MaybePart =>
  d.table(
    holes,
    [
      d.column('bytes', (hole) => hole.bytes, { title: 'hole' }),
      d.names('address', ({ address }) => `0x${address}`, { title: 'at' }),
      d.names('segment', ({ segment }) => `0x${segment}`, { title: 'in segment' }),
      d.column('pool', ({ pool, segment_type: type }) => `${poolWords(pool)} ${type}`),
      d.column('stream', streamName),
    ],
    { key: 'largest_holes', caption },
  );

const siteTable = ({ sites, other_sites: others, active_bytes: active }: AtResult): d.MaybePart =>
  d.table(
    others.groups === 0 ? sites : [...sites, { ...others, site: null }],
    [
      d.column('bytes', (row) => row.bytes, { title: 'live' }),
      d.column('share', (row) => (active === 0 ? null : row.bytes / active)),
      d.counts('blocks', (row) => row.count),
      d.names('site', ({ site }) => site ?? d.t`${d.counted(others.groups, 'more site')} (--limit 0 shows all)`, {
        title: 'call site',
      }),
    ],
    { key: 'sites', kind: ({ site }) => (site === null ? 'others' : undefined) },
  );

/** Their live blocks by call site below each. */
export function pinnedTable(state: AtResult, caption?: string): d.MaybePart {
  const { pinned_segments: pinned, other_pinned_segments: others, snapshot, moment } = state;
  return d.table(
    pinned,
    [
      d.names('segment', ({ segment }) => `0x${segment}`),
      ...d.fieldsOf(pinned, ['total_bytes', 'size'], 'inactive_bytes', 'largest_hole_bytes'),
      pinned.some((one) => one.releasable_bytes > 0) && d.column('releasable_bytes', (one) => one.releasable_bytes),
      ...d.fieldsOf(pinned, ['active_bytes', 'live'], 'blocks'),
    ],
    {
      key: 'pinned_segments',
      caption,
      under: pins,
      notes: [
        others.segments > 0 &&
          d.t`${d.counted(others.segments, 'more segment')} with ${d.bytes(others.inactive_bytes)} inactive: mbforensics state ${snapshot} --at ${moment} --limit 0`,
      ],
    },
  );
}

function pins({ pinned_by: sites, blocks }: PinnedSegment): d.Text[] {
  const more = blocks - sites.reduce((sum, pin) => sum + pin.count, 0);
  return [
    ...sites.map(
      ({ bytes: size, count: n, site, label }) =>
        d.t`${d.bytes(size)}${n > 1 ? d.t` in ${d.count(n)} blocks` : ''} of ${d.code(site)}${label === null ? '' : d.t` (${d.code(label)})`}`,
    ),
    ...(more > 0 ? [d.t`${d.counted(more, 'more block')}`] : []),
  ];
}
