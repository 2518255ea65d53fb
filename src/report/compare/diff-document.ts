/** What changed between two snapshots, and between the runs that they are of. */
import type { DiffResult, DiffSide, DiffTotals, SnapshotDiff } from '../../model/results/diff.js';
import { formatBytes } from '../../model/units.js';
import {
  as,
  bytes,
  changeBytes,
  code,
  column,
  counted,
  counts,
  type Document,
  document,
  items,
  joined,
  type MaybePart,
  mark,
  paragraph,
  section,
  type Text,
  t,
  table,
} from '../document/document.js';
import { afterEntry } from '../text-pieces.js';
import { isOdd, shortCommit } from './check-words.js';
import {
  changedSection,
  checksTable,
  componentsSection,
  fromTo,
  notesSection,
  type Sides,
  type SiteRow,
  siteRow,
  sitesTable,
  suspectsSection,
} from './difference.js';

const SIDES: Sides = ['a', 'b'];

export function diffDocument(result: DiffResult): Document {
  const { a_info: a, b_info: b, gate, notes, total_delta_bytes: total } = result;
  return {
    ...document(
      result.schema,
      diffTitle(result),
      ...(a === null
        ? SIDES.map((side) => paragraph(t`${side}  ${as(side, code(result[side as 'a' | 'b']))}`))
        : [sideParagraph('a', a, b), sideParagraph('b', b, a)]),
      gate !== null && total !== null && paragraph(growthText(total, gate), { key: 'gate' }),
      notesSection(notes),
      ...differenceParts(result),
    ),
    fields: { total_delta_bytes: total, ...(gate === null ? {} : { exceeded: gate.exceeded }) },
  };
}

export function diffTitle({ a_info: a, b_info: b, total_delta_bytes: total }: DiffResult): string {
  if (total === null) return 'No memory snapshots to compare';
  const isPeak = [a, b].every((side) => side?.moment === 'peak' && side.has_trace);
  const when = isPeak ? ' at the peak' : '';
  if (total === 0) return `b has as much live memory as a${when}`;
  return `b has ${formatBytes(Math.abs(total))} ${total > 0 ? 'more' : 'less'} live memory than a${when}`;
}

export function growthText(total: number, { exceeded, max_growth_bytes: most }: NonNullable<DiffResult['gate']>): Text {
  const word = mark(exceeded ? 'more than' : 'within', exceeded ? 'bad' : 'good');
  return t`growth ${changeBytes(total)}: ${word} the ${bytes(most)} allowed`;
}

/** `snapshot#1 · rank 0 · device 0 · peak, after entry 17,531`. */
export function sideText(side: DiffSide, other: DiffSide, key?: string): Text {
  const { handle, operand, rank, device, moment, seq, has_trace: hasTrace } = side;
  const at = moment.startsWith('seq:') ? afterEntry(seq) : `${moment}, ${afterEntry(seq)}`;
  const name = code(handle);
  return joined(
    [
      // A file of the same name elsewhere has the same handle.
      t`${key === undefined ? name : as(key, name)}${handle === other.handle && operand !== other.operand ? t` (${code(operand)})` : ''}`,
      rank !== null && `rank ${rank}`,
      `device ${device}`,
      hasTrace ? at : 'as dumped (no trace)',
    ],
    ' · ',
  );
}

const sideParagraph = (name: string, side: DiffSide, other: DiffSide): MaybePart =>
  paragraph(t`${name}  ${sideText(side, other, name)}`);

/** All but the head. */
export const differenceParts = (result: DiffResult): MaybePart[] => [
  result.a_info !== null && totalsTable(result),
  componentsSection(result.components, SIDES),
  result.a_info !== null && section('Call sites', {}, changedSites(result)),
  poolsSection(result),
  allocatorSection(result),
  items(
    (['only_a', 'only_b'] as const)
      .filter((side) => result.features[side].length > 0)
      .map((side) => `features only in ${side.at(-1)}: ${result.features[side].join(', ')}`),
    { key: 'features' },
  ),
  pairsSection('Other devices', 'devices', result.devices),
  pairsSection('Ranks', 'ranks', result.ranks),
  section('Peaks, step time and loss', {}, checksTable(judgedChecks(result), { sides: SIDES })),
  changedSection('Settings', 'config', result.config, SIDES),
  changedSection('Environment', 'env', result.env, SIDES),
  changedSection('Versions', 'versions', result.versions, SIDES),
  commitsSection(result),
  suspectsSection(result),
];

function totalsTable({ a_info: a, b_info: b }: SnapshotDiff): MaybePart {
  const rows = [
    ['active', 'active_bytes'],
    ['reserved', 'reserved_bytes'],
    ['– allocated', 'allocated_bytes'],
    ['– pending free', 'pending_bytes'],
    ['– inactive', 'inactive_bytes'],
  ] as const;
  return table(
    rows,
    [
      column('memory', ([title]) => title),
      column('delta_bytes', ([, key]) => b[key] - a[key], { title: 'change' }),
      column('a_bytes', ([, key]) => a[key], { title: 'a' }),
      column('b_bytes', ([, key]) => b[key], { title: 'b' }),
    ],
    { key: 'totals' },
  );
}

/** The sites that differ, what is left out, and the sum. */
function changedSites(result: SnapshotDiff): MaybePart {
  const { sites, remainder, a_info: a, b_info: b } = result;
  const changed = sites.filter(({ delta_bytes }) => delta_bytes !== 0);
  const unchanged = sites.length - changed.length + remainder.sites - remainder.changed;
  const { grown_bytes: grown, shrunk_bytes: shrunk } = remainder;
  const mixed = grown > 0 && shrunk < 0 ? t`: ${changeBytes(grown)} and ${changeBytes(shrunk)}` : '';
  const remaining: SiteRow = {
    ...{ delta_bytes: result.remainder_bytes, sides: null, kind: 'others' },
    name: t`${counted(remainder.changed, 'smaller site')}${mixed} (--limit 0 shows all sites)`,
  };
  const sum: SiteRow = {
    ...{ delta_bytes: result.total_delta_bytes, kind: 'sum', name: t`all active memory (block sizes)` },
    sides: { a_bytes: a.active_bytes, b_bytes: b.active_bytes, a_count: a.blocks, b_count: b.blocks },
  };
  return sitesTable([...changed.map(siteRow), ...(remainder.changed > 0 ? [remaining] : []), sum], SIDES, [
    unchanged > 0 && t`${counted(unchanged, 'site has', 'sites have')} as many bytes in a as in b`,
  ]);
}

const poolsSection = ({ pools }: DiffResult): MaybePart =>
  section(
    'Pools',
    { isFolded: true },
    table(
      pools.filter((pool) => pool.delta_reserved_bytes !== 0 || pool.delta_active_bytes !== 0),
      [
        column('pool', ({ pool, segment_type: type, side_stream: isSide }) =>
          joined([pool, type, isSide && 'side streams'], ' · '),
        ),
        column('delta_reserved_bytes', (pool) => pool.delta_reserved_bytes, { title: 'reserved' }),
        column('delta_active_bytes', (pool) => pool.delta_active_bytes, { title: 'of it active' }),
        column('delta_free_bytes', (pool) => pool.delta_reserved_bytes - pool.delta_active_bytes, {
          title: 'of it free',
        }),
        column('segments', (pool) => fromTo(pool.a_segments, pool.b_segments), { align: 'right' }),
      ],
      { key: 'pools' },
    ),
  );

/** Newer torches record more settings; that alone does not make the runs different. */
function allocatorSection({ settings }: DiffResult): MaybePart {
  const alone = SIDES.flatMap((_, i) => {
    const keys = settings.filter(({ a, b }) => (i === 0 ? b : a) === null).map(({ key }) => key);
    return keys.length === 0 ? [] : [`only recorded in ${SIDES[i]}: ${keys.join(', ')}`];
  });
  const both = settings.filter(({ a, b }) => a !== null && b !== null);
  if (both.length === 0) return changedSection('Allocator settings', 'settings', settings, SIDES);
  return changedSection('Allocator settings', 'settings', both, SIDES, alone.length > 0 && alone.join('; '));
}

const pairsSection = (title: string, key: 'devices' | 'ranks', totals: readonly DiffTotals[]): MaybePart =>
  section(
    title,
    { isFolded: true },
    table(
      totals,
      [
        counts(key === 'ranks' ? 'rank' : 'device', (one) => (key === 'ranks' ? one.rank : one.a_device)),
        column('delta_active_bytes', (one) => one.delta_active_bytes, { title: 'active' }),
        column('a_active_bytes', (one) => one.a_active_bytes, { title: 'a' }),
        column('b_active_bytes', (one) => one.b_active_bytes, { title: 'b' }),
        column('delta_reserved_bytes', (one) => one.delta_reserved_bytes, { title: 'reserved' }),
        column('a_reserved_bytes', (one) => one.a_reserved_bytes, { title: 'a' }),
        column('b_reserved_bytes', (one) => one.b_reserved_bytes, { title: 'b' }),
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

function commitsSection({ commits }: DiffResult): MaybePart {
  if (commits === null) return null;
  const { a, b, in_between: between, changed_files: files, submodules, touching } = commits;
  const short = (commit: string | null, none: string): Text => (commit === null ? none : code(shortCommit(commit)));
  return section(
    'Commits',
    { key: 'commits', fields: { a, b, in_between: between, changed_files: files } },
    paragraph(t`${short(a, '')} → ${short(b, '')}: ${counted(between, 'commit')}, ${counted(files, 'changed file')}`, {
      key: 'text',
    }),
    items(
      submodules.map(
        ({ path, from, to }) => t`submodule ${code(path)} ${short(from, 'added')} → ${short(to, 'removed')}`,
      ),
      { key: 'submodules' },
    ),
    items(
      touching.map(({ sha, subject }) => t`${code(shortCommit(sha))} ${subject}`),
      { key: 'touching' },
    ),
  );
}
