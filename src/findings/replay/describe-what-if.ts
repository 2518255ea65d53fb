/** `mbforensics whatif`: the recorded requests under other settings, on other devices, or changed themselves. */

import { confText, PAGE_BYTES } from '../../allocator/settings.js';
import { MbfError } from '../../model/errors.js';
import { maxOf, pushAll } from '../../model/lists.js';
import type { WhatIfResult, WhatIfSetting } from '../../model/results/replay.js';
import { OOM } from '../../model/trace-action-codes.js';
import type { WholeStepOutcome } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import { readStacks, siteOf } from '../stacks/read-stacks.js';
import type { ChosenDevice } from '../state/choose-snapshot.js';
import { readSteps } from '../trace/steps.js';
import { calibrate, leastCapacities, lostFacts, type ReplayedDevice, replayDevice, settingRows } from './ask.js';
import type { RecordedCapacity } from './capacity.js';
import { describeEarlyFrees } from './describe-early-frees.js';
import { describeEdits, type SiteEdit } from './describe-edits.js';
import type { StoredRecording } from './read-recording.js';
import {
  CAPACITY_PARTS,
  questionOf,
  recordedQuestion,
  type SettingQuestion,
  sweepQuestions,
} from './sweep-questions.js';

export interface WhatIfOptions {
  /** `KEY:VALUE` parts, together one setting. */
  readonly set: readonly string[];
  /** Total memory of the device. */
  readonly capacityBytes?: number | undefined;
  readonly sweep: boolean;
  readonly edits: readonly SiteEdit[];
  readonly freeEarly: boolean;
}

const AVOIDED =
  'That this OOM is avoided is no proof that training fits later: the trace ends here, and what the program would have asked for next is in no recording.';
const END_OF_TRACE =
  'The answers hold for this trace; it marks no training steps, and what came after it is in no recording.';

/**
 * Throws MBF2501 where the trace cannot be replayed: numbers of a model that does not describe the recording would be
 * made up.
 */
export async function describeWhatIf(
  store: Store,
  chosen: ChosenDevice,
  options: WhatIfOptions,
): Promise<WhatIfResult> {
  const device = await replayDevice(store, chosen);
  const { stored, fidelity, capacity } = device;
  const { recording, history } = stored;
  if (fidelity.status === 'refused') {
    const what = `${fidelity.outcome.addressMatches} of ${fidelity.outcome.allocs} allocations replayed`;
    throw new MbfError('MBF2501', `${chosen.handle} device ${chosen.device}: no what-if: ${fidelity.reason} (${what})`);
  }
  const budget = askedBudget(options.capacityBytes, capacity);
  const calibration = calibrate(device);
  const rows: WhatIfSetting[] = [];
  let repeats: boolean | null = null;
  const ask = (question: SettingQuestion, budgetBytes: number, allowed: number | null): void => {
    pushAll(rows, settingRows(device, question, budgetBytes, allowed, calibration, repeats));
  };
  const recordedBudget = capacity.budgetBytes;
  ask(recordedQuestion(recording.settings), recordedBudget, capacity.allowedBytes);
  repeats = capacity.capacityBytes === null ? null : rows[0]?.outcome === 'same_oom';
  const target = budget ?? recordedBudget;
  const allowed = budget === null ? capacity.allowedBytes : null;
  const hasFraction = capacity.allowedBytes !== null;
  const own = options.set.length > 0 ? questionOf(recording.settings, options.set.join(','), hasFraction) : undefined;
  if (own !== undefined) {
    // Of the device asked about; of the recorded one where no other is.
    const total = options.capacityBytes ?? capacity.deviceTotalBytes ?? target;
    const fraction = own.memoryFraction === null ? allowed : Math.floor(own.memoryFraction * total);
    ask(own, target, fraction);
  } else if (budget !== null) ask(recordedQuestion(recording.settings), budget, null);
  const isPlain = own === undefined && budget === null && options.edits.length === 0 && !options.freeEarly;
  const sweeps = options.sweep || isPlain;
  if (sweeps) {
    for (const question of sweepQuestions(recording.settings, hasFraction)) ask(question, target, allowed);
    if (Number.isFinite(target))
      for (const part of CAPACITY_PARTS) ask(recordedQuestion(recording.settings), wholePages(target * part), null);
  }
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
    lost: lostFacts(device),
    settings: rows,
    least_capacity: sweeps ? leastCapacities(device) : [],
    optimum_bytes: optimum(device),
    edit: options.edits.length === 0 ? null : await describeEdits(store, chosen, device, options.edits),
    free_early: options.freeEarly ? await describeEarlyFrees(store, chosen, device) : null,
    whole_step: await wholeStepOf(store, chosen),
    caveat: await caveatOf(store, chosen, device),
  };
}

function wholePages(bytes: number): number {
  return Math.round(bytes / PAGE_BYTES) * PAGE_BYTES;
}

/** What is requested for a device of so many bytes: less what is outside the allocator, where that is known. */
function askedBudget(capacityBytes: number | undefined, capacity: RecordedCapacity): number | null {
  if (capacityBytes === undefined) return null;
  const budget = capacityBytes - (capacity.outsideBytes ?? 0);
  if (budget <= 0)
    throw new MbfError('MBF1001', `--capacity ${capacityBytes} leaves nothing beside the memory outside the allocator`);
  return budget;
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

async function caveatOf(store: Store, chosen: ChosenDevice, { fidelity }: ReplayedDevice): Promise<string> {
  if (fidelity.outcome.ooms.length > 0) return AVOIDED;
  const { steps } = await readSteps(store, chosen.snapshotId, chosen.device);
  const whole = steps.filter((step) => step.partial === null).length;
  if (whole === 0) return END_OF_TRACE;
  return `The trace holds ${whole} whole training step${whole === 1 ? '' : 's'}: a setting that serves all of it serves such steps; others may ask for more.`;
}

async function recordedOom(store: Store, { recording }: StoredRecording): Promise<WhatIfResult['recorded']['oom']> {
  const { events } = recording;
  const row = events.action.lastIndexOf(OOM, events.count - 1);
  if (row < 0) return null;
  const stackId = events.stackId[row]!;
  const site = stackId < 0 ? null : siteOf(stackId, await readStacks(store, [stackId]));
  return { seq: events.seq[row]!, requested_bytes: events.sizeBytes[row]!, site };
}
