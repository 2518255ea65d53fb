/** What `diagnose` prints of a run: one verdict for every device that ran out, or the statement that none did. */

import { minOf, pushAll } from '../model/lists.js';
import type { CaughtOoms, RunState } from '../model/run-state.js';
import type { Verdict } from '../model/verdict.js';
import type { Store } from '../store/store.js';
import { readCircumstances } from './circumstances.js';
import { insertDiagnosis, type StoredDiagnosis } from './diagnosis-rows.js';
import { surpriseOf } from './estimate/residual/surprise-of.js';
import { readTheory } from './estimate/residual/theory.js';
import { expandableConstraint } from './lint/expandable-constraint.js';
import { launchOoms, readRunState } from './measure/run-state.js';
import { caughtInLaunch } from './run/launch-ends.js';
import { type LogFacts, readLogFacts } from './run/log-facts.js';
import { listSnapshots } from './run/names/snapshots.js';
import { factsOfRun } from './settings/facts-of-run.js';
import { mostPinned } from './state/pinned-host-memory.js';
import { commandsOf, orderVerdicts, relateVerdicts } from './verdict/arrange-verdicts.js';
import { type Judged, readJudged } from './verdict/combine.js';
import { readPlaces, withPlaces } from './verdict/evidence-places.js';
import { MOST_COMPARED_SNAPSHOTS, type TracedOom } from './verdict/facts.js';
import { readFailures } from './verdict/failures.js';
import { allowedSteps, judgeHint, quotesHint } from './verdict/hint.js';
import { judgeMessage } from './verdict/judge-message.js';
import { beforeOom, type Deeper, judgeTraced, largestSites, liveComponents } from './verdict/judge-traced.js';
import { readMemoryLines } from './verdict/memory-lines.js';
import { noOom } from './verdict/no-oom.js';
import { peakOfLines, peaksOfTraces } from './verdict/peak-accounting.js';
import { profiledRefusals } from './verdict/profiled-refusals.js';
import { describeRanks } from './verdict/ranks.js';
import { readReplays } from './verdict/write-replays.js';

/** Replaces what is concluded about a run: its verdicts with their evidence, and what else a reader wants to know. */
export async function writeDiagnosis(store: Store, runId: number, capacityBytes?: number): Promise<void> {
  const { diagnosis, failures } = await conclude(store, runId, capacityBytes);
  const circumstances = await readCircumstances(store, runId, diagnosis.verdicts[0], capacityBytes ?? null);
  await store.transaction(() => insertDiagnosis(store, runId, diagnosis, failures, circumstances));
}

interface Conclusion {
  readonly diagnosis: StoredDiagnosis;
  /** The failure that each verdict is about; undefined where none was judged. */
  readonly failures: readonly (Judged | undefined)[];
}

async function conclude(store: Store, runId: number, capacityBytes: number | undefined): Promise<Conclusion> {
  const log = await readLogFacts(store, runId);
  const { facts: about, layout, layoutOrigin, ends, judged: judgedLaunch } = log;
  const lines = await readMemoryLines(store, runId);
  const runFailures = await readFailures(store, runId);
  const { failures, traced, first, total } = runFailures;
  const constraint = runFailures.ranOut ? expandableConstraint(await factsOfRun(store, runId)) : null;
  const snapshots = await listSnapshots(store, { runId });
  const replays = await readReplays(store, runId);
  // Answers that read the whole trace again: of many ranks only the first are worth it.
  const deeper: Deeper[] = [];
  const compared = traced.slice(0, MOST_COMPARED_SNAPSHOTS);
  const theory = traced.length === 0 ? null : await readTheory(store, runId);
  const components = await liveComponents(
    store,
    compared.map((oom) => ({ ...beforeOom(oom), moment: 'oom' })),
  );
  for (const [i, oom] of compared.entries()) {
    const snapshot = snapshots.find(({ snapshot_id: id }) => id === oom.snapshot_id)!;
    deeper.push({
      surprise: await surpriseOf(store, theory!, snapshot, oom.device),
      counterfactual: replays.get(i) ?? null,
      components: components[i]!,
    });
  }
  const peaks = await peaksOfTraces(
    store,
    compared.map((oom, i) => ({ ...oom, has_trace: true, total: failures[i]!.facts.total })),
  );
  const sites = await largestSites(store, traced.map(beforeOom));
  const judged = await readJudged(store, runId);
  const verdicts: Verdict[] = [];
  for (const [i, failure] of failures.entries()) {
    const { facts, oom } = failure;
    if (oom === null && !runFailures.ranOut) continue;
    const verdict =
      oom === null
        ? judgeMessage(failure, judged[i]!, (evidence) => runFailures.context!.addHostEvidence(evidence))
        : judgeTraced(failure, oom, judged[i]!, sites[i]!, deeper[i] ?? null);
    verdicts.push({
      ...verdict,
      accounting_peak: peaks[i]?.account ?? peakOfLines(lines, facts.rank, facts.total),
      steps: allowedSteps(verdict.steps, constraint),
      // Lines whose kind decides never carry the allocator's figures, and end without PyTorch's advice.
      hint:
        (oom === null && judged[i]!.tests.length === 0) || (facts.text !== null && !quotesHint(facts.text))
          ? null
          : judgeHint(facts, verdict, constraint, facts.text),
    });
  }
  const related = relateVerdicts(verdicts, judged);
  const judgedOf = new Map(related.map((verdict, i) => [verdict, judged[i]]));
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
  const placeOf = new Map(snapshots.map(({ display_path: path }, i) => [path, i]).reverse() as [string, number][]);
  const ordered = orderVerdicts(related, first);
  const runState = await readRunState(store, runId, capacityBytes ?? null);
  return {
    failures: ordered.map((verdict) => judgedOf.get(verdict)),
    diagnosis: {
      verdicts: ordered.map((verdict, i) => {
        const verdictWithPlaces = withPlaces(verdict, places);
        const shown = verdictWithPlaces.evidence.flatMap((entry) => placeOf.get(entry.lines?.path ?? '') ?? []);
        const handle = snapshots[minOf(shown)];
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
        attempt: judgedLaunch,
        layout,
        layoutOrigin,
        worldSize: about.world_size,
        first,
      }),
      read_formats: ordered.length > 0 ? [] : await readFormats(store, runId),
      pinned_host_memory: await mostPinned(store, runId),
    },
  };
}

/** Of the device with the first verdict. */
async function caughtInTrace(
  store: Store,
  traced: readonly TracedOom[],
  verdict: Verdict | undefined,
): Promise<CaughtOoms | null> {
  const oom = traced.find(({ rank, device }) => rank === verdict?.rank && device === verdict.device);
  if (oom === undefined) return null;
  const { snapshot_id, device } = oom;
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
