/**
 * Advice on one failure: fixes in the guides' order with what they save here, what they cost, and what the
 * configuration forbids. Pure.
 */

import { ChangeJudge, type Judgement } from '../../derive/lint/change.js';
import { View } from '../../derive/settings/view.js';
import { pasteLines } from '../../knowledge/spellings.js';
import { threshold } from '../../knowledge/thresholds/threshold.js';
import { MbfError } from '../../model/errors.js';
import { pick } from '../../model/pick.js';
import type { AdviceChange, AdviceText, AdviseResult, FixStatus, PasteLines } from '../../model/results/advise.js';
import type { LintFact } from '../../model/results/lint.js';
import { type Sentence, sentencesOf, type Text, type Unworded } from '../../model/statement.js';
import { GIB } from '../../model/units.js';
import { actionsOf } from './actions.js';
import { ChangeEstimator } from './estimate-change.js';
import { FixOrder, isLargeRequest } from './failing.js';
import { type Cost, type FixContext, type FixSpec, type Proposal, reachBytes, type Saving, sizesOf } from './fix.js';
import { FIXES } from './fixes/index.js';
import { nonFixesOf } from './non-fixes.js';
import { unplacedText } from './paste-forms.js';
import { type Candidate, planOf } from './plan.js';
import { type PublishedCase, publishedCase, publishedCost, publishedSaving } from './published.js';
import { isConfigured, neededBytes, type Situation, shortfallOf } from './situation.js';
import { isEnough, stepFigures } from './sufficiency.js';
import { trainerLines, trainerOf } from './trainer.js';

const limitText = sentencesOf('advice', 'limits');
const figureText = sentencesOf('advice', 'figures');

/** Activations and what is made of them: what recompute, offload and smaller batches can save at most. */
const FLOW = new Set([
  'activation',
  'logits_loss',
  'recompute',
  'moe_dispatch',
  'temporary',
  'before_recording',
  'unattributed',
]);

/** In the list, what depends on missing information comes after what does not, and what is forbidden last. */
const placeOfStatus = (status: FixStatus): number => ['conditional', 'forbidden'].indexOf(status);

/** Settings that only its configuration has. */
const DEEPSPEED = /^(?:zero_stage|zero_(?:offload|reduce|allgather|overlap)_|deepspeed(?:_config)?$)/;

const STATE = new Set(['optimizer_state']);

interface ScoredFix {
  readonly spec: FixSpec;
  readonly proposal: Proposal;
  readonly saving: Saving;
  readonly cost: Cost;
  readonly closes: boolean | null;
  readonly judgement: Judgement;
}

type Advice = Unworded<Omit<AdviseResult, 'summary' | 'next' | 'symptoms'>, AdviceText>;

export function advise(situation: Situation): Advice {
  const view = new View(situation.facts);
  const limits: Sentence[] = [];
  const estimator = estimatorOf(situation, limits);
  const coming = toComeOf(situation, estimator);
  const toCome = coming.state + coming.flow;
  const context: FixContext = {
    situation,
    view,
    config: sizesOf(view),
    stateToComeBytes: coming.state,
    flowToComeBytes: coming.flow,
    step: stepFigures(situation, estimator?.stage(situation.stage).allocated.high ?? null),
    estimate: (change) => estimator?.change(change) ?? null,
    flowBytes: estimator?.peakBytes(FLOW, situation.stage) ?? null,
  };
  const judge = new ChangeJudge(situation.facts);
  const published = publishedCase(context);
  const shortfall = shortfallOf(situation);
  const need = shortfall.bytes === null ? null : shortfall.bytes + toCome;
  const order = new FixOrder(situation);
  const scored = (situation.ranOut ? FIXES : [])
    .filter((spec) => suits(spec, situation) && order.allows(spec) && acts(spec, context))
    .flatMap((spec) => spec.propose(context).map((proposal) => ({ spec, proposal })))
    .map(({ spec, proposal }) => scoreFix(context, spec, proposal, published, judge.judge(proposal.change)))
    .filter(({ saving, judgement }) => judgement.broken.length > 0 || !isUseless(saving));
  const open = scored.filter(({ judgement }) => judgement.broken.length === 0 && judgement.undecided.length === 0);
  const planned = planOf({
    needBytes: situation.verdict.cause === 'capacity' ? need : null,
    candidates: open
      .filter(({ spec, closes }) => closes === true || !order.cannotTouch(spec))
      .map((fix) => candidateOf(fix, situation)),
    estimate: (change) => estimator?.change(change)?.saving_bytes ?? null,
    closes: (change, saving) =>
      situation.verdict.cause === 'capacity'
        ? isEnough(context.step, saving - toCome, estimator?.change(change) ?? null)
        : null,
    allows(change) {
      const { broken, undecided } = judge.judge(change);
      return broken.length === 0 && undecided.length === 0;
    },
  });
  const acting = open.filter(({ spec }) => order.acts(spec));
  // What is not known to be enough gives way to what acts on the failing allocation.
  const plan =
    planned === null || planned.closes === true || acting.length === 0
      ? planned
      : acting.some(({ proposal }) => planned.fixes.includes(proposal.id))
        ? planned
        : null;
  const chosen = new Set(plan?.fixes ?? []);
  const ordered = scored
    .map((scoredFix) => ({ scoredFix, status: statusOf(scoredFix, chosen) }))
    .sort(
      (a, b) =>
        placeOfStatus(a.status) - placeOfStatus(b.status) ||
        order.rank(a.scoredFix.spec) - order.rank(b.scoredFix.spec) ||
        a.scoredFix.spec.order - b.scoredFix.spec.order,
    );
  if (situation.ranOut && !situation.isMegatron) limits.push(limitText('other_trainer'));
  else if (!isConfigured(situation)) limits.push(limitText('no_configuration'));
  else if (situation.facts.env_known === 'none') limits.push(limitText('no_environment'));
  if (situation.isMegatron && [...situation.facts.settings.keys()].some((key) => DEEPSPEED.test(key)))
    limits.push(limitText('deepspeed'));
  if (situation.components === null && situation.verdict.cause === 'capacity') limits.push(limitText('no_snapshot'));
  const { verdict } = situation;
  const pasted = scored.filter(({ proposal }) => chosen.has(proposal.id)).map(({ proposal }) => proposal);
  return {
    schema: 'mbforensics/advise@1',
    run: situation.run,
    ...pick(verdict, ['rank', 'cause', 'detail', 'confidence']),
    shortfall_bytes: shortfall.bytes,
    shortfall_text: shortfall.text,
    to_come_bytes: toCome,
    to_come_text:
      toCome <= 0 ? '' : figureText('to_come', { state_bytes: coming.state || null, flow_bytes: coming.flow || null }),
    device_bytes: situation.deviceBytes,
    components: [...(situation.components ?? [])].map(([component, bytes]) => ({ component, bytes })),
    published_case: published?.name ?? null,
    fixes: ordered.map(({ scoredFix, status }, i) => describeFix(context, scoredFix, status, i + 1, published)),
    plan: plan === null ? null : { ...plan, paste: pasteOf(context, plan.change, pasted) },
    actions: actionsOf(
      verdict.steps,
      plan,
      ordered.map(({ scoredFix, status }) => ({
        id: scoredFix.proposal.id,
        answers: scoredFix.spec.answers ?? [],
        status,
        isReplayed: scoredFix.saving.by === 'what_if',
        saving_bytes: scoredFix.saving.bytes,
        numerics: scoredFix.spec.numerics === true,
        acts: order.acts(scoredFix.spec),
        isFirst: order.isFirst(scoredFix.spec),
      })),
      isLargeRequest(situation),
    ),
    non_fixes: situation.ranOut || verdict.cause === 'leak' ? nonFixesOf(context) : [],
    limits,
  };
}

/**
 * Where nothing is decided, everything that helps against one or the other is a candidate, and none is known to be
 * enough.
 */
function suits({ causes, answers, only, trainer }: FixSpec, situation: Situation): boolean {
  const { cause, steps } = situation.verdict;
  // Without a configuration nothing shows what there is to change, or what it forbids.
  const hasSettings = situation.isMegatron && isConfigured(situation);
  if (trainer === 'other' ? hasSettings : trainer === undefined && !hasSettings) return false;
  // Nothing of the process or the model explains it.
  if (situation.verdict.detail === 'refused_though_free') return false;
  if (only === true && !steps.some(({ kind }) => answers?.includes(kind))) return false;
  // What failed is the engine's: no setting of the trainer's model acts on that.
  if (steps.some(({ kind }) => kind === 'free_for_engine') && trainer !== 'any') return false;
  if (causes.includes(cause) || steps.some(({ kind }) => answers?.includes(kind))) return true;
  // Of a fragmented device the other ways are shown with their price: they are what people reach for.
  if (cause === 'fragmentation' || cause === 'undecided')
    return causes.includes('capacity') || causes.includes('fragmentation');
  return false;
}

const LEAST_REACH = threshold('advice.least_reach');

/** Where a snapshot shows the components: those that it makes smaller are live, or yet to come. */
function acts({ acts_on: target }: FixSpec, context: FixContext): boolean {
  const { cause } = context.situation.verdict;
  // Free memory of private pools, pending frees and memory outside PyTorch are not live.
  const isLive = cause === 'capacity' || cause === 'fragmentation' || cause === 'undecided';
  if (target === undefined || !isLive) return true;
  const [reach, all] = [reachBytes(context, target), reachBytes(context)];
  return reach === null || all === null || 100 * reach >= LEAST_REACH * all;
}

function estimatorOf({ given, noEstimate, isMegatron }: Situation, limits: Sentence[]): ChangeEstimator | null {
  if (!isMegatron) return null;
  if (given === null) {
    if (noEstimate !== null) limits.push(limitText('no_estimate', { why: noEstimate }));
    return null;
  }
  try {
    return new ChangeEstimator(given);
  } catch (error) {
    if (!(error instanceof MbfError)) throw error;
    limits.push(limitText('no_estimate', { why: `${error.message}.` }));
    return null;
  }
}

/** Below this it is noise of the estimate. */
const LEAST_TO_COME = GIB / 4;

/** What the step would have needed in addition to what it had: unknown for a launch that never completed a step. */
interface ToCome {
  readonly state: number;
  readonly flow: number;
}

function toComeOf(situation: Situation, estimator: ChangeEstimator | null): ToCome {
  const none = { state: 0, flow: 0 };
  const { components, stage, verdict, completedSteps } = situation;
  // A completed step had its state and its peak: nothing else is known to be missing.
  if (estimator === null || verdict.cause !== 'capacity' || (completedSteps ?? 0) > 0) return none;
  const had = neededBytes(situation);
  if (had === null) return none;
  const estimate = estimator.stage(stage);
  const missing = estimate.allocated.bytes - had;
  if (missing < LEAST_TO_COME) return none;
  if (components === null) return { state: 0, flow: Math.round(missing) };
  const expected = estimator.peakBytes(STATE, stage);
  // State made before recording began is of no known kind.
  const state = (components.get('optimizer_state') ?? 0) + (components.get('before_recording') ?? 0);
  const stateMissing = Math.min(missing, Math.max(0, expected - state));
  // A rank with optimizer state has completed a step before, whatever its log reports.
  if (completedSteps === null && stateMissing < expected / 5) return none;
  return { state: Math.round(stateMissing), flow: Math.round(missing - stateMissing) };
}

function scoreFix(
  context: FixContext,
  spec: FixSpec,
  proposal: Proposal,
  published: PublishedCase | null,
  judgement: Judgement,
): ScoredFix {
  const proposedSaving = proposal.saving;
  const saving =
    proposedSaving?.by === 'what_if'
      ? proposedSaving
      : (publishedSaving(published, proposal.id) ??
        proposedSaving ??
        withinReach(context, spec, estimated(context, spec, proposal)));
  const { cause } = context.situation.verdict;
  const bytes = saving.bytes === null ? null : saving.bytes - context.stateToComeBytes - context.flowToComeBytes;
  // On a fragmented device, freed bytes need not be where the request could use them.
  const closes =
    saving.closes === undefined
      ? cause === 'capacity'
        ? isEnough(context.step, bytes, spec.unproven === true ? null : context.estimate(proposal.change))
        : null
      : saving.closes;
  return { spec, proposal, saving, cost: publishedCost(published, proposal.id) ?? proposal.cost, closes, judgement };
}

/** An estimate cannot save more than there was. */
function withinReach(context: FixContext, { acts_on: target }: FixSpec, saving: Saving): Saving {
  const reach = reachBytes(context, target);
  if (reach === null || saving.bytes === null || saving.bytes <= reach) return saving;
  const toCome = context.stateToComeBytes + context.flowToComeBytes > 0;
  const text = figureText('within_reach', { reach_bytes: reach, to_come: toCome, saving: saving.text });
  return { ...saving, bytes: reach, text };
}

/** Known to save nothing on the rank that failed. */
function isUseless({ bytes, by }: Saving): boolean {
  return bytes !== null && bytes <= 0 && by !== 'what_if';
}

/**
 * By the estimator. Its figure for activations is applied as a share of those that were live, where a snapshot shows
 * them.
 */
function estimated(
  { situation, estimate, flowBytes, flowToComeBytes, step }: FixContext,
  spec: FixSpec,
  proposal: Proposal,
): Saving {
  const change = estimate(proposal.change);
  if (change === null)
    return {
      bytes: null,
      by: null,
      text: figureText('not_estimated'),
    };
  const { saving_bytes: bytes } = change;
  const text = figureText('estimated', { ...change, limit_bytes: step.limitBytes });
  const isFlow = /^(?:recompute|micro-batch|activation-offload|fine-grained)/.test(spec.id);
  if (situation.components === null || !isFlow || flowBytes === null || flowBytes <= 0 || bytes <= 0)
    return { bytes, by: 'estimate', text };
  let live = flowToComeBytes;
  for (const [component, size] of situation.components) if (FLOW.has(component)) live += size;
  const share = Math.min(1, bytes / flowBytes);
  const figures = { share: Math.round(100 * share), live_bytes: live, to_come: flowToComeBytes > 0, estimated: text };
  return { bytes: Math.round(live * share), by: 'attribution', text: figureText('of_live', figures) };
}

function candidateOf({ spec, proposal, saving, cost, closes }: ScoredFix, { verdict }: Situation): Candidate {
  return {
    // Or the request is served in a replay with it, whatever the cause.
    isAnswer:
      verdict.steps.some(({ kind }) => spec.answers?.includes(kind)) || (saving.by === 'what_if' && closes !== false),
    id: proposal.id,
    family: spec.id,
    order: spec.order,
    change: proposal.change,
    saving_bytes: saving.bytes,
    closes,
    cost_percent: cost.percent,
    numerics: spec.numerics === true,
    needsGpus: 'world_size' in proposal.change.settings,
  };
}

function statusOf({ proposal, judgement }: ScoredFix, chosen: ReadonlySet<string>): FixStatus {
  if (judgement.broken.length > 0) return 'forbidden';
  if (judgement.undecided.length > 0) return 'conditional';
  return chosen.has(proposal.id) ? 'recommended' : 'possible';
}

/** Settings as each framework spells them, and lines of a training script. */
function pasteOf({ view, situation }: FixContext, change: AdviceChange, proposals: readonly Proposal[]): PasteLines {
  const trainer = proposals.flatMap(({ id }) => trainerLines(situation, view, id));
  return {
    ...pasteLines(change, { precision: view.setting('mixed_precision').value }),
    trainer,
    // Code is for scripts of one's own.
    python: trainer.length > 0 || trainerOf(situation) !== null ? [] : proposals.flatMap(({ python = [] }) => python),
  };
}

function describeFix(
  context: FixContext,
  scoredFix: ScoredFix,
  status: FixStatus,
  rank: number,
  published: PublishedCase | null,
): Advice['fixes'][number] {
  const { spec, proposal, saving, cost, judgement } = scoredFix;
  const [broken] = judgement.broken;
  const outcome = published?.outcomes.get(proposal.id);
  const unplaced = unplacedText(proposal.change, context.situation.facts.framework.name);
  return {
    id: proposal.id,
    rank,
    status,
    title: proposal.title,
    saving_bytes: saving.bytes,
    saving_by: saving.by,
    saving_text: saving.text,
    cost_percent: cost.percent,
    cost_by: cost.by,
    cost_on: cost.on,
    cost_text: cost.text,
    published:
      outcome === undefined
        ? null
        : {
            experiment: outcome.id,
            peak_gb: outcome.peak_gb,
            tflops: outcome.tflops,
            vs_golden_percent: outcome.vs_golden_percent,
          },
    // An unknown need may be one that is not met.
    closes: status === 'forbidden' || (status === 'conditional' && scoredFix.closes === true) ? null : scoredFix.closes,
    requires: [
      ...(proposal.requires ?? []),
      ...(unplaced === null ? [] : [unplaced]),
      ...(judgement.unchecked.length === 0 ? [] : [uncheckedText(judgement.unchecked)]),
      ...judgement.assumed.map(({ message, needs }) => figureText('taken_for_newer', { needs, message })),
      ...judgement.undecided.map(({ rule, needs, message }) => figureText('not_refused', { rule, message, needs })),
    ],
    forbidden_by: broken?.rule ?? null,
    forbidden_text:
      broken === undefined
        ? null
        : figureText('forbidden', { message: broken.message, ...placeOf(broken.facts), fix: broken.fix }),
    change: proposal.change,
    paste: pasteOf(context, proposal.change, [proposal]),
    evidence: [
      ...new Map(
        [...cost.evidence, ...proposal.cost.evidence].map((entry) => [JSON.stringify(entry.text), entry]),
      ).values(),
    ],
    disputes: proposal.disputes ?? [],
    source: spec.source,
  };
}

/** Rules that could not be checked, because settings that they need are unknown. */
function uncheckedText(unchecked: Judgement['unchecked']): Text {
  const needs = [...new Set(unchecked.flatMap((rule) => rule.needs))];
  return figureText('unchecked', { rules: unchecked.length, needs });
}

/** Where the configuration contains what conflicts with a change. */
function placeOf(facts: readonly LintFact[]): object {
  const known = facts.find(({ file }) => file !== null && file !== '');
  return known === undefined
    ? {}
    : { key: known.raw_key, value: String(known.value), file: known.file, line: known.line ?? 0 };
}
