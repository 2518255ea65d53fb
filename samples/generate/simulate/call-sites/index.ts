/** Every call path of one run: they depend on the framework, the pipeline schedule and what is recomputed. */
import type { RunPlan } from '../../run.js';
import type { CallPath } from '../code-line.js';
import { type Sites, sitesOf } from './call-trees.js';
import { at, coreOf } from './sources.js';

export type LayerForwardSites = Sites<
  | ('inputNorm' | 'qkvGather' | 'qkv' | 'workspace' | 'rotary' | 'attention' | 'proj' | 'projScatter')
  | ('attentionResidual' | 'mlpNorm' | 'fc1Gather' | 'fc1' | 'activation' | 'fc2' | 'fc2Scatter' | 'mlpResidual')
>;
export type LayerBackwardSites = Sites<
  | ('fc2Gather' | 'fc2' | 'activation' | 'fc1Gather' | 'fc1' | 'mlpNorm' | 'projGather' | 'proj')
  | ('attentionRecompute' | 'attention' | 'native' | 'qkvGather' | 'qkv' | 'inputNorm')
>;
export type ModelSites = Sites<
  | ('batch' | 'embedding' | 'embeddingScatter' | 'finalNorm' | 'logitsGather' | 'cublasWorkspace')
  | ('logits' | 'lossLogits' | 'loss')
>;
export type ScheduleKind = 'single_stage' | 'one_forward_one_backward' | 'interleaved';
export type ScheduleSites = Sites<
  'forwardStep' | 'receiveForward' | 'receiveBackward' | 'backwardStep' | 'deallocateOutput'
>;
export type BuildSites = Sites<
  | ('embedding' | 'outputLayer' | 'finalNorm' | 'proj' | 'qkvNorm' | 'qkv' | 'fc1Norm' | 'fc1' | 'fc2')
  | ('parameterBuffer' | 'gradientBuffer' | 'mainParameters')
>;
export type OptimizerSites = Sites<'normGradients' | 'gradientNorm' | 'expAvg' | 'expAvgSq' | 'checkpointGather'>;
export type OuterFrames = Sites<
  | ('modelBuild' | 'distributedWrap' | 'optimizerBuild' | 'train' | 'schedule' | 'optimizerStep')
  | ('evaluation' | 'saveCheckpoint' | 'modelCall' | 'batch')
>;

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

/** Where the script and what belongs to it is, with a slash at the end. */
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

function layerForward(core: string, outer: CallPath, isAttentionCheckpointed: boolean): LayerForwardSites {
  const sites = sitesOf<keyof LayerForwardSites | 'attention.checkpointed'>('layer forward', {
    core,
    paths: { outer },
  });
  return isAttentionCheckpointed ? { ...sites, attention: sites['attention.checkpointed'] } : sites;
}

export function createCallSites(plan: RunPlan): CallSites {
  const core = coreOf(plan.framework);
  const frames: OuterFrames = sitesOf(`outer ${plan.framework}`, { core, script: scriptName(plan) });
  const outer: OuterFrames = capturesFullIteration(plan)
    ? { ...frames, schedule: [...fullIterationGraph(core), ...frames.schedule] }
    : frames;
  const kind = scheduleKind(plan);
  const pass = (around: CallPath, checkpointed: boolean, attentionCheckpointed: boolean): PassSites => {
    const schedule: ScheduleSites = sitesOf(`schedule ${kind}`, { core, paths: { outer: around } });
    const paths = { ...outer, forwardStep: schedule.forwardStep };
    const model = sitesOf<keyof ModelSites | 'plainLayers' | 'checkpointedLayers'>('model', { core, paths });
    const layers = checkpointed ? model.checkpointedLayers : model.plainLayers;
    return { schedule, model, layer: layerForward(core, layers, attentionCheckpointed) };
  };
  const layerBackward = sitesOf<keyof LayerBackwardSites | 'recompute' | 'outputLayer'>('layer backward', { core });
  return {
    core,
    outer,
    build: sitesOf('build', { core, paths: outer }),
    training: pass(outer.schedule, plan.recompute === 'full', plan.recompute === 'selective'),
    // Nothing is recomputed where no gradient is wanted.
    evaluation: pass(outer.evaluation, false, false),
    recompute: layerForward(core, layerBackward.recompute, false),
    layerBackward,
    outputLayerBackward: layerBackward.outputLayer,
    optimizer: sitesOf('optimizer', { core, paths: outer }),
  };
}
