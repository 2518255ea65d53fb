/** What was live at a moment, by call site and by stack, and the figures of other tools for the same file. */

import { sumOf } from '../../model/lists.js';
import type { PeakDevice, PeakResult } from '../../model/results/common.js';
import type * as results from '../../model/results/peak.js';
import * as d from '../document/document.js';
import { afterEntry, rankName } from '../text-pieces.js';
import { wordOf } from '../words/fill.js';
import { textMaker } from '../words/fill-pieces.js';

const textOf = textMaker('moment', 'peak');

export interface PeakLook {
  /** All devices and frames; else one device in full, with the first frames of its stacks. */
  readonly isWhole: boolean;
}

export function peakDocument({ schema, snapshots }: PeakResult, { isWhole }: PeakLook): d.Document {
  return d.document(
    schema,
    '',
    ...snapshots.map(
      ({ path, handle, rank, devices, devices_without_moment: without = [], bridge, mosaic, memory_viz: viz }) =>
        d.section(
          d.t`${d.as('path', d.code(path))} · ${rankName(rank)}`,
          { key: 'snapshots', isOneOf: true, fields: { handle, rank } },
          ...devices.map((device, i) => peakSection(device, i === 0 || isWhole, isWhole)),
          without.length > 0 && d.note(`no such moment on device ${without.join(', ')}`),
          bridge !== undefined && bridgeSection(bridge),
          mosaic !== undefined && mosaicSection(mosaic),
          viz !== undefined && memoryVizSection(viz),
        ),
    ),
  );
}

export const groupTitle = wordOf('codes', 'group_titles');
const groupPlural = wordOf('codes', 'group_plurals');

export function peakSection(device: PeakDevice, isInFull = true, isWhole = false): d.MaybePart {
  const { moment, seq, ran_out, basis, by, lifetime } = device;
  return d.section(
    textOf('device', device, { after: afterEntry(seq) }),
    { key: 'devices', isOneOf: true, fields: { moment, seq, basis, ran_out, by } },
    d.paragraph(textOf('live', device)),
    ...(isInFull
      ? [groupTable(device), d.note(textOf(lifetime.rule, lifetime)), ...stackSections(device, isWhole)]
      : [d.note(`mbforensics peak --device ${device.device} shows it`)]),
  );
}

/** Without a key: what the limit leaves out. */
type Group = results.PeakGroup & results.LifetimeBytes & { readonly key: string | null };

function groupTable({ active_bytes: active, groups, other_groups: others, by }: PeakDevice): d.MaybePart {
  const rows: Group[] = others.groups === 0 ? [...groups] : [...groups, { ...others, key: null }];
  const hasUnknown = rows.some(({ unknown_bytes: size }) => (size ?? 0) > 0);
  return d.table(
    rows,
    [
      d.column('bytes', (group) => group.bytes, { title: 'live' }),
      d.column('share', (group) => (active === 0 ? null : group.bytes / active)),
      d.counts('blocks', (group) => group.count),
      d.column('resident_bytes', (group) => group.resident_bytes),
      d.column('transient_bytes', (group) => group.transient_bytes),
      hasUnknown && d.column('unknown_bytes', (group) => group.unknown_bytes),
      d.names(by, ({ key }) => key ?? d.t`${d.count(others.groups)} more ${groupPlural(by)} (--limit 0 shows all)`, {
        title: groupTitle(by),
      }),
    ],
    { key: 'groups', kind: ({ key }) => (key === null ? 'others' : undefined) },
  );
}

/** Frames of a stack unless all are wanted, and stacks. */
const MOST_FRAMES = 4;
const MOST_STACKS = 3;

function stackSections(device: PeakDevice, isWhole: boolean): d.MaybePart[] {
  if (device.by !== 'site' && device.by !== 'stack') return [];
  const { active_bytes: active, other_stacks: others } = device;
  const stacks = isWhole ? device.stacks : device.stacks.slice(0, MOST_STACKS);
  const hidden = device.stacks.slice(stacks.length);
  const more = hidden.length + others.groups;
  return [
    ...stacks.map((stack, i) => {
      const { bytes: size, frames } = stack;
      const shown = isWhole ? frames : frames.slice(0, MOST_FRAMES);
      const callers = frames.length - shown.length;
      return d.section(
        textOf('stack', stack, { number: i + 1, share: active === 0 ? null : size / active }),
        { key: 'stacks', isOneOf: true },
        d.quote(shown, { key: 'frames' }) ?? d.paragraph('no stack recorded'),
        callers > 0 && d.note(d.counted(callers, 'more caller'), { key: 'more' }),
      );
    }),
    more > 0 && d.note(textOf('more_stacks', { more, bytes: sumOf(hidden.map((one) => one.bytes)) + others.bytes })),
  ];
}

// ---- figures of other tools

const SHOWN = 15;
const NO_TRACE = 'no device has a trace, so it prints no more';

const bridgeSection = ({ full_trace: full, steps, throughput, ...bridge }: results.BridgeFigures): d.MaybePart =>
  d.section(
    'As Megatron Bridge counts',
    { key: 'bridge', isFolded: true, about: 'Requested bytes, from zero at the first entry of the trace.' },
    d.paragraph(textOf('bridge', bridge)),
    bridge.baseline === null || full === null ? d.note(NO_TRACE) : d.paragraph(textOf('baseline', bridge.baseline)),
    ...(full === null
      ? []
      : [
          d.section(d.t`Whole trace of device ${bridge.device ?? 0}`, { key: 'full_trace' }, ...replayParts(full)),
          ...steps.map((step) =>
            d.section(textOf('step', step), { key: 'steps', isOneOf: true }, ...replayParts(step)),
          ),
          sourceTable('source, allocated over the trace', throughput, 'throughput'),
        ]),
  );

const replayParts = (replay: results.BridgeReplay): d.MaybePart[] => [
  d.paragraph(textOf('replay', replay)),
  sourceTable('source, at the peak', replay.sources_at_peak, 'sources_at_peak'),
];

function sourceTable(title: string, sources: readonly results.PeerSource[], key: string): d.MaybePart {
  const hidden = sources.slice(SHOWN);
  const sum = {
    source: `${hidden.length} more sources (--json=full lists all)`,
    bytes: sumOf(hidden.map((one) => one.bytes)),
    count: sumOf(hidden.map((one) => one.count)),
  };
  const rows = hidden.length === 0 ? sources : [...sources.slice(0, SHOWN), sum];
  return d.table(
    rows,
    [
      ...d.fieldsOf(rows, ['bytes', 'requested'], ['count', 'blocks']),
      d.names('source', (one) => one.source, { title }),
    ],
    { key },
  );
}

const mosaicSection = (figures: results.MosaicFigures): d.MaybePart =>
  d.section(
    'As mosaic counts',
    { key: 'mosaic', isFolded: true, about: 'Requested bytes, from zero; frees of older memory are ignored.' },
    figures.device === null ? d.note(NO_TRACE) : d.paragraph(textOf('mosaic', figures)),
  );

const memoryVizSection = (devices: readonly results.MemoryVizFigures[]): d.MaybePart =>
  d.section(
    'As memory_viz plots it',
    { key: 'memory_viz', isFolded: true, about: 'Requested bytes.' },
    d.items(
      devices.map((one) => textOf('memory_viz', one)),
      { key: 'devices' },
    ),
  );
