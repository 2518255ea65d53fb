/** `mbforensics log profile`: what memory was for over time, as torch.profiler reports it. */

import { ENUMS } from '../../model/columns.js';
import type {
  ProfilerCategoryResult,
  ProfilerMemoryResult,
  ProfilerMoment,
  ProfilerTimeline,
} from '../../model/results/profiler.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';

type TimelineRow = QueryRow<'profiler.timelines'>;

/** `stretches`: into how many parts the time is cut, at least 1. A run without timelines gives an empty list. */
export async function describeProfilerMemory(
  store: Store,
  run: { readonly runId: number; readonly run: string },
  stretches: number,
): Promise<ProfilerMemoryResult> {
  const timelines: ProfilerTimeline[] = [];
  for (const row of await store.all('profiler.timelines', { run_id: run.runId })) {
    timelines.push(await describeTimeline(store, row, stretches));
  }
  return { schema: 'mbforensics/profiler-memory@1', run: run.run, timelines };
}

async function describeTimeline(store: Store, row: TimelineRow, stretches: number): Promise<ProfilerTimeline> {
  const start = row.first_time_us;
  const span = start === null || row.last_time_us === null ? null : row.last_time_us - start;
  const course = new Course(start ?? 0, span ?? 0, stretches);
  const spec = { ordinal: 'i32', time_us: 'f64', delta_bytes: 'f64', category: 'u8' } as const;
  for await (const batch of store.readQueryColumns('profiler.entries', { source_id: row.source_id }, spec)) {
    const { ordinal, time_us, delta_bytes, category } = batch.columns;
    for (let i = 0; i < batch.rows; i += 1) course.add(ordinal[i]!, time_us[i]!, delta_bytes[i]!, category[i]!);
  }
  course.end();
  const moment = (state: State): ProfilerMoment => ({
    time_us: Number.isNaN(state.timeUs) ? null : state.timeUs,
    since_start_us: Number.isNaN(state.timeUs) || start === null ? null : state.timeUs - start,
    ordinal: state.ordinal,
    total_bytes: state.total,
    categories: Object.fromEntries(
      ENUMS.profiler_category.map((category, i) => [category, state.bytes[i]!]),
    ) as ProfilerMoment['categories'],
  });
  const { before, peak } = course;
  return {
    path: row.display_path,
    rank: row.rank,
    form: row.has_actions === null ? null : row.has_actions ? 'events' : 'sums',
    entries: row.entries,
    start_time_us: start,
    span_us: span,
    preexisting: before === null ? null : moment(before),
    peak: peak === null ? null : moment(peak),
    categories: categoryResults(course, start),
    points: course.stretches.filter((state) => state !== undefined).map(moment),
  };
}

function categoryResults({ peak, max, maxTimeUs, min, now }: Course, start: number | null): ProfilerCategoryResult[] {
  if (peak === null) return [];
  return ENUMS.profiler_category
    .map((category, i) => ({
      category,
      at_peak_bytes: peak.bytes[i]!,
      max_bytes: max[i]!,
      max_since_start_us: start === null || Number.isNaN(maxTimeUs[i]!) ? null : maxTimeUs[i]! - start,
      min_bytes: min[i]!,
      end_bytes: now.bytes[i]!,
    }))
    .sort((a, b) => b.at_peak_bytes - a.at_peak_bytes);
}

interface State {
  ordinal: number;
  /** NaN before the profiler started. */
  timeUs: number;
  total: number;
  readonly bytes: Float64Array;
}

/** One pass over a timeline: the running totals, and what is kept of them. */
class Course {
  readonly now: State = blank();
  /** Of what existed before the profiler started, all of it; null if nothing did. */
  before: State | null = null;
  /** The first moment of the largest total. */
  peak: State | null = null;
  /** The first moment of the largest total of each stretch that has an entry. */
  readonly stretches: (State | undefined)[];
  readonly max = new Float64Array(ENUMS.profiler_category.length).fill(Number.NEGATIVE_INFINITY);
  readonly maxTimeUs = new Float64Array(ENUMS.profiler_category.length).fill(Number.NaN);
  readonly min = new Float64Array(ENUMS.profiler_category.length).fill(Number.POSITIVE_INFINITY);
  private readonly startUs: number;
  private readonly stretchUs: number;

  constructor(startUs: number, spanUs: number, stretches: number) {
    this.startUs = startUs;
    this.stretchUs = (spanUs + 1) / stretches;
    this.stretches = new Array<State | undefined>(stretches).fill(undefined);
  }

  /** Rows of one ordinal are one change: they are added before anything is compared. */
  add(ordinal: number, timeUs: number, delta: number, category: number): void {
    if (ordinal !== this.now.ordinal) this.settle();
    this.now.ordinal = ordinal;
    this.now.timeUs = timeUs;
    this.now.bytes[category]! += delta;
    this.now.total += delta;
  }

  end(): void {
    this.settle();
  }

  private settle(): void {
    const { now, max, min } = this;
    if (now.ordinal < 0) return;
    if (this.peak === null || now.total > this.peak.total) this.peak = keep(now, this.peak);
    if (Number.isNaN(now.timeUs)) this.before = keep(now, this.before);
    else {
      const stretch = Math.floor((now.timeUs - this.startUs) / this.stretchUs);
      const known = this.stretches[stretch];
      if (known === undefined || now.total > known.total) this.stretches[stretch] = keep(now, known ?? null);
    }
    for (let i = 0; i < max.length; i += 1) {
      const bytes = now.bytes[i]!;
      if (bytes > max[i]!) {
        max[i] = bytes;
        this.maxTimeUs[i] = now.timeUs;
      }
      if (bytes < min[i]!) min[i] = bytes;
    }
  }
}

function blank(): State {
  return { ordinal: -1, timeUs: Number.NaN, total: 0, bytes: new Float64Array(ENUMS.profiler_category.length) };
}

/** A copy of `state`, in the place of one that is not needed any more. */
function keep(state: State, into: State | null): State {
  const copy = into ?? blank();
  copy.ordinal = state.ordinal;
  copy.timeUs = state.timeUs;
  copy.total = state.total;
  copy.bytes.set(state.bytes);
  return copy;
}
