/** record_function scopes of a snapshot: which one was innermost at a time, and where steps begin and end. */
import { countUpTo } from '../../attribution/count-up-to.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';

/**
 * One start or end of a scope, in the order recorded. `device`: the thread's current one; null where the file does not
 * contain it.
 */
export type AnnotationMark = Pick<QueryRow<'peak.annotations'>, 'stage' | 'name' | 'device' | 'time_us'>;

export async function readAnnotations(store: Store, snapshotId: number): Promise<readonly AnnotationMark[]> {
  return store.all('peak.annotations', { snapshot_id: snapshotId });
}

/**
 * From `times[i]` (µs) on, until the next, `stages[i]` is the innermost open scope; null = none. Ascending; before the
 * first nothing is known.
 */
export interface StageTimeline {
  readonly times: Float64Array;
  readonly stages: readonly (string | null)[];
}

const marksOf = (marks: readonly AnnotationMark[], device: number): readonly (AnnotationMark & { time_us: number })[] =>
  marks
    .filter((mark): mark is AnnotationMark & { time_us: number } => mark.time_us !== null)
    .filter((mark) => mark.device === null || mark.device === device)
    // Stable: marks of one microsecond stay in the order recorded.
    .sort((a, b) => a.time_us - b.time_us);

/**
 * Pairs START and END stack-wise by name on one device. An END without its START (the annotations' own ring lost it, or
 * recording began inside) stands for a scope that was open from the beginning, outside those that end before it; a
 * START without an END is open to the end of the trace. Scopes of several threads may overlap: innermost is the open
 * one that started last.
 */
export function stageTimeline(marks: readonly AnnotationMark[], device: number): StageTimeline {
  const own = marksOf(marks, device);
  const depth = new Map<string, number>();
  const open: string[] = [];
  for (const { stage, name } of own) {
    const level = depth.get(name) ?? 0;
    if (stage === 'START') depth.set(name, level + 1);
    else if (stage === 'END') {
      if (level === 0) open.unshift(name);
      else depth.set(name, level - 1);
    }
  }
  const times: number[] = [Number.NEGATIVE_INFINITY];
  const stages: (string | null)[] = [open.at(-1) ?? null];
  for (const { stage, name, time_us } of own) {
    if (stage === 'START') open.push(name);
    else if (stage === 'END') {
      const at = open.lastIndexOf(name);
      if (at >= 0) open.splice(at, 1);
    } else continue;
    const innermost = open.at(-1) ?? null;
    if (times.at(-1) === time_us) stages[stages.length - 1] = innermost;
    else {
      times.push(time_us);
      stages.push(innermost);
    }
  }
  return { times: Float64Array.from(times), stages };
}

/** The innermost open scope at a time (µs); marks of that very microsecond count as passed, as in mosaic. */
export function stageAt(timeline: StageTimeline, timeUs: number): string | null {
  const index = countUpTo(timeline.times, timeUs) - 1;
  return index < 0 ? null : timeline.stages[index]!;
}
