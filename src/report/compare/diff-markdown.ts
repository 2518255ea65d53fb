/** A difference as Markdown: totals and call sites in sight, the rest folded away. */
import type { DiffResult, DiffSide, DiffTotals, SnapshotDiff } from '../../model/results/diff.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { mdCode, mdDetails, mdItems, mdTable, mdText } from '../markdown.js';
import { left, right } from '../table.js';
import { afterEntry, counted, rankName, signedBytes } from '../text-pieces.js';
import { shortCommit } from './check-words.js';
import { blockCounts, type Sides, siteFigures } from './difference-lines.js';
import {
  changedMarkdown,
  checkTableMarkdown,
  componentsMarkdown,
  figureColumns,
  suspectsMarkdown,
} from './difference-markdown.js';
import { judgedChecks } from './run-diff-lines.js';

const SIDES: Sides = ['a', 'b'];

export function diffMarkdown(result: DiffResult): string {
  const checks = judgedChecks(result);
  const total = result.total_delta_bytes;
  const lines = [
    `## mbforensics diff${total === null ? '' : `: ${mdText(signedBytes(total))}`}`,
    '',
    ...(result.a_info === null
      ? [`- a: ${mdCode(result.a)}`, `- b: ${mdCode(result.b)}`]
      : [sideLine('a', result.a_info, result.b_info), sideLine('b', result.b_info, result.a_info)]),
    ...(result.a_info === null ? [] : snapshotLines(result)),
    ...mdItems(result.notes),
    ...gateLines(result),
    ...(checks.length === 0 ? [] : ['', ...checkTableMarkdown(checks, 'default', SIDES)]),
    ...componentsMarkdown(result.components, SIDES),
    ...poolLines(result),
    ...changedMarkdown('allocator settings', result.settings, SIDES),
    ...featureLines(result),
    ...totalsLines('other devices', result.devices),
    ...totalsLines('ranks', result.ranks),
    ...changedMarkdown('settings', result.config, SIDES),
    ...changedMarkdown('environment', result.env, SIDES),
    ...changedMarkdown('versions', result.versions, SIDES),
    ...commitLines(result),
    ...suspectsMarkdown(result),
  ];
  return `${lines.join('\n')}\n`;
}

function sideLine(name: string, side: DiffSide, other: DiffSide): string {
  const place = side.handle === other.handle && side.operand !== other.operand ? ` (${mdCode(side.operand)})` : '';
  const at = afterEntry(side.seq);
  const moment = !side.has_trace
    ? 'as dumped (no trace)'
    : side.moment.startsWith('seq:')
      ? at
      : `${side.moment}, ${at}`;
  return `- ${name}: ${mdCode(side.handle)}${place}, ${mdText(`${rankName(side.rank)}, device ${side.device}, ${moment}`)}`;
}

function snapshotLines(result: SnapshotDiff): string[] {
  const { a_info: a, b_info: b } = result;
  const total = (label: string, before: number, after: number): string[] => [
    label,
    mdText(signedBytes(after - before)),
    formatBytes(before),
    formatBytes(after),
  ];
  const totals = [
    total('active', a.active_bytes, b.active_bytes),
    total('reserved', a.reserved_bytes, b.reserved_bytes),
    total('– allocated', a.allocated_bytes, b.allocated_bytes),
    total('– pending free', a.pending_bytes, b.pending_bytes),
    total('– inactive', a.inactive_bytes, b.inactive_bytes),
  ];
  return ['', ...mdTable([left(''), ...figureColumns(SIDES)], totals), '', ...siteLines(result)];
}

/** Every site shown on the screen, what is left out, and the sum. */
function siteLines(result: SnapshotDiff): string[] {
  const { a_info: a, b_info: b, remainder } = result;
  const rows = result.sites
    .filter((site) => site.delta_bytes !== 0)
    .map((site) => {
      const alone = site.match === 'only_a' || site.match === 'only_b' ? `only in ${site.match.at(-1)}: ` : '';
      const before =
        (site.match === 'renamed' || site.match === 'moved') && site.a_site !== null && site.a_site !== site.b_site
          ? `<br>${site.match} from ${mdCode(site.a_site)}`
          : '';
      return [...siteFigures(site).map(mdText), `${alone}${mdCode(site.site)}${before}`];
    });
  if (remainder.changed > 0) {
    const what = `${formatCount(remainder.changed)} smaller ${remainder.changed === 1 ? 'site' : 'sites'}`;
    rows.push([mdText(signedBytes(result.remainder_bytes)), '', '', '', what]);
  }
  rows.push([
    mdText(signedBytes(result.total_delta_bytes)),
    formatBytes(a.active_bytes),
    formatBytes(b.active_bytes),
    blockCounts(a.blocks, b.blocks),
    'all active memory (block sizes)',
  ]);
  return mdTable([...figureColumns(SIDES), right('blocks'), left('call site')], rows);
}

function gateLines(result: DiffResult): string[] {
  if (result.gate === null || result.total_delta_bytes === null) return [];
  const { exceeded, max_growth_bytes: most } = result.gate;
  const growth = `growth ${mdText(signedBytes(result.total_delta_bytes))}`;
  return ['', `**${growth}**: ${exceeded ? 'more than' : 'within'} the ${formatBytes(most)} allowed`];
}

function poolLines({ pools }: DiffResult): string[] {
  const changed = pools.filter((pool) => pool.delta_reserved_bytes !== 0 || pool.delta_active_bytes !== 0);
  if (changed.length === 0) return [];
  const rows = changed.map((pool) => [
    mdText(`${pool.pool} · ${pool.segment_type}${pool.side_stream ? ' · side streams' : ''}`),
    mdText(signedBytes(pool.delta_reserved_bytes)),
    mdText(signedBytes(pool.delta_active_bytes)),
    blockCounts(pool.a_segments, pool.b_segments),
  ]);
  const columns = [left('pool'), right('reserved'), right('of it active'), right('segments')];
  return mdDetails(`pools: ${formatCount(changed.length)}`, mdTable(columns, rows));
}

function featureLines({ features }: DiffResult): string[] {
  return (['only_a', 'only_b'] as const).flatMap((side) =>
    features[side].length === 0 ? [] : ['', `Features only in ${side.at(-1)}: ${mdText(features[side].join(', '))}`],
  );
}

function totalsLines(title: 'ranks' | 'other devices', totals: readonly DiffTotals[]): string[] {
  if (totals.length === 0) return [];
  const rows = totals.map((total) => [
    String(title === 'ranks' ? (total.rank ?? '?') : total.a_device),
    mdText(signedBytes(total.delta_active_bytes)),
    formatBytes(total.a_active_bytes),
    formatBytes(total.b_active_bytes),
    mdText(signedBytes(total.delta_reserved_bytes)),
    formatBytes(total.a_reserved_bytes),
    formatBytes(total.b_reserved_bytes),
  ]);
  const columns = [title === 'ranks' ? 'rank' : 'device', 'active', ...SIDES, 'reserved', ...SIDES];
  return mdDetails(
    `${title}: ${formatCount(totals.length)}`,
    mdTable(
      columns.map((column) => right(column)),
      rows,
    ),
  );
}

function commitLines({ commits }: DiffResult): string[] {
  if (commits === null) return [];
  const { a, b, in_between: between, changed_files: files } = commits;
  const counts = `${counted(between, 'commit')}, ${counted(files, 'changed file')}`;
  return ['', `Commits ${mdCode(shortCommit(a))} → ${mdCode(shortCommit(b))}: ${counts}`];
}
