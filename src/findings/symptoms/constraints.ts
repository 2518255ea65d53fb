/** Refusals: the framework's own message is the symptom, the configuration of the run confirms it. */

import type { Outcome } from '../../derive/settings/condition.js';
import { conditionOfText } from '../../derive/settings/terms.js';
import { asNumber } from '../../derive/settings/values.js';
import { constraintOf } from '../../knowledge/constraint-texts.js';
import type { SymptomText } from '../../knowledge/symptoms.js';
import type { LogIncident } from '../../model/results/log.js';
import type { SymptomEvidence } from './evidence.js';
import { ownSplits } from './sizes.js';
import { factsOf, place, type Sighting, type SymptomRule } from './symptom.js';

/** The first line of the message, without its ranks and frames. */
const shown = ({ text }: LogIncident): string => text.split('\n')[0]!.trim().slice(0, 240);

function refusalIn({ incidents }: SymptomEvidence, constraints: readonly string[]): LogIncident | undefined {
  return incidents.find(({ is_oom, text }) => !is_oom && constraints.includes(constraintOf(text)?.id ?? ''));
}

const tested = ({ view }: SymptomEvidence, when: string): Outcome => conditionOfText(when, 'symptoms').test(view);

/**
 * The message is in the log; whether the configuration that was read has the reported setting is a separate question.
 */
export function refused(evidence: SymptomEvidence, { of, when }: NonNullable<SymptomText['refusal']>): Sighting | null {
  const incident = refusalIn(evidence, of);
  return incident === undefined ? null : judged(incident, tested(evidence, when));
}

function judged(incident: LogIncident, { value, looked }: Pick<Outcome, 'value' | 'looked'>): Sighting {
  const missing = [...new Set(looked.filter(({ by }) => by === 'unknown').map(({ key }) => key))];
  return {
    source: place(incident),
    answer: value === true ? 'holds' : value === false ? 'other_launch' : 'not_read',
    figures: { message: shown(incident), facts: factsOf(looked), keys: missing, several: missing.length !== 1 },
  };
}

const SIZES = ['num_layers', 'pipeline_model_parallel_size', 'virtual_pipeline_model_parallel_size'] as const;
/** The layers of a middle stage are not a whole multiple of the virtual stages. */
const UNEVEN_CHUNKS = `{${SIZES.join(', ')}: (${SIZES[0]} / ${SIZES[1]}) % ${SIZES[2]} ≠ 0}`;
/** The two numbers of the message. */
const CHUNK_NUMBERS = /rank:\s*(\d+)\s*must be divisible by virtual\s*pipeline\s*parallel degree\s*(\d+)/i;

const GRAPHS = 'cuda_graph_impl set and cuda_graph_impl ≠ none';
const REGISTERS = 'NCCL_GRAPH_REGISTER ≠ 0';
/** Megatron-Core searches this variable for this exact text. */
const EXPANDABLE = `${GRAPHS} and PYTORCH_CUDA_ALLOC_CONF has expandable_segments:True`;

export const CONSTRAINT_RULES: Readonly<Record<string, SymptomRule>> = {
  S18: (evidence) => {
    const incident = refusalIn(evidence, ['vpp-div']);
    if (incident === undefined) return null;
    const uneven = tested(evidence, UNEVEN_CHUNKS);
    // If first and last stages have their own numbers of layers, the quotient is not that of a middle stage.
    const splits = ownSplits(evidence.view);
    const isOther = uneven.value !== false && splits.length > 0;
    const sighting = judged(incident, isOther ? { value: false, looked: splits } : uneven);
    if (sighting.answer === 'holds') {
      const [layers, stages, chunks] = SIZES.map((key) => asNumber(evidence.view.setting(key).value)!);
      const each = layers! / stages!;
      const remainder = Number.isInteger(each) ? each % chunks! : null;
      return {
        ...sighting,
        answer: 'uneven',
        figures: { ...sighting.figures, each, rest: remainder, layers, stages, chunks },
      };
    }
    // The message contains the framework's own division, for any layout.
    const [layers, chunks] = (CHUNK_NUMBERS.exec(incident.text) ?? []).slice(1).map(Number);
    return layers !== undefined && layers % chunks! !== 0 && splits.length > 0
      ? { ...sighting, answer: 'by_message', figures: { ...sighting.figures, layers, chunks } }
      : sighting;
  },

  S19: (evidence) => {
    // The old assertion does not require a variable.
    const refused = refusalIn(evidence, ['graph-nccl-te', 'graph-expand-old']);
    if (refused !== undefined) {
      const isOld = constraintOf(refused.text)?.id === 'graph-expand-old';
      return judged(refused, tested(evidence, isOld ? EXPANDABLE : `${EXPANDABLE} and ${REGISTERS}`));
    }
    const fault = evidence.incidents.find(({ kind }) => /^illegal_access/.test(kind));
    const graphs = tested(evidence, GRAPHS);
    // A fault alone has many possible causes.
    if (fault === undefined || graphs.value !== true || evidence.expandable.value !== true) return null;
    const { value, looked } = tested(evidence, REGISTERS);
    const isUnknown = value === null || looked[0]?.by === 'assumed';
    return {
      source: place(fault),
      answer: isUnknown ? 'registers_unknown' : value ? 'holds' : 'other_reason',
      figures: {
        message: shown(fault),
        graphs: factsOf(graphs.looked),
        expandable: evidence.expandable.text,
        facts: factsOf(value === true ? [...looked, ...graphs.looked] : looked),
      },
    };
  },
};
