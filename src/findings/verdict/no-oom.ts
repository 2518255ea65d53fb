/**
 * The verdicts of a run in which no device ran out of memory: its peaks, and headroom where the device's total is
 * known.
 */
import { type Place, placeText } from '../../model/place.js';
import type { Verdict } from '../../model/results/common.js';
import type { LogIncident } from '../../model/results/log.js';
import { formatBytes } from '../../model/units.js';
import type { IncidentKind } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import { listSnapshots } from '../run/names/snapshots.js';
import { deviceHistory } from '../trace/device-history.js';
import { BLANK } from './blank-verdict.js';
import { capturesFor } from './captures.js';
import { kindWords } from './causes/kind-words.js';
import { stepsOf } from './causes/words.js';
import type { Judged } from './combine.js';
import { CAPACITY, EvidenceLog, type Figure } from './facts.js';
import type { RunFailures } from './failures.js';
import { allowedAdvice } from './hint.js';
import { shorten } from './judge-message.js';
import { componentsAtPeak } from './live-components.js';
import type { MemoryLines } from './memory-lines.js';
import { peakOfLines, peakOfTrace } from './peak-accounting.js';
import { capturesForEnding, readRunEnding, verdictOfEnding } from './run-ending.js';
import { MOST_COMPARED_SNAPSHOTS } from './traced-ooms.js';

/** A failure other than an OOM. */
interface Failed {
  readonly kind: IncidentKind;
  readonly rank: number | null;
  readonly device: number | null;
  readonly text: string;
  readonly source: Place;
  /** Innermost frame of its traceback that belongs to no library. */
  readonly frame: string | null;
}

function failedOf(incident: LogIncident): Failed {
  const { kind, rank, device, text, file, line, frame } = incident;
  return {
    kind,
    rank,
    device,
    text,
    source: { path: file, line: line },
    frame: frame === null ? null : `${frame.function} at ${frame.file}:${frame.line}`,
  };
}

const BASE = { ...BLANK, cause: 'not_oom', detail: null, ruled_out: [], request: null, next: [] } as const;

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
  const failure = first === null ? null : failedOf(incidents[first.incident]!);
  const evidence = new EvidenceLog();
  if (failure !== null) {
    evidence.add(`${failure.kind.replaceAll('_', ' ')}: ${shorten(failure.text)}`, failure.source, {
      about: 'message',
    });
    if (failure.frame !== null) evidence.add(`raised in ${failure.frame}`, failure.source, { about: 'context' });
  }
  const known: Figure | null =
    capacityBytes === undefined ? total : { bytes: capacityBytes, precisionBytes: 0, source: CAPACITY };
  const story = judged?.basis === 'kind' ? kindWords(judged.reason, {}) : undefined;
  const next = allowedAdvice(stepsOf(story?.next ?? []), null);
  const start =
    story === undefined ? 'no OOM entry and no failure line' : `${story.summary}; no OOM is in its traces or logs`;
  const ending = failure === null ? await readRunEnding(store, runId) : null;
  // A dump from the middle of a run does not show how the run ended.
  const isEndKnown = failure !== null || ending?.kind === 'finished';
  const verdicts = (await peaks(store, runId, start, evidence, capacityBytes, known, lines)).map(
    (verdict): Verdict => (isEndKnown ? verdict : { ...verdict, confidence: 'medium', captures: capturesForEnding() }),
  );
  if (ending !== null && verdicts.length === 0) return [verdictOfEnding(ending)];
  if (failure === null || story === undefined || judged === undefined) return verdicts;
  if (verdicts.length > 0) {
    return verdicts.map((verdict) => ({
      ...verdict,
      next,
    }));
  }
  return [
    {
      ...BASE,
      rank: failure.rank,
      device: failure.device,
      confidence: 'medium',
      summary: story.summary,
      evidence: evidence.entries,
      missing: story.missing,
      captures: judged.capture === null ? [] : capturesFor([{ cause: judged.cause, capture: judged.capture }]),
      accounting_peak: peakOfLines(lines, failure.rank, known),
      next,
    },
  ];
}

/** One verdict a device. */
async function peaks(
  store: Store,
  runId: number,
  /** Of each summary. */
  start: string,
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
      const log = new EvidenceLog();
      for (const { text, place, about } of evidence.entries)
        log.add(text, place!, about === undefined ? {} : { about });
      const hasTrace = device.events !== null;
      const reserved = hasTrace ? peakReserved.bytes : device.reserved_bytes;
      const active = hasTrace ? peak.bytes : device.active_bytes;
      const what = hasTrace ? 'peak' : 'at the dump';
      const exactness = holds ? '' : ' (approximate: the trace contradicts itself)';
      log.add(
        `${what}: ${formatBytes(active)} live, ${formatBytes(reserved)} reserved${exactness}`,
        { path: snapshot.display_path },
        { about: 'test' },
      );
      const headroom =
        capacityBytes === undefined
          ? ''
          : `; ${formatBytes(capacityBytes - reserved)} of ${formatBytes(capacityBytes)} never reserved`;
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
        summary: `${start}; ${hasTrace ? 'peak reserved' : 'reserved at the dump'} ${formatBytes(reserved)}${headroom}`,
        evidence: log.entries,
        missing:
          capacityBytes === undefined ? ['headroom: the device total is not in the evidence (give --capacity)'] : [],
        accounting_peak: peakAccount,
        components: compared ? await componentsAtPeak(store, snapshot.snapshot_id, device.device, hasTrace) : null,
        ...(capacityBytes === undefined
          ? {}
          : {
              accounting_total: {
                text: 'device total, from --capacity, at peak reserved',
                bytes: capacityBytes,
                source: placeText(CAPACITY),
              },
              accounting: [
                { part: 'reserved_at_peak', bytes: reserved, source: snapshot.display_path },
                {
                  part: 'headroom_and_outside_pytorch',
                  bytes: capacityBytes - reserved,
                  source: `by subtraction from the total (${placeText(CAPACITY)})`,
                },
              ],
              accounting_from: 'snapshot',
            }),
      });
    }
  }
  return verdicts;
}
