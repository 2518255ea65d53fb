/**
 * The verdicts of a run in which no device ran out of memory: its peaks, and headroom where the device's total is
 * known.
 */
import { known, named, statement } from '../../model/statement.js';
import type { Verdict } from '../../model/verdict.js';
import type { Store } from '../../store/store.js';
import { listSnapshots } from '../run/names/snapshots.js';
import { deviceHistory } from '../trace/device-history.js';
import { capturesFor, type Judged } from './combine.js';
import { CAPACITY, EvidenceLog, type Figure } from './facts.js';
import type { RunFailures } from './failures.js';
import { BLANK, describeReason, shorten } from './judge-message.js';
import { componentsAtPeak } from './judge-traced.js';
import type { MemoryLines } from './memory-lines.js';
import { peakOfLines, peakOfTrace } from './peak-accounting.js';
import { capturesForEnding, readRunEnding, verdictOfEnding } from './run-ending.js';
import { MOST_COMPARED_SNAPSHOTS } from './traced-ooms.js';

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
  lines: MemoryLines,
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
  const device: Figure | null =
    capacityBytes === undefined ? total : { bytes: capacityBytes, precisionBytes: 0, source: CAPACITY };
  const reason = judged?.basis === 'kind' ? judged.reason : undefined;
  const ofReason = reason === undefined ? undefined : describeReason(reason);
  const ending = failure === null ? await readRunEnding(store, runId) : null;
  // A dump from the middle of a run does not show how the run ended.
  const isEndKnown = failure !== null || ending?.kind === 'finished';
  const verdicts = (await peaks(store, runId, reason, evidence, capacityBytes, device, lines)).map(
    (verdict): Verdict => ({
      ...verdict,
      ...(isEndKnown ? {} : { confidence: 'medium', captures: capturesForEnding() }),
      steps: failure === null ? [] : (ofReason?.steps ?? []),
    }),
  );
  if (verdicts.length > 0) return verdicts;
  if (ending !== null) return [verdictOfEnding(ending)];
  if (failure === null || reason === undefined || ofReason === undefined || judged === undefined) return [];
  return [
    {
      ...BASE,
      ...ofReason,
      rank: failure.rank,
      device: failure.device,
      confidence: 'medium',
      summary: statement('reason', { names: { reason } }),
      evidence: evidence.entries,
      captures: judged.capture === null ? [] : capturesFor([{ cause: judged.cause, capture: judged.capture }]),
      accounting_peak: peakOfLines(lines, failure.rank, device),
    },
  ];
}

/** One verdict a device. */
async function peaks(
  store: Store,
  runId: number,
  /** Of the failure, in each summary. */
  reason: string | undefined,
  evidence: EvidenceLog,
  capacityBytes: number | undefined,
  total: Figure | null,
  lines: MemoryLines,
): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const snapshot of await listSnapshots(store, { runId })) {
    for (const device of await store.all('snapshot.devices', { snapshot_id: snapshot.snapshot_id })) {
      if (device.reserved_bytes === 0 && device.events === null) continue;
      const { peak, peakReserved, holds } = await deviceHistory(store, snapshot.snapshot_id, device.device);
      const hasTrace = device.events !== null;
      const reserved = hasTrace ? peakReserved.bytes : device.reserved_bytes;
      const active = hasTrace ? peak.bytes : device.active_bytes;
      const log = new EvidenceLog();
      for (const { id: _, kind, place, ...more } of evidence.entries) log.add(kind, place, more);
      const names = { moment: hasTrace ? 'peak' : 'dump', walk: holds ? 'exact' : 'approximate' };
      const numbers = { live_bytes: active, reserved_bytes: reserved };
      log.add('peak', { path: snapshot.display_path }, { numbers, names, about: 'test' });
      // Of many ranks, only the first are worth a walk to the peak.
      const compared = verdicts.length < MOST_COMPARED_SNAPSHOTS;
      const peakAccount = compared
        ? await peakOfTrace(
            store,
            { snapshotId: snapshot.snapshot_id, device: device.device, path: snapshot.display_path, hasTrace },
            total,
          )
        : peakOfLines(lines, snapshot.rank, total);
      verdicts.push({
        ...BASE,
        rank: snapshot.rank,
        device: device.device,
        confidence: 'high',
        summary: statement('peak', {
          numbers: known({ reserved_bytes: reserved, capacity_bytes: capacityBytes }),
          names: named({ moment: names.moment, reason }),
        }),
        evidence: log.entries,
        missing: capacityBytes === undefined ? ['device_total'] : [],
        accounting_peak: peakAccount,
        components: compared ? await componentsAtPeak(store, snapshot.snapshot_id, device.device, hasTrace) : null,
        ...(capacityBytes === undefined
          ? {}
          : {
              accounting_total: { kind: 'total_at_peak_reserved', bytes: capacityBytes, place: CAPACITY },
              accounting: [
                { part: 'reserved_at_peak', bytes: reserved, place: { path: snapshot.display_path } },
                {
                  part: 'headroom_and_outside_pytorch',
                  bytes: capacityBytes - reserved,
                  place: CAPACITY,
                  rest_of: 'total',
                },
              ],
              accounting_from: 'snapshot',
            }),
      });
    }
  }
  return verdicts;
}
