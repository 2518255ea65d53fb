/** Starts and ends of annotations, made into ranges. */
import type { RowOf } from '../model/results/row-of.js';

export interface AnnotationRow
  extends Pick<RowOf<'timeline.annotations'>, 'stage' | 'name' | 'device' | 'time_us' | 'last_seq'> {}

/** Null: that end was not recorded; of a sequence number also: no entry is so early. */
export interface AnnotatedRange {
  readonly name: string;
  /** From its start, or from its end where the start is missing. */
  readonly device: number | null;
  /** From its end: a thread may set its device within. */
  readonly endDevice: number | null;
  readonly startUs: number | null;
  readonly endUs: number | null;
  /** Last entry before the range. */
  readonly startSeq: number | null;
  /** Last entry of the range. */
  readonly endSeq: number | null;
}

/**
 * Pairs `rows`, which come in order of time, as a stack for each name and device; a start whose device changed before
 * its end takes an end of the same name that is otherwise unpaired. An unpaired row (the ring of annotations overwrote
 * the other, or the dump came first) stays a range open on that side. Ordered by start, where that is missing by end;
 * of two that start together, the longer first.
 */
export function pairAnnotations(rows: readonly AnnotationRow[]): AnnotatedRange[] {
  const ranges: AnnotatedRange[] = [];
  const open = new Map<string, AnnotationRow[]>();
  for (const row of rows) {
    const stack = open.get(row.name) ?? [];
    open.set(row.name, stack);
    if (row.stage === 'START') {
      stack.push(row);
      continue;
    }
    const startOnDevice = stack.findLastIndex((start) => start.device === row.device);
    const at = startOnDevice >= 0 ? startOnDevice : stack.length - 1;
    ranges.push(rangeOf(at < 0 ? undefined : stack.splice(at, 1)[0], row));
  }
  for (const stack of open.values()) for (const start of stack) ranges.push(rangeOf(start, undefined));
  const at = (range: AnnotatedRange): number => range.startUs ?? range.endUs!;
  return ranges.sort((a, b) => at(a) - at(b) || (b.endUs ?? 0) - (a.endUs ?? 0));
}

function rangeOf(start: AnnotationRow | undefined, end: AnnotationRow | undefined): AnnotatedRange {
  const any = (start ?? end)!;
  return {
    name: any.name,
    device: any.device,
    endDevice: (end ?? any).device,
    startUs: start?.time_us ?? null,
    endUs: end?.time_us ?? null,
    startSeq: start?.last_seq ?? null,
    endSeq: end?.last_seq ?? null,
  };
}
