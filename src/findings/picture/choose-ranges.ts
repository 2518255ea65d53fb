/** Where a page has finer columns than those of the whole trace: where readers look first. Pure. */
import type { LevelRange } from '../../model/picture/levels.js';
import type { StepRange } from '../../model/results/timeline.js';

export interface NamedRange extends LevelRange {
  readonly name: string;
}

export interface TraceShape {
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly oomSeqs: readonly number[];
  readonly peakSeq: number;
  readonly steps: readonly Pick<StepRange, 'first_seq' | 'last_seq' | 'partial' | 'step'>[];
}

/** Columns of a level: one for each pixel of a wide screen, and some more. */
export const LEVEL_COLUMNS = 2048;
/** Shares of the trace around a moment, each about a third of the one before. */
const SHARES = [0.32, 0.1, 0.03, 0.01, 0.003, 0.001];
/** Failures with levels of their own. */
const MOST_OOMS = 2;

export const wholeRange = ({ firstSeq, lastSeq }: Pick<TraceShape, 'firstSeq' | 'lastSeq'>): NamedRange => ({
  name: 'whole trace',
  from: firstSeq,
  to: lastSeq,
  columns: Math.min(LEVEL_COLUMNS, lastSeq - firstSeq + 1),
});

/** {@link wholeRange} first. No range has fewer entries than columns. */
export function chooseRanges(shape: TraceShape): NamedRange[] {
  const { firstSeq, lastSeq, oomSeqs, peakSeq, steps } = shape;
  const entries = lastSeq - firstSeq + 1;
  const ranges: NamedRange[] = [wholeRange(shape)];
  const add = (name: string, from: number, to: number): void => {
    const first = Math.max(firstSeq, Math.floor(from));
    const last = Math.min(lastSeq, Math.ceil(to));
    if (last < first || ranges.some((range) => range.from === first && range.to === last)) return;
    ranges.push({ name, from: first, to: last, columns: Math.min(LEVEL_COLUMNS, last - first + 1) });
  };
  if (entries <= LEVEL_COLUMNS) return ranges;
  for (const seq of oomSeqs.slice(0, MOST_OOMS))
    for (const share of SHARES) add('before the OOM', seq - share * entries, seq + (share * entries) / 8);
  for (const share of SHARES) add('at the peak', peakSeq - (share * entries) / 2, peakSeq + (share * entries) / 2);
  const wholeSteps = steps.filter((step) => step.partial === null);
  const middle = wholeSteps[Math.floor(wholeSteps.length / 2)];
  for (const step of [middle, wholeSteps.at(-1)])
    if (step !== undefined) add(`step ${step.step}`, step.first_seq, step.last_seq);
  const [first] = steps;
  if (first !== undefined && first.first_seq > firstSeq) add('before the first step', firstSeq, first.first_seq - 1);
  // The ends of the narrowest ranges are exact to the entry; still narrower ones would repeat them.
  return ranges.filter((range, i) => i === 0 || !ranges.slice(0, i).some((other) => isExactIn(range, other)));
}

/** Whether `other` has a column for each entry of `range` already. */
const isExactIn = (range: LevelRange, other: LevelRange): boolean =>
  other.columns === other.to - other.from + 1 && other.from <= range.from && other.to >= range.to;
