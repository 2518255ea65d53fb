/** Communication that should overlap with computation and does not, from the order of kernels in exports. */

import type { Looked } from '../../derive/settings/facts.js';
import { asNumber, isOn } from '../../derive/settings/values.js';
import { constraintOf } from '../../knowledge/constraint-texts.js';
import { threshold } from '../../knowledge/thresholds/threshold.js';
import { maxBy, sumOf } from '../../model/lists.js';
import type { Waits } from './evidence.js';
import { dpOf, tpOf } from './sizes.js';
import { factOf, factsOf, place, placeOfFacts, type SymptomRule, share } from './symptom.js';

const LEAST_MET = threshold('symptoms_overlap.least_met');
const MOST_WAIT = threshold('symptoms_overlap.most_wait');
const MOSTLY_EXPOSED = threshold('symptoms_overlap.mostly_exposed');
const LEAST_REPORTED = threshold('symptoms_overlap.least_reported');

/** Kernels that waited, over all devices. */
function sumWaits(all: readonly Waits[]): Waits {
  const sum = (field: keyof Waits): number => sumOf(all.map((waits) => waits[field]));
  return { met: sum('met'), waited: sum('waited'), waited_ns: sum('waited_ns') };
}

const MARGINS = ['NVTE_FWD_LAYERNORM_SM_MARGIN', 'NVTE_BWD_LAYERNORM_SM_MARGIN'];

/** The text that Transformer Engine prints of its user buffers, and its text for a tensor larger than its buffer. */
const USER_BUFFER_FAILURE = /user ?buffers?|\bub_(?:obj|name|comm|overlap)|comm_gemm_overlap|CommOverlap/i;
/** Settings that let shapes change from step to step. */
const CHANGING = ['variable_seq_lengths', 'packed_sequence', 'rampup_batch_size'] as const;

const changes = ({ key, value }: Looked): boolean =>
  key === 'rampup_batch_size' ? value !== null && /\d/.test(value) : isOn(value);

export const OVERLAP_RULES: Readonly<Record<string, SymptomRule>> = {
  S21: (evidence) => {
    const { view } = evidence;
    const overlaps = ['overlap_grad_reduce', 'overlap_param_gather'].map((key) => view.setting(key));
    const dp = dpOf(evidence);
    // Without data parallelism, or with overlap off, no overlap was expected.
    if (dp === null || dp < 2 || !overlaps.some(({ value }) => isOn(value))) return null;
    const exposed = evidence.timelines.filter(
      ({ collectives: { busy_ns, exposed_ns }, window_ns }) =>
        exposed_ns >= MOSTLY_EXPOSED * busy_ns && exposed_ns >= LEAST_REPORTED * window_ns,
    );
    const most = maxBy(exposed, ({ collectives, window_ns }) => share(collectives.exposed_ns, window_ns));
    if (most === undefined) return null;
    const { busy_ns, exposed_ns } = most.collectives;
    const waits = sumWaits(exposed.map(({ norm_waits }) => norm_waits));
    const margins = MARGINS.map((name) => view.env(name));
    return {
      source: most.path,
      answer:
        waits.met < LEAST_MET
          ? 'too_few'
          : waits.waited < MOST_WAIT * waits.met
            ? 'overlap'
            : // Waiting while the device has SMs free for the collective is caused by an event.
              margins.every(({ value }) => (asNumber(value) ?? 0) > 0)
              ? 'has_margins'
              : margins.some(({ by }) => by === 'unknown')
                ? 'margins_unknown'
                : 'no_margins',
      figures: {
        ...{ ...waits, tp: (tpOf(evidence) ?? 1) > 1 },
        ...{ of_busy: exposed_ns / busy_ns, of_time: exposed_ns / most.window_ns },
        ...{ overlaps: factsOf(overlaps.filter(({ value }) => isOn(value))), margins: factsOf(margins) },
      },
    };
  },

  S22: (evidence) => {
    const { view, facts, timelines } = evidence;
    const { capability } = facts.device;
    const overlap = view.setting('tp_comm_overlap');
    const tp = tpOf(evidence);
    const isHopper = capability !== null && capability >= 9 && capability < 10;
    const sharded = ['use_megatron_fsdp', 'use_torch_fsdp2'].some((key) => isOn(view.setting(key).value));
    if (!isHopper || tp === null || tp < 2 || !isOn(overlap.value) || sharded) return null;
    const connections = view.env('CUDA_DEVICE_MAX_CONNECTIONS');
    const isOne = asNumber(connections.value) === 1;
    const waits = sumWaits(timelines.map(({ overlap_waits }) => overlap_waits));
    const measured = waits.met >= LEAST_MET;
    const isLate = measured && waits.waited >= MOST_WAIT * waits.met;
    // A variable that a file does not mention may be set elsewhere: without a measured order, it has to be explicit.
    if (!isLate && (isOne || connections.by !== 'told')) return null;
    const late = isOne ? 'is_one' : connections.by === 'unknown' ? 'connections_unknown' : 'late';
    return {
      source: measured
        ? [...new Set(timelines.map(({ path }) => path))].join(', ')
        : placeOfFacts([connections, overlap]),
      answer: !measured ? 'no_export' : !isLate ? 'overlap' : late,
      figures: {
        ...{ ...waits, late: isLate, tp, gpu: facts.device.name },
        ...{ overlap: factOf(overlap), connections: factOf(connections) },
      },
    };
  },

  S23: (evidence) => {
    const { view, incidents } = evidence;
    const overlap = view.setting('tp_comm_overlap');
    const incident = incidents.find(
      ({ is_oom, text }) => !is_oom && USER_BUFFER_FAILURE.test(text) && constraintOf(text) === null,
    );
    if (incident === undefined || (overlap.by === 'told' && !isOn(overlap.value))) return null;
    const shapes = CHANGING.map((key) => view.setting(key));
    const padded = view.setting('pad_to_max_length');
    const moving = shapes.filter(changes);
    const explicit = [...shapes, padded].filter(({ by }) => by === 'told');
    const isFixed = explicit.some(({ key }) => key === 'variable_seq_lengths') || isOn(padded.value);
    return {
      source: place(incident),
      answer: moving.length > 0 && !isOn(padded.value) ? 'moving' : isFixed ? 'fixed' : 'shapes_unknown',
      figures: {
        ...{ message: incident.text.split('\n')[0]!.slice(0, 240), overlap: factOf(overlap) },
        ...{ moving: factsOf(moving), explicit: factsOf(explicit) },
      },
    };
  },
};
