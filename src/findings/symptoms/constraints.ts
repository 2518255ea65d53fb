/** Refusals: the framework's own message is the symptom, the configuration of the run confirms it. */

import {
  above,
  all,
  type Condition,
  envHas,
  envNot,
  is,
  isNot,
  isSet,
  not,
  numbers,
  on,
  where,
} from '../../derive/settings/condition.js';
import { asNumber } from '../../derive/settings/values.js';
import { constraintOf } from '../../knowledge/constraint-texts.js';
import type { LogIncident } from '../../model/results/log.js';
import type { SymptomEvidence } from './evidence.js';
import { ownSplits } from './sizes.js';
import { confirmed, type Judged, refuted, type Sighting, type Symptom, symptom, untested } from './symptom.js';
import { factsText, list, place } from './words.js';

/** The first line of the message, without its ranks and frames. */
const shown = ({ text }: LogIncident): string => text.split('\n')[0]!.trim().slice(0, 240);

export function refusalIn({ incidents }: SymptomEvidence, constraints: readonly string[]): LogIncident | undefined {
  return incidents.find(({ is_oom, text }) => !is_oom && constraints.includes(constraintOf(text)?.id ?? ''));
}

/**
 * The message is in the log; whether the configuration that was read has the reported setting is a separate question.
 */
function refusal(constraints: readonly string[], when: Condition): (evidence: SymptomEvidence) => Sighting | null {
  return (evidence) => {
    const incident = refusalIn(evidence, constraints);
    return incident === undefined ? null : { seen: shown(incident), source: place(incident), ...judge(evidence, when) };
  };
}

export function judge({ view }: SymptomEvidence, when: Condition): Judged {
  const { value, looked } = when.test(view);
  if (value === true) return confirmed(factsText(looked));
  if (value === false)
    return refuted(
      `what was read of the configuration does not have it (${factsText(looked)}): it is not that of the launch that failed`,
    );
  const missing = [...new Set(looked.filter(({ by }) => by === 'unknown').map(({ key }) => key))];
  return untested(
    `${list(missing)} ${missing.length === 1 ? 'is' : 'are'} not in what was read: add the job script, the run's configuration or the dump of its arguments to the run`,
  );
}

/** The layers of a middle stage are not a whole multiple of the virtual stages. */
const UNEVEN_CHUNKS = numbers(
  'num_layers / PP is not a multiple of VPP',
  ['num_layers', 'pipeline_model_parallel_size', 'virtual_pipeline_model_parallel_size'],
  (layers, stages, chunks) => (layers! / stages!) % chunks! !== 0,
);

/** If first and last stages have their own numbers of layers, the quotient is not that of a middle stage. */
const OWN_LAYOUT = where('a layout of stages of its own', (view) => {
  const layoutSettings = ownSplits(view);
  return [layoutSettings.length > 0, ...layoutSettings];
});

/** The two numbers of the message. */
const CHUNK_NUMBERS = /rank:\s*(\d+)\s*must be divisible by virtual\s*pipeline\s*parallel degree\s*(\d+)/i;

const GRAPHS = all(isSet('cuda_graph_impl'), isNot('cuda_graph_impl', 'none'));
const OFFLOAD = on('cpu_offloading');
/** Megatron-Core searches this variable for this exact text. */
const EXPANDABLE = envHas('PYTORCH_CUDA_ALLOC_CONF', 'expandable_segments:True');

const PP_OFFLOAD = all(OFFLOAD, above('pipeline_model_parallel_size', 1));
const PP_OFFLOAD_REFUSAL = refusal(['offload-pp'], PP_OFFLOAD);

export const S4: Symptom = symptom('S4', PP_OFFLOAD_REFUSAL);

export const S5: Symptom = symptom('S5', refusal(['ub-expand'], all(on('nccl_ub'), EXPANDABLE)));

export const S8: Symptom = symptom(
  'S8',
  refusal(
    ['graph-full-rc'],
    all(is('recompute_granularity', 'full'), GRAPHS, isNot('cuda_graph_impl', 'full_iteration')),
  ),
);

export const S9: Symptom = symptom('S9', PP_OFFLOAD_REFUSAL);

export const S11: Symptom = symptom('S11', PP_OFFLOAD_REFUSAL);

export const S12: Symptom = symptom(
  'S12',
  refusal(['offload-recompute'], all(OFFLOAD, isSet('recompute_granularity'))),
);

export const S13: Symptom = symptom(
  'S13',
  refusal(['offload-fine'], all(OFFLOAD, on('fine_grained_activation_offloading'))),
);

export const S14: Symptom = symptom('S14', refusal(['offload-graphs'], all(OFFLOAD, GRAPHS)));

export const S18: Symptom = symptom('S18', (evidence) => {
  const incident = refusalIn(evidence, ['vpp-div']);
  if (incident === undefined) return null;
  const seen = { seen: shown(incident), source: place(incident) };
  const numbers = CHUNK_NUMBERS.exec(incident.text);
  const judged = judge(evidence, all(UNEVEN_CHUNKS, not(OWN_LAYOUT)));
  if (judged.confirmation === 'confirmed') {
    const [layers, stages, chunks] = [
      'num_layers',
      'pipeline_model_parallel_size',
      'virtual_pipeline_model_parallel_size',
    ].map((key) => asNumber(evidence.view.setting(key).value)!);
    const each = layers! / stages!;
    const sum = Number.isInteger(each)
      ? `${each} % ${chunks} = ${each % chunks!}`
      : `${layers} / ${stages} = ${each.toFixed(2)}`;
    return { ...seen, ...confirmed(`${judged.because}: ${sum}`) };
  }
  // The message contains the framework's own division, for any layout.
  if (
    numbers !== null &&
    Number(numbers[1]) % Number(numbers[2]) !== 0 &&
    OWN_LAYOUT.test(evidence.view).value === true
  )
    return { ...seen, ...confirmed(`as the message has it: ${numbers[1]} layers, ${numbers[2]} virtual stages`) };
  return { ...seen, ...judged };
});

const REGISTERS = envNot('NCCL_GRAPH_REGISTER', '0');

export const S19: Symptom = symptom('S19', (evidence) => {
  const refused = refusalIn(evidence, ['graph-nccl-te', 'graph-expand-old']);
  if (refused !== undefined) {
    // The old assertion does not require a variable.
    const anyway = constraintOf(refused.text)?.id === 'graph-expand-old';
    const when = anyway ? all(GRAPHS, EXPANDABLE) : all(GRAPHS, EXPANDABLE, REGISTERS);
    return { seen: shown(refused), source: place(refused), ...judge(evidence, when) };
  }
  const fault = evidence.incidents.find(({ kind }) => /^illegal_access/.test(kind));
  // A fault alone has many possible causes.
  if (fault === undefined || GRAPHS.test(evidence.view).value !== true || evidence.expandable.value !== true)
    return null;
  const seen = {
    seen: `${shown(fault)}; ${factsText(GRAPHS.test(evidence.view).looked)}; ${evidence.expandable.text}`,
    source: place(fault),
  };
  const registers = REGISTERS.test(evidence.view);
  const [fact] = registers.looked;
  if (registers.value === null || fact?.by === 'assumed')
    return {
      ...seen,
      ...untested(
        `NCCL_GRAPH_REGISTER of the processes is unknown: add a dump of a rank's environment (\`env\`) to the run, or set it to 0 and try again`,
      ),
    };
  return registers.value
    ? { ...seen, ...confirmed(factsText([...registers.looked, ...GRAPHS.test(evidence.view).looked])) }
    : { ...seen, ...refuted(`${factsText(registers.looked)}: the fault has another reason`) };
});
