/** What was live at a moment, by call site and by stack, and the figures of other tools for the same file. */

import { sumOf } from '../../model/lists.js';
import type { PeakDevice, PeakResult } from '../../model/results/common.js';
import type * as results from '../../model/results/peak.js';
import * as d from '../document/document.js';
import { afterEntry, rankName } from '../text-pieces.js';
import { wordOf } from '../words/fill.js';

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
          ...devices.map((device, i) => deviceSection(device, i === 0 || isWhole, isWhole)),
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

function deviceSection(device: PeakDevice, isInFull: boolean, isWhole: boolean): d.MaybePart {
  const { moment, seq, ran_out: ranOut, basis } = device;
  const at = moment === 'dump' ? 'the dump (no trace recorded)' : moment === 'peak' ? 'its peak' : moment;
  const live = d.bytes(device.active_bytes);
  return d.section(
    d.t`Device ${d.as('device', d.count(device.device))} at ${at}${moment === 'dump' ? '' : `, ${afterEntry(seq)}`}`,
    { key: 'devices', isOneOf: true, fields: { moment, seq, basis, ran_out: ranOut, by: device.by } },
    d.paragraph(
      d.t`${d.as('live_bytes', live)} live in ${d.counted(device.blocks, 'block', 'blocks', 'blocks')} of ${d.as('reserved_bytes', d.bytes(device.reserved_bytes))} reserved${basis === 'actual' ? '' : ' (approximate: the trace contradicts itself)'}${ranOut ? '; this device ran out of memory' : ''}`,
    ),
    ...(isInFull
      ? [groupTable(device), d.note(lifetimeText(device.lifetime)), ...stackSections(device, isWhole)]
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

/** Stacks are shown where the key is a part of them; for streams or stages they would only add lines. */
function stackSections(device: PeakDevice, isWhole: boolean): d.MaybePart[] {
  if (device.by !== 'site' && device.by !== 'stack') return [];
  const { active_bytes: active, other_stacks: others } = device;
  const stacks = isWhole ? device.stacks : device.stacks.slice(0, MOST_STACKS);
  const hidden = device.stacks.slice(stacks.length);
  const more = hidden.length + others.groups;
  return [
    ...stacks.map(({ bytes: size, count: blocks, frames, origin }, i) => {
      const shown = isWhole ? frames : frames.slice(0, MOST_FRAMES);
      const callers = frames.length - shown.length;
      return d.section(
        d.t`#${i + 1} · ${d.as('bytes', d.bytes(size))} · ${d.share(active === 0 ? null : size / active)} · ${d.counted(blocks, 'block', 'blocks', 'blocks')}${origin === 'free_event' ? ' (stack of its free: it was allocated before the recording)' : ''}`,
        { key: 'stacks', isOneOf: true },
        d.quote(shown, { key: 'frames' }) ?? d.paragraph('no stack recorded'),
        callers > 0 && d.note(d.t`${d.counted(callers, 'more caller')}`, { key: 'more' }),
      );
    }),
    more > 0 &&
      d.note(
        d.t`${d.count(more)} more stacks with ${d.bytes(sumOf(hidden.map((one) => one.bytes)) + others.bytes)} (--limit 0 shows all)`,
      ),
  ];
}

function lifetimeText({ rule, boundary, boundaries }: results.LifetimeBasis): d.Text {
  if (rule === 'none') return 'resident or transient: unknown, since no frees were recorded';
  if (rule === 'trace')
    return 'resident: still live when the trace ends; transient: freed in it after this moment (no steps are marked)';
  return d.t`resident: outlives its step, or has lived through one; transient: freed before the step ends (${d.counted(boundaries, 'boundary', 'boundaries')} of ${boundary ?? ''})`;
}

// ---- figures of other tools

const SHOWN = 15;
const NO_TRACE = 'no device has a trace, so it prints no more';

function bridgeSection({
  segments,
  baseline,
  full_trace: full,
  device,
  steps,
  throughput,
}: results.BridgeFigures): d.MaybePart {
  return d.section(
    'As Megatron Bridge counts',
    { key: 'bridge', isFolded: true, about: 'Requested bytes, from zero at the first entry of the trace.' },
    d.paragraph(
      d.t`${d.counted(segments.count, 'segment')} of all devices, ${d.bytes(segments.total_bytes)}: active ${d.bytes(segments.active_bytes)}, awaiting free ${d.bytes(segments.awaiting_free_bytes)}, inactive ${d.bytes(segments.inactive_bytes)}`,
    ),
    baseline === null || full === null
      ? d.note(NO_TRACE)
      : d.paragraph(
          d.t`${d.bytes(baseline.baseline_at_start_bytes)} at the start = active ${d.bytes(baseline.segments_active_bytes)} - traced and live ${d.bytes(baseline.profiling_still_live_bytes)} + freed in the trace ${d.bytes(baseline.pre_existing_freed_bytes)}`,
        ),
    ...(full === null
      ? []
      : [
          d.section(d.t`Whole trace of device ${device ?? 0}`, { key: 'full_trace' }, ...replayParts(full)),
          ...steps.map((step) =>
            d.section(
              d.t`Step ${d.as('step', d.count(step.step))}${step.end_us === null ? ' (not ended)' : ''}`,
              { key: 'steps', isOneOf: true },
              ...replayParts(step),
            ),
          ),
          sourceTable('source, allocated over the trace', throughput, 'throughput'),
        ]),
  );
}

const replayParts = (replay: results.BridgeReplay): d.MaybePart[] => [
  d.paragraph(
    d.t`peak ${d.as('peak_delta_bytes', d.bytes(replay.peak_delta_bytes))}, absolute ${d.as('absolute_peak_bytes', d.bytes(replay.absolute_peak_bytes))}; ${d.counted(replay.alloc_count, 'allocation')} of ${d.bytes(replay.throughput_bytes)}${replay.unmatched_frees === 0 ? '' : d.t`, ${d.count(replay.unmatched_frees)} frees without their allocation`}`,
  ),
  sourceTable('source, at the peak', replay.sources_at_peak, 'sources_at_peak'),
];

function sourceTable(title: string, sources: readonly results.PeerSource[], key: string): d.MaybePart {
  const hidden = sources.slice(SHOWN);
  const more = `${hidden.length} more sources (--json=full lists all)`;
  const sum = {
    source: more,
    bytes: sumOf(hidden.map((one) => one.bytes)),
    count: sumOf(hidden.map((one) => one.count)),
  };
  return d.table(
    hidden.length === 0 ? sources : [...sources.slice(0, SHOWN), sum],
    [
      d.column('bytes', (one) => one.bytes, { title: 'requested' }),
      d.counts('blocks', (one) => one.count),
      d.names('source', (one) => one.source, { title }),
    ],
    { key },
  );
}

const mosaicSection = (figures: results.MosaicFigures): d.MaybePart =>
  d.section(
    'As mosaic counts',
    { key: 'mosaic', isFolded: true, about: 'Requested bytes, from zero; frees of older memory are ignored.' },
    figures.device === null
      ? d.note(NO_TRACE)
      : d.paragraph(
          d.t`device ${d.count(figures.device)}: dynamic peak ${d.as('dynamic_peak_bytes', d.bytes(figures.dynamic_peak_bytes))} of ${d.count(figures.stacks_at_peak)} stacks, static memory ${d.as('static_bytes', d.bytes(figures.static_bytes))} (actual bytes, all devices)`,
        ),
  );

const memoryVizSection = (devices: readonly results.MemoryVizFigures[]): d.MaybePart =>
  d.section(
    'As memory_viz plots it',
    { key: 'memory_viz', isFolded: true, about: 'Requested bytes.' },
    d.items(
      devices.map(
        (one) =>
          d.t`device ${d.count(one.device)}: peak ${d.bytes(one.plotted_peak_bytes)}, initially allocated ${d.bytes(one.initially_allocated_bytes)} in ${d.counted(one.initially_allocated, 'block')}, fragmentation index at the dump ${one.fragmentation_index?.toFixed(4) ?? '—'}`,
      ),
      { key: 'devices' },
    ),
  );
