/** What changed between two snapshots, and between the runs that they are of. */
import type { DiffResult, DiffSide, DiffTotals, SnapshotDiff } from '../../model/results/diff.js';
import { formatBytes } from '../../model/units.js';
import * as d from '../document/document.js';
import { afterEntry } from '../text-pieces.js';
import { isOdd, shortCommit } from './check-words.js';
import * as difference from './difference.js';

const SIDES: difference.Sides = ['a', 'b'];

export function diffDocument(result: DiffResult): d.Document {
  const { a_info: a, b_info: b, gate, notes, total_delta_bytes: total } = result;
  return {
    ...d.document(
      result.schema,
      diffTitle(result),
      ...(a === null
        ? SIDES.map((side) => d.paragraph(d.t`${side}  ${d.as(side, d.code(result[side as 'a' | 'b']))}`))
        : [sideParagraph('a', a, b), sideParagraph('b', b, a)]),
      gate !== null && total !== null && d.paragraph(growthText(total, gate), { key: 'gate' }),
      difference.notesSection(notes),
      ...differenceParts(result),
    ),
    fields: { total_delta_bytes: total, ...(gate === null ? {} : { exceeded: gate.exceeded }) },
  };
}

function diffTitle({ a_info: a, b_info: b, total_delta_bytes: total }: DiffResult): string {
  if (total === null) return 'No memory snapshots to compare';
  const isPeak = [a, b].every((side) => side?.moment === 'peak' && side.has_trace);
  const when = isPeak ? ' at the peak' : '';
  if (total === 0) return `b has as much live memory as a${when}`;
  return `b has ${formatBytes(Math.abs(total))} ${total > 0 ? 'more' : 'less'} live memory than a${when}`;
}

function growthText(total: number, { exceeded, max_growth_bytes: most }: NonNullable<DiffResult['gate']>): d.Text {
  const word = d.mark(exceeded ? 'more than' : 'within', exceeded ? 'bad' : 'good');
  return d.t`growth ${d.changeBytes(total)}: ${word} the ${d.bytes(most)} allowed`;
}

/** `snapshot#1 · rank 0 · device 0 · peak, after entry 17,531`. */
function sideText(side: DiffSide, other: DiffSide, key: string): d.Text {
  const { handle, operand, rank, device, moment, seq, has_trace: hasTrace } = side;
  const at = moment.startsWith('seq:') ? afterEntry(seq) : `${moment}, ${afterEntry(seq)}`;
  const name = d.code(handle);
  return d.joined(
    [
      // A file of the same name elsewhere has the same handle.
      d.t`${d.as(key, name)}${handle === other.handle && operand !== other.operand ? d.t` (${d.code(operand)})` : ''}`,
      rank !== null && `rank ${rank}`,
      `device ${device}`,
      hasTrace ? at : 'as dumped (no trace)',
    ],
    ' · ',
  );
}

const sideParagraph = (name: string, side: DiffSide, other: DiffSide): d.MaybePart =>
  d.paragraph(d.t`${name}  ${sideText(side, other, name)}`);

/** All but the head. */
const differenceParts = (result: DiffResult): d.MaybePart[] => [
  result.a_info !== null && totalsTable(result),
  difference.componentsSection(result.components, SIDES),
  result.a_info !== null && d.section('Call sites', {}, changedSites(result)),
  poolsSection(result),
  allocatorSection(result),
  d.items(
    (['only_a', 'only_b'] as const)
      .filter((side) => result.features[side].length > 0)
      .map((side) => `features only in ${side.at(-1)}: ${result.features[side].join(', ')}`),
    { key: 'features' },
  ),
  pairsSection('Other devices', 'devices', result.devices),
  pairsSection('Ranks', 'ranks', result.ranks),
  d.section('Peaks, step time and loss', {}, difference.checksTable(judgedChecks(result), { sides: SIDES })),
  difference.changedSection('Settings', 'config', result.config, SIDES),
  difference.changedSection('Environment', 'env', result.env, SIDES),
  difference.changedSection('Versions', 'versions', result.versions, SIDES),
  commitsSection(result),
  difference.suspectsSection(result),
];

function totalsTable({ a_info: a, b_info: b }: SnapshotDiff): d.MaybePart {
  const rows = [
    ['active', 'active_bytes'],
    ['reserved', 'reserved_bytes'],
    ['– allocated', 'allocated_bytes'],
    ['– pending free', 'pending_bytes'],
    ['– inactive', 'inactive_bytes'],
  ] as const;
  return d.table(
    rows,
    [
      d.column('memory', ([title]) => title),
      d.column('delta_bytes', ([, key]) => b[key] - a[key], { title: 'change' }),
      d.column('a_bytes', ([, key]) => a[key], { title: 'a' }),
      d.column('b_bytes', ([, key]) => b[key], { title: 'b' }),
    ],
    { key: 'totals' },
  );
}

/** The sites that differ, what is left out, and the sum. */
function changedSites(result: SnapshotDiff): d.MaybePart {
  const { sites, remainder, a_info: a, b_info: b } = result;
  const changed = sites.filter(({ delta_bytes }) => delta_bytes !== 0);
  const unchanged = sites.length - changed.length + remainder.sites - remainder.changed;
  const { grown_bytes: grown, shrunk_bytes: shrunk } = remainder;
  const mixed = grown > 0 && shrunk < 0 ? d.t`: ${d.changeBytes(grown)} and ${d.changeBytes(shrunk)}` : '';
  const remaining: difference.SiteRow = {
    ...{ delta_bytes: result.remainder_bytes, sides: null, kind: 'others' },
    name: d.t`${d.counted(remainder.changed, 'smaller site')}${mixed} (--limit 0 shows all sites)`,
  };
  const sum: difference.SiteRow = {
    ...{ delta_bytes: result.total_delta_bytes, kind: 'sum', name: d.t`all active memory (block sizes)` },
    sides: { a_bytes: a.active_bytes, b_bytes: b.active_bytes, a_count: a.blocks, b_count: b.blocks },
  };
  return difference.sitesTable(
    [...changed.map(difference.siteRow), ...(remainder.changed > 0 ? [remaining] : []), sum],
    SIDES,
    [unchanged > 0 && d.t`${d.counted(unchanged, 'site has', 'sites have')} as many bytes in a as in b`],
  );
}

const poolsSection = ({ pools }: DiffResult): d.MaybePart =>
  d.section(
    'Pools',
    { isFolded: true },
    d.table(
      pools.filter((pool) => pool.delta_reserved_bytes !== 0 || pool.delta_active_bytes !== 0),
      [
        d.column('pool', ({ pool, segment_type: type, side_stream: isSide }) =>
          d.joined([pool, type, isSide && 'side streams'], ' · '),
        ),
        d.column('delta_reserved_bytes', (pool) => pool.delta_reserved_bytes, { title: 'reserved' }),
        d.column('delta_active_bytes', (pool) => pool.delta_active_bytes, { title: 'of it active' }),
        d.column('delta_free_bytes', (pool) => pool.delta_reserved_bytes - pool.delta_active_bytes, {
          title: 'of it free',
        }),
        d.column('segments', (pool) => difference.fromTo(pool.a_segments, pool.b_segments), { align: 'right' }),
      ],
      { key: 'pools' },
    ),
  );

/** Newer torches record more settings; that alone does not make the runs different. */
function allocatorSection({ settings }: DiffResult): d.MaybePart {
  const alone = SIDES.flatMap((_, i) => {
    const keys = settings.filter(({ a, b }) => (i === 0 ? b : a) === null).map(({ key }) => key);
    return keys.length === 0 ? [] : [`only recorded in ${SIDES[i]}: ${keys.join(', ')}`];
  });
  const both = settings.filter(({ a, b }) => a !== null && b !== null);
  if (both.length === 0) return difference.changedSection('Allocator settings', 'settings', settings, SIDES);
  return difference.changedSection('Allocator settings', 'settings', both, SIDES, alone.length > 0 && alone.join('; '));
}

const pairsSection = (title: string, key: 'devices' | 'ranks', totals: readonly DiffTotals[]): d.MaybePart =>
  d.section(
    title,
    { isFolded: true },
    d.table(
      totals,
      [
        d.counts(key === 'ranks' ? 'rank' : 'device', (one) => (key === 'ranks' ? one.rank : one.a_device)),
        d.column('delta_active_bytes', (one) => one.delta_active_bytes, { title: 'active' }),
        d.column('a_active_bytes', (one) => one.a_active_bytes, { title: 'a' }),
        d.column('b_active_bytes', (one) => one.b_active_bytes, { title: 'b' }),
        d.column('delta_reserved_bytes', (one) => one.delta_reserved_bytes, { title: 'reserved' }),
        d.column('a_reserved_bytes', (one) => one.a_reserved_bytes, { title: 'a' }),
        d.column('b_reserved_bytes', (one) => one.b_reserved_bytes, { title: 'b' }),
      ],
      { key },
    ),
  );

/** Checks with a value on both sides, without unchanged parts. */
const judgedChecks = ({ checks }: DiffResult): DiffResult['checks'] =>
  checks.filter(
    (check) =>
      check.status !== 'skipped' &&
      (check.status !== 'info' || check.golden !== check.current) &&
      (isOdd(check) || !check.name.includes(':')),
  );

function commitsSection({ commits }: DiffResult): d.MaybePart {
  if (commits === null) return null;
  const { a, b, in_between: between, changed_files: files, submodules, touching } = commits;
  const short = (commit: string | null, none: string): d.Text => (commit === null ? none : d.code(shortCommit(commit)));
  return d.section(
    'Commits',
    { key: 'commits', fields: { a, b, in_between: between, changed_files: files } },
    d.paragraph(
      d.t`${short(a, '')} → ${short(b, '')}: ${d.counted(between, 'commit')}, ${d.counted(files, 'changed file')}`,
      {
        key: 'text',
      },
    ),
    d.items(
      submodules.map(
        ({ path, from, to }) => d.t`submodule ${d.code(path)} ${short(from, 'added')} → ${short(to, 'removed')}`,
      ),
      { key: 'submodules' },
    ),
    d.items(
      touching.map(({ sha, subject }) => d.t`${d.code(shortCommit(sha))} ${subject}`),
      { key: 'touching' },
    ),
  );
}
