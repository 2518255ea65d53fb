/** The allocator of one device at one moment. Its tables are those of the page, too. */

import { poolWords } from '../../model/pool-words.js';
import type { AtResult, PinnedSegment, ReserveShare } from '../../model/results/at.js';
import * as d from '../document/document.js';
import { nvtxTexts } from '../run/nvtx-text.js';
import { factsOf } from '../words/fill-pieces.js';
import { deviceTitle } from './device-title.js';

export function stateDocument(result: AtResult): d.Document {
  const { schema, snapshot, rank, device, moment, seq, last_seq, basis } = result;
  return {
    ...d.document(
      schema,
      d.t`${deviceTitle(result)} · ${momentWords(result)}`,
      ...stateParts(result),
      d.section('Segments that live blocks keep from going back to the driver', {}, pinnedTable(result)),
    ),
    fields: { snapshot, rank, device, moment, seq, last_seq, basis },
  };
}

/** All but the segments that cannot be released. */
export function stateParts(result: AtResult): d.MaybePart[] {
  const { streams } = result;
  return [
    d.facts(factsOf('moment', 'state', result, { nvtx: nvtxTexts(result.nvtx) })),
    poolTable(result),
    (streams.length > 1 || streams.some(({ stream }) => stream !== 0)) && streamTable(result),
    siteTable(result),
    holeTable(result),
  ];
}

/** `at its peak, after entry 421 of 595`, `before the first entry`, `at the dump`. */
export function momentWords({ moment, seq, last_seq: last }: Pick<AtResult, 'moment' | 'seq' | 'last_seq'>): d.Text {
  const named = moment.startsWith('seq:') || moment === 'end' ? '' : `${moment}, `;
  if (seq === null) return last === null ? 'at the dump (no trace recorded)' : `${named}before the first entry`;
  return d.t`${named}after entry ${seq}${last === null ? '' : d.t` of ${last}`}`;
}

// ---- tables

const shareColumns = <Row extends ReserveShare>(rows: readonly Row[]): d.Column<Row>[] => [
  ...d.fieldsOf(rows, 'segments', 'reserved_bytes', 'active_bytes', 'pending_bytes', 'inactive_bytes'),
  ...d.fieldsOf(rows, 'largest_hole_bytes'),
];

const streamName = ({ stream }: { readonly stream: number | null }): d.Cell => stream ?? 'unknown';

const poolTable = ({ pools }: AtResult): d.MaybePart =>
  d.table(
    pools,
    [
      d.column(
        'pool',
        ({ pool, segment_type: type, expandable }) => `${poolWords(pool)} ${type}${expandable ? ' expandable' : ''}`,
      ),
      ...shareColumns(pools),
    ],
    { key: 'pools' },
  );

const streamTable = ({ streams }: AtResult): d.MaybePart =>
  d.table(streams, [d.column('stream', streamName), ...shareColumns(streams)], { key: 'streams' });

const holeTable = ({ largest_holes: holes }: AtResult): d.MaybePart =>
  d.table(
    holes,
    [
      d.column('bytes', (hole) => hole.bytes, { title: 'hole' }),
      d.names('address', ({ address }) => `0x${address}`, { title: 'at' }),
      d.names('segment', ({ segment }) => `0x${segment}`, { title: 'in segment' }),
      d.column('pool', ({ pool, segment_type: type }) => `${poolWords(pool)} ${type}`),
      d.column('stream', streamName),
    ],
    { key: 'largest_holes' },
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
export function pinnedTable(state: AtResult): d.MaybePart {
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
