/** What changed between two snapshots. */

import type { DiffSite } from '../../model/diff-parts.js';
import { pushAll } from '../../model/lists.js';
import type { DiffResult, DiffSide, DiffTotals, SnapshotDiff } from '../../model/results/diff.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { screen } from '../screen.js';
import { left, printable, right, tableOf, wrap } from '../table.js';
import { afterEntry, counted, hanging, labelledList, rankName, signedBytes, wrapped } from '../text-pieces.js';
import { blockCounts, NO_FIGURES, type SiteRow, siteFigures, siteTable } from './difference-lines.js';
import { runDiffLines } from './run-diff-lines.js';

/** Rows that are explained by the callers of the difference. */
const EXPLAINED = 5;
const CALLERS_SHOWN = 3;

export function diffText(result: DiffResult): string {
  const lines =
    result.a_info === null ? [`a  ${printable(result.a)}`, `b  ${printable(result.b)}`] : snapshotLines(result);
  if (result.notes.length > 0) {
    pushAll(lines, ['', ...labelledList('notes', result.notes)]);
  }
  pushAll(lines, [...poolLines(result), ...settingLines(result), ...featureLines(result)]);
  pushAll(lines, [...totalsTable('other devices', result.devices), ...totalsTable('ranks', result.ranks)]);
  pushAll(lines, runDiffLines(result));
  if (result.a_info !== null && result.gate !== null) {
    const { exceeded, max_growth_bytes } = result.gate;
    lines.push(
      '',
      `growth ${signedBytes(result.total_delta_bytes)}: ${exceeded ? 'more than' : 'within'} the ${formatBytes(max_growth_bytes)} allowed`,
    );
  }
  return `${lines.join('\n')}\n`;
}

function snapshotLines(result: SnapshotDiff): string[] {
  const { a_info: a, b_info: b } = result;
  return [
    ...sideLines('a', a, b),
    ...sideLines('b', b, a),
    '',
    ...totalLines(result),
    ...componentLines(result),
    '',
    sitesText(result),
    ...unchangedLine(result),
  ];
}

function sideLines(name: string, side: DiffSide, other: DiffSide): string[] {
  const moment = side.has_trace ? momentWords(side) : 'as dumped (no trace)';
  // A file of the same name elsewhere has the same handle.
  const place = side.handle === other.handle && side.operand !== other.operand ? ` (${side.operand})` : '';
  const rank = rankName(side.rank);
  const text = `${printable(side.handle)}${printable(place)} · ${rank} · device ${side.device} · ${moment}`;
  const [first = '', ...rest] = wrap(text, screen.width - 3);
  return [`${name}  ${first}`, ...rest.map((line) => `   ${line}`)];
}

function momentWords(side: DiffSide): string {
  const at = afterEntry(side.seq);
  return side.moment.startsWith('seq:') ? at : `${side.moment}, ${at}`;
}

function totalLines(result: SnapshotDiff): string[] {
  const { a_info: a, b_info: b, reserved } = result;
  return [
    `active    ${formatBytes(a.active_bytes)} → ${formatBytes(b.active_bytes)}  ${signedBytes(result.total_delta_bytes)}`,
    ...hanging(
      `reserved  ${formatBytes(a.reserved_bytes)} → ${formatBytes(b.reserved_bytes)}  ${signedBytes(reserved.delta_bytes)} = allocated ${signedBytes(reserved.allocated_delta_bytes)}, pending free ${signedBytes(reserved.pending_delta_bytes)}, inactive ${signedBytes(reserved.inactive_delta_bytes)}`,
    ),
  ];
}

/** What grew and shrank, in one line or two. */
function componentLines({ components }: Pick<DiffResult, 'components'>): string[] {
  const changed = components.filter(({ delta_bytes }) => delta_bytes !== 0);
  // Without any known component there is nothing to list.
  if (changed.every(({ component }) => component === 'unattributed' || component === 'before_recording')) return [];
  const parts = changed.map(({ component, delta_bytes }) => `${component} ${signedBytes(delta_bytes)}`);
  return hanging(`of which  ${parts.join(', ')}`);
}

function sitesText(result: SnapshotDiff): string {
  const changed = result.sites.filter((site) => site.delta_bytes !== 0);
  const rows: SiteRow[] = changed.flatMap((site, i) => siteRows(site, i < EXPLAINED));
  const { remainder } = result;
  if (remainder.changed > 0) {
    const parts = `${signedBytes(remainder.grown_bytes)} and ${signedBytes(remainder.shrunk_bytes)}`;
    const mixed = remainder.grown_bytes > 0 && remainder.shrunk_bytes < 0 ? `: ${parts}` : '';
    const words = `${formatCount(remainder.changed)} smaller ${remainder.changed === 1 ? 'site' : 'sites'}${mixed}`;
    rows.push({ figures: [signedBytes(result.remainder_bytes), '', '', ''], lead: words, name: '' });
  }
  const { a_info: a, b_info: b } = result;
  rows.push({
    figures: [
      signedBytes(result.total_delta_bytes),
      formatBytes(a.active_bytes),
      formatBytes(b.active_bytes),
      blockCounts(a.blocks, b.blocks),
    ],
    lead: 'all active memory (block sizes)',
    name: '',
  });
  const drawn = siteTable(rows, ['a', 'b'], 'call site', 6);
  return remainder.changed > 0 ? `${drawn}\n  (--limit 0 shows all sites)` : drawn;
}

function siteRows(site: DiffSite, explained: boolean): SiteRow[] {
  const alone = site.match === 'only_a' || site.match === 'only_b';
  const rows: SiteRow[] = [
    { figures: siteFigures(site), lead: alone ? `only in ${site.match.at(-1)}: ` : '', name: site.site },
  ];
  const addRow = (lead: string, name = ''): void => void rows.push({ figures: NO_FIGURES, lead: `  ${lead}`, name });
  const { words, name } = matchWords(site);
  if (words !== '') addRow(words, name);
  if (site.through !== null) addRow('through ', site.through);
  if (!explained) return rows;
  for (const caller of site.callers.slice(0, CALLERS_SHOWN)) {
    if (caller.delta_bytes !== 0) addRow(`${signedBytes(caller.delta_bytes)} `, caller.caller);
  }
  // Memory without a stack can only be described by its sizes.
  if (site.site.startsWith('(')) {
    for (const size of site.sizes.slice(0, CALLERS_SHOWN)) {
      addRow(`blocks of ${formatBytes(size.size_bytes)}: ${formatCount(size.a_count)} → ${formatCount(size.b_count)}`);
    }
  }
  return rows;
}

/** How b's site is a's, where it is not the same line. */
function matchWords({ match, a_site, b_site }: DiffSite): { readonly words: string; readonly name: string } {
  const line = /:(\d+)(?: \(.*)?$/.exec(a_site ?? '')?.[1];
  switch (match) {
    case 'line_shifted':
      return { words: line === undefined ? 'another line' : `line ${line} in a`, name: '' };
    case 'moved':
      return a_site === b_site ? { words: 'in a elsewhere', name: '' } : { words: 'moved from ', name: a_site ?? '' };
    case 'renamed':
      return { words: 'renamed from ', name: a_site ?? '' };
    default:
      return { words: '', name: '' };
  }
}

function unchangedLine(result: SnapshotDiff): string[] {
  const shown = result.sites.filter((site) => site.delta_bytes === 0);
  const { remainder } = result;
  const count = shown.length + remainder.sites - remainder.changed;
  if (count === 0) return [];
  return [`  ${counted(count, 'site has', 'sites have')} as many bytes in a as in b`];
}

function poolLines(result: DiffResult): string[] {
  const pools = result.pools.filter((pool) => pool.delta_reserved_bytes !== 0 || pool.delta_active_bytes !== 0);
  if (pools.length === 0) return [];
  return [
    '',
    tableOf(pools, [
      left(
        'pool',
        (pool) => `${printable(pool.pool)} · ${pool.segment_type}${pool.side_stream ? ' · side streams' : ''}`,
      ),
      right('reserved', (pool) => signedBytes(pool.delta_reserved_bytes)),
      right('of it active', (pool) => signedBytes(pool.delta_active_bytes)),
      right('of it free', (pool) => signedBytes(pool.delta_reserved_bytes - pool.delta_active_bytes)),
      right('segments', (pool) => blockCounts(pool.a_segments, pool.b_segments)),
    ]),
  ];
}

function settingLines(result: DiffResult): string[] {
  const both = result.settings.filter((setting) => setting.a !== null && setting.b !== null);
  const lines: string[] = [];
  if (both.length > 0) {
    lines.push(
      '',
      tableOf(both, [
        left('setting', ({ key }) => key),
        left('a', ({ a }) => (a === '' ? '(empty)' : a)),
        left('b', ({ b }) => (b === '' ? '(empty)' : b)),
      ]),
    );
  }
  // Newer torches record more settings; that alone does not make the runs different.
  for (const side of ['a', 'b'] as const) {
    const keys = result.settings.filter((setting) => setting[side === 'a' ? 'b' : 'a'] === null).map(({ key }) => key);
    if (keys.length === 0) continue;
    const shown = keys.length <= 4 ? `: ${keys.join(', ')}` : '';
    const words = `${counted(keys.length, 'setting is', 'settings are')} recorded in ${side} alone${shown}`;
    pushAll(lines, [...(lines.length === 0 ? [''] : []), ...wrapped(`  ${printable(words)}`, '  ')]);
  }
  return lines;
}

function featureLines({ features }: DiffResult): string[] {
  return (['only_a', 'only_b'] as const).flatMap((side) => {
    if (features[side].length === 0) return [];
    return wrapped(`  features only in ${side.at(-1)}: ${printable(features[side].join(', '))}`);
  });
}

function totalsTable(title: string, totals: readonly DiffTotals[]): string[] {
  if (totals.length === 0) return [];
  const ranks = title === 'ranks';
  return [
    '',
    tableOf(totals, [
      right(ranks ? 'rank' : 'other device', (one) => (ranks ? one.rank : one.a_device)),
      right('active', (one) => signedBytes(one.delta_active_bytes)),
      right('a', (one) => formatBytes(one.a_active_bytes)),
      right('b', (one) => formatBytes(one.b_active_bytes)),
      right('reserved', (one) => signedBytes(one.delta_reserved_bytes)),
      right('a', (one) => formatBytes(one.a_reserved_bytes)),
      right('b', (one) => formatBytes(one.b_reserved_bytes)),
    ]),
  ];
}
