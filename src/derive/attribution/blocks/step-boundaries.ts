/** The entries of traces at which a training step is over. */
import type { PhaseWindows } from '../../../attribution/blocks/phase-windows.js';
import type { Store } from '../../../store/store.js';
import type { DeviceHistory } from '../../trace/device-history.js';
import { stepsOf } from '../../trace/steps.js';

export interface TraceWithPhases {
  readonly history: DeviceHistory;
  readonly lastEntry: number;
  readonly phases: PhaseWindows;
}

/**
 * Of each trace, ascending. A step is over where its annotation ends; without annotations, after each run of
 * allocations of the optimizer's step.
 */
export async function stepBoundaries(store: Store, traces: readonly TraceWithPhases[]): Promise<Float64Array[]> {
  const marked = await stepsOf(
    store,
    traces.map(({ history }) => history),
  );
  const annotated = marked.map(({ steps }) =>
    steps.filter(({ partial }) => partial === null || partial === 'start').map((step) => step.last_seq),
  );
  const open = traces.filter((trace, i) => annotated[i]!.length === 0 && endsInStep(trace));
  const ooms = await store.allOf(
    'snapshot.ooms',
    open.map(({ history }) => ({ snapshot_id: history.trace.snapshotId })),
  );
  // A step that ran out of memory was not over.
  const failed = new Set(
    open.filter(({ history, phases }, i) => {
      const { firstSeq } = phases.spansOf('optimizer_step').at(-1)!;
      return ooms[i]!.some((row) => row.device === history.trace.device && row.seq >= firstSeq);
    }),
  );
  return traces.map((trace, i) => {
    if (annotated[i]!.length > 0) return Float64Array.from(annotated[i]!);
    const ends = trace.phases.spansOf('optimizer_step').map(({ lastSeq }) => lastSeq);
    return Float64Array.from(failed.has(trace) ? ends.slice(0, -1) : ends);
  });
}

function endsInStep({ phases, lastEntry }: TraceWithPhases): boolean {
  const last = phases.spansOf('optimizer_step').at(-1);
  return last !== undefined && last.lastSeq >= lastEntry;
}
