/** The entries of traces at which a training step is over. */
import { lastStepStart, stepEnds } from '../../../attribution/blocks/life-classes.js';
import type { PhaseWindows } from '../../../attribution/blocks/phase-windows.js';
import type { Store } from '../../../store/store.js';
import type { DeviceHistory } from '../../trace/device-history.js';
import { stepsOf } from '../../trace/steps.js';

export interface TraceWithPhases {
  readonly history: DeviceHistory;
  readonly lastEntry: number;
  readonly phases: PhaseWindows;
}

/** Of each trace, ascending. */
export async function stepBoundaries(store: Store, traces: readonly TraceWithPhases[]): Promise<Float64Array[]> {
  const marked = await stepsOf(
    store,
    traces.map(({ history }) => history),
  );
  const annotated = marked.map(({ steps }) =>
    steps.filter(({ partial }) => partial === null || partial === 'start').map((step) => step.last_seq),
  );
  const starts = traces.map(({ phases, lastEntry }, i) =>
    annotated[i]!.length === 0 ? lastStepStart(phases, lastEntry) : undefined,
  );
  const open = traces.filter((_, i) => starts[i] !== undefined);
  const ooms = await store.allOf(
    'snapshot.ooms',
    open.map(({ history }) => ({ snapshot_id: history.trace.snapshotId })),
  );
  const oomsOf = new Map(open.map((trace, i) => [trace, ooms[i]!]));
  return traces.map((trace, i) => {
    const isFailed = (oomsOf.get(trace) ?? []).some(
      (row) => row.device === trace.history.trace.device && row.seq >= starts[i]!,
    );
    return stepEnds(annotated[i]!, trace.phases, isFailed);
  });
}
