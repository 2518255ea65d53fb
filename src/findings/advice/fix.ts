/** A fix as data: when it is one, what it changes, and how its saving and cost are known. */

import type { Condition } from '../../derive/settings/condition.js';
import { isOneProcess } from '../../derive/settings/sharded.js';
import { conditionOfText } from '../../derive/settings/terms.js';
import { asList, asNumber, isOn } from '../../derive/settings/values.js';
import { compareVersions } from '../../derive/settings/versions.js';
import type { View } from '../../derive/settings/view.js';
import { loadData } from '../../knowledge/load-data.js';
import { sourceText } from '../../knowledge/sources.js';
import { sumOf as sum } from '../../model/lists.js';
import { pick } from '../../model/pick.js';
import type { AdviceChange, AdviceEvidence, CostBy, SavingBy } from '../../model/results/advise.js';
import type { ParallelSizes, VersionName } from '../../model/results/log.js';
import { sentencesOf, type Text, type Unworded } from '../../model/statement.js';
import type { StepKind } from '../../model/verdict.js';
import type { Cause, Component } from '../../model/vocabulary.js';
import type { EstimatedChange } from './estimate-change.js';
import { experimentOf, lostPercent, measured, workloadText } from './experiments.js';
import type { Situation } from './situation.js';
import type { StepFigures } from './sufficiency.js';

type Evidence = Unworded<AdviceEvidence, 'text'>;

const adviceText = sentencesOf('advice', 'figures');

export interface Saving {
  readonly bytes: number | null;
  readonly by: SavingBy | null;
  readonly text: Text;
  /** Where more than the bytes decide: a replay that serves the request. Missing: compared with the shortfall. */
  readonly closes?: boolean | null;
}

export interface Cost {
  /** Percent of throughput lost; negative: gained; null: no source has a figure. */
  readonly percent: number | null;
  /** How the percentage is known; null where there is none. */
  readonly by: CostBy | null;
  /** Of what was measured elsewhere: model and GPUs. */
  readonly on: Text | null;
  readonly text: Text;
  readonly evidence: readonly Evidence[];
}

export interface Proposal {
  readonly id: string;
  readonly title: Text;
  readonly change: AdviceChange;
  readonly requires?: readonly Text[];
  /** Missing: by the estimator. */
  readonly saving?: Saving;
  readonly cost: Cost;
  readonly disputes?: readonly Text[];
  /** Lines of a training script, where a fix is not a setting. */
  readonly python?: readonly string[];
}

/** What a fix acts on, as components of the memory. */
const TARGETS = {
  optimizer: ['optimizer_state'],
  gradients: ['gradient'],
  weights: ['parameter', 'fp8_buffer'],
  state: ['parameter', 'gradient', 'optimizer_state', 'fp8_buffer'],
  flow: ['activation', 'logits_loss', 'recompute', 'moe_dispatch', 'temporary'],
  layers: ['activation', 'recompute', 'moe_dispatch', 'temporary'],
  logits: ['logits_loss', 'temporary'],
  graphs: ['graph_pool'],
} as const satisfies Readonly<Record<string, readonly Component[]>>;
export type Target = keyof typeof TARGETS;
export const TARGET_NAMES = Object.keys(TARGETS) as Target[];

/** Without a known component: it may be anything. */
const UNLABELLED: readonly Component[] = ['before_recording', 'unattributed'];

/** A fix of `fixes.yaml`. */
interface FixData {
  /** Changes what is computed, if only by rounding: the loss must be checked. */
  readonly numerics?: true;
  /** Of every proposal, or the start of its id. */
  readonly id: string;
  readonly title: string;
  /** Place in the guides' order, cheapest first; tensor parallelism comes last. */
  readonly order: number;
  /** Verdicts that it can help with. */
  readonly causes: readonly Cause[];
  /** Steps of the verdict that it carries out: then it comes first. `only`: not proposed for anything else. */
  readonly answers?: readonly StepKind[];
  readonly only?: true;
  /** No source has a figure of what it saves: it is never known to be enough. */
  readonly unproven?: true;
  /** What it makes smaller: where a snapshot shows the components, it is a fix only if they are live or yet to come. */
  readonly acts_on?: Target;
  /** Missing: a setting of Megatron. `any`: of the process. `other`: for runs of other trainers. */
  readonly trainer?: 'any' | 'other';
  /** Only for what was being allocated; see `failing.ts`. */
  readonly site?: 'activity' | 'size';
  /** The guides, by name. */
  readonly source: string;
}

/** What a fix proposes wherever it is one. */
interface ProposalData extends Pick<Proposal, 'requires' | 'disputes' | 'python'>, Partial<AdviceChange> {
  /** Only where this is known to hold of the settings; missing: everywhere. */
  readonly when?: string;
  readonly title?: string;
  /** What is known of it, without a figure. */
  readonly saving?: string;
  readonly cost?: string;
  /** Percent of throughput lost, by a guide. */
  readonly percent?: number;
  /** Experiments that measured the cost: the figure of the first. */
  readonly measured?: readonly string[];
  /** Shown with the cost where no experiment has it: other experiments, and statements. */
  readonly experiments?: readonly string[];
  readonly evidence?: readonly AdviceEvidence[];
  /** No work is added to a step. */
  readonly free?: string;
}

export interface FixSpec extends FixData {
  /** Empty where the configuration leaves nothing to change, or is not known well enough. */
  propose(context: FixContext): readonly Proposal[];
}

const DATA = loadData('fixes') as {
  readonly fixes: readonly FixData[];
  readonly proposals: Readonly<Record<string, ProposalData>>;
};

/** What `fixes.yaml` has of each fix, as one text: where a name is looked for. */
export function fixTexts(): ReadonlyMap<string, string> {
  return new Map(DATA.fixes.map((row) => [row.id, JSON.stringify([row, DATA.proposals[row.id] ?? {}])]));
}

/** What of a proposal depends on the run; the rest is as `fixes.yaml` has it. A flag: whether there is one at all. */
export type Propose = (context: FixContext) => boolean | Partial<Proposal> | readonly Partial<Proposal>[];

/** By id of the fix. */
export type FixCode = Readonly<Record<string, Propose>>;

/** In the guides' order. One without code is as `fixes.yaml` has it. */
export function fixesOf(code: FixCode): readonly FixSpec[] {
  return DATA.fixes.map((row) => {
    const { id } = row;
    const propose = code[id] ?? (() => true);
    const data = DATA.proposals[id] ?? {};
    const { saving, when } = data;
    let condition: Condition | undefined;
    const known: Proposal = {
      id,
      title: data.title ?? row.title,
      change: { settings: data.settings ?? {}, env: data.env ?? {} },
      ...(saving === undefined ? {} : { saving: unknownSaving(saving) }),
      cost: costOfData(data),
      ...pick(data, ['requires', 'disputes', 'python']),
    };
    return {
      ...row,
      source: sourceText(row.source),
      propose(context) {
        if (when !== undefined) condition ??= conditionOfText(when, `fixes: ${id}`);
        if (condition !== undefined && condition.test(context.view).value !== true) return [];
        const proposed = propose(context);
        if (typeof proposed === 'boolean') return proposed ? [known] : [];
        return [proposed].flat().map((proposal) => ({ ...known, ...proposal }));
      },
    };
  });
}

function costOfData({ cost, free, percent, measured: ids, ...data }: ProposalData): Cost {
  const text = cost ?? adviceText('no_figure');
  if (free !== undefined) return freeByDesign(free);
  if (ids !== undefined) return costOf(ids[0]!, text, ...ids.slice(1));
  const evidence = [
    ...(data.experiments ?? []).map(measured),
    ...(data.evidence ?? []).map((one) => ({ ...one, source: sourceText(one.source) })),
  ];
  return percent === undefined ? unmeasured(text, evidence) : byGuide(percent, text, evidence);
}

export interface FixContext {
  readonly situation: Situation;
  readonly view: View;
  readonly config: Sizes;
  /** Optimizer state, and activations, that the step had not made yet; see `AdviseResult.to_come_bytes`. */
  readonly stateToComeBytes: number;
  readonly flowToComeBytes: number;
  readonly step: StepFigures;
  /** By the estimator; null where there is none. */
  estimate(change: AdviceChange): EstimatedChange | null;
  /** Activations and what is made of them at the estimated peak; null without an estimate. */
  readonly flowBytes: number | null;
}

/** Sizes of the configuration as fixes need them; null where unknown. */
export interface Sizes extends ParallelSizes {
  readonly world: number | null;
  readonly layers: number | null;
  readonly hidden: number | null;
  readonly seq: number | null;
  readonly mbs: number | null;
  /** 0 of a dense model. */
  readonly experts: number | null;
}

export function sizesOf(view: View): Sizes {
  const size = (key: string): number | null => asNumber(view.setting(key).value);
  const [tp, pp, cp] = [
    size('tensor_model_parallel_size'),
    size('pipeline_model_parallel_size'),
    size('context_parallel_size'),
  ];
  const world = size('world_size') ?? (isOneProcess(view) ? 1 : null);
  const dp =
    size('data_parallel_size') ??
    (world !== null && tp !== null && pp !== null && cp !== null && world % (tp * pp * cp) === 0
      ? world / (tp * pp * cp)
      : null);
  const experts = view.setting('num_moe_experts');
  // Where the model's class may set them implicitly, a configuration without any setting of experts is taken for a
  // dense model.
  const hasExpertSettings = [...view.facts.settings].some(([key, { value }]) => key.startsWith('moe_') && isOn(value));
  return {
    tp,
    pp,
    vpp: size('virtual_pipeline_model_parallel_size'),
    cp,
    ep: size('expert_model_parallel_size'),
    // Experts are cut like the rest of the model unless set explicitly (`ModelParallelConfig.__post_init__`).
    etp: size('expert_tensor_parallel_size') ?? tp,
    dp,
    world: world ?? (tp !== null && pp !== null && cp !== null && dp !== null ? tp * pp * cp * dp : null),
    layers: size('num_layers'),
    hidden: size('hidden_size'),
    seq: size('seq_length'),
    mbs: size('micro_batch_size'),
    experts: experts.by === 'unknown' ? (hasExpertSettings ? null : 0) : (asNumber(experts.value) ?? 0),
  };
}

/** Known to be on. */
export function isSet(view: View, key: string): boolean {
  const lookedUp = view.setting(key);
  return lookedUp.by !== 'unknown' && isOn(lookedUp.value);
}

/** Known to be off: explicitly, or by default. */
export function isUnset(view: View, key: string): boolean {
  const lookedUp = view.setting(key);
  return lookedUp.by !== 'unknown' && !isOn(lookedUp.value);
}

/** Known to be older than a version. */
export function isOlder(view: View, name: VersionName, version: string): boolean {
  const lookedUp = view.version(name).value;
  return lookedUp !== null && compareVersions(lookedUp, version) < 0;
}

export function wordOf(view: View, key: string): string | null {
  return view.setting(key).value?.toLowerCase() ?? null;
}

export function listOf(view: View, key: string): readonly string[] {
  return asList(view.setting(key).value) ?? [];
}

/** Neither flash nor fused attention keeps the scores, so their kernels recompute them already. */
export function hasFlashAttention(view: View): boolean {
  const backend = wordOf(view, 'attention_backend');
  if (backend !== null && /unfused|local|eager/.test(backend)) return false;
  if (backend !== null && /flash|fused|auto/.test(backend)) return true;
  return wordOf(view, 'transformer_impl') !== 'local' || isSet(view, 'use_flash_attn');
}

export function settings(values: Readonly<Record<string, string | null>>): AdviceChange {
  return { settings: values, env: {} };
}

export function variables(values: Readonly<Record<string, string | null>>): AdviceChange {
  return { settings: {}, env: values };
}

/** No source has a figure, and nothing in the run gives one. */
export function unknownSaving(text: Text): Saving {
  return { bytes: null, by: null, text };
}

/** No work is added to a step. */
export function freeByDesign(text: Text = 'none', evidence: Cost['evidence'] = []): Cost {
  return { percent: 0, by: 'design', on: null, text, evidence };
}

/** By an experiment on another workload, or several: the figure of the first. */
export function costOf(id: string, text: Text, ...others: readonly string[]): Cost {
  return {
    percent: lostPercent(experimentOf(id)),
    by: 'measured',
    on: workloadText(id),
    text,
    evidence: [id, ...others].map(measured),
  };
}

function byGuide(percent: number, text: Text, evidence: Cost['evidence']): Cost {
  return { percent, by: 'guide', on: null, text, evidence };
}

export function unmeasured(text: Text, evidence: Cost['evidence'] = []): Cost {
  return { percent: null, by: null, on: null, text, evidence };
}

/** Optimizer state of the rank as it will be once a step is complete; null without a snapshot. */
export function optimizerBytes({ situation, stateToComeBytes }: FixContext): number | null {
  const live = liveBytes(situation, 'optimizer_state');
  return live === null ? null : live + stateToComeBytes;
}

/**
 * Bytes that a fix can act on at most: those of its components that were live, what no label names, and what the step
 * had yet to make. Null without a snapshot.
 */
export function reachBytes({ situation, stateToComeBytes, flowToComeBytes }: FixContext, on?: Target): number | null {
  const toCome =
    on === undefined
      ? stateToComeBytes + flowToComeBytes
      : on === 'optimizer' || on === 'state'
        ? stateToComeBytes
        : on === 'flow' || on === 'layers' || on === 'logits'
          ? flowToComeBytes
          : 0;
  const live =
    on === undefined
      ? situation.components === null
        ? null
        : sum([...situation.components.values()])
      : liveBytes(situation, ...TARGETS[on], ...UNLABELLED);
  return live === null ? null : live + toCome;
}

/** Bytes of components that were live when it failed; null without a snapshot. */
export function liveBytes({ components }: Situation, ...names: readonly string[]): number | null {
  if (components === null) return null;
  let sum = 0;
  for (const [name, bytes] of components) if (names.includes(name)) sum += bytes;
  return sum;
}
