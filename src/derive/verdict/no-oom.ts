/**
 * The verdicts of a run in which no device ran out of memory: its peaks, and headroom where the device's total is
 * known.
 */
import { known, named, statement } from '../../model/statement.js';
import type { MissingKind, Verdict } from '../../model/verdict.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';
import { readLogFacts } from '../run/log-facts.js';
import type { listSnapshots } from '../run/names/snapshots.js';
import { capturesFor, type Judged } from './combine.js';
import { stepsOf } from './describe-answers.js';
import { CAPACITY, EvidenceLog, type Figure, MOST_COMPARED_SNAPSHOTS } from './facts.js';
import type { RunFailures } from './failures.js';
import { isFirstExit, verdictOfExit } from './first-exit.js';
import { BLANK, describeReason, shorten } from './judge-message.js';
import { addLiveSites, largestSites, liveComponents } from './judge-traced.js';
import { type MemoryLines, readMemoryLines } from './memory-lines.js';
import { peakOfLines, peaksOfTraces } from './peak-accounting.js';
import { capturesForEnding, readRunEnding, unknownEnd, verdictOfEnding } from './run-ending.js';

const BASE = { ...BLANK, cause: 'not_oom', detail: null, steps: [] } as const;

/** `total`: the device's, where a text of the run prints it. */
export async function noOom(
  store: Store,
  runId: number,
  { first, incidents }: Pick<RunFailures, 'first' | 'incidents'>,
  /** Of the first failure. */
  judged: Judged | undefined,
  capacityBytes: number | undefined,
  total: Figure | null,
  snapshots: Awaited<ReturnType<typeof listSnapshots>>,
): Promise<Verdict[]> {
  const failure = first === null ? null : incidents[first.incident]!;
  const evidence = new EvidenceLog();
  if (failure !== null) {
    const { kind, text, file: path, line, frame } = failure;
    const place = { path, line };
    evidence.add('failure_line', place, { names: { incident: kind, text: shorten(text) }, about: 'message' });
    if (frame !== null)
      evidence.add('raised_in', place, {
        names: { frame: `${frame.function} at ${frame.file}:${frame.line}` },
        about: 'context',
      });
  }
  const device: Figure | null = capacityBytes === undefined ? total : { bytes: capacityBytes, source: CAPACITY };
  const reason = judged?.basis === 'kind' ? judged.reason : undefined;
  const ofReason = reason === undefined ? undefined : describeReason(reason);
  const ending = failure === null ? await readRunEnding(store, runId) : null;
  // A dump from the middle of a run does not show how the run ended.
  const isEndKnown = failure !== null || ending?.kind === 'finished';
  const lines = await readMemoryLines(store, runId, [failure?.rank ?? null, ...snapshots.map(({ rank }) => rank)]);
  const verdicts = (
    await peaks(store, runId, snapshots, isEndKnown, reason, evidence, capacityBytes, device, lines)
  ).map((verdict): Verdict => ({ ...verdict, steps: failure === null ? verdict.steps : (ofReason?.steps ?? []) }));
  if (verdicts.length > 0) return verdicts;
  if (ending !== null) return [verdictOfEnding(ending)];
  if (failure === null && snapshots.length > 0) {
    const captures = capturesFor([{ cause: 'undecided', capture: 'snapshot_at_oom' }]);
    const summary = statement('empty_snapshot');
    return [
      {
        ...BASE,
        rank: snapshots[0]!.rank,
        device: null,
        cause: 'undecided',
        confidence: 'low',
        summary,
        captures,
        evidence: [],
      },
    ];
  }
  if (failure === null || reason === undefined || ofReason === undefined || judged === undefined) return [];
  const { ends, facts } = await readLogFacts(store, runId);
  if (isFirstExit(first!, failure)) return [verdictOfExit(failure, incidents, facts.world_size, evidence.entries)];
  // An exception is more than the launcher's report.
  if (failure.exception === null && ends[(failure.attempt ?? 1) - 1]?.ending === 'unknown')
    return [unknownEnd('ended', evidence.entries)];
  return [
    {
      ...BASE,
      ...ofReason,
      cause: judged.cause,
      rank: failure.rank,
      device: failure.device,
      confidence: judged.cause === 'undecided' ? 'low' : 'medium',
      summary: statement('reason', { names: { reason } }),
      evidence: evidence.entries,
      captures: judged.capture === null ? [] : capturesFor([{ cause: judged.cause, capture: judged.capture }]),
      accounting_peak: peakOfLines(lines, failure.rank, device),
    },
  ];
}

/** Entries at the end of a trace that a handler of the failure may have made. */
const LAST_ENTRIES = 64;

type SnapshotRow = Awaited<ReturnType<typeof listSnapshots>>[number];

/** Of the snapshot with its id. */
type IdleDevice = QueryRow<'verdict.idle_devices'>;

/** What the file lacks to show that no OOM occurred. */
function unseen(notes: readonly QueryRow<'store.notes'>[], idle: IdleDevice): MissingKind {
  const { device } = idle;
  if (!idle.has_trace) return 'no_trace';
  if (idle.starts_empty) return 'after_dump';
  return notes.some((note) => note.device === device && note.kind.endsWith('_truncated'))
    ? 'overwritten_entries'
    : 'earlier_entries';
}

/** Adds the signs that a failure, which the file does not record, made it be dumped. Returns whether there are any. */
function addFailureSigns(
  log: EvidenceLog,
  { display_path: path, dump_trigger: trigger, dump_trigger_origin: origin }: SnapshotRow,
  handler: QueryRow<'snapshot.handler_frames'> | undefined,
): boolean {
  const isNamed = trigger === 'oom' || trigger === 'failure';
  if (isNamed) log.add('dumped_at_failure', { path }, { names: { origin: origin ?? 'name' }, about: 'test' });
  if (handler !== undefined) {
    const frame = `${handler.name} at ${handler.filename}:${handler.line}`;
    log.add('handler_frame', { path, entry: handler.seq }, { names: { frame }, about: 'test' });
  }
  return isNamed || handler !== undefined;
}

/**
 * One verdict a device. A file without an OOM entry proves that none was recorded, no more: unless the end of the run
 * is known, the verdict is at low confidence, and undecided where the file looks like the dump of an observer.
 */
async function peaks(
  store: Store,
  runId: number,
  snapshots: readonly SnapshotRow[],
  isEndKnown: boolean,
  /** Of the failure, in each summary. */
  reason: string | undefined,
  evidence: EvidenceLog,
  capacityBytes: number | undefined,
  total: Figure | null,
  lines: MemoryLines,
): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  const snapshotOf = new Map(snapshots.map((snapshot) => [snapshot.snapshot_id, snapshot]));
  const devices = await store.all('verdict.idle_devices', { run_id: runId });
  const unknown = isEndKnown ? [] : devices;
  const handlers = await store.allOf(
    'snapshot.handler_frames',
    unknown.map(({ snapshot_id, device }) => ({ snapshot_id, device, entries: LAST_ENTRIES })),
  );
  const notes = await store.allOf(
    'store.notes',
    unknown.map(({ snapshot_id: id }) => ({ source_id: snapshotOf.get(id)!.source_id })),
  );
  // Of many ranks, only the first are worth a walk to the peak.
  const compared = devices.slice(0, MOST_COMPARED_SNAPSHOTS);
  const peaksOf = await peaksOfTraces(
    store,
    compared.map((idle) => ({ ...idle, display_path: snapshotOf.get(idle.snapshot_id)!.display_path, total })),
  );
  const states = peaksOf.map(({ state }) => state);
  const sites = await largestSites(store, states);
  const components = await liveComponents(
    store,
    states.map((state, i) => ({ ...state, moment: compared[i]!.has_trace ? 'peak' : 'dump' })),
  );
  for (const [i, idle] of devices.entries()) {
    const { device, has_trace: hasTrace, reserved_bytes: reservedBytes } = idle;
    const snapshot = snapshotOf.get(idle.snapshot_id)!;
    const path = snapshot.display_path;
    const log = new EvidenceLog();
    for (const { id: _, kind, place, ...more } of evidence.entries) log.add(kind, place, more);
    const names = { moment: hasTrace ? 'peak' : 'dump', walk: idle.holds ? 'exact' : 'approximate' };
    const numbers = { live_bytes: idle.active_bytes, reserved_bytes: reservedBytes };
    log.add('peak', { path: snapshot.display_path }, { numbers, names, about: 'test' });
    const failed = !isEndKnown && addFailureSigns(log, snapshot, handlers[i]![0]);
    if (i < compared.length) addLiveSites(log, { path }, states[i]!, sites[i]!);
    const headroom: MissingKind[] = capacityBytes === undefined ? ['device_total'] : [];
    verdicts.push({
      ...BASE,
      rank: snapshot.rank,
      device,
      ...(isEndKnown
        ? { confidence: 'high', missing: headroom }
        : {
            confidence: 'low',
            missing: [unseen(notes[i]!, idle), ...headroom],
            captures: capturesForEnding(),
          }),
      ...(failed ? { cause: 'undecided', steps: stepsOf(['name_all_logs']) } : {}),
      summary: statement(isEndKnown ? 'peak' : 'unrecorded', {
        numbers: known({ reserved_bytes: reservedBytes, capacity_bytes: capacityBytes }),
        names: named({ moment: names.moment, reason, failed: failed ? 'failed' : undefined }),
      }),
      evidence: log.entries,
      accounting_peak: peaksOf[i]?.account ?? peakOfLines(lines, snapshot.rank, total),
      components: components[i] ?? null,
      ...(capacityBytes === undefined
        ? {}
        : {
            accounting_total: {
              kind: hasTrace ? 'total_at_peak_reserved' : 'total_at_dump',
              bytes: capacityBytes,
              place: CAPACITY,
            },
            accounting: [
              {
                part: hasTrace ? 'reserved_at_peak' : 'reserved_at_dump',
                bytes: reservedBytes,
                place: { path: snapshot.display_path },
              },
              {
                part: 'headroom_and_outside_pytorch',
                bytes: capacityBytes - reservedBytes,
                place: CAPACITY,
                rest_of: 'total',
              },
            ],
            accounting_from: 'snapshot',
          }),
    });
  }
  return verdicts;
}
