/** `mbforensics diagnose`: one verdict for every device that ran out, or the statement that none did. */
import { stateTotals } from '../../allocator/allocator-state.js';
import type { LogIncident } from '../../model/log-results.js';
import type { DiagnoseResult, Failure, Verdict } from '../../model/results.js';
import { INCIDENT_BYTE_FIELDS, type IncidentByteField, type PrintedBytes } from '../../model/tables.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { CONFIDENCES, type IncidentKind, isOomKind } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import { deviceHistory } from '../history/device-history.js';
import { stateAt } from '../history/state-at.js';
import { liveSet } from '../live/live-set.js';
import { readFirstFailure } from '../log/first-failure-result.js';
import { readIncidents } from '../log/incidents.js';
import type { Message } from '../log/message.js';
import { listSnapshots } from '../names/snapshots.js';
import { NO_FRAMES, readStacks, siteOf } from '../stacks/read-stacks.js';
import { capturesFor } from '../verdict/captures.js';
import { EvidenceLog, type Figure } from '../verdict/facts.js';
import { verdictOfKind } from '../verdict/from-kind.js';
import { conclude, type Given, judgeMessage, shorten, withContext } from './judge-message.js';
import { bytesFreedByLastWait } from './last-wait.js';
import { describesSame, factsOfTrace, type TracedOom } from './oom-facts.js';
import { relateVerdicts } from './relate.js';
import { readRunContext } from './run-context.js';
import { capturesForEnding, readRunEnding, verdictOfEnding } from './run-ending.js';
import { readTraceFacts } from './trace-facts.js';

export interface DiagnoseOptions {
  /** The device's total where the user knows it and no message prints it. */
  readonly capacityBytes?: number | undefined;
  readonly failedSources?: readonly { readonly path: string; readonly error: Failure }[] | undefined;
}

export async function diagnose(
  store: Store,
  runId: number,
  run: string,
  options: DiagnoseOptions = {},
): Promise<DiagnoseResult> {
  const messages = await readMessages(store, runId);
  const context = await readRunContext(store, runId);
  const given: Given = { context, capacityBytes: options.capacityBytes, total: totalOfRun(messages) };
  const traced = distinct(await readTracedOoms(store, runId));
  const incidents = await readIncidents(store, runId);
  const first = readFirstFailure(incidents);
  const found: Verdict[] = [];
  const used = new Set<Message>();
  for (const oom of traced) {
    const same = messages.filter((message) => isOomKind(message.kind) && describesSame(oom, message));
    const message = same.find((candidate) => candidate.rank !== null) ?? same[0];
    for (const echo of same) used.add(echo);
    found.push(await judgeTraced(store, oom, message, given));
  }
  for (const message of firstOfEach(
    // What an earlier launch died of, a later one may have survived.
    messages.filter(
      (candidate) =>
        isOomKind(candidate.kind) &&
        !used.has(candidate) &&
        candidate.attempt === (first?.attempt ?? candidate.attempt),
    ),
  )) {
    // A rank dies once: what its snapshot says goes before what else it printed.
    const known = traced.some(
      (oom) => oom.rank === message.rank && (message.device === null || oom.device === message.device),
    );
    if (!known) found.push(judgeMessage(message, given));
  }
  if (found.length === 0) {
    const failure = first === null ? null : messageOfIncident(incidents[first.incident]!);
    found.push(...(await noOom(store, runId, failure, options.capacityBytes)));
  }
  const verdicts = relateVerdicts(found);
  // The surest verdict is read first (ranks that fail together fail alike, and one of them left a snapshot), of
  // several the one that tells what the first failure was.
  const doubt = (verdict: Verdict): number => CONFIDENCES.indexOf(verdict.confidence);
  const isFirst = (verdict: Verdict): number =>
    first !== null && verdict.rank === first.rank && (first.device === null || verdict.device === first.device) ? 0 : 1;
  const causeOfFirst = verdicts.find((verdict) => isFirst(verdict) === 0)?.cause;
  const kinship = (verdict: Verdict): number => (verdict.cause === causeOfFirst ? 0 : 1);
  verdicts.sort(
    (a, b) =>
      doubt(a) - doubt(b) ||
      kinship(a) - kinship(b) ||
      isFirst(a) - isFirst(b) ||
      (a.rank ?? -1) - (b.rank ?? -1) ||
      (a.device ?? -1) - (b.device ?? -1),
  );
  const failed_sources = options.failedSources ?? [];
  return { schema: 'mbforensics/diagnose@1', run, verdicts, first_failure: first, failed_sources };
}

/** A message and the launch it belongs to. */
interface RunMessage extends Message {
  readonly attempt: number;
}

// ---- what the store knows --------------------------------------------------------------------------------------------------------

async function readMessages(store: Store, runId: number): Promise<RunMessage[]> {
  const rows = await store.all('incident.list', { run_id: runId });
  const values = await store.all('incident.values', { run_id: runId });
  const fieldOf = new Map<string, IncidentByteField>(
    INCIDENT_BYTE_FIELDS.map((field) => [field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), field]),
  );
  const valuesOf = new Map<number, typeof values>();
  for (const value of values) {
    const list = valuesOf.get(value.incident_id);
    if (list === undefined) valuesOf.set(value.incident_id, [value]);
    else list.push(value);
  }
  return rows.map((row) => {
    const bytes: Partial<Record<IncidentByteField, PrintedBytes>> = {};
    const processes: { pid: number; printed: PrintedBytes }[] = [];
    for (const value of valuesOf.get(row.incident_id) ?? []) {
      const printed = { bytes: value.bytes, text: '', precisionBytes: value.precision_bytes };
      const field = fieldOf.get(value.field);
      if (field !== undefined) bytes[field] = printed;
      else if (value.pid !== null) processes.push({ pid: value.pid, printed });
    }
    return {
      kind: row.kind as IncidentKind,
      rank: row.rank,
      device: row.device,
      attempt: row.attempt,
      source: `${row.display_path} line ${formatCount(row.line)}`,
      text: row.text,
      bytes,
      processes,
    };
  });
}

/** The device's total, if all messages of the run that print one agree within their rounding: the devices of a run are alike. */
function totalOfRun(messages: readonly Message[]): Figure | undefined {
  const printed = messages.flatMap(({ bytes, source }) =>
    bytes.total === undefined ? [] : [{ ...bytes.total, source }],
  );
  const [first] = printed;
  if (first === undefined) return undefined;
  const alike = printed.every((one) => Math.abs(one.bytes - first.bytes) <= one.precisionBytes + first.precisionBytes);
  return alike ? { bytes: first.bytes, precisionBytes: first.precisionBytes, source: first.source } : undefined;
}

/** The snapshots whose histories {@link diagnose} will ask for: those with an OOM entry, else all of the run. */
export async function snapshotsToJudge(store: Store, runId: number): Promise<number[]> {
  const all = (await listSnapshots(store, { runId })).map((snapshot) => snapshot.snapshot_id);
  const failed: number[] = [];
  for (const id of all) if ((await store.all('snapshot.ooms', { snapshot_id: id })).length > 0) failed.push(id);
  return failed.length > 0 ? failed : all;
}

/** The last OOM entry of every device: earlier ones were survived. */
async function readTracedOoms(store: Store, runId: number): Promise<TracedOom[]> {
  const traced: TracedOom[] = [];
  for (const snapshot of await listSnapshots(store, { runId })) {
    const ooms = await store.all('snapshot.ooms', { snapshot_id: snapshot.snapshot_id });
    for (const device of new Set(ooms.map((oom) => oom.device))) {
      const oom = ooms.filter((row) => row.device === device).at(-1)!;
      const { state, settings } = await stateAt(store, snapshot.snapshot_id, device, { kind: 'oom' });
      const { holds, violations } = await deviceHistory(store, snapshot.snapshot_id, device);
      const totals = stateTotals(state);
      const stackId = oom.stack_id ?? -1;
      const source = `${snapshot.display_path} entry ${formatCount(oom.seq)}`;
      const site = siteOf(stackId, await readStacks(store, [stackId]));
      traced.push({
        rank: snapshot.rank,
        device,
        seq: oom.seq,
        requestedBytes: oom.requested_bytes,
        deviceFreeBytes: oom.device_free_bytes,
        stream: oom.stream === null ? null : Number(oom.stream),
        site: stackId < 0 || site === NO_FRAMES ? null : site,
        source,
        state,
        settings,
        walk: {
          exact: holds,
          violations,
          uncertainBlocks: totals.uncertainBlocks,
          uncertainBytes: totals.uncertainBytes,
        },
        freedByWaitBytes: await bytesFreedByLastWait(store, snapshot.snapshot_id, device, oom.seq),
        freedAfterOom: oom.last_seq > oom.seq,
        trace: await readTraceFacts(store, snapshot.snapshot_id, { device, seq: oom.seq, stackId, state, source }),
      });
    }
  }
  return traced;
}

/** A dump is often kept twice (a copy, a later dump of the same process): one OOM is one verdict. Without a rank, equal ones may be twins. */
function distinct(ooms: readonly TracedOom[]): TracedOom[] {
  const key = (oom: TracedOom): string =>
    [oom.rank, oom.device, oom.seq, oom.requestedBytes, oom.deviceFreeBytes].join(' ');
  const first = new Map<string, TracedOom>();
  for (const [i, oom] of ooms.entries()) {
    const name = oom.rank === null ? `unknown ${i}` : key(oom);
    if (!first.has(name)) first.set(name, oom);
  }
  return [...first.values()];
}

/** One message per rank and device, the first; tracebacks are printed twice, and by every layer that catches them. */
function firstOfEach(messages: readonly Message[]): Message[] {
  const seen = new Map<string, Message>();
  const figures = (message: Message): number => Object.keys(message.bytes).length;
  for (const message of messages) {
    const key = `${message.rank ?? '-'} ${message.device ?? '-'}`;
    const known = seen.get(key);
    // The first line of a wrapped echo may carry no figures; the first with figures tells more.
    if (known === undefined || (figures(known) === 0 && figures(message) > 0)) seen.set(key, message);
  }
  const all = [...seen.values()];
  // An echo without rank or device says nothing beside one that has them.
  return all.filter(
    (message) => message.rank !== null || message.device !== null || figures(message) > 0 || all.length === 1,
  );
}

// ---- verdicts --------------------------------------------------------------------------------------------------------------------

async function judgeTraced(store: Store, oom: TracedOom, message: Message | undefined, given: Given): Promise<Verdict> {
  const rank = given.context?.of(oom.rank);
  const facts = withContext(factsOfTrace(oom, message, given.capacityBytes), rank, given);
  const evidence = new EvidenceLog();
  const site = oom.site === null ? '' : ` in ${oom.site}`;
  const free = facts.deviceFree === null ? '' : `; ${formatBytes(facts.deviceFree.bytes)} free on the device`;
  evidence.add(
    `asked ${formatBytes(oom.requestedBytes)} (${formatCount(oom.requestedBytes)} bytes)${site}${free}`,
    oom.source,
  );
  if (message !== undefined) evidence.add(shorten(message.text), message.source);
  if (oom.freedAfterOom)
    evidence.add(
      'the dump was written after the exception had freed memory: this is the state at the OOM, walked back',
      oom.source,
    );
  const expandable = oom.settings.expandableSegments;
  evidence.add(
    expandable
      ? "expandable segments were on already, so PyTorch's hint to set them does not apply"
      : 'expandable segments were off',
    oom.source,
  );
  const live = await liveSet(store, oom.state);
  const top = live.sites.slice(0, 3).map((site) => `${formatBytes(site.bytes)} ${site.site}`);
  if (top.length > 0) evidence.add(`largest live then: ${top.join('; ')}`, oom.source);
  rank?.tell(evidence, facts.total, 'snapshot');
  return conclude(facts, evidence, message);
}

/** A failure that is no OOM. */
interface Failed {
  readonly kind: IncidentKind;
  readonly rank: number | null;
  readonly device: number | null;
  readonly text: string;
  readonly source: string;
  /** Innermost frame of its traceback that belongs to no library. */
  readonly frame: string | null;
}

function messageOfIncident(incident: LogIncident): Failed {
  const { kind, rank, device, text, file, line, frame } = incident;
  return {
    kind,
    rank,
    device,
    text,
    source: `${file} line ${formatCount(line)}`,
    frame: frame === null ? null : `${frame.function} at ${frame.file}:${frame.line}`,
  };
}

/** No OOM: the peaks, and headroom where the device's total is known. */
async function noOom(
  store: Store,
  runId: number,
  failure: Failed | null,
  capacityBytes: number | undefined,
): Promise<Verdict[]> {
  const evidence = new EvidenceLog();
  if (failure !== null) {
    evidence.add(`${failure.kind.replaceAll('_', ' ')}: ${shorten(failure.text)}`, failure.source);
    if (failure.frame !== null) evidence.add(`raised in ${failure.frame}`, failure.source);
  }
  const story = failure === null ? undefined : verdictOfKind(failure.kind, failure.text);
  const ending = failure === null ? await readRunEnding(store, runId) : null;
  // A dump in the middle of a run says nothing of its end.
  const isTold = failure !== null || ending?.kind === 'finished';
  const base = {
    cause: 'not_oom' as const,
    detail: null,
    ruled_out: [],
    tests: [],
    captures: isTold ? [] : capturesForEnding(),
    combination: [],
    accounting_total: null,
    accounting: [],
    request: null,
    next: [],
  };
  const verdicts: Verdict[] = [];
  for (const snapshot of await listSnapshots(store, { runId })) {
    for (const device of await store.all('snapshot.devices', { snapshot_id: snapshot.snapshot_id })) {
      if (device.reserved_bytes === 0 && device.events === null) continue;
      const { peak, peakReserved, holds } = await deviceHistory(store, snapshot.snapshot_id, device.device);
      const log = new EvidenceLog();
      for (const entry of evidence.entries) log.add(entry.text, entry.source);
      const hasTrace = device.events !== null;
      const reserved = hasTrace ? peakReserved.bytes : device.reserved_bytes;
      const active = hasTrace ? peak.bytes : device.active_bytes;
      const what = hasTrace ? 'peak' : 'at the dump';
      const exactness = holds ? '' : ' (approximate: the trace contradicts itself)';
      log.add(
        `${what}: ${formatBytes(active)} live, ${formatBytes(reserved)} reserved${exactness}`,
        snapshot.display_path,
      );
      const headroom =
        capacityBytes === undefined
          ? ''
          : `; ${formatBytes(capacityBytes - reserved)} of ${formatBytes(capacityBytes)} never reserved`;
      verdicts.push({
        ...base,
        rank: snapshot.rank,
        device: device.device,
        confidence: isTold ? 'high' : 'medium',
        summary: `no OOM entry and no failure line; ${hasTrace ? 'peak reserved' : 'reserved at the dump'} ${formatBytes(reserved)}${headroom}`,
        evidence: log.entries,
        missing:
          capacityBytes === undefined ? ['headroom: the device total is not in the evidence (give --capacity)'] : [],
        ...(capacityBytes === undefined
          ? {}
          : {
              accounting_total: { text: 'device total, from --capacity, at peak reserved', bytes: capacityBytes },
              accounting: [
                { part: 'reserved_at_peak', bytes: reserved },
                { part: 'headroom_and_outside_pytorch', bytes: capacityBytes - reserved },
              ],
            }),
      });
    }
  }
  if (ending !== null && verdicts.length === 0) return [verdictOfEnding(ending)];
  if (failure === null || story === undefined) return verdicts;
  if (verdicts.length > 0) {
    return verdicts.map((verdict) => ({
      ...verdict,
      summary: `${story.summary}; no OOM is in its traces or logs; ${verdict.summary.split('; ').slice(1).join('; ')}`,
      next: story.next,
    }));
  }
  verdicts.push({
    ...base,
    rank: failure.rank,
    device: failure.device,
    confidence: 'medium',
    summary: story.summary,
    evidence: evidence.entries,
    missing: story.missing,
    captures: story.capture === undefined ? [] : capturesFor([{ cause: story.cause, capture: story.capture }]),
    next: story.next,
  });
  return verdicts;
}
