/** `mbforensics diagnose`: one verdict for every device that ran out, or the statement that none did. */

import { surpriseOf } from '../../derive/estimate/residual/surprise-of.js';
import { readTheory } from '../../derive/estimate/residual/theory.js';
import { launchOoms, readRunState } from '../../derive/measure/run-state.js';
import { counterfactual } from '../../derive/replay/counterfactual.js';
import { caughtInLaunch } from '../../derive/run/launch-ends.js';
import { type LogFacts, readLogFacts } from '../../derive/run/log-facts.js';
import { listSnapshots } from '../../derive/run/names/snapshots.js';
import { mostPinned } from '../../derive/state/pinned-host-memory.js';
import { commandsOf, orderVerdicts, relateVerdicts } from '../../derive/verdict/arrange-verdicts.js';
import { judgeFailures } from '../../derive/verdict/combine.js';
import { readPlaces, withPlaces } from '../../derive/verdict/evidence-places.js';
import { readFailures } from '../../derive/verdict/failures.js';
import { allowedSteps, judgeHint, quotesHint } from '../../derive/verdict/hint.js';
import { judgeMessage } from '../../derive/verdict/judge-message.js';
import { type Deeper, judgeTraced } from '../../derive/verdict/judge-traced.js';
import { readMemoryLines } from '../../derive/verdict/memory-lines.js';
import { noOom } from '../../derive/verdict/no-oom.js';
import { peakOfLines, peakOfTrace } from '../../derive/verdict/peak-accounting.js';
import { profiledRefusals } from '../../derive/verdict/profiled-refusals.js';
import { describeRanks } from '../../derive/verdict/ranks.js';
import { MOST_COMPARED_SNAPSHOTS, type SnapshotOom } from '../../derive/verdict/traced-ooms.js';
import { pushAll } from '../../model/lists.js';
import type { Diagnosis, Failure } from '../../model/results/common.js';
import type { CaughtOoms, RunState } from '../../model/run-state.js';
import type { Verdict } from '../../model/verdict.js';
import type { Store } from '../../store/store.js';

export interface DiagnoseOptions {
  /** The device's total where the user knows it and no message prints it. */
  readonly capacityBytes?: number | undefined;
  /** Whether to add the output of `advise`. */
  readonly advises?: boolean;
  readonly failedSources?: readonly { readonly path: string; readonly error: Failure }[] | undefined;
}

export async function diagnose(
  store: Store,
  runId: number,
  run: string,
  options: DiagnoseOptions = {},
): Promise<Diagnosis> {
  const { capacityBytes } = options;
  const log = await readLogFacts(store, runId);
  const { facts: about, layout, layoutOrigin, ends, judged: judgedLaunch } = log;
  const lines = await readMemoryLines(store, runId);
  const runFailures = await readFailures(store, runId, capacityBytes);
  const { failures, traced, first, total } = runFailures;
  // All rules are loaded at the first OOM: other questions do not need them.
  const knowledge = async () => import('./advise-run.js');
  const constraint = runFailures.ranOut ? await (await knowledge()).constraintOfRun(store, runId) : null;
  const snapshots = await listSnapshots(store, { runId });
  // Answers that read the whole trace again: of many ranks only the first are worth it.
  const deeper: Deeper[] = [];
  const theory = traced.length === 0 ? null : await readTheory(store, runId);
  for (const oom of traced.slice(0, MOST_COMPARED_SNAPSHOTS)) {
    const snapshot = snapshots.find(({ snapshot_id: id }) => id === oom.snapshotId)!;
    deeper.push({
      surprise: await surpriseOf(store, theory!, snapshot, oom.device),
      counterfactual: await counterfactual(store, oom, oom.entries),
    });
  }
  const judged = await judgeFailures(
    store,
    runId,
    deeper.map(({ counterfactual: answer }) => answer),
  );
  const verdicts: Verdict[] = [];
  for (const [i, failure] of failures.entries()) {
    const { facts, oom } = failure;
    if (oom === null && !runFailures.ranOut) continue;
    const isCompared = oom !== null && i < MOST_COMPARED_SNAPSHOTS;
    const peak = isCompared
      ? await peakOfTrace(store, { ...oom, hasTrace: true }, facts.total)
      : peakOfLines(lines, oom === null ? failure.message.rank : oom.rank, facts.total);
    const verdict =
      oom === null
        ? judgeMessage(failure, judged[i]!, (evidence) => runFailures.context!.addHostEvidence(evidence))
        : await judgeTraced(store, failure, judged[i]!, deeper[i] ?? null);
    verdicts.push({
      ...verdict,
      accounting_peak: peak,
      steps: allowedSteps(verdict.steps, constraint),
      // Lines whose kind decides never carry the allocator's figures, and end without PyTorch's advice.
      hint:
        (oom === null && judged[i]!.tests.length === 0) || (failure.message && !quotesHint(failure.message.text))
          ? null
          : judgeHint(facts, verdict, constraint, failure.message?.text ?? null),
    });
  }
  const related = relateVerdicts(verdicts, judged);
  if (related.length === 0) {
    // Where no text names a failure, a profile of the driver may.
    const refused = first === null ? await profiledRefusals(store, runId) : [];
    pushAll(
      related,
      refused.length > 0
        ? refused
        : await noOom(store, runId, runFailures, judged[0], capacityBytes, total ?? null, lines),
    );
  }
  const places = await readPlaces(store, runId);
  const hasMemoryLines = lines.rows.length > 0;
  const ordered = orderVerdicts(related, first);
  const runState = await readRunState(store, runId, capacityBytes ?? null);
  return {
    run,
    verdicts: ordered.map((verdict, i) => {
      const verdictWithPlaces = withPlaces(verdict, places);
      const handle = snapshots.find((row) =>
        verdictWithPlaces.evidence.some((entry) => entry.lines?.path === row.display_path),
      );
      return {
        ...verdictWithPlaces,
        commands: commandsOf(verdictWithPlaces, i + 1, handle?.handle ?? null, snapshots.length, hasMemoryLines),
      };
    }),
    first_failure: first,
    launches: ends,
    judged_launch: judgedLaunch,
    launch_ooms: launchOoms(log),
    run_state: runState,
    caught_ooms: (await caughtInTrace(store, traced, ordered[0])) ?? caughtInLog(log, runState),
    ranks: await describeRanks(store, runId, {
      traced,
      lines: lines.rows,
      layout,
      layoutOrigin,
      worldSize: about.world_size,
      first,
    }),
    read_formats: ordered.length > 0 ? [] : await readFormats(store, runId),
    failed_sources: options.failedSources ?? [],
    advice:
      options.advises === true
        ? await (await knowledge()).shortAdvice(store, runId, run, ordered, capacityBytes)
        : null,
    pinned_host_memory: await mostPinned(store, { runId }),
  };
}

/** Of the device with the first verdict. */
async function caughtInTrace(
  store: Store,
  traced: readonly SnapshotOom[],
  verdict: Verdict | undefined,
): Promise<CaughtOoms | null> {
  const oom = traced.find(({ rank, device }) => rank === verdict?.rank && device === verdict.device);
  if (oom === undefined) return null;
  const { snapshotId: snapshot_id, device } = oom;
  const [row] = await store.all('verdict.caught', { snapshot_id, device });
  if (row === undefined) return null;
  return {
    count: row.ooms,
    from: 'trace',
    to_iteration: null,
    steps_after: row.steps_after,
    includes_last: row.includes_last,
    is_certain: true,
  };
}

function caughtInLog({ incidents, ends, judged }: LogFacts, state: RunState | null): CaughtOoms | null {
  const ofLaunch = incidents.filter(({ attempt }) => (attempt ?? 1) === judged);
  const ending = ends[judged - 1]?.ending;
  const caught = caughtInLaunch(ofLaunch, ending === 'finished');
  if (caught === null) return null;
  const includes_last = !caught.is_certain || ending !== 'oom';
  return { ...caught, from: 'log', to_iteration: state?.last_iteration ?? null, steps_after: null, includes_last };
}

async function readFormats(store: Store, runId: number): Promise<string[]> {
  const sources = await store.all('store.sources', { run_id: runId });
  const formats = sources.filter(({ status }) => status === 'ingested').flatMap(({ format }) => format ?? []);
  return [...new Set(formats)].sort();
}
