/** A comparison of two runs: what changed, both timelines on one axis, and the tables of the difference. Pure. */
import type { DiffPool, DiffResult, DiffSide, DiffTotals, SnapshotDiff } from '../../model/results/diff.js';
import type { ReportDevice, ReportResult } from '../../model/results/report.js';
import { formatBytes } from '../../model/units.js';
import { shortCommit } from '../compare/check-words.js';
import { blockCounts, changedComponents, type Sides } from '../compare/difference-lines.js';
import { judgedChecks } from '../compare/run-diff-lines.js';
import { afterEntry, counted, rankName, signedBytes } from '../text-pieces.js';
import {
  changeColumn,
  changedTable,
  checksTable,
  componentsTable,
  fromTo,
  notesList,
  sitesTable,
  suspectsList,
} from './compare-html.js';
import { type Child, element, text, textElement, textList } from './html.js';
import { bytes, figures, htmlTable, words } from './html-table.js';
import { VIEW } from './moments-html.js';
import type { PageHead } from './page-head.js';
import { type PageSection, section, twin } from './page-pieces.js';
import { stepsTable } from './steps-html.js';

const SIDES: Sides = ['a', 'b'];
/** Components that the head names. */
const MOST_NAMED = 3;

export function diffHead(diff: DiffResult): PageHead {
  const total = diff.total_delta_bytes;
  return {
    tone: total === null || total === 0 ? 'plain' : total > 0 ? 'bad' : 'good',
    badge: 'COMPARISON',
    places: [`a: ${diff.a_run}`, `b: ${diff.b_run}`],
    title: total === null ? 'the runs have no memory snapshots to compare' : titleOf(diff, total),
    summary: [
      diff.a_info !== null && textElement('p', memoryText(diff), { class: 'summary' }),
      diff.a_info !== null && element('p', { class: 'places' }, sideText('a', diff.a_info), sideText('b', diff.b_info)),
      gateText(diff),
    ],
    boxes: [],
    below: notesList(diff.notes),
  };
}

function titleOf({ a_info: a, b_info: b }: DiffResult, total: number): string {
  const when = a?.moment === 'peak' && b?.moment === 'peak' ? ' at the peak' : '';
  if (total === 0) return `b has as much live memory as a${when}`;
  return `b has ${formatBytes(Math.abs(total))} ${total > 0 ? 'more' : 'less'} live memory than a${when}`;
}

/** `active 54.80 GiB → 58.10 GiB; reserved …; most of it: activation +3.10 GiB`. */
function memoryText({ a_info: a, b_info: b, components }: SnapshotDiff): string {
  const named = changedComponents(components)
    .slice(0, MOST_NAMED)
    .map((one) => `${one.component.replaceAll('_', ' ')} ${signedBytes(one.delta_bytes)}`);
  return [
    `live ${fromTo(a.active_bytes, b.active_bytes)}`,
    `reserved ${fromTo(a.reserved_bytes, b.reserved_bytes)}`,
    ...(named.length === 0 ? [] : [named.join(', ')]),
  ].join('; ');
}

function sideText(name: string, side: DiffSide): Child {
  const moment = side.has_trace ? `${side.moment}, ${afterEntry(side.seq)}` : 'as dumped (no trace)';
  return element(
    'span',
    {},
    textElement('b', `${name} `),
    textElement('code', side.handle),
    text(` ${rankName(side.rank)}, device ${side.device}, ${moment}`),
  );
}

function gateText({ gate, total_delta_bytes: total }: DiffResult): Child {
  if (gate === null || total === null) return null;
  const { exceeded, max_growth_bytes: most } = gate;
  return textElement(
    'p',
    `growth ${signedBytes(total)}: ${exceeded ? 'more than' : 'within'} the ${formatBytes(most)} allowed`,
    { class: exceeded ? 'status regression' : 'status pass' },
  );
}

/** Both timelines on one axis. */
export function pairSection({ devices, diff }: ReportResult): PageSection | null {
  const [a, b] = devices;
  if (diff === null || a === undefined || b === undefined) return null;
  return section(
    'pair',
    {
      name: 'Both runs',
      title: 'Both runs on one axis',
      about: 'Live memory of a and of b, aligned by training step where both have steps, and the difference below.',
    },
    VIEW,
    twin('Table: steps of both', stepsOf('a', a), stepsOf('b', b)),
  );
}

function stepsOf(name: string, device: ReportDevice): Child {
  const table = stepsTable(device, `${name}: ${device.page.title}`);
  return table !== null && [textElement('h3', `${name}: ${device.page.title}`), table];
}

export function differencesSection(diff: DiffResult | null): PageSection | null {
  if (diff === null) return null;
  return section(
    'differences',
    { name: 'Differences', title: 'Differences, b − a' },
    diff.a_info !== null && totalsOf(diff),
    componentsTable(diff.components, SIDES),
    sitesTable(diff.sites, SIDES),
    diff.a_info !== null && remainderText(diff),
    poolsTable(diff.pools.filter((pool) => pool.delta_reserved_bytes !== 0 || pool.delta_active_bytes !== 0)),
    checksTable(judgedChecks(diff), SIDES, 'Peaks, step time and loss'),
    changedTable('allocator setting', diff.settings, SIDES),
    featureTexts(diff),
    changedTable('setting', diff.config, SIDES),
    changedTable('variable', diff.env, SIDES),
    changedTable('version', diff.versions, SIDES),
    pairsTable('other devices', diff.devices),
    pairsTable('ranks', diff.ranks),
    commitTexts(diff),
    suspectsList(diff),
  );
}

function totalsOf({ a_info: a, b_info: b }: SnapshotDiff): Child {
  const rows = [
    { name: 'live', a: a.active_bytes, b: b.active_bytes },
    { name: 'reserved', a: a.reserved_bytes, b: b.reserved_bytes },
    { name: 'of it allocated', a: a.allocated_bytes, b: b.allocated_bytes },
    { name: 'of it freed, pending', a: a.pending_bytes, b: b.pending_bytes },
    { name: 'of it inactive', a: a.inactive_bytes, b: b.inactive_bytes },
  ];
  return htmlTable(
    rows,
    [
      words('memory', ({ name }) => name),
      changeColumn('change', rows, (row) => row.b - row.a),
      bytes('a', (row) => row.a),
      bytes('b', (row) => row.b),
    ],
    { caption: 'Totals' },
  );
}

function remainderText({ remainder, remainder_bytes: left }: SnapshotDiff): Child {
  if (remainder.changed === 0) return null;
  const sites = counted(remainder.changed, 'smaller call site');
  return textElement('p', `${sites}: ${signedBytes(left)} in all`, { class: 'note' });
}

function poolsTable(pools: readonly DiffPool[]): Child {
  return htmlTable(
    pools,
    [
      words('pool', ({ pool, segment_type: type, side_stream: isSide }) =>
        [pool, type, ...(isSide ? ['side streams'] : [])].join(' · '),
      ),
      changeColumn('reserved', pools, (pool) => pool.delta_reserved_bytes),
      changeColumn('of it live', pools, (pool) => pool.delta_active_bytes),
      figures('segments', (pool) => blockCounts(pool.a_segments, pool.b_segments)),
    ],
    { caption: 'Pools that differ' },
  );
}

function featureTexts({ features }: DiffResult): Child {
  return textList(
    (['only_a', 'only_b'] as const).flatMap((side) =>
      features[side].length === 0 ? [] : [`features only in ${side.at(-1)}: ${features[side].join(', ')}`],
    ),
  );
}

function pairsTable(title: 'ranks' | 'other devices', totals: readonly DiffTotals[]): Child {
  return htmlTable(
    totals,
    [
      figures(title === 'ranks' ? 'rank' : 'device', (one) =>
        title === 'ranks' ? String(one.rank ?? '?') : String(one.a_device),
      ),
      changeColumn('live', totals, (one) => one.delta_active_bytes),
      bytes('a', (one) => one.a_active_bytes),
      bytes('b', (one) => one.b_active_bytes),
      changeColumn('reserved', totals, (one) => one.delta_reserved_bytes),
      bytes('a', (one) => one.a_reserved_bytes),
      bytes('b', (one) => one.b_reserved_bytes),
    ],
    { caption: title === 'ranks' ? 'Ranks' : 'Other devices' },
  );
}

function commitTexts({ commits }: DiffResult): Child {
  if (commits === null) return null;
  const { a, b, in_between: between, changed_files: files, submodules, touching } = commits;
  return [
    textElement('h3', `Commits ${shortCommit(a)} → ${shortCommit(b)}`),
    textElement('p', `${counted(between, 'commit')}, ${counted(files, 'changed file')}`),
    textList([
      ...submodules.map(
        ({ path, from, to }) =>
          `submodule ${path} ${from === null ? 'added' : shortCommit(from)} → ${to === null ? 'removed' : shortCommit(to)}`,
      ),
      ...touching.map(({ sha, subject }) => `${shortCommit(sha)} ${subject}`),
    ]),
  ];
}
