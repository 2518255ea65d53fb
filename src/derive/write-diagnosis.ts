/** What `diagnose` prints of a run: one verdict for every device that ran out, or the statement that none did. */

import { minOf, pushAll } from '../model/lists.js';
import { pick } from '../model/pick.js';
import type { CaughtOoms, RunState } from '../model/run-state.js';
import type { Verdict } from '../model/verdict.js';
import type { Store } from '../store/store.js';
import { readCircumstances } from './circumstances.js';
import { insertDiagnosis, type StoredDiagnosis } from './diagnosis-rows.js';
import { surpriseOf } from './estimate/residual/surprise-of.js';
import { readTheory } from './estimate/residual/theory.js';
import { expandableConstraint } from './lint/expandable-constraint.js';
import { launchOoms, readRunState } from './measure/run-state.js';
import { countDropped } from './run/incidents.js';
import { caughtInLaunch } from './run/launch-ends.js';
import { type LogFacts, readLogFacts } from './run/log-facts.js';
import { listSnapshots } from './run/names/snapshots.js';
import { factsOfRun } from './settings/facts-of-run.js';
import { mostPinned } from './state/pinned-host-memory.js';
import { commandsOf, orderVerdicts, withContradiction } from './verdict/arrange-verdicts.js';
import { type Arranged, type Judged, readArranged } from './verdict/combine.js';
import { readPlaces, withPlaces } from './verdict/evidence-places.js';
import { MOST_COMPARED_SNAPSHOTS, type TracedOom } from './verdict/facts.js';
import { type RunFailures, readFailures } from './verdict/failures.js';
import { allowedSteps, judgeHint, quotesHint } from './verdict/hint.js';
import { judgeMessage } from './verdict/judge-message.js';
import { beforeOom, type Deeper, judgeTraced, largestSites, liveComponents } from './verdict/judge-traced.js';
import { noOom } from './verdict/no-oom.js';
import { peakOfLines, peaksOfTraces } from './verdict/peak-accounting.js';
import { profiledRefusals } from './verdict/profiled-refusals.js';
import { describeRanks } from './verdict/ranks.js';
import { readReplays } from './verdict/write-replays.js';

/** Verdicts that have evidence of their own, however alike they are: more than a screen or a page lists one by one. */
const FEWEST_DESCRIBED = 16;
/** To describe one takes a millisecond. */
const MOST_KINDS = 256;

/** Replaces what is concluded about a run: its verdicts with their evidence, and what else a reader wants to know. */
export async function writeDiagnosis(store: Store, runId: number, capacityBytes?: number): Promise<void> {
  const how = { fewest: FEWEST_DESCRIBED, compared: MOST_COMPARED_SNAPSHOTS, most: MOST_KINDS };
  await store.transaction(async () => {
    await store.run('DELETE FROM verdict WHERE run_id = $run_id', { run_id: runId });
    await store.insertQuery('verdict', 'verdict.arranged', { run_id: runId, ...how });
  });
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
  const arranged = await readArranged(store, runId);
  const runFailures = await readFailures(store, runId, arranged);
  const { traced, first, total, lines } = runFailures;
  const snapshots = await listSnapshots(store, { runId });
  const judged = runFailures.ranOut ? arranged : [];
  const verdicts: Verdict[] = await describeFailures(store, runId, runFailures, judged, snapshots);
  if (verdicts.length === 0) {
    // Where no text names a failure, a profile of the driver may.
    const refused = first === null ? await profiledRefusals(store, runId) : [];
    const described =
      refused.length > 0
        ? refused
        : await noOom(store, runId, runFailures, arranged[0], capacityBytes, total ?? null, snapshots);
    pushAll(verdicts, orderVerdicts(described, first));
  }
  const places = await readPlaces(store, runId);
  const placeOf = new Map(snapshots.map(({ display_path: path }, i) => [path, i]).reverse() as [string, number][]);
  const runState = await readRunState(store, runId, capacityBytes ?? null);
  return {
    failures: verdicts.map((_, i) => judged[i]),
    diagnosis: {
      verdicts: verdicts.map((verdict, i) => {
        const verdictWithPlaces = withPlaces(verdict, places);
        const shown = verdictWithPlaces.evidence.flatMap((entry) => placeOf.get(entry.lines?.path ?? '') ?? []);
        const handle = snapshots[minOf(shown)];
        return {
          ...verdictWithPlaces,
          commands: commandsOf(verdictWithPlaces, i + 1, handle?.handle ?? null, snapshots.length, lines.exist),
        };
      }),
      first_failure: first,
      launches: ends,
      judged_launch: judgedLaunch,
      launch_ooms: launchOoms(log),
      run_state: runState,
      messages_dropped: await countDropped(store, runId),
      caught_ooms: (await caughtInTrace(store, traced, verdicts[0])) ?? caughtInLog(log, runState),
      ranks: await describeRanks(store, runId, {
        traced,
        attempt: judgedLaunch,
        layout,
        layoutOrigin,
        worldSize: about.world_size,
        first,
      }),
      read_formats: verdicts.length > 0 ? [] : await readFormats(store, runId),
      pinned_host_memory: await mostPinned(store, runId),
    },
  };
}

/** The verdicts of failures in their order. */
async function describeFailures(
  store: Store,
  runId: number,
  { failures, counted, traced, lines, context }: RunFailures,
  judged: readonly Arranged[],
  snapshots: Awaited<ReturnType<typeof listSnapshots>>,
): Promise<Verdict[]> {
  if (judged.length === 0) return [];
  const constraint = expandableConstraint(await factsOfRun(store, runId));
  // Answers that read the whole trace again: of many ranks only the first are worth it.
  const compared = traced.slice(0, MOST_COMPARED_SNAPSHOTS);
  const theory = traced.length === 0 ? null : await readTheory(store, runId);
  const replays = await readReplays(store, runId);
  const components = await liveComponents(
    store,
    compared.map((oom) => ({ ...beforeOom(oom), moment: 'oom' })),
  );
  const deeper: Deeper[] = [];
  for (const [i, oom] of compared.entries()) {
    const snapshot = snapshots.find(({ snapshot_id: id }) => id === oom.snapshot_id)!;
    deeper.push({
      surprise: await surpriseOf(store, theory!, snapshot, oom.device),
      counterfactual: replays.get(i) ?? null,
      components: components[i]!,
    });
  }
  const totals = new Map(failures.map(({ facts }) => [facts.failure, facts.total]));
  const peaks = await peaksOfTraces(
    store,
    compared.map((oom, i) => ({ ...oom, has_trace: true, total: totals.get(i)! })),
  );
  const ooms = failures.flatMap(({ oom }) => oom ?? []);
  const sites = new Map((await largestSites(store, ooms.map(beforeOom))).map((site, i) => [ooms[i], site]));
  return failures.map((failure, i) => {
    const { facts, oom } = failure;
    const rule = judged[i]!;
    const verdict =
      oom === null
        ? judgeMessage(failure, rule, (evidence) => context!.addHostEvidence(evidence))
        : judgeTraced(failure, oom, rule, sites.get(oom)!, deeper[facts.failure] ?? null);
    const described: Verdict = {
      ...verdict,
      also: (counted.get(rule.number) ?? []).map((one) => pick(one, ['number', 'rank', 'device'])),
      accounting_peak: peaks[facts.failure]?.account ?? peakOfLines(lines, facts.rank, facts.total),
      steps: allowedSteps(verdict.steps, constraint),
      // Lines whose kind decides never carry the allocator's figures, and end without PyTorch's advice.
      hint:
        (oom === null && rule.tests.length === 0) || (facts.text !== null && !quotesHint(facts.text))
          ? null
          : judgeHint(facts, verdict, constraint, facts.text),
    };
    return withContradiction(described, rule);
  });
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
