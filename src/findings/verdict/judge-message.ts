/** From a failure's row of `verdict` to the verdict in words, with evidence and account. */
import type { Verdict } from '../../model/results/common.js';
import type { ExpandableConstraint } from '../lint/expandable-constraint.js';
import type { Message } from '../run/message.js';
import { account } from './accounting.js';
import { BLANK } from './blank-verdict.js';
import { capturesFor } from './captures.js';
import { kindWords } from './causes/kind-words.js';
import { type Step, stepsOf } from './causes/words.js';
import { describeTests, type Judged } from './combine.js';
import { EvidenceLog, type OomFacts } from './facts.js';
import type { MessageFailure } from './failures.js';
import { allowedAdvice } from './hint.js';

/** A verdict whose steps a replay may still change, and a configuration forbid. */
export type Draft = Omit<Verdict, 'next'> & { readonly steps: readonly Step[] };

export function finish({ steps, ...verdict }: Draft, constraint: ExpandableConstraint | null): Verdict {
  return { ...verdict, next: allowedAdvice(steps, constraint) };
}

/** The verdict of a message, with what its run adds. `addHostEvidence`: of the run, for failures of the host. */
export function judgeMessage(
  { facts, message, rank }: MessageFailure,
  judged: Judged,
  addHostEvidence?: (evidence: EvidenceLog) => void,
): Draft {
  const evidence = new EvidenceLog();
  evidence.add(shorten(message.text), message.place, { about: 'message' });
  if (judged.basis === 'kind' && judged.tests.length === 0) {
    if (judged.cause === 'host_oom') {
      addHostEvidence?.(evidence);
      evidence.mark(1, 'context');
    }
    return {
      ...BLANK,
      ...verdictFields(judged, facts),
      rank: message.rank,
      device: message.device,
      evidence: evidence.entries,
      ruled_out: [],
      combination: ['The kind of this line says it all: it carries no figures that a test could weigh.'],
      request: null,
    };
  }
  rank?.addEvidence(evidence, facts.total, 'message');
  evidence.mark(1, 'context');
  return conclude(facts, judged, evidence);
}

/** Of a verdict without a test that holds. */
function verdictFields(judged: Judged, facts: OomFacts) {
  const { cause, detail, confidence, basis, reason, capture } = judged;
  const captures = capture === null ? [] : capturesFor([{ cause, capture }]);
  const { summary, missing, next } = kindWords(reason, facts);
  return { cause, detail, confidence, basis, reason, captures, summary, missing, steps: stepsOf(next) };
}

/** Words for the tests and the verdict; adds their evidence. */
export function conclude(facts: OomFacts, judged: Judged, evidence: EvidenceLog): Draft {
  const firstEntry = evidence.entries.length;
  const described = describeTests(judged, facts, evidence);
  evidence.mark(firstEntry, 'test');
  const accounting = account(facts);
  const missing = [...described.missing];
  if (facts.walk !== null && !facts.walk.exact)
    missing.push('an exact state: the trace contradicts the walk back from the dump');
  if (facts.free === null)
    missing.push(
      'what filled the device: no snapshot; record one with torch.cuda.memory._record_memory_history(stacks="python")',
    );
  const common = {
    ...BLANK,
    rank: facts.rank,
    device: facts.device,
    evidence: evidence.entries,
    ruled_out: described.ruledOut,
    missing,
    tests: described.tests,
    captures: described.captures,
    combination: described.combination,
    accounting_total: accounting.total,
    accounting: accounting.parts,
    accounting_from: accounting.from,
    request: facts.request === null ? null : { bytes: facts.request.bytes, site: facts.requestSite },
  };
  const { cause, detail, confidence, basis, reason, contributors } = judged;
  if (described.summary !== null)
    return {
      ...common,
      cause,
      detail,
      confidence,
      basis,
      reason,
      contributors,
      summary: described.summary,
      steps: stepsOf(described.next),
    };
  const { captures, ...fields } = verdictFields(judged, facts);
  const known = new Set(described.captures.map(({ id }) => id));
  return {
    ...common,
    ...fields,
    missing: [...missing, ...fields.missing],
    captures: [...described.captures, ...captures.filter(({ id }) => !known.has(id))],
  };
}

/** The beginning of a message in whole words: enough to recognise it; its source has the full text. */
export function shorten(text: Message['text']): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  if (line.length <= 80) return line;
  const cut = line.slice(0, 79);
  // A number without its unit would be another number.
  return `${line[79] === ' ' ? cut : cut.replace(/ [^ ]*$/, '')}…`.replace(/ [\d.,]+…$/, ' …');
}
