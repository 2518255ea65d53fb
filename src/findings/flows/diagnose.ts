/** `mbforensics diagnose`: one verdict for every device that ran out, or the statement that none did. */
import { pushAll } from '../../model/lists.js';
import type { DiagnoseResult, Failure, Verdict } from '../../model/results/common.js';
import { isOomKind } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import { surpriseOf } from '../estimate/residual/surprise-of.js';
import { readTheory, type Theory } from '../estimate/residual/theory.js';
import type { ExpandableConstraint } from '../lint/expandable-constraint.js';
import { counterfactual } from '../replay/counterfactual.js';
import { readFirstFailure } from '../run/first-failure-result.js';
import { readLogFacts } from '../run/log-facts.js';
import type { Message } from '../run/message.js';
import { listSnapshots } from '../run/names/snapshots.js';
import { firstOfEach, readMessages, totalOfRun } from '../run/run-messages.js';
import { verdictOfKind } from '../verdict/causes/from-kind.js';
import { commandsOf } from '../verdict/commands.js';
import { readPlaces, withPlaces } from '../verdict/evidence-places.js';
import type { Figure } from '../verdict/facts.js';
import { allowedAdvice, judgeHint } from '../verdict/hint.js';
import { type Given, judgeMessage, withContext } from '../verdict/judge-message.js';
import { judgeTraced } from '../verdict/judge-traced.js';
import { type MemoryLines, readMemoryLines } from '../verdict/memory-lines.js';
import { noOom } from '../verdict/no-oom.js';
import { describesSame, factsOfMessage } from '../verdict/oom-facts.js';
import { orderVerdicts } from '../verdict/order-verdicts.js';
import { peakOfLines, peakOfTrace } from '../verdict/peak-accounting.js';
import { profiledRefusals } from '../verdict/profiled-refusals.js';
import { describeRanks } from '../verdict/ranks.js';
import { relateVerdicts } from '../verdict/relate.js';
import { readRunContext } from '../verdict/run-context.js';
import { MOST_COMPARED_SNAPSHOTS, readTracedOoms } from '../verdict/traced-ooms.js';

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
): Promise<DiagnoseResult> {
  const { capacityBytes } = options;
  const messages = await readMessages(store, runId);
  const { facts: about, layout, layoutOrigin, incidents } = await readLogFacts(store, runId);
  const total = totalOfRun(messages);
  const { newest: lines } = await readMemoryLines(store, runId);
  const traced = await readTracedOoms(store, runId);
  const ranOut = traced.length > 0 || messages.some(({ kind }) => isOomKind(kind));
  // All rules are loaded at the first OOM: other questions do not need them.
  const knowledge = async () => import('./advise-run.js');
  const constraint = ranOut ? await (await knowledge()).constraintOfRun(store, runId) : null;
  const first = readFirstFailure(incidents);
  const ofLaunch = messages.filter(({ attempt }) => attempt === (first?.attempt ?? attempt));
  const failedRanks = ranksOf([...traced, ...ofLaunch.filter(({ kind }) => isOomKind(kind))]);
  const diagnosisContext: Given = { context: await readRunContext(store, runId), capacityBytes, total, failedRanks };
  const snapshots = await listSnapshots(store, { runId });
  // For all ranks that ask, and only if one does.
  let theory: Promise<Theory> | undefined;
  const verdicts: Verdict[] = [];
  const used = new Set<Message>();
  for (const [i, oom] of traced.entries()) {
    const matchingMessages = messages.filter((message) => isOomKind(message.kind) && describesSame(oom, message));
    const message = matchingMessages.find((candidate) => candidate.rank !== null) ?? matchingMessages[0];
    for (const echo of matchingMessages) used.add(echo);
    // A walk to the peak costs as much as the one to the OOM: of many ranks only the first are worth it.
    const peak = async (device: Figure | null) =>
      i < MOST_COMPARED_SNAPSHOTS
        ? peakOfTrace(store, { ...oom, hasTrace: true }, device)
        : peakOfLines(lines, oom.rank, device);
    const surprise = async () => {
      theory ??= readTheory(store, runId);
      return surpriseOf(
        store,
        await theory,
        snapshots.find(({ snapshot_id: id }) => id === oom.snapshotId)!,
        oom.device,
      );
    };
    const deeper = { surprise, counterfactual: () => counterfactual(store, oom, oom.entries) };
    verdicts.push(
      await judgeTraced(
        store,
        oom,
        message,
        diagnosisContext,
        constraint,
        peak,
        i < MOST_COMPARED_SNAPSHOTS ? deeper : null,
      ),
    );
  }
  for (const message of firstOfEach(
    // A later launch may have survived what ended an earlier one.
    messages.filter(
      (candidate) =>
        isOomKind(candidate.kind) &&
        !used.has(candidate) &&
        candidate.attempt === (first?.attempt ?? candidate.attempt),
    ),
  )) {
    // One OOM per rank. Prefer the snapshot over the log message.
    const known = traced.some(
      (oom) => oom.rank === message.rank && (message.device === null || oom.device === message.device),
    );
    if (!known) verdicts.push(ofMessage(message, diagnosisContext, constraint, lines));
  }
  if (verdicts.length === 0) {
    const failure = first === null ? null : incidents[first.incident]!;
    // Where no text names a failure, a profile of the driver may.
    const refused = failure === null ? await profiledRefusals(store, runId) : [];
    pushAll(
      verdicts,
      refused.length > 0 ? refused : await noOom(store, runId, failure, capacityBytes, total ?? null, lines),
    );
  }
  const places = await readPlaces(store, runId);
  const hasMemoryLines = lines.rows.length > 0;
  const ordered = orderVerdicts(relateVerdicts(verdicts), first);
  return {
    schema: 'mbforensics/diagnose@1',
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
    ranks: await describeRanks(store, runId, {
      traced,
      lines: lines.rows,
      layout,
      layoutOrigin,
      worldSize: about.world_size,
      first,
    }),
    failed_sources: options.failedSources ?? [],
    advice:
      options.advises === true
        ? await (await knowledge()).shortAdvice(store, runId, run, ordered, capacityBytes)
        : null,
  };
}

/** How many ranks; one that no prefix names may be any. */
function ranksOf(failures: readonly { readonly rank: number | null }[]): number {
  const known = new Set(failures.flatMap(({ rank }) => (rank === null ? [] : [rank])));
  return known.size === 0 ? failures.length : known.size;
}

/** {@link judgeMessage} with what only a run can add. */
function ofMessage(
  message: Message,
  diagnosisContext: Given,
  constraint: ExpandableConstraint | null,
  lines: MemoryLines,
): Verdict {
  const verdict = judgeMessage(message, diagnosisContext);
  const facts = withContext(
    factsOfMessage(message, diagnosisContext.capacityBytes),
    diagnosisContext.context?.of(message.rank),
    diagnosisContext,
  );
  // Kinds that never carry the allocator's figures end without PyTorch's advice.
  const hint = verdictOfKind(message.kind) === undefined ? judgeHint(facts, verdict.cause, constraint) : null;
  return {
    ...verdict,
    accounting_peak: peakOfLines(lines, message.rank, facts.total),
    hint,
    next: allowedAdvice(verdict.next, constraint),
  };
}
