/** `mbforensics timeline`: the course of a device's memory over its trace. */
import type { CompiledRules } from '../../attribution/match/compile-rules.js';
import { useLabels } from '../../derive/attribution/use-labels.js';
import { pairAnnotations } from '../../derive/pair-annotations.js';
import { listSnapshots, type SnapshotFilter } from '../../derive/run/names/snapshots.js';
import { stepCuts } from '../../derive/step-cuts.js';
import { type DeviceHistory, deviceHistory } from '../../derive/trace/device-history.js';
import { readSteps, type Steps } from '../../derive/trace/steps.js';
import { MbfError } from '../../model/errors.js';
import { pick } from '../../model/pick.js';
import type {
  TimelineAnnotation,
  TimelineColumn,
  TimelineComponents,
  TimelineDevice,
  TimelineMarks,
  TimelineResult,
  TimelineSnapshot,
  TimelineSteps,
  TimelineTrace,
} from '../../model/results/timeline.js';
import { COMPONENTS, type Component } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import { clocksOf, rangesAt, type SnapshotClock } from '../nsys/snapshot-clock.js';
import { stepFigures, stepGrowth } from '../trace/step-figures.js';
import { type BucketRange, ensureBuckets } from './fill-buckets.js';
import { type Zoom, zoomRange } from './zoom-range.js';

export interface TimelineOptions {
  /** Equal slices of the series, at most. */
  readonly columns: number;
  readonly by: 'index' | 'time';
  readonly device?: number | undefined;
  readonly zoom: Zoom;
  /** Annotations whose names contain this, in whatever case; undefined = none. */
  readonly annotations?: string | undefined;
  /** Rules that assign components; undefined = components are not requested. */
  readonly components?: CompiledRules | undefined;
}

/** Flushes and annotations listed; the counts are of all. */
const MOST_LISTED = 5000;

/** Throws MBF1001 or MBF1002 where no device asked about has such a moment as the zoom names. */
export async function describeTimelines(
  store: Store,
  filter: SnapshotFilter,
  options: TimelineOptions,
): Promise<TimelineResult> {
  const snapshots: TimelineSnapshot[] = [];
  let failure: MbfError | undefined;
  const listed = await listSnapshots(store, filter);
  const clocks = await clocksOf(store, listed[0]?.snapshot_id);
  for (const row of listed) {
    const devices: TimelineDevice[] = [];
    const leftOut: { device: number; reason: string }[] = [];
    for (const device of await store.all('snapshot.devices', { snapshot_id: row.snapshot_id })) {
      if (options.device !== undefined && device.device !== options.device) continue;
      if (device.segments === 0 && device.events === null) continue;
      try {
        devices.push({
          device: device.device,
          trace:
            device.events === null || device.events === 0
              ? null
              : await describeTrace(store, row, device.device, options, clocks),
          dump: pick(device, ['allocated_bytes', 'active_bytes', 'reserved_bytes']),
        });
      } catch (error) {
        if (!(error instanceof MbfError) || error.kind !== 'usage') throw error;
        failure ??= error;
        leftOut.push({ device: device.device, reason: error.describe() });
      }
    }
    snapshots.push({ path: row.display_path, handle: row.handle, rank: row.rank, devices, left_out: leftOut });
  }
  if (failure !== undefined && snapshots.every((snapshot) => snapshot.devices.length === 0)) throw failure;
  return { schema: 'mbforensics/timeline@1', snapshots };
}

async function describeTrace(
  store: Store,
  { snapshot_id: snapshotId, rank }: { readonly snapshot_id: number; readonly rank: number | null },
  device: number,
  options: TimelineOptions,
  clocks: readonly SnapshotClock[],
): Promise<TimelineTrace> {
  const id = { snapshot_id: snapshotId, device };
  const span = await store.one('timeline.span', { ...id, time_us: null });
  if (span === undefined) throw new Error(`device ${device} has no trace`);
  const found = await readSteps(store, snapshotId, device);
  const history = await deviceHistory(store, snapshotId, device);
  const { zoom } = options;
  const zoomed = zoom.from !== undefined || zoom.to !== undefined;
  let range: Pick<BucketRange, 'firstSeq' | 'lastSeq'> = { firstSeq: span.first_seq, lastSeq: span.last_seq };
  if (zoomed)
    range = await zoomRange(store, snapshotId, device, zoom, {
      ...range,
      steps: found.steps,
      peakSeq: async () => history.peak.seq ?? span.first_seq,
    });
  const { firstSeq, lastSeq } = range;
  const steps = found.steps.filter((step) => step.first_seq >= firstSeq && step.last_seq <= lastSeq);
  const fill = await ensureBuckets(store, snapshotId, device, { ...range, cuts: stepCuts(steps) });
  const extremes = exactPeaks(await readExtremes(store, id), history);
  const series = await readSeries(store, id, options);
  const marks = await readMarks(store, id, options, extremes);
  return {
    entries: span.entries,
    range: pick(extremes, ['first_seq', 'last_seq', 'first_time_us', 'last_time_us']),
    zoomed,
    by: series.by,
    entries_per_row: fill.entriesPerRow,
    basis: fill.holds ? 'actual' : 'approximate',
    column_count: series.columnCount,
    columns: series.columns,
    marks,
    steps: await describeSteps(store, id, found, steps),
    ...(clocks.length === 0
      ? {}
      : {
          nvtx: {
            peak: await rangesAt(store, clocks, { snapshotId, rank }, marks.peak_active.time_us),
            oom: await rangesAt(store, clocks, { snapshotId, rank }, marks.ooms[0]?.time_us ?? null),
          },
        }),
    ...(options.components === undefined
      ? {}
      : { components: await componentSeries(store, id, options.components, series.columns) }),
  };
}

/** Live bytes by component, at the moment of each column at which most is live; in order of their largest bytes. */
async function componentSeries(
  store: Store,
  id: DeviceKey,
  rules: CompiledRules,
  columns: readonly TimelineColumn[],
): Promise<TimelineComponents> {
  await useLabels(store, id.snapshot_id, id.device, rules);
  const rows = await store.all('attribution.series', {
    ...id,
    firsts: columns.map((column) => column.first_seq).join(),
    lasts: columns.map((column) => column.last_seq).join(),
  });
  const largest = COMPONENTS.map(() => 0);
  const cells = columns.map(() => COMPONENTS.map(() => 0));
  for (const { nth, component, bytes } of rows) {
    const at = COMPONENTS.indexOf(component as Component);
    cells[nth]![at] = bytes;
    largest[at] = Math.max(largest[at]!, bytes);
  }
  const order = COMPONENTS.map((_, at) => at)
    .filter((at) => largest[at]! > 0)
    .sort((a, b) => largest[b]! - largest[a]!);
  return { components: order.map((at) => COMPONENTS[at]!), bytes: cells.map((of) => order.map((at) => of[at]!)) };
}

interface DeviceKey {
  readonly snapshot_id: number;
  readonly device: number;
}

async function readExtremes(store: Store, id: DeviceKey) {
  const extremes = await store.one('timeline.extremes', id);
  if (extremes === undefined) throw new Error(`derived_bucket has no row of device ${id.device}`);
  return extremes;
}

/** A row of several entries places a peak to within them; of the whole trace's peaks the walk knows the entry. */
function exactPeaks(
  extremes: Awaited<ReturnType<typeof readExtremes>>,
  { peak, peakReserved }: Pick<DeviceHistory, 'peak' | 'peakReserved'>,
): typeof extremes {
  const exact = { ...extremes };
  for (const [total, { bytes, seq }] of [
    ['active', peak],
    ['reserved', peakReserved],
  ] as const) {
    const isHere =
      seq !== null && seq >= extremes[`${total}_max_first_seq`] && seq <= extremes[`${total}_max_last_seq`];
    if (!isHere || bytes !== extremes[`${total}_max_bytes`]) continue;
    exact[`${total}_max_first_seq`] = seq;
    exact[`${total}_max_last_seq`] = seq;
  }
  return exact;
}

async function readSeries(
  store: Store,
  id: DeviceKey,
  options: TimelineOptions,
): Promise<{ by: 'index' | 'time'; columnCount: number; columns: TimelineColumn[] }> {
  const params = { ...id, columns: options.columns };
  const timed = options.by === 'time' ? await store.all('timeline.columns_by_time', params) : [];
  const rows = timed.length > 0 ? timed : await store.all('timeline.columns_by_index', params);
  return {
    by: timed.length > 0 ? 'time' : 'index',
    columnCount: rows[0]?.column_count ?? 0,
    columns: rows.map(({ column_count: _, ...column }) => column),
  };
}

async function readMarks(
  store: Store,
  id: DeviceKey,
  options: TimelineOptions,
  extremes: Awaited<ReturnType<typeof readExtremes>>,
): Promise<TimelineMarks> {
  const range = { ...id, from_seq: extremes.first_seq, to_seq: extremes.last_seq };
  const points = await store.all('timeline.points', range);
  const flushes = await store.all('timeline.flushes', { ...range, most: MOST_LISTED });
  const annotations = await readAnnotations(store, id, options.annotations, extremes.first_seq, extremes.last_seq);
  return {
    peak_active: {
      bytes: extremes.active_max_bytes,
      first_seq: extremes.active_max_first_seq,
      last_seq: extremes.active_max_last_seq,
      time_us: extremes.active_max_time_us,
    },
    peak_reserved: {
      bytes: extremes.reserved_max_bytes,
      first_seq: extremes.reserved_max_first_seq,
      last_seq: extremes.reserved_max_last_seq,
      time_us: extremes.reserved_max_time_us,
    },
    ooms: points
      .filter((point) => point.action === 'oom')
      .map((point) => pick(point, ['seq', 'time_us', 'requested_bytes', 'device_free_bytes'])),
    snapshots: points.filter((point) => point.action === 'snapshot').map((point) => pick(point, ['seq', 'time_us'])),
    flushes: flushes.map(({ flush_count: _, flush_bytes: __, ...flush }) => flush),
    flush_count: flushes[0]?.flush_count ?? 0,
    flush_bytes: flushes[0]?.flush_bytes ?? 0,
    annotations: annotations.slice(0, MOST_LISTED),
    annotations_left_out: Math.max(0, annotations.length - MOST_LISTED),
  };
}

async function readAnnotations(
  store: Store,
  id: DeviceKey,
  contains: string | undefined,
  firstSeq: number,
  lastSeq: number,
): Promise<TimelineAnnotation[]> {
  if (contains === undefined) return [];
  const ranges = pairAnnotations(await store.all('timeline.annotations', { ...id, steps: false, contains }));
  return ranges
    .map((range) => ({
      name: range.name,
      device: range.device,
      first_seq: range.startUs === null ? null : (range.startSeq ?? -1) + 1,
      last_seq: range.endUs === null ? null : (range.endSeq ?? -1),
      start_us: range.startUs,
      end_us: range.endUs,
    }))
    .filter((range) => (range.first_seq ?? firstSeq) <= lastSeq && (range.last_seq ?? lastSeq) >= firstSeq);
}

async function describeSteps(store: Store, id: DeviceKey, found: Steps, steps: Steps['steps']): Promise<TimelineSteps> {
  const rows = await stepFigures(store, id.snapshot_id, id.device, steps);
  return {
    origin: found.origin,
    annotations: found.annotations,
    annotations_of_device: found.annotationsOfDevice,
    without_entries: found.withoutEntries,
    rows,
    growth: stepGrowth(rows, found.steps[0]),
  };
}
