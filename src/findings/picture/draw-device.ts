/** The course of one device as a page draws it. All figures are actual sizes of blocks and segments. */
import { isSmall } from '../../allocator/rounding.js';
import { type Frame, frameText } from '../../attribution/frames/call-site.js';
import { readStacks } from '../../derive/stacks/read-stacks.js';
import { deviceHistory } from '../../derive/trace/device-history.js';
import { readSteps } from '../../derive/trace/steps.js';
import { NULL_I32 } from '../../model/columns.js';
import { maxOf } from '../../model/lists.js';
import { columnStart, courseOf, type Level } from '../../model/picture/levels.js';
import type { PageDevice, PageLevel, PageMark } from '../../model/picture/page-data.js';
import { formatBytes } from '../../model/units.js';
import type { Store } from '../../store/store.js';
import { chooseBlocks } from './choose-blocks.js';
import { chooseRanges, type NamedRange, wholeRange } from './choose-ranges.js';
import { encodeDevice } from './encode-device.js';
import { lifetimeCells } from './lifetime-cells.js';
import { type DeviceId, readBlocks, readDrawn, readSegments } from './read-columns.js';

export interface DrawnDevice {
  readonly page: PageDevice;
  readonly bytes: Uint8Array;
  /** The whole trace. */
  readonly overview: PageLevel;
}

export interface DrawOptions {
  readonly snapshotId: number;
  readonly device: number;
  readonly handle: string;
  readonly title: string;
  readonly deviceTotalBytes: number | null;
  /** Blocks drawn at most. */
  readonly mostBlocks?: number;
}

/** Failures, and snapshots that were taken. */
const MOST_MARKS = 200;
const MOST_STEPS = 4000;
/** Frames of all stacks together: beyond them, stacks keep their innermost ones. */
const MOST_FRAMES = 400_000;
const LEAST_FRAMES = 6;

export async function drawDevice(store: Store, options: DrawOptions): Promise<DrawnDevice> {
  const { snapshotId, device } = options;
  const id = { snapshot_id: snapshotId, device };
  const span = await store.one('timeline.span', { ...id, time_us: null });
  // Without a trace the dumped state is that of one entry.
  const { first_seq: firstSeq, last_seq: lastSeq } = span ?? { first_seq: 0, last_seq: 0 };
  const history = await deviceHistory(store, snapshotId, device);
  const points = await store.all('timeline.points', { ...id, from_seq: firstSeq, to_seq: lastSeq });
  const { steps } = await readSteps(store, snapshotId, device);
  // Labels may be TEMP rows, which only the store's own connection sees.
  const { blocks, components, unitBytes, pools, labels } = await store.transaction(async () => readBlocks(store, id));
  const segments = await store.transaction(async () => readSegments(store, id, pools));
  const ooms = (await store.all('snapshot.ooms', { snapshot_id: snapshotId })).filter((oom) => oom.device === device);
  const oomSeqs = ooms.map((oom) => oom.seq);
  const bounds = { firstSeq, lastSeq };
  // The highest state of the drawn course: where the trace contradicts itself, the walk has another one.
  const course = courseOf(blocks, segments.all, components.length, bounds);
  const [whole] = course([wholeRange(bounds)]);
  const peakColumn = whole!.active.indexOf(maxOf(whole!.active));
  const peakSeq = whole!.at[peakColumn]!;
  const peakBytes = whole!.active[peakColumn]!;
  const ranges = chooseRanges({ ...bounds, oomSeqs, peakSeq: Math.max(firstSeq, peakSeq), steps });
  const firstTimeUs = span === undefined || span.untimed > 0 ? null : span.first_time_us;
  const { levels, isOrdered } = await withTimes(store, id, [whole!, ...course(ranges.slice(1))], ranges, firstTimeUs);
  const moments = [...new Set([...oomSeqs.slice(0, 1), peakSeq, lastSeq])];
  const chosen = chooseBlocks(blocks, bounds, moments, options.mostBlocks);
  const { drawn: pageSegments, bands } = segments;
  const pageBlocks = await store.transaction(async () =>
    readDrawn(
      store,
      { ...id, last_seq: lastSeq },
      chosen,
      bands,
      (label) => labels.get(label) ?? labels.get(NULL_I32)!,
      pools,
    ),
  );
  const stacks = await stackTexts(store, pageBlocks.stackIds);
  const marks: PageMark[] = [
    ...ooms.slice(0, MOST_MARKS).map(
      (oom): PageMark => ({
        kind: 'oom',
        seq: oom.seq,
        text: `OOM: ${formatBytes(oom.requested_bytes)} requested`,
        bytes: oom.requested_bytes,
        request: { stream: oom.stream, isSmall: isSmall(oom.requested_bytes) },
      }),
    ),
    { kind: 'peak', seq: peakSeq, text: `peak: ${formatBytes(peakBytes)} active`, bytes: peakBytes },
    {
      kind: 'peak_reserved',
      seq: history.peakReserved.seq ?? firstSeq - 1,
      text: `peak reserved: ${formatBytes(history.peakReserved.bytes)}`,
      bytes: history.peakReserved.bytes,
    },
    ...points
      .filter((point) => point.action === 'snapshot')
      .slice(-MOST_MARKS)
      .map((point): PageMark => ({ kind: 'snapshot', seq: point.seq, text: 'snapshot taken', bytes: null })),
  ];
  const columns = {
    ...{ levels, blocks: pageBlocks.columns, segments: pageSegments, bands },
    ...{ stacks: stacks.stacks, frames: stacks.frames },
  };
  const page: PageDevice = {
    ...{ title: options.title, handle: options.handle, device, firstSeq, lastSeq },
    basis: history.holds ? 'actual' : 'approximate',
    unitBytes,
    components,
    deviceTotalBytes: options.deviceTotalBytes,
    firstTimeUs: isOrdered ? firstTimeUs : null,
    noTimes: firstTimeUs === null ? 'missing' : isOrdered ? null : 'unordered',
    levels: ranges,
    marks: marks.sort((a, b) => a.seq - b.seq),
    steps: steps.slice(-MOST_STEPS).map((step) => ({
      name: step.occurrence > 1 ? `${step.step} (${step.occurrence})` : String(step.step),
      first: step.first_seq,
      last: step.last_seq,
    })),
    blocks: pageBlocks.columns.count,
    allBlocks: blocks.count,
    blocksOutside: pageBlocks.outside,
    isDump: span === undefined,
    wholeRanges: chosen.whole,
    segments: pageSegments.count,
    allSegments: segments.all.count,
    bands: bands.length,
    stacks: stacks.stacks.length,
    largePageBytes: history.settings.largeSegmentBytes,
    lifetimes: lifetimeCells(blocks, lastSeq),
  };
  return { page, bytes: encodeDevice(columns, unitBytes), overview: levels[0]! };
}

/** Frames of stacks, each text once. */
async function stackTexts(
  store: Store,
  ids: readonly number[],
): Promise<{ stacks: readonly (readonly number[])[]; frames: readonly string[] }> {
  const read = await readStacks(store, ids);
  const frames: string[] = [];
  const byText = new Map<string, number>();
  // Equal frames are one object.
  const indices = new Map<Frame, number>();
  const indexOf = (frame: Frame): number => {
    const known = indices.get(frame);
    if (known !== undefined) return known;
    const text = frameText(frame);
    const index = byText.get(text) ?? frames.push(text) - 1;
    byText.set(text, index);
    indices.set(frame, index);
    return index;
  };
  let left = MOST_FRAMES;
  const stacks = ids.map((id) => {
    const all = read.get(id) ?? [];
    left -= all.length;
    return (left < 0 ? all.slice(0, LEAST_FRAMES) : all).map(indexOf);
  });
  return { stacks, frames };
}

/** The clock of entries may go back by this share of the whole trace: threads take their time before they wait. */
const MOST_BACK = 0.001;

/** Times of the first entries of columns, where every entry has one and they are in order. */
async function withTimes(
  store: Store,
  id: DeviceId,
  levels: readonly Level[],
  ranges: readonly NamedRange[],
  firstTimeUs: number | null,
): Promise<{ readonly levels: PageLevel[]; readonly isOrdered: boolean }> {
  const starts = levels.map((level) => Array.from({ length: level.columns }, (_, i) => columnStart(level, i)));
  const times = new Map<number, number>();
  if (firstTimeUs !== null)
    for (const { seq, time_us } of await store.all('picture.times', { ...id, seqs: starts.flat().join() }))
      if (time_us !== null) times.set(seq, time_us - firstTimeUs);
  let back = 0;
  const inOrder = starts.map((seqs) => {
    let latest = 0;
    return Float64Array.from(seqs, (seq) => {
      const time = times.get(seq) ?? latest;
      back = Math.max(back, latest - time);
      latest = Math.max(latest, time);
      return latest;
    });
  });
  const isOrdered = firstTimeUs !== null && back <= MOST_BACK * inOrder[0]!.at(-1)!;
  return {
    levels: levels.map((level, i) => ({
      ...level,
      ...{ name: ranges[i]!.name, startUs: isOrdered ? inOrder[i]! : new Float64Array(0) },
    })),
    isOrdered,
  };
}
