/**
 * What traces show of the steps before their OOMs: their ends and peaks, what each leaves over, and the activity. Each
 * statement is about all OOMs.
 */
import { pick } from '../../model/pick.js';
import { MIB } from '../../model/units.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';
import type { SqlValue } from '../../store/to-duckdb.js';
import { type Activity, activityOf } from '../stacks/activity.js';
import { weightsActivity } from '../stacks/failing-activity.js';
import { readStacks } from '../stacks/read-stacks.js';
import { type PassedSpan, readStepClocks } from './step-clock.js';

/** Copies below this size match by accident: norms, scalars, small biases. */
const LEAST_COPY_BYTES = MIB;

/** Rows of `judged_trace`, `oom_step` and `oom_keeping_site`. */
export interface TraceRows {
  readonly trace: Readonly<Record<string, SqlValue>>;
  readonly steps: readonly Readonly<Record<string, SqlValue>>[];
  readonly keeping: readonly Readonly<Record<string, SqlValue>>[];
}

/** What is asked about an OOM: the entry, and the steps before it, oldest first. */
export interface AskedOom {
  readonly snapshot_id: number;
  readonly device: number;
  readonly seq: number;
  /** The trace misses nothing before it. */
  readonly starts_empty: boolean;
  readonly spans: readonly PassedSpan[];
}

/** Of each OOM. */
export async function readTraceFacts(
  store: Store,
  ooms: readonly QueryRow<'verdict.traced_ooms'>[],
): Promise<TraceRows[]> {
  const clocks = await readStepClocks(store, ooms);
  const asked = ooms.map((oom, i) => ({ ...oom, spans: clocks[i]?.spans ?? [] }));
  const live = await store.allOf(
    'verdict.live_stacks',
    asked.map((oom) => ({ ...beforeOom(oom), from_seq: failingFrom(oom) })),
  );
  const repeated = await store.allOf('verdict.repeated_bytes', asked.map(beforeOom));
  const stacks = await readStacks(store, [
    ...new Set(live.flatMap((rows) => rows.map(({ stack_id: id }) => id ?? -1))),
    ...ooms.map(({ stack_id: id }) => id ?? -1),
  ]);
  const activities = new Map([...stacks].map(([id, frames]) => [id, activityOf(frames)]));
  const activityAt = (id: number | null) => (id === null ? null : (activities.get(id) ?? null));
  const ofActivity = ooms.map(({ stack_id }, i) => {
    const activity = activityAt(stack_id);
    return activity === null ? [] : live[i]!.filter(({ stack_id: id }) => activityAt(id) === activity);
  });
  const isCheckpoint = ooms.map(({ stack_id }) => CHECKPOINT.has(activityAt(stack_id)));
  const copied = await copiedBytes(
    store,
    asked.map((oom, i) => ({ oom, stacks: isCheckpoint[i]! ? ofActivity[i]! : [] })),
  );
  const passed = await passedSteps(store, asked);
  const keeping = await keepingSites(store, asked);
  return ooms.map((oom, i) => {
    const key = { run_id: oom.run_id, failure: oom.failure };
    const clock = clocks[i]!;
    const { stack_id: stackId } = oom;
    return {
      trace: {
        ...key,
        steps_by: clock?.by ?? null,
        is_whole: oom.starts_empty,
        has_earlier_states: live[i]!.some(
          (row) => row.older_blocks > 0 && activityAt(row.stack_id) === 'optimizer_init',
        ),
        repeated_bytes: repeated[i]![0]?.bytes ?? 0,
        activity: activityAt(stackId) ?? weightsActivity((stackId === null ? undefined : stacks.get(stackId)) ?? []),
        activity_bytes: ofActivity[i]!.reduce(
          (sum, { bytes, step_bytes }) => sum + (isCheckpoint[i]! || clock === null ? bytes : step_bytes),
          0,
        ),
        copied_bytes: copied[i]!,
        ...passed[i]!.projection,
      },
      steps: passed[i]!.steps.map((step, nth) => ({ ...key, step: nth, ...step })),
      keeping: keeping[i]!.map((site) => ({ ...key, ...site })),
    };
  });
}

const CHECKPOINT: ReadonlySet<string | null> = new Set<Activity>(['checkpoint_save', 'checkpoint_load']);

const beforeOom = ({ snapshot_id, device, seq }: AskedOom) => ({ snapshot_id, device, at_seq: seq - 1 });

/** The first entry of the failing step. */
const failingFrom = ({ spans }: AskedOom): number => (spans.at(-1)?.lastSeq ?? -1) + 1;

/** Spans as parameters of queries. */
const rangesOf = ({ spans, starts_empty }: AskedOom) => ({
  firsts: spans.map(({ firstSeq }) => firstSeq).join(','),
  lasts: spans.map(({ lastSeq }) => lastSeq).join(','),
  wholes: spans.map(({ whole }) => Number(whole)).join(','),
  starts_empty,
});

/** The answer to each of those that are asked about; of the others, `none`. */
async function ofSome<Asked, Answer>(
  all: readonly Asked[],
  isAsked: (one: Asked) => boolean,
  ask: (some: readonly Asked[]) => Promise<readonly Answer[]>,
  none: Answer,
): Promise<Answer[]> {
  const some = all.filter(isAsked);
  const answers = await ask(some);
  const answerOf = new Map(some.map((one, i) => [one, answers[i]!]));
  return all.map((one) => answerOf.get(one) ?? none);
}

/** Second copies, made for a checkpoint. */
async function copiedBytes(
  store: Store,
  asked: readonly { readonly oom: AskedOom; readonly stacks: readonly QueryRow<'verdict.live_stacks'>[] }[],
): Promise<number[]> {
  const ask = (some: typeof asked) =>
    store.allOf(
      'verdict.copied_bytes',
      some.map(({ oom, stacks }) => ({
        ...beforeOom(oom),
        stack_ids: stacks.map(({ stack_id: id }) => id).join(','),
        least_bytes: LEAST_COPY_BYTES,
      })),
    );
  const rows = await ofSome(asked, ({ stacks }) => stacks.length > 0, ask, []);
  return rows.map(([row]) => row?.bytes ?? 0);
}

/** The steps before each OOM, and the peak that a step like the last whole one would have reached. */
export async function passedSteps(store: Store, ooms: readonly AskedOom[]) {
  const passed = await ofSome(
    ooms,
    ({ spans }) => spans.length > 0,
    (some) =>
      store.allOf(
        'verdict.passed_steps',
        some.map((oom) => {
          const { snapshot_id, device, seq } = oom;
          return { snapshot_id, device, ...rangesOf(oom), before_seq: seq };
        }),
      ),
    [],
  );
  const projected = ooms.map((oom, i) => ({ oom, like: passed[i]![0] }));
  const alike = await ofSome(
    projected,
    ({ like }) => like?.first_seq != null && like.last_seq !== null,
    (some) =>
      store.allOf(
        'verdict.alike_share',
        some.map(({ oom, like }) => ({
          snapshot_id: oom.snapshot_id,
          device: oom.device,
          from_seq: failingFrom(oom),
          oom_seq: oom.seq,
          first_seq: like!.first_seq!,
          last_seq: like!.last_seq!,
        })),
      ),
    [],
  );
  return passed.map((steps, i) => ({
    steps: steps.map((step) => pick(step, ['is_settled', 'peak_bytes', 'end_bytes'])),
    projection: {
      projected_bytes: steps[0]?.projected_bytes ?? null,
      alike_share: alike[i]![0]?.alike_share ?? null,
    },
  }));
}

/** Of each OOM the sites that left something over in nearly every settled step, about as much each; see the query. */
export function keepingSites(
  store: Store,
  ooms: readonly AskedOom[],
): Promise<readonly QueryRow<'verdict.keeping_sites'>[][]> {
  return ofSome(
    ooms,
    ({ spans }) => spans.length > 0,
    (some) =>
      store.allOf(
        'verdict.keeping_sites',
        some.map((oom) => ({ ...beforeOom(oom), ...rangesOf(oom) })),
      ),
    [],
  );
}
