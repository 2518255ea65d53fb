/** Figures of other tools compared with ours: what each of them prints for the same file, and what it counts. */
import type {
  BridgeFigures,
  BridgeReplay,
  MemoryVizFigures,
  MosaicFigures,
  PeerSource,
} from '../../model/results/peak.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { keepEnd, left, printable, right, table } from '../table.js';

const SHOWN = 15;

const NONE = '  no device has a trace, so it prints no more';

export function bridgeText(figures: BridgeFigures): string {
  const { segments, baseline, full_trace: full } = figures;
  const lines = [
    "  by the definitions of Megatron Bridge's snapshot scripts (requested bytes, from zero at the first entry)",
    `  segments    ${formatCount(segments.count)}, ${formatBytes(segments.total_bytes)}: active ${formatBytes(segments.active_bytes)}, awaiting free ${formatBytes(segments.awaiting_free_bytes)}, inactive ${formatBytes(segments.inactive_bytes)} (all devices)`,
  ];
  if (baseline === null || full === null) return [...lines, NONE].join('\n');
  lines.push(
    `  baseline    ${formatBytes(baseline.baseline_at_start_bytes)} at the start = active ${formatBytes(baseline.segments_active_bytes)} - traced and live ${formatBytes(baseline.profiling_still_live_bytes)} + freed in the trace ${formatBytes(baseline.pre_existing_freed_bytes)}`,
    `  full trace  device ${figures.device}: ${replayText(full)}`,
    sourcesText('at the peak', full.sources_at_peak),
  );
  for (const step of figures.steps) {
    const end = step.end_us === null ? ' (not ended)' : '';
    lines.push(`  step ${step.step}${end}: ${replayText(step)}`, sourcesText('at its peak', step.sources_at_peak));
  }
  lines.push(sourcesText('allocated over the trace', figures.throughput));
  return lines.join('\n');
}

function replayText(replay: BridgeReplay): string {
  const unmatched =
    replay.unmatched_frees === 0 ? '' : `, ${formatCount(replay.unmatched_frees)} frees without their allocation`;
  return `peak ${formatBytes(replay.peak_delta_bytes)}, absolute ${formatBytes(replay.absolute_peak_bytes)}; ${formatCount(replay.alloc_count)} allocations of ${formatBytes(replay.throughput_bytes)}${unmatched}`;
}

function sourcesText(title: string, sources: readonly PeerSource[]): string {
  const rows: (string | null)[][] = sources
    .slice(0, SHOWN)
    .map(({ bytes, count, source }) => [formatBytes(bytes), formatCount(count), keepEnd(printable(source), 70)]);
  const hidden = sources.slice(SHOWN);
  if (hidden.length > 0) {
    const sum = (pick: (source: PeerSource) => number): number =>
      hidden.reduce((total, source) => total + pick(source), 0);
    const more = `${formatCount(hidden.length)} more sources (--json lists all)`;
    rows.push([formatBytes(sum(({ bytes }) => bytes)), formatCount(sum(({ count }) => count)), more]);
  }
  return table([right('bytes'), right('blocks'), left(`source, ${title}`)], rows, '  ');
}

export function mosaicText(figures: MosaicFigures): string {
  const title = '  by the definitions of mosaic (requested bytes, from zero; frees of older memory ignored)';
  if (figures.device === null) return [title, NONE].join('\n');
  return [
    title,
    `  device ${figures.device}: dynamic peak ${formatBytes(figures.dynamic_peak_bytes ?? 0)} of ${formatCount(figures.stacks_at_peak ?? 0)} stacks, static memory ${formatBytes(figures.static_bytes ?? 0)} (actual bytes, all devices)`,
  ].join('\n');
}

export function memoryVizText(devices: readonly MemoryVizFigures[]): string {
  return [
    '  as memory_viz plots it (requested bytes)',
    ...devices.map((figures) => {
      const index = figures.fragmentation_index === null ? '–' : figures.fragmentation_index.toFixed(4);
      return `  device ${figures.device}: peak ${formatBytes(figures.plotted_peak_bytes)}, initially allocated ${formatBytes(figures.initially_allocated_bytes)} in ${formatCount(figures.initially_allocated)} blocks, fragmentation index at the dump ${index}`;
    }),
  ].join('\n');
}
