/** Every call path of one run: they depend on the framework, the pipeline schedule and what is recomputed. */
import type { RunPlan } from '../../run.js';
import type { CallPath } from '../code-line.js';
import { type BuildSites, buildSites } from './build-sites.js';
import {
  type LayerBackwardSites,
  type LayerForwardSites,
  layerBackwardSites,
  layerForwardSites,
  recomputeFrames,
} from './layer-sites.js';
import { type ModelSites, modelFrames, outputLayerBackward } from './model-sites.js';
import { type OptimizerSites, optimizerSites } from './optimizer-sites.js';
import { type OuterFrames, outerFrames } from './outer-frames.js';
import { type ScheduleKind, type ScheduleSites, scheduleSites } from './schedule-sites.js';
import { at, coreOf } from './sources.js';

/** One pass over the micro-batches, in training or in evaluation. */
export interface PassSites {
  readonly schedule: ScheduleSites;
  readonly model: ModelSites;
  readonly layer: LayerForwardSites;
}

export interface CallSites {
  /** `…/megatron/core/`. */
  readonly core: string;
  readonly outer: OuterFrames;
  readonly build: BuildSites;
  readonly training: PassSites;
  readonly evaluation: PassSites;
  readonly recompute: LayerForwardSites;
  readonly layerBackward: LayerBackwardSites;
  readonly outputLayerBackward: CallPath;
  readonly optimizer: OptimizerSites;
}

/** Without its directory and ending: a recipe's script for Megatron Bridge, the example trainer for Megatron-LM. */
export function scriptName(plan: RunPlan): string {
  return plan.framework === 'megatron-bridge' ? `train_${plan.model.name.replaceAll(/[-.]/g, '_')}` : 'pretrain_gpt';
}

/** Where the script and what belongs to it lies, with a slash at the end. */
export function scriptDirectory(plan: RunPlan): string {
  return plan.framework === 'megatron-bridge' ? '/nemo_run/code/' : '/opt/megatron-lm/';
}

function scheduleKind(plan: RunPlan): ScheduleKind {
  if (plan.parallelism.pipeline === 1) return 'single_stage';
  return plan.parallelism.virtualPipeline === null ? 'one_forward_one_backward' : 'interleaved';
}

function fullIterationGraph(core: string): CallPath {
  return [
    at(
      '__call__',
      `${core}full_cuda_graph.py`,
      187,
      'FullCudaGraphWrapper.result[training_str] = self.forward_backward_func(*args, **kwargs)',
    ),
  ];
}

/** Whether forward and backward of all micro-batches are captured as one CUDA graph. */
function capturesFullIteration(plan: RunPlan): boolean {
  return plan.configuration['model.cuda_graph_impl'] === 'full_iteration';
}

export function createCallSites(plan: RunPlan): CallSites {
  const core = coreOf(plan.framework);
  const frames = outerFrames(plan.framework, scriptName(plan));
  const outer: OuterFrames = capturesFullIteration(plan)
    ? { ...frames, schedule: [...fullIterationGraph(core), ...frames.schedule] }
    : frames;
  const kind = scheduleKind(plan);
  const pass = (around: CallPath, checkpointed: boolean, attentionCheckpointed: boolean): PassSites => {
    const schedule = scheduleSites(core, kind, around);
    const model = modelFrames(core, outer.batch, outer.modelCall, schedule.forwardStep);
    const layers = checkpointed ? model.checkpointedLayers : model.plainLayers;
    return { schedule, model: model.sites, layer: layerForwardSites(core, layers, attentionCheckpointed) };
  };
  return {
    core,
    outer,
    build: buildSites(core, outer),
    training: pass(outer.schedule, plan.recompute === 'full', plan.recompute === 'selective'),
    // Nothing is recomputed where no gradient is wanted.
    evaluation: pass(outer.evaluation, false, false),
    recompute: layerForwardSites(core, recomputeFrames(core), false),
    layerBackward: layerBackwardSites(core),
    outputLayerBackward: outputLayerBackward(core),
    optimizer: optimizerSites(core, outer),
  };
}
