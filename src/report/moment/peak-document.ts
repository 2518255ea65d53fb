/** What was live at a moment, by call site and by stack, and the figures of other tools for the same file. */

import { sumOf } from '../../model/lists.js';
import type { PeakDevice, PeakResult } from '../../model/results/common.js';
import type {
  BridgeFigures,
  BridgeReplay,
  GroupKey,
  LifetimeBasis,
  LifetimeBytes,
  MemoryVizFigures,
  MosaicFigures,
  PeakGroup,
  PeerSource,
} from '../../model/results/peak.js';
import {
  as,
  bytes,
  code,
  column,
  count,
  counted,
  counts,
  type Document,
  document,
  items,
  type MaybePart,
  names,
  note,
  paragraph,
  quote,
  section,
  share,
  type Text,
  t,
  table,
} from '../document/document.js';
import { afterEntry, rankName } from '../text-pieces.js';

export interface PeakLook {
  /** All devices and frames; else one device in full, with the first frames of its stacks. */
  readonly isWhole: boolean;
}

export function peakDocument({ schema, snapshots }: PeakResult, { isWhole }: PeakLook): Document {
  return document(
    schema,
    '',
    ...snapshots.map(
      ({ path, handle, rank, devices, devices_without_moment: without = [], bridge, mosaic, memory_viz: viz }) =>
        section(
          t`${as('path', code(path))} · ${rankName(rank)}`,
          { key: 'snapshots', isOneOf: true, fields: { handle, rank } },
          ...devices.map((device, i) => deviceSection(device, i === 0 || isWhole, isWhole)),
          without.length > 0 && note(`no such moment on device ${without.join(', ')}`),
          bridge !== undefined && bridgeSection(bridge),
          mosaic !== undefined && mosaicSection(mosaic),
          viz !== undefined && memoryVizSection(viz),
        ),
    ),
  );
}

export const GROUP_TITLES: Readonly<Record<GroupKey, string>> = {
  site: 'call site',
  stack: 'call site of the stack',
  module: 'module',
  stage: 'innermost annotation at the allocation',
  compile: 'compiled region',
  metadata: 'user metadata',
  stream: 'stream',
  pool: 'pool',
};
const PLURALS: Readonly<Record<GroupKey, string>> = {
  site: 'sites',
  stack: 'stacks',
  module: 'modules',
  stage: 'stages',
  compile: 'regions',
  metadata: 'texts',
  stream: 'streams',
  pool: 'pools',
};

function deviceSection(device: PeakDevice, isInFull: boolean, isWhole: boolean): MaybePart {
  const { moment, seq, ran_out: ranOut, basis } = device;
  const at = moment === 'dump' ? 'the dump (no trace recorded)' : moment === 'peak' ? 'its peak' : moment;
  const live = bytes(device.active_bytes);
  return section(
    t`Device ${as('device', count(device.device))} at ${at}${moment === 'dump' ? '' : `, ${afterEntry(seq)}`}`,
    { key: 'devices', isOneOf: true, fields: { moment, seq, basis, ran_out: ranOut, by: device.by } },
    paragraph(
      t`${as('live_bytes', live)} live in ${counted(device.blocks, 'block', 'blocks', 'blocks')} of ${as('reserved_bytes', bytes(device.reserved_bytes))} reserved${basis === 'actual' ? '' : ' (approximate: the trace contradicts itself)'}${ranOut ? '; this device ran out of memory' : ''}`,
    ),
    ...(isInFull
      ? [groupTable(device), note(lifetimeText(device.lifetime)), ...stackSections(device, isWhole)]
      : [note(`mbforensics peak --device ${device.device} shows it`)]),
  );
}

/** Without a key: what the limit leaves out. */
type Group = PeakGroup & LifetimeBytes & { readonly key: string | null };

function groupTable({ active_bytes: active, groups, other_groups: others, by }: PeakDevice): MaybePart {
  const rows: Group[] = others.groups === 0 ? [...groups] : [...groups, { ...others, key: null }];
  const hasUnknown = rows.some(({ unknown_bytes: size }) => (size ?? 0) > 0);
  return table(
    rows,
    [
      column('bytes', (group) => group.bytes, { title: 'live' }),
      column('share', (group) => (active === 0 ? null : group.bytes / active)),
      counts('blocks', (group) => group.count),
      column('resident_bytes', (group) => group.resident_bytes),
      column('transient_bytes', (group) => group.transient_bytes),
      hasUnknown && column('unknown_bytes', (group) => group.unknown_bytes),
      names(by, ({ key }) => key ?? t`${count(others.groups)} more ${PLURALS[by]} (--limit 0 shows all)`, {
        title: GROUP_TITLES[by],
      }),
    ],
    { key: 'groups', kind: ({ key }) => (key === null ? 'others' : undefined) },
  );
}

/** Frames of a stack unless all are wanted, and stacks. */
const MOST_FRAMES = 4;
const MOST_STACKS = 3;

/** Stacks are shown where the key is a part of them; for streams or stages they would only add lines. */
function stackSections(device: PeakDevice, isWhole: boolean): MaybePart[] {
  if (device.by !== 'site' && device.by !== 'stack') return [];
  const { active_bytes: active, other_stacks: others } = device;
  const stacks = isWhole ? device.stacks : device.stacks.slice(0, MOST_STACKS);
  const hidden = device.stacks.slice(stacks.length);
  const more = hidden.length + others.groups;
  return [
    ...stacks.map(({ bytes: size, count: blocks, frames, origin }, i) => {
      const shown = isWhole ? frames : frames.slice(0, MOST_FRAMES);
      const callers = frames.length - shown.length;
      return section(
        t`#${i + 1} · ${as('bytes', bytes(size))} · ${share(active === 0 ? null : size / active)} · ${counted(blocks, 'block', 'blocks', 'blocks')}${origin === 'free_event' ? ' (stack of its free: it was allocated before the recording)' : ''}`,
        { key: 'stacks', isOneOf: true },
        quote(shown, { key: 'frames' }) ?? paragraph('no stack recorded'),
        callers > 0 && note(t`${counted(callers, 'more caller')}`, { key: 'more' }),
      );
    }),
    more > 0 &&
      note(
        t`${count(more)} more stacks with ${bytes(sumOf(hidden.map((one) => one.bytes)) + others.bytes)} (--limit 0 shows all)`,
      ),
  ];
}

function lifetimeText({ rule, boundary, boundaries }: LifetimeBasis): Text {
  if (rule === 'none') return 'resident or transient: unknown, since no frees were recorded';
  if (rule === 'trace')
    return 'resident: still live when the trace ends; transient: freed in it after this moment (no steps are marked)';
  return t`resident: outlives its step, or has lived through one; transient: freed before the step ends (${counted(boundaries, 'boundary', 'boundaries')} of ${boundary ?? ''})`;
}

// ---- figures of other tools

const SHOWN = 15;
const NO_TRACE = 'no device has a trace, so it prints no more';

function bridgeSection({ segments, baseline, full_trace: full, device, steps, throughput }: BridgeFigures): MaybePart {
  return section(
    'As Megatron Bridge counts',
    { key: 'bridge', isFolded: true, about: 'Requested bytes, from zero at the first entry of the trace.' },
    paragraph(
      t`${counted(segments.count, 'segment')} of all devices, ${bytes(segments.total_bytes)}: active ${bytes(segments.active_bytes)}, awaiting free ${bytes(segments.awaiting_free_bytes)}, inactive ${bytes(segments.inactive_bytes)}`,
    ),
    baseline === null || full === null
      ? note(NO_TRACE)
      : paragraph(
          t`${bytes(baseline.baseline_at_start_bytes)} at the start = active ${bytes(baseline.segments_active_bytes)} - traced and live ${bytes(baseline.profiling_still_live_bytes)} + freed in the trace ${bytes(baseline.pre_existing_freed_bytes)}`,
        ),
    ...(full === null
      ? []
      : [
          section(t`Whole trace of device ${device ?? 0}`, { key: 'full_trace' }, ...replayParts(full)),
          ...steps.map((step) =>
            section(
              t`Step ${as('step', count(step.step))}${step.end_us === null ? ' (not ended)' : ''}`,
              { key: 'steps', isOneOf: true },
              ...replayParts(step),
            ),
          ),
          sourceTable('source, allocated over the trace', throughput, 'throughput'),
        ]),
  );
}

const replayParts = (replay: BridgeReplay): MaybePart[] => [
  paragraph(
    t`peak ${as('peak_delta_bytes', bytes(replay.peak_delta_bytes))}, absolute ${as('absolute_peak_bytes', bytes(replay.absolute_peak_bytes))}; ${counted(replay.alloc_count, 'allocation')} of ${bytes(replay.throughput_bytes)}${replay.unmatched_frees === 0 ? '' : t`, ${count(replay.unmatched_frees)} frees without their allocation`}`,
  ),
  sourceTable('source, at the peak', replay.sources_at_peak, 'sources_at_peak'),
];

function sourceTable(title: string, sources: readonly PeerSource[], key: string): MaybePart {
  const hidden = sources.slice(SHOWN);
  const more = `${hidden.length} more sources (--json=full lists all)`;
  const sum = {
    source: more,
    bytes: sumOf(hidden.map((one) => one.bytes)),
    count: sumOf(hidden.map((one) => one.count)),
  };
  return table(
    hidden.length === 0 ? sources : [...sources.slice(0, SHOWN), sum],
    [
      column('bytes', (one) => one.bytes, { title: 'requested' }),
      counts('blocks', (one) => one.count),
      names('source', (one) => one.source, { title }),
    ],
    { key },
  );
}

const mosaicSection = (figures: MosaicFigures): MaybePart =>
  section(
    'As mosaic counts',
    { key: 'mosaic', isFolded: true, about: 'Requested bytes, from zero; frees of older memory are ignored.' },
    figures.device === null
      ? note(NO_TRACE)
      : paragraph(
          t`device ${count(figures.device)}: dynamic peak ${as('dynamic_peak_bytes', bytes(figures.dynamic_peak_bytes))} of ${count(figures.stacks_at_peak)} stacks, static memory ${as('static_bytes', bytes(figures.static_bytes))} (actual bytes, all devices)`,
        ),
  );

const memoryVizSection = (devices: readonly MemoryVizFigures[]): MaybePart =>
  section(
    'As memory_viz plots it',
    { key: 'memory_viz', isFolded: true, about: 'Requested bytes.' },
    items(
      devices.map(
        (one) =>
          t`device ${count(one.device)}: peak ${bytes(one.plotted_peak_bytes)}, initially allocated ${bytes(one.initially_allocated_bytes)} in ${counted(one.initially_allocated, 'block')}, fragmentation index at the dump ${one.fragmentation_index?.toFixed(4) ?? '—'}`,
      ),
      { key: 'devices' },
    ),
  );
