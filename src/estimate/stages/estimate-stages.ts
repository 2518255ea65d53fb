/**
 * Our own estimate: every stage of the pipeline, every component, at the moment when the stage holds most. It models
 * what the two upstream estimators leave out and the configuration contains; what it leaves out itself it lists.
 */
import type { Component } from '../../model/vocabulary.js';
import { COMPONENTS } from '../../model/vocabulary.js';
import type { EstimateInputs } from '../inputs.js';
import { stageActivations } from './activations.js';
import { allowanceParts } from './allowances.js';
import { type Amount, type Part, sum } from './amount.js';
import { refuseForbidden } from './forbidden.js';
import { pipelineLayout, type Stage } from './layout.js';
import { modelStateParts, momentBytes, stepParts } from './model-state.js';
import { notModelled } from './not-modelled.js';
import { stageParameters } from './parameters.js';
import { type Settings, settingsOf } from './settings.js';
import {
  backwardParts,
  dispatchParts,
  leftMessageParts,
  logitParts,
  outputLayerParts,
  receiveParts,
  reusedParts,
} from './working-sets.js';

/** When a stage holds most: before the loss's gradient, inside a layer's backward pass, or in the optimizer's step. */
export type PeakMoment = 'forward' | 'backward' | 'optimizer_step';

export interface StageEstimate {
  readonly stage: number;
  readonly layers: readonly number[];
  /** Micro-batches under way when most are; of virtual stages a mean over chunks. */
  readonly inFlight: number;
  /** Parameters that one rank holds. */
  readonly parameters: number;
  readonly moment: PeakMoment;
  /** Of that moment. */
  readonly parts: readonly Part[];
  /** Of every moment that the stage has: `forward`, the loss, only the last one. */
  readonly moments: readonly (readonly [PeakMoment, readonly Part[]])[];
  readonly total: Amount;
  /** What PyTorch's allocator holds of the total: compare with `max_memory_allocated`. */
  readonly allocated: Amount;
  /** What stays allocated between steps: compare with `memory_allocated` after a step. */
  readonly resident: Amount;
  /**
   * The peak of the first step's passes: Adam's moments do not exist yet, and the first memory line of a log reports
   * this peak.
   */
  readonly firstStepAllocatedBytes: number;
}

export interface StagesEstimate {
  readonly stages: readonly StageEstimate[];
  /** Index of the stage with the largest total. */
  readonly hottest: number;
  readonly assumptions: readonly string[];
  readonly notModelled: readonly string[];
}

/** Throws MBF1001 for configurations that Megatron refuses. */
export function estimateStages(inputs: EstimateInputs): StagesEstimate {
  refuseForbidden(inputs);
  const settings = settingsOf(inputs);
  const layout = pipelineLayout(inputs);
  const stages = layout.stages.map((stage) => estimateStage(inputs, settings, stage));
  const hottest = stages.reduce(
    (most, stage) => (stage.total.bytes > stages[most]!.total.bytes ? stage.stage : most),
    0,
  );
  return {
    stages,
    hottest,
    assumptions: [...inputs.assumed, ...settings.assumed, ...layout.assumed, ...permanentAssumptions(inputs, settings)],
    notModelled: notModelled(inputs),
  };
}

/** Assumptions of every estimate. */
function permanentAssumptions(inputs: EstimateInputs, { isLocal, torchOptimizer }: Settings): string[] {
  return [
    `Saved tensors are those of Megatron-Core ${isLocal ? 'without' : 'with'} Transformer Engine: inputs of linear layers, norms and attention, the gradient of a tensor freed before the next layer’s.`,
    ...(isLocal && !torchOptimizer
      ? ['Optimizers are taken for fused ones: torch’s AdamW needs an fp32 shard more (use_torch_optimizer).']
      : []),
    ...(inputs.experts === null
      ? []
      : ['Tokens are spread evenly over the experts; the upper bound allows a rank half as many again.']),
    'Bounds of components add up as if all errors went the same way.',
  ];
}

function estimateStage(inputs: EstimateInputs, settings: Settings, stage: Stage): StageEstimate {
  const counts = stageParameters(inputs, settings, stage);
  const state = modelStateParts(inputs, settings, counts);
  const always = [...state, ...allowanceParts(inputs, settings), ...reusedParts(inputs, settings, stage)];
  const between = [...always, ...leftMessageParts(inputs, settings, stage)];
  const underWay = stageActivations(inputs, settings, stage);
  const { parts: activations, inFlight } = underWay;
  const layers = stage.chunks.flat();
  const hasMoe = layers.some((layer) => inputs.isMoeLayer[layer] === true);
  const held = [
    ...receiveParts(inputs, settings, stage),
    ...activations.filter(({ component }) => component !== 'recompute'),
  ];
  const recomputed = activations.filter(({ component }) => component === 'recompute');
  const step = stepParts(settings, counts);
  const dispatch = hasMoe ? dispatchParts(inputs, settings) : [];
  const logits = stage.isLast ? logitParts(inputs, settings) : [];
  // The last stage's backward pass begins with the loss, whose gradient takes the place of its logits.
  const backward = [
    [...recomputed, ...backwardParts(inputs, settings, underWay, stage), ...dispatch],
    ...(stage.isLast ? [logits, outputLayerParts(inputs, settings)] : []),
  ].reduce((a, b) => (sum(b).bytes > sum(a).bytes ? b : a));
  const moments: Record<PeakMoment, readonly Part[]> = {
    forward: stage.isLast ? [...always, ...held, ...logits] : [],
    backward: [...always, ...held, ...backward],
    optimizer_step: [...between, ...step],
  };
  const all = Object.entries(moments) as [PeakMoment, readonly Part[]][];
  const named = all.filter(([, parts]) => parts.length > 0);
  const [moment, parts] = named.reduce((a, b) => (sum(b[1]).bytes > sum(a[1]).bytes ? b : a));
  const inside = (list: readonly Part[]): Amount => sum(list.filter(({ outside }) => !outside));
  const passes = Math.max(inside(moments.forward).bytes, inside(moments.backward).bytes) - momentBytes(state);
  return {
    stage: stage.index,
    layers,
    inFlight,
    parameters: counts.linear + counts.other + counts.expert + counts.adapter,
    moment,
    parts,
    moments: named,
    total: sum(parts),
    allocated: inside(parts),
    // Gradients that the step converted stay until the next step begins.
    resident: inside([...between, ...step.filter(({ component }) => component === 'gradient')]),
    firstStepAllocatedBytes: Math.max(passes, inside(moments.optimizer_step).bytes),
  };
}

/** The parts of each component, components in the order of the closed list. */
export function byComponent(parts: readonly Part[]): [Component, readonly Part[]][] {
  return COMPONENTS.flatMap((component) => {
    const own = parts.filter((one) => one.component === component);
    return own.length === 0 ? [] : [[component, own] as [Component, readonly Part[]]];
  });
}
