/** `mbforensics whatif`: the recorded requests under other settings, on other devices, or changed themselves. */

import { confText, PAGE_BYTES } from '../../allocator/settings.js';
import { OOM } from '../../allocator/trace-action-codes.js';
import {
  calibrate,
  leastCapacities,
  lostFacts,
  type ReplayedDevice,
  replayDevice,
  settingRows,
} from '../../derive/replay/ask.js';
import type { RecordedCapacity } from '../../derive/replay/capacity.js';
import type { StoredRecording } from '../../derive/replay/read-recording.js';
import {
  questionOf,
  recordedQuestion,
  type SettingQuestion,
  sweepQuestions,
} from '../../derive/replay/sweep-questions.js';
import { type TargetDevice, USUAL_TARGETS } from '../../derive/settings/devices.js';
import { readStacks, siteOf } from '../../derive/stacks/read-stacks.js';
import type { ChosenDevice } from '../../derive/state/choose-snapshot.js';
import { readSteps } from '../../derive/trace/steps.js';
import { MbfError } from '../../model/errors.js';
import { maxOf } from '../../model/lists.js';
import type { WhatIfResult, WhatIfRow } from '../../model/results/replay.js';
import { type Sentence, sentencesOf, type Unworded } from '../../model/statement.js';
import type { WholeStepOutcome } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import { describeEarlyFrees } from './describe-early-frees.js';
import { describeEdits, type SiteEdit } from './describe-edits.js';

const sentence = sentencesOf('what-if');

export interface WhatIfOptions {
  /** `KEY:VALUE` parts, together one setting. */
  readonly set: readonly string[];
  /** Total memory of a device. */
  readonly capacityBytes?: number | undefined;
  /** Named devices. */
  readonly targets: readonly TargetDevice[];
  readonly sweep: boolean;
  readonly edits: readonly SiteEdit[];
  readonly freeEarly: boolean;
}

/**
 * Throws MBF2501 where the trace cannot be replayed: numbers of a model that does not describe the recording would be
 * made up.
 */
export async function describeWhatIf(
  store: Store,
  chosen: ChosenDevice,
  options: WhatIfOptions,
): Promise<Unworded<WhatIfResult, 'caveat' | 'capacity_source'>> {
  const device = await replayDevice(store, chosen);
  const { stored, fidelity, capacity } = device;
  const { recording, history } = stored;
  if (fidelity.status === 'refused') {
    const what = `${fidelity.outcome.addressMatches} of ${fidelity.outcome.allocs} allocations replayed`;
    throw new MbfError('MBF2501', `${chosen.handle} device ${chosen.device}: no what-if: ${fidelity.reason} (${what})`);
  }
  const calibration = calibrate(device);
  const rows: WhatIfRow[] = [];
  let repeats: boolean | null = null;
  const ask = (question: SettingQuestion, place: Place, fraction: number | null = null): void => {
    const allowed = fraction === null ? place.allowedBytes : Math.floor(fraction * place.totalBytes);
    const target = place.target?.name ?? null;
    for (const row of settingRows(device, question, place.budgetBytes, allowed, calibration, repeats))
      rows.push({ ...row, target });
  };
  const here = recordedPlace(capacity);
  const recorded = recordedQuestion(recording.settings);
  ask(recorded, here);
  repeats = capacity.capacityBytes === null ? null : rows[0]?.outcome === 'same_oom';
  const asked = askedPlaces(options, capacity);
  const places = asked.length > 0 ? asked : [here];
  const hasFraction = capacity.allowedBytes !== null;
  const own = options.set.length > 0 ? questionOf(recording.settings, options.set.join(','), hasFraction) : undefined;
  if (own !== undefined) for (const place of places) ask(own, place, own.memoryFraction);
  else for (const place of asked) ask(recorded, place);
  const isPlain = own === undefined && asked.length === 0 && options.edits.length === 0 && !options.freeEarly;
  const sweeps = options.sweep || isPlain;
  const usual = sweeps && options.targets.length === 0 ? USUAL_TARGETS : [];
  if (sweeps)
    for (const place of places)
      for (const question of sweepQuestions(recording.settings, hasFraction)) ask(question, place);
  for (const target of usual) ask(recorded, placeOf(target, capacity));
  const targets = [...options.targets, ...usual];
  return {
    schema: 'mbforensics/whatif@1',
    snapshot: chosen.handle,
    path: chosen.path,
    rank: chosen.rank,
    device: chosen.device,
    replay: {
      status: fidelity.status,
      reason: fidelity.reason,
      address_matches: fidelity.outcome.addressMatches,
      address_total: fidelity.outcome.allocs,
    },
    recorded: {
      capacity_bytes: capacity.capacityBytes,
      capacity_source: capacity.source,
      device_total_bytes: capacity.deviceTotalBytes,
      outside_bytes: capacity.outsideBytes,
      taken_by_others_bytes: capacity.takenByOthersBytes,
      ooms: fidelity.outcome.ooms.length,
      peak_reserved_bytes: history.peakReserved.bytes,
      peak_active_bytes: history.peak.bytes,
      setting: confText(recording.settings),
      oom: await recordedOom(store, stored),
    },
    calibration_bytes: calibration,
    repeats_oom: repeats,
    lost: lostFacts(device, options.edits.length > 0),
    settings: rows,
    targets,
    least_capacity: sweeps || targets.length > 0 ? leastCapacities(device) : [],
    optimum_bytes: optimum(device),
    edit: options.edits.length === 0 ? null : await describeEdits(store, chosen, device, options.edits),
    free_early: options.freeEarly ? await describeEarlyFrees(store, chosen, device) : null,
    whole_step: await wholeStepOf(store, chosen),
    caveat: await caveatOf(store, chosen, device),
  };
}

/** A device that a question is asked for. */
interface Place {
  /** Null: the recorded device, or a bare size. */
  readonly target: TargetDevice | null;
  readonly totalBytes: number;
  readonly budgetBytes: number;
  readonly allowedBytes: number | null;
}

function recordedPlace({ budgetBytes, allowedBytes, deviceTotalBytes }: RecordedCapacity): Place {
  return { target: null, totalBytes: deviceTotalBytes ?? budgetBytes, budgetBytes, allowedBytes };
}

function askedPlaces({ capacityBytes, targets }: WhatIfOptions, capacity: RecordedCapacity): Place[] {
  const sized = capacityBytes === undefined ? [] : [placeOfSize(null, capacityBytes, capacity, '--capacity')];
  return [...sized, ...targets.map((target) => placeOf(target, capacity))];
}

function placeOf(target: TargetDevice, capacity: RecordedCapacity): Place {
  return placeOfSize(target, target.total_bytes, capacity, '--device');
}

/** Less what is outside the allocator, where that is known. A fraction's limit is one of the recorded device. */
function placeOfSize(
  target: TargetDevice | null,
  totalBytes: number,
  { outsideBytes }: RecordedCapacity,
  option: string,
): Place {
  const budgetBytes = totalBytes - (outsideBytes ?? 0);
  if (budgetBytes <= 0) {
    const what = target === null ? String(totalBytes) : target.name;
    throw new MbfError('MBF1001', `${option} ${what} leaves nothing next to the memory outside the allocator`);
  }
  return { target, totalBytes, budgetBytes, allowedBytes: null };
}

/** The most that was live at once, or was live and asked for at an OOM, in whole pages. */
function optimum({ stored, fidelity }: ReplayedDevice): number {
  const atOoms = fidelity.outcome.ooms.map((oom) => oom.activeBytes + oom.requestedBytes);
  return Math.ceil(Math.max(stored.history.peak.bytes, maxOf(atOoms)) / PAGE_BYTES) * PAGE_BYTES;
}

async function wholeStepOf(store: Store, chosen: ChosenDevice): Promise<WhatIfResult['whole_step']> {
  const row = await store.one('replay.whole_step', { snapshot_id: chosen.snapshotId, device: chosen.device });
  return row === undefined ? null : { peak_bytes: row.projected_bytes, outcome: row.step_outcome as WholeStepOutcome };
}

async function caveatOf(store: Store, chosen: ChosenDevice, { fidelity }: ReplayedDevice): Promise<Sentence> {
  if (fidelity.outcome.ooms.length > 0) return sentence('avoided');
  const { steps } = await readSteps(store, chosen.snapshotId, chosen.device);
  const whole = steps.filter((step) => step.partial === null).length;
  if (whole === 0) return sentence('end_of_trace');
  return sentence('whole_steps', { steps: whole });
}

async function recordedOom(store: Store, { recording }: StoredRecording): Promise<WhatIfResult['recorded']['oom']> {
  const { events } = recording;
  const row = events.action.lastIndexOf(OOM, events.count - 1);
  if (row < 0) return null;
  const stackId = events.stackId[row]!;
  const site = stackId < 0 ? null : siteOf(stackId, await readStacks(store, [stackId]));
  return { seq: events.seq[row]!, requested_bytes: events.sizeBytes[row]!, site };
}
