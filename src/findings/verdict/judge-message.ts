/** From one failure message, or from facts joined from several sources, to a verdict. */
import type { Verdict } from '../../model/results/common.js';
import { GIB } from '../../model/units.js';
import type { MonitorFacts } from '../outside/monitor-facts.js';
import type { Message } from '../run/message.js';
import { activityOf } from '../stacks/activity.js';
import { account } from './accounting.js';
import { BLANK } from './blank-verdict.js';
import { capturesFor } from './captures.js';
import { fallbackOfKind, type KindVerdict, verdictOfKind } from './causes/from-kind.js';
import { ruleOfThumb } from './causes/rule-of-thumb.js';
import { EvidenceLog, type Figure, type OomFacts, type RunSide } from './facts.js';
import { COMBINATION_RULES, judge } from './index.js';
import { factsOfMessage } from './oom-facts.js';
import type { RankContext, RunContext } from './run-context.js';

/** What is known in addition to one failure. */
export interface Given {
  /** The run it happened in; undefined for a pasted text. */
  readonly context?: RunContext | undefined;
  /** The device's total as the user gave it. */
  readonly capacityBytes?: number | undefined;
  /** The device's total as another message of the run prints it. */
  readonly total?: Figure | undefined;
  /** Ranks of the launch that ran out of memory. */
  readonly failedRanks?: number | undefined;
}

/** Fills in what the run's other texts know of the rank. The failure's own figures go first. */
export function withContext(facts: OomFacts, rank: RankContext | undefined, given: Given): OomFacts {
  return {
    ...facts,
    total: facts.total ?? given.total ?? monitoredTotal(rank?.monitor),
    allocator: facts.allocator ?? rank?.allocator ?? null,
    growth: rank?.growth ?? null,
    run: rank?.side ?? facts.run ?? null,
    driver: rank?.driver ?? null,
    monitor: rank?.monitor ?? null,
    bystanders: rank === undefined ? null : { ...rank.bystanders, failedAlone: given.failedRanks === 1 },
  };
}

/** The driver includes its own reserve in a device's total, PyTorch does not: this source comes last. */
function monitoredTotal(monitor: MonitorFacts | null | undefined): Figure | null {
  if (monitor?.totalBytes == null) return null;
  return { bytes: monitor.totalBytes, precisionBytes: DRIVER_RESERVE_BYTES, source: monitor.totalSource };
}
/**
 * The two totals of an H100 are 81,559 MiB and 79.11 GiB, of a V100 under an older driver 32,510 MiB and 31.75 GiB:
 * half a GiB different for the same device. A sample does not show which kind it is, so the figure has this precision.
 */
const DRIVER_RESERVE_BYTES = GIB;

/** The verdict of a message, with what its run adds. */
export function judgeMessage(message: Message, given: Given = {}): Verdict {
  const evidence = new EvidenceLog();
  evidence.add(shorten(message.text), message.source, { about: 'message' });
  const byKind = verdictOfKind(message.kind, message.text);
  if (byKind !== undefined) {
    if (byKind.cause === 'host_oom') {
      const firstEntry = evidence.entries.length;
      given.context?.addHostEvidence(evidence);
      evidence.mark(firstEntry, 'context');
    }
    return {
      ...BLANK,
      ...ofKind(byKind),
      rank: message.rank,
      device: message.device,
      evidence: evidence.entries,
      ruled_out: [],
      combination: ['The kind of this line says it all: it carries no figures that a test could weigh.'],
      request: null,
    };
  }
  const rank = given.context?.of(message.rank);
  const facts = withContext(
    { ...factsOfMessage(message, given.capacityBytes), run: sideOfMessage(message) },
    rank,
    given,
  );
  rank?.addEvidence(evidence, facts.total, 'message');
  evidence.mark(1, 'context');
  return conclude(facts, evidence, message);
}

/** The verdict fields of a kind. */
function ofKind({ cause, detail, confidence, summary, missing, next, capture }: KindVerdict) {
  const captures = capture === undefined ? [] : capturesFor([{ cause, capture }]);
  return { cause, detail, confidence, summary, missing, next, captures };
}

/** Of a text alone: in addition to the figures it has only its traceback's innermost frame. */
function sideOfMessage({ frame, source }: Message): RunSide | null {
  const activity = frame == null ? null : activityOf([{ name: frame.function, filename: frame.file }]);
  if (activity === null) return null;
  return {
    completed: null,
    activity,
    activitySource: source,
    highest: null,
    stage: null,
    stages: null,
    otherStages: [],
    ownStage: null,
    onlyThisStage: false,
    severalReplicas: false,
    reservedOnlyGrowthBytes: null,
    early: null,
    nccl: [],
    source,
  };
}

/** Parts that show that the figures do not belong together. */
const CONTRADICTIONS = new Set(['contradiction_in_message', 'more_than_given_capacity']);

const RULE_OF_THUMB = COMBINATION_RULES.find(({ id }) => id === 'rule_of_thumb')!.text;
const PROVEN = COMBINATION_RULES.find(({ id }) => id === 'proven')!.text;

/** Runs the causes over the facts; the kind of `message`, if there is one, decides where no test does. */
export function conclude(facts: OomFacts, evidence: EvidenceLog, message: Message | undefined): Verdict {
  const firstEntry = evidence.entries.length;
  const judgement = judge(facts, evidence);
  evidence.mark(firstEntry, 'test');
  const accounting = account(facts);
  const missing = [...judgement.missing];
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
    ruled_out: judgement.ruledOut,
    missing,
    tests: judgement.tests,
    captures: judgement.captures,
    combination: judgement.combination,
    accounting_total: accounting.total,
    accounting: accounting.parts,
    accounting_from: accounting.from,
    request: facts.request === null ? null : { bytes: facts.request.bytes, site: facts.requestSite },
  };
  const { holds } = judgement;
  const fallback = message === undefined ? undefined : fallbackOfKind(message.kind);
  if (holds === null && fallback !== undefined) {
    const { captures, ...kindFields } = ofKind(fallback);
    const known = new Set(judgement.captures.map(({ id }) => id));
    return {
      ...common,
      ...kindFields,
      missing: [...missing, ...fallback.missing],
      captures: [...judgement.captures, ...captures.filter(({ id }) => !known.has(id))],
    };
  }
  const thumb = holds === null ? ruleOfThumb(facts) : null;
  if (thumb !== null) {
    return {
      ...common,
      ...ofKind(thumb),
      missing,
      captures: judgement.captures,
      combination: [...judgement.combination, RULE_OF_THUMB],
    };
  }
  if (holds === null) {
    return {
      ...common,
      cause: 'undecided',
      detail: null,
      confidence: 'low',
      summary: 'the evidence does not decide it',
      next: ['capture what is listed as not tested, and ingest it into the same run'],
    };
  }
  const isAccounted =
    facts.walk?.exact === true &&
    facts.walk.uncertainBytes === 0 &&
    accounting.parts.every((part) => !CONTRADICTIONS.has(part.part));
  const proven = holds.confidence === 'high' && isAccounted && facts.total !== null && message !== undefined;
  const weak = facts.walk !== null && !facts.walk.exact;
  return {
    ...common,
    cause: holds.cause,
    detail: holds.detail,
    combination: proven ? [...judgement.combination, PROVEN] : judgement.combination,
    confidence: proven ? 'proven' : weak ? 'low' : holds.confidence,
    summary: holds.summary,
    next: holds.next,
  };
}

/** The beginning of a message in whole words: enough to recognise it; its source has the full text. */
export function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  if (line.length <= 80) return line;
  const cut = line.slice(0, 79);
  // A number without its unit would be another number.
  return `${line[79] === ' ' ? cut : cut.replace(/ [^ ]*$/, '')}…`.replace(/ [\d.,]+…$/, ' …');
}
