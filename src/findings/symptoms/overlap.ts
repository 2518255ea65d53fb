/** Communication that should overlap with computation and does not, from the order of kernels in exports. */

import type { Looked } from '../../derive/settings/facts.js';
import { asNumber, isOn } from '../../derive/settings/values.js';
import { constraintOf } from '../../knowledge/constraint-texts.js';
import { threshold } from '../../knowledge/thresholds/threshold.js';
import { formatCount } from '../../model/units.js';
import type { SymptomEvidence, Timeline, Waits } from './evidence.js';
import { dpOf, tpOf } from './sizes.js';
import { CAPTURE } from './speed.js';
import { confirmed, type Judged, refuted, type Symptom, symptom, untested } from './symptom.js';
import { factsText, factText, list, milliseconds, percent, place, placeOfFacts, share } from './words.js';

const LEAST_MET = threshold('symptoms_overlap.least_met');
const MOST_WAIT = threshold('symptoms_overlap.most_wait');

/** Kernels that waited, over all devices. */
function sumWaits(timelines: readonly Timeline[], of: (timeline: Timeline) => Waits): Waits {
  return timelines.reduce<Waits>(
    (sum, timeline) => {
      const { met, waited, waited_ns } = of(timeline);
      return { met: sum.met + met, waited: sum.waited + waited, waited_ns: sum.waited_ns + waited_ns };
    },
    { met: 0, waited: 0, waited_ns: 0 },
  );
}

const waitText = ({ met, waited, waited_ns }: Waits, who: string, whom: string): string =>
  `of ${formatCount(met)} ${who} that could have overlapped ${whom}, ${formatCount(waited)} began only at its end (${milliseconds(waited_ns)} of waiting)`;

const pathsOf = (timelines: readonly Timeline[]): string => [...new Set(timelines.map(({ path }) => path))].join(', ');

// ---- S21 -----------------------------------------------------------------------------------------

const MOSTLY_EXPOSED = threshold('symptoms_overlap.mostly_exposed');
const WORTH_A_WORD = threshold('symptoms_overlap.worth_a_word');

export const S21: Symptom = symptom('S21', (evidence) => {
  const { view } = evidence;
  const overlaps = ['overlap_grad_reduce', 'overlap_param_gather'].map((key) => view.setting(key));
  const dp = dpOf(evidence);
  // Without data parallelism, or with overlap off, no overlap was expected.
  if (dp === null || dp < 2 || !overlaps.some(({ value }) => isOn(value))) return null;
  const exposed = evidence.timelines.filter(
    ({ collectives: { busy_ns, exposed_ns }, window_ns }) =>
      exposed_ns >= MOSTLY_EXPOSED * busy_ns && exposed_ns >= WORTH_A_WORD * window_ns,
  );
  const [most] = exposed.toSorted(
    (a, b) => share(b.collectives.exposed_ns, b.window_ns) - share(a.collectives.exposed_ns, a.window_ns),
  );
  if (most === undefined) return null;
  const { busy_ns, exposed_ns } = most.collectives;
  const including = (tpOf(evidence) ?? 1) > 1 ? ', those of tensor parallelism among them' : '';
  const [ofBusy, ofTime] = [percent(exposed_ns / busy_ns), percent(exposed_ns / most.window_ns)];
  const requested = factsText(overlaps.filter(({ value }) => isOn(value)));
  return {
    seen: `${ofBusy} of the collectives${including} do not overlap computation, ${ofTime} of the time; requested: ${requested}`,
    source: most.path,
    ...normsWait(evidence, exposed),
  };
});

const MARGINS = ['NVTE_FWD_LAYERNORM_SM_MARGIN', 'NVTE_BWD_LAYERNORM_SM_MARGIN'];

function normsWait({ view }: SymptomEvidence, timelines: readonly Timeline[]): Judged {
  const waits = sumWaits(timelines, ({ norm_waits }) => norm_waits);
  const margins = MARGINS.map((name) => view.env(name));
  const settings = factsText(margins);
  const figures = `${waitText(waits, 'normalization kernels', 'a collective')}; ${settings}`;
  if (waits.met < LEAST_MET)
    return untested(
      `the export has ${waits.met === 0 ? 'no' : `only ${waits.met}`} normalization kernels that were launched while a collective ran; capture more steps without CUDA graphs: ${CAPTURE}; ${settings}`,
    );
  if (waits.waited < MOST_WAIT * waits.met) return refuted(figures);
  // Waiting while the device has SMs free for the collective is caused by an event.
  if (margins.every(({ value }) => (asNumber(value) ?? 0) > 0))
    return refuted(`${figures}: the margins are there, so they wait for something else`);
  return margins.some(({ by }) => by === 'unknown')
    ? untested(`${figures}: add the job script or a dump of a rank's environment`)
    : confirmed(figures);
}

// ---- S22 -----------------------------------------------------------------------------------------

export const S22: Symptom = symptom('S22', (evidence) => {
  const { view, facts } = evidence;
  const { capability } = facts.device;
  const overlap = view.setting('tp_comm_overlap');
  const tp = tpOf(evidence);
  const isHopper = capability !== null && capability >= 9 && capability < 10;
  const sharded = ['use_megatron_fsdp', 'use_torch_fsdp2'].some((key) => isOn(view.setting(key).value));
  if (!isHopper || tp === null || tp < 2 || !isOn(overlap.value) || sharded) return null;
  const connections = view.env('CUDA_DEVICE_MAX_CONNECTIONS');
  const isOne = asNumber(connections.value) === 1;
  const waits = sumWaits(evidence.timelines, ({ overlap_waits }) => overlap_waits);
  const measured = waits.met >= LEAST_MET;
  const isLate = measured && waits.waited >= MOST_WAIT * waits.met;
  const order = waitText(waits, "kernels of Transformer Engine's user buffers", 'a matrix product');
  // A variable that a file does not mention may be set elsewhere; only explicit values count if no order was measured.
  if (!isLate && (isOne || connections.by !== 'told')) return null;
  const config = `TP ${tp} on ${facts.device.name ?? 'Hopper'}, ${factText(overlap)}, ${factText(connections)}`;
  if (!measured)
    return {
      seen: config,
      source: placeOfFacts([connections, overlap]),
      ...untested(`no export shows the order of kernels: ${CAPTURE}`),
    };
  const seen = { seen: isLate ? `${order}; ${config}` : config, source: pathsOf(evidence.timelines) };
  if (!isLate) return { ...seen, ...refuted(`${order}: they do overlap`) };
  if (isOne) return { ...seen, ...refuted(`${factText(connections)}: the order has another reason`) };
  return connections.by === 'unknown'
    ? { ...seen, ...untested(`${connections.key} is unknown: add the job script or a dump of a rank's environment`) }
    : { ...seen, ...confirmed(`${order}; ${factText(connections)}`) };
});

// ---- S23 -----------------------------------------------------------------------------------------

/** The text that Transformer Engine prints of its user buffers, and its text for a tensor larger than its buffer. */
const USER_BUFFER_FAILURE = /user ?buffers?|\bub_(?:obj|name|comm|overlap)|comm_gemm_overlap|CommOverlap/i;
/** Settings that let shapes change from step to step. */
const CHANGING = ['variable_seq_lengths', 'packed_sequence', 'rampup_batch_size'] as const;

const changes = ({ key, value }: Looked): boolean =>
  key === 'rampup_batch_size' ? value !== null && /\d/.test(value) : isOn(value);

export const S23: Symptom = symptom('S23', (evidence) => {
  const { view, incidents } = evidence;
  const overlap = view.setting('tp_comm_overlap');
  const incident = incidents.find(
    ({ is_oom, text }) => !is_oom && USER_BUFFER_FAILURE.test(text) && constraintOf(text) === null,
  );
  if (incident === undefined || (overlap.by === 'told' && !isOn(overlap.value))) return null;
  const seen = {
    seen: `${incident.text.split('\n')[0]!.slice(0, 240)}; ${factText(overlap)}`,
    source: place(incident),
  };
  const shapes = CHANGING.map((key) => view.setting(key));
  const padded = view.setting('pad_to_max_length');
  const moving = shapes.filter(changes);
  if (moving.length > 0 && !isOn(padded.value)) return { ...seen, ...confirmed(`shapes change: ${factsText(moving)}`) };
  const explicit = shapes.filter(({ by }) => by === 'told');
  return explicit.some(({ key }) => key === 'variable_seq_lengths') || isOn(padded.value)
    ? { ...seen, ...refuted(`shapes are fixed: ${factsText([...explicit, padded].filter(({ by }) => by === 'told'))}`) }
    : { ...seen, ...untested(`unknown whether shapes change (${list([...CHANGING])}): add the run's configuration`) };
});
