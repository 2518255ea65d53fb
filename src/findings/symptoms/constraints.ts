/** Refusals: the framework's own message is the symptom, the configuration of the run makes sure. */
import { constraintOf } from '../../knowledge/constraint-texts.js';
import type { LogIncident } from '../../model/log-results.js';
import {
  above,
  all,
  type Condition,
  envHas,
  envNot,
  given,
  is,
  isNot,
  not,
  numbers,
  on,
  where,
} from '../settings/condition.js';
import { asNumber } from '../settings/values.js';
import type { SymptomEvidence } from './evidence.js';
import { type Sighting, type Symptom, symptom } from './symptom.js';
import { factsText, list, place } from './words.js';

/** The first line of the message, without its ranks and frames. */
const shown = ({ text }: LogIncident): string => text.split('\n')[0]!.trim().slice(0, 240);

export function refusalIn({ incidents }: SymptomEvidence, constraints: readonly string[]): LogIncident | undefined {
  return incidents.find(({ is_oom, text }) => !is_oom && constraints.includes(constraintOf(text)?.id ?? ''));
}

/** The message stands in the log; whether the configuration that was read has what it complains of is another matter. */
function refusal(constraints: readonly string[], when: Condition): (evidence: SymptomEvidence) => Sighting | null {
  return (evidence) => {
    const incident = refusalIn(evidence, constraints);
    return incident === undefined ? null : { seen: shown(incident), source: place(incident), ...judge(evidence, when) };
  };
}

export function judge({ view }: SymptomEvidence, when: Condition): Pick<Sighting, 'confirmation' | 'because'> {
  const { value, looked } = when.test(view);
  if (value === true) return { confirmation: 'confirmed', because: factsText(looked) };
  if (value === false)
    return {
      confirmation: 'refuted',
      because: `what was read of the configuration does not have it (${factsText(looked)}): it is not that of the launch that failed`,
    };
  const missing = [...new Set(looked.filter(({ by }) => by === 'unknown').map(({ key }) => key))];
  return {
    confirmation: 'untested',
    because: `${list(missing)} ${missing.length === 1 ? 'is' : 'are'} not in what was read: add the job script, the run's configuration or the dump of its arguments to the run`,
  };
}

/** Layers of a middle stage are no whole multiple of the virtual stages. */
const UNEVEN_CHUNKS = numbers(
  'num_layers / PP is no multiple of VPP',
  ['num_layers', 'pipeline_model_parallel_size', 'virtual_pipeline_model_parallel_size'],
  (layers, stages, chunks) => (layers! / stages!) % chunks! !== 0,
);

/** Where first and last stages have numbers of their own, the quotient is not that of a middle stage. */
const OWN_LAYOUT = where('a layout of stages of its own', (view) => {
  const keys = [
    'num_layers_in_first_pipeline_stage',
    'num_layers_in_last_pipeline_stage',
    'pipeline_model_parallel_layout',
  ];
  const found = keys.map((key) => view.setting(key)).filter(({ value }) => value !== null);
  return [found.length > 0, ...found];
});

/** The two numbers of the message. */
const CHUNK_NUMBERS = /rank:\s*(\d+)\s*must be divisible by virtual\s*pipeline\s*parallel degree\s*(\d+)/i;

const GRAPHS = all(given('cuda_graph_impl'), isNot('cuda_graph_impl', 'none'));
const OFFLOAD = on('cpu_offloading');
/** Megatron-Core looks for this very text in this very variable. */
const EXPANDABLE = envHas('PYTORCH_CUDA_ALLOC_CONF', 'expandable_segments:True');

const PP_OFFLOAD = all(OFFLOAD, above('pipeline_model_parallel_size', 1));
const SAYS_PP = refusal(['offload-pp'], PP_OFFLOAD);

export const S4: Symptom = symptom(
  {
    id: 'S4',
    name: 'mem-offload-pp',
    symptom: 'ValueError: pipeline parallelism with CPU offloading',
    cause: 'cpu_offloading works with one pipeline stage only.',
    confirm: 'cpu_offloading and pipeline_model_parallel_size',
    fix: 'Switch cpu_offloading off, or use pipeline_model_parallel_size=1.',
    finding: 'offload-pp',
  },
  SAYS_PP,
);

export const S5: Symptom = symptom(
  {
    id: 'S5',
    name: 'mem-ncclub',
    symptom: 'Refused: NCCL user buffers (--use-nccl-ub) with expandable segments',
    cause: 'Registering buffers with NCCL and the expandable allocator exclude each other before torch 2.11.',
    confirm: 'the environment and nccl_ub',
    fix: 'Drop expandable_segments:True or --use-nccl-ub, or use torch 2.11 or newer.',
  },
  refusal(['ub-expand'], all(on('nccl_ub'), EXPANDABLE)),
);

export const S8: Symptom = symptom(
  {
    id: 'S8',
    name: 'rec-full-graph',
    symptom: 'AssertionError: full recompute is only supported with full iteration CUDA graph',
    cause: 'Recompute of whole layers cannot be captured piece by piece.',
    confirm: 'cuda_graph_impl, cuda_graph_modules and recompute_granularity',
    fix: 'Recompute selectively; or cuda_graph_impl=none; or cuda_graph_impl=full_iteration (older: local with the scope full_iteration).',
  },
  refusal(
    ['graph-full-rc'],
    all(is('recompute_granularity', 'full'), GRAPHS, isNot('cuda_graph_impl', 'full_iteration')),
  ),
);

export const S9: Symptom = symptom(
  {
    id: 'S9',
    name: 'rec-offload-pp',
    symptom: 'ValueError: pipeline parallelism with CPU offloading',
    cause: 'cpu_offloading works with one pipeline stage only.',
    confirm: 'cpu_offloading and pipeline_model_parallel_size',
    fix: 'Switch cpu_offloading off, or use pipeline_model_parallel_size=1.',
    finding: 'offload-pp',
  },
  SAYS_PP,
);

export const S11: Symptom = symptom(
  {
    id: 'S11',
    name: 'off-pp',
    symptom: 'Currently there is no support for Pipeline parallelism with CPU offloading',
    cause: 'Activation offloading with more than one pipeline stage.',
    confirm: 'pipeline_model_parallel_size',
    fix: 'Use pipeline_model_parallel_size=1, or offload the optimizer instead (optimizer_cpu_offload).',
    finding: 'offload-pp',
  },
  SAYS_PP,
);

export const S12: Symptom = symptom(
  {
    id: 'S12',
    name: 'off-recompute',
    symptom: 'CPU offloading does not work when activation recomputation is enabled',
    cause: 'Activation offloading and recompute are both on.',
    confirm: 'recompute_granularity',
    fix: 'Set recompute_granularity=null, or drop cpu_offloading.',
  },
  refusal(['offload-recompute'], all(OFFLOAD, given('recompute_granularity'))),
);

export const S13: Symptom = symptom(
  {
    id: 'S13',
    name: 'off-fine',
    symptom: 'fine_grained_activation_offloading cannot be enabled with cpu_offloading',
    cause: 'Both ways of offloading activations are on.',
    confirm: 'both flags',
    fix: 'Use one of the two.',
  },
  refusal(['offload-fine'], all(OFFLOAD, on('fine_grained_activation_offloading'))),
);

export const S14: Symptom = symptom(
  {
    id: 'S14',
    name: 'off-graphs',
    symptom: 'CUDA graphs not supported with CPU offloading',
    cause: 'CUDA graphs with activation offloading.',
    confirm: 'cuda_graph_impl',
    fix: 'Set cuda_graph_impl="none" (newer Megatron-Core also takes full_iteration).',
  },
  refusal(['offload-graphs'], all(OFFLOAD, GRAPHS)),
);

export const S18: Symptom = symptom(
  {
    id: 'S18',
    name: 'vpp-div',
    symptom: 'number of layers on each middle pipeline rank must be divisible by virtual pipeline parallel degree',
    cause: 'The layers of a stage are no whole multiple of the virtual stages.',
    confirm: 'num_layers / PP % VPP',
    fix: 'Another virtual_pipeline_model_parallel_size, or another layout of layers.',
  },
  (evidence) => {
    const incident = refusalIn(evidence, ['vpp-div']);
    if (incident === undefined) return null;
    const seen = { seen: shown(incident), source: place(incident) };
    const told = CHUNK_NUMBERS.exec(incident.text);
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
      return { ...seen, confirmation: 'confirmed', because: `${judged.because}: ${sum}` };
    }
    // The message is the framework's own sum, of whatever layout.
    if (told !== null && Number(told[1]) % Number(told[2]) !== 0 && OWN_LAYOUT.test(evidence.view).value === true)
      return {
        ...seen,
        confirmation: 'confirmed',
        because: `as the message has it: ${told[1]} layers, ${told[2]} virtual stages`,
      };
    return { ...seen, ...judged };
  },
);

const REGISTERS = envNot('NCCL_GRAPH_REGISTER', '0');

export const S19: Symptom = symptom(
  {
    id: 'S19',
    name: 'graph-ncclreg',
    symptom: 'Assertion or illegal memory access with CUDA graphs and expandable segments',
    cause:
      'NCCL registers the buffers of captured collectives unless NCCL_GRAPH_REGISTER=0, and expandable segments are mapped anew under it.',
    confirm: 'the environment, cuda_graph_impl, the version of Megatron-Core',
    fix: 'export NCCL_GRAPH_REGISTER=0 (Megatron-Core 0.14 and 0.15: drop one of the two).',
  },
  (evidence) => {
    const refused = refusalIn(evidence, ['graph-nccl-te', 'graph-expand-old']);
    if (refused !== undefined) {
      // The old assertion asks for no variable.
      const anyway = constraintOf(refused.text)?.id === 'graph-expand-old';
      const when = anyway ? all(GRAPHS, EXPANDABLE) : all(GRAPHS, EXPANDABLE, REGISTERS);
      return { seen: shown(refused), source: place(refused), ...judge(evidence, when) };
    }
    const fault = evidence.incidents.find(({ kind }) => /^illegal_access/.test(kind));
    // A fault alone has a hundred reasons.
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
        confirmation: 'untested',
        because: `nothing tells NCCL_GRAPH_REGISTER of the processes: add a dump of a rank's environment (\`env\`) to the run, or set it to 0 and try again`,
      };
    return registers.value
      ? {
          ...seen,
          confirmation: 'confirmed',
          because: factsText([...registers.looked, ...GRAPHS.test(evidence.view).looked]),
        }
      : { ...seen, confirmation: 'refuted', because: `${factsText(registers.looked)}: the fault has another reason` };
  },
);
