/** The failures of a run that are judged, with their facts: OOM entries of its traces, and messages of other ranks. */
import type { FirstFailureResult } from '../../model/first-failure.js';
import { pushAll } from '../../model/lists.js';
import type { LogIncident } from '../../model/results/log.js';
import { GIB } from '../../model/units.js';
import { isOomKind } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import type { MonitorFacts } from '../outside/monitor-facts.js';
import { readFirstFailure } from '../run/first-failure-result.js';
import { readLogFacts } from '../run/log-facts.js';
import type { Message } from '../run/message.js';
import { firstOfEach, readMessages, totalOfRun } from '../run/run-messages.js';
import { activityOf } from '../stacks/activity.js';
import type { FailureFacts } from './fact-rows.js';
import type { Figure, OomFacts, RunSide } from './facts.js';
import { describesSame, factsOfMessage, factsOfTrace } from './oom-facts.js';
import { type RankContext, type RunContext, readRunContext } from './run-context.js';
import { readTracedOoms, type SnapshotOom } from './traced-ooms.js';

export interface TracedFailure extends FailureFacts {
  readonly oom: SnapshotOom;
  readonly message: Message | undefined;
  readonly rank: RankContext | undefined;
}

export interface MessageFailure extends FailureFacts {
  readonly oom: null;
  readonly message: Message;
  readonly rank: RankContext | undefined;
}

export interface RunFailures {
  /** In the order of their numbers. Of a run without an OOM its first failure, if it has one. */
  readonly failures: readonly (TracedFailure | MessageFailure)[];
  readonly traced: readonly SnapshotOom[];
  readonly first: FirstFailureResult | null;
  readonly incidents: readonly LogIncident[];
  readonly ranOut: boolean;
  /** Null without an OOM. */
  readonly context: RunContext | null;
  /** The device's total as messages of the run print it. */
  readonly total: Figure | undefined;
}

export async function readFailures(store: Store, runId: number, capacityBytes?: number): Promise<RunFailures> {
  const messages = await readMessages(store, runId);
  const { incidents } = await readLogFacts(store, runId);
  const total = totalOfRun(messages);
  const traced = await readTracedOoms(store, runId);
  const first = readFirstFailure(incidents);
  const ooms = messages.filter(({ kind }) => isOomKind(kind));
  // A later launch may have survived what ended an earlier one.
  const ofLaunch = ooms.filter(({ attempt }) => attempt === (first?.attempt ?? attempt));
  const ranOut = traced.length > 0 || ooms.length > 0;
  const context = ranOut ? await readRunContext(store, runId) : null;
  const isAlone = ranksOf([...traced, ...ofLaunch]) === 1;
  const complete = (facts: OomFacts): Pick<TracedFailure, 'facts' | 'rank'> => {
    const rank = context?.of(facts.rank);
    return { facts: rank === undefined ? facts : withContext(facts, rank, total, isAlone), rank };
  };
  const failures: (TracedFailure | MessageFailure)[] = [];
  const used = new Set<Message>();
  for (const oom of traced) {
    const matching = ooms.filter((message) => describesSame(oom, message));
    const message = matching.find(({ rank }) => rank !== null) ?? matching[0];
    for (const echo of matching) used.add(echo);
    failures.push({
      ...complete(factsOfTrace(oom, message, capacityBytes)),
      oom,
      message,
      snapshotId: oom.snapshotId,
      seq: oom.seq,
      incidentId: message?.incidentId ?? null,
      kind: message?.kind ?? null,
      text: message?.text ?? null,
    });
  }
  // One OOM per rank. Prefer the snapshot over the log message.
  const isTraced = ({ rank, device }: Message): boolean =>
    traced.some((oom) => oom.rank === rank && (device === null || oom.device === device));
  const ofMessage = (message: Message & { readonly incidentId: number | null }): MessageFailure => ({
    ...complete({ ...factsOfMessage(message, capacityBytes), run: sideOfMessage(message) }),
    oom: null,
    message,
    snapshotId: null,
    seq: null,
    incidentId: message.incidentId,
    kind: message.kind,
    text: message.text,
  });
  pushAll(
    failures,
    firstOfEach(ofLaunch.filter((message) => !used.has(message)))
      .filter((message) => !isTraced(message))
      .map(ofMessage),
  );
  if (failures.length === 0 && first !== null) failures.push(ofMessage(messageOfIncident(incidents[first.incident]!)));
  return { failures, traced, first, incidents, ranOut, context, total };
}

/** Of a failure other than an OOM: its figures decide nothing. */
function messageOfIncident({ kind, rank, device, text, file, line }: LogIncident) {
  return { kind, rank, device, text, place: { path: file, line }, bytes: {}, processes: [], incidentId: null };
}

/** A failure of a text alone, without a run around it. */
export function failureOfText(message: Message, capacityBytes: number | undefined): MessageFailure {
  const facts = { ...factsOfMessage(message, capacityBytes), run: sideOfMessage(message) };
  const { kind, text } = message;
  return { facts, oom: null, message, rank: undefined, snapshotId: null, seq: null, incidentId: null, kind, text };
}

/** How many ranks; one that no prefix names may be any. */
function ranksOf(failures: readonly { readonly rank: number | null }[]): number {
  const known = new Set(failures.flatMap(({ rank }) => (rank === null ? [] : [rank])));
  return known.size === 0 ? failures.length : known.size;
}

/** Fills in what the run's other texts know of the rank. The failure's own figures go first. */
function withContext(facts: OomFacts, rank: RankContext, total: Figure | undefined, failedAlone: boolean): OomFacts {
  return {
    ...facts,
    total: facts.total ?? total ?? monitoredTotal(rank.monitor),
    allocator: facts.allocator ?? rank.allocator,
    growth: rank.growth,
    reservedGrowth: rank.reservedGrowth,
    run: rank.side,
    driver: rank.driver,
    monitor: rank.monitor,
    bystanders: { ...rank.bystanders, failedAlone },
  };
}

/** The driver includes its own reserve in a device's total, PyTorch does not: this source comes last. */
function monitoredTotal(monitor: MonitorFacts | null): Figure | null {
  if (monitor?.totalBytes == null) return null;
  return { bytes: monitor.totalBytes, precisionBytes: DRIVER_RESERVE_BYTES, source: monitor.totalSource };
}
/**
 * The two totals of an H100 are 81,559 MiB and 79.11 GiB, of a V100 under an older driver 32,510 MiB and 31.75 GiB:
 * half a GiB different for the same device. A sample does not show which kind it is, so the figure has this precision.
 */
const DRIVER_RESERVE_BYTES = GIB;

/** Of a text alone: in addition to the figures it has only its traceback's innermost frame. */
function sideOfMessage({ frame, place }: Message): RunSide | null {
  const activity = frame == null ? null : activityOf([{ name: frame.function, filename: frame.file }]);
  if (activity === null) return null;
  return {
    completed: null,
    activity,
    activitySource: place,
    highestBytes: null,
    stage: null,
    stages: null,
    otherStages: [],
    ownStage: null,
    onlyThisStage: false,
    severalReplicas: false,
    early: null,
    nccl: [],
    source: place,
  };
}
