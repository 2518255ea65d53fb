import type { LineFormat } from '../contract.js';
import { bannerSetting, figureFinding, wordFinding } from '../system/findings.js';

const PRODUCER = 'DeepSpeed';

export const DEEPSPEED_PIPELINE_PARAMETERS: LineFormat = {
  form: 'line',
  id: 'deepspeed.pipeline-parameters',
  title: 'Parameters of a pipeline stage',
  producer: PRODUCER,
  versions: '0.3 and later; data-parallel rank 0 of every stage and tensor rank',
  source: 'deepspeed/runtime/pipe/engine.py, PipelineEngine.__init__',
  anchors: [' STAGE_PARAMS='],
  fields: {
    rank: 'global',
    stage: 'pipeline stage',
    layers: 'layers of this stage, and their range',
    range: 'first layer, and the one after the last',
    local: 'elements on this rank',
    total: 'elements of all stages, tied ones counted as often as they occur',
    unique: 'elements, tied ones counted once',
  },
  pattern:
    /RANK=(?<rank>\d{1,7}) STAGE=(?<stage>\d{1,5}) LAYERS=(?<layers>\d{1,6}) (?<range>\[\d{1,6}, \d{1,6}\)) STAGE_PARAMS=(?<local>\d{1,16}) \([\d.]{1,16}M\) TOTAL_PARAMS=(?<total>\d{1,16}) \([\d.]{1,16}M\) UNIQUE_PARAMS=(?<unique>\d{1,16})/g,
  read({ rank: printed = '', stage = '', layers = '', range = '', local = '', total = '', unique = '' }, emit) {
    const rank = Number(printed);
    emit(figureFinding(`parameters.local[stage=${stage}]`, Number(local), 'elements', { rank }));
    emit({ ...figureFinding(`layers.local[stage=${stage}]`, Number(layers), 'count', { rank }), text: range });
    emit(figureFinding('parameters.total', Number(total), 'elements', { rank }));
    emit(figureFinding('parameters.unique', Number(unique), 'elements', { rank }));
  },
};

const TIMER = /\| ([\w./-]{1,60}): (\d{1,12}(?:\.\d{1,6})?)/g;

/** The form without a rank is Megatron's own. */
export const DEEPSPEED_TIMERS: LineFormat = {
  form: 'line',
  id: 'deepspeed.timers',
  title: 'Wall-clock breakdown',
  producer: PRODUCER,
  versions: '0.3 and later, with wall_clock_breakdown',
  source: 'deepspeed/utils/timer.py, SynchronizedWallClockTimer.log; deepspeed/utils/logging.py, log_dist',
  anchors: [' time (ms) | '],
  fields: {
    rank: 'global',
    engineRank: 'the same, of the pipeline engine',
    timers: 'name and ms, averaged over the steps since the print before',
  },
  pattern:
    /(?:\[Rank (?<rank>\d{1,7})\]|\brank=(?<engineRank>\d{1,7})) time \(ms\) (?<timers>(?:\| [\w./-]{1,60}: \d{1,12}(?:\.\d{1,6})? ?){1,64})/g,
  read({ rank, engineRank, timers = '' }, emit) {
    const where = { rank: Number(rank ?? engineRank) };
    for (const [, name = '', value = ''] of timers.matchAll(TIMER))
      emit(figureFinding(`timer.${name}.ms`, Number(value), 'ms', where));
  },
};

export const DEEPSPEED_OVERFLOW: LineFormat = {
  form: 'line',
  id: 'deepspeed.overflow',
  title: 'Step skipped because gradients overflowed',
  producer: PRODUCER,
  versions: '0.3 and later; `[deepscale]` before 0.7, `[deepspeed]` since',
  source: 'deepspeed/runtime/fp16/loss_scaler.py, update_scale; deepspeed/runtime/zero/stage3.py, _overflow_clean_up',
  anchors: ['OVERFLOW! Rank ', 'overflow! Rank '],
  fields: {
    rank: 'global',
    attempted: 'loss scale of the step',
    next: 'loss scale from now on',
    reduced: 'the same, in the older wording',
  },
  pattern:
    /(?:OVERFLOW|overflow)! Rank (?<rank>\d{1,7}) Skipping step\.(?: Attempted loss scale: (?<attempted>\d{1,20}(?:\.\d{1,6})?))?(?:, reducing to (?<next>\d{1,20}(?:\.\d{1,6})?)| Reducing loss scale to (?<reduced>\d{1,20}(?:\.\d{1,6})?))?/g,
  read({ rank = '', attempted, next, reduced }, emit) {
    const to = next ?? reduced;
    emit({
      row: 'value',
      name: 'overflow.skipped_step',
      value: attempted === undefined ? null : Number(attempted),
      unit: 'loss scale',
      ...(to === undefined ? {} : { text: `next loss scale ${to}` }),
      rank: Number(rank),
    });
  },
};

export const DEEPSPEED_STEP: LineFormat = {
  form: 'line',
  id: 'deepspeed.step',
  title: 'Steps, skipped steps, learning rate',
  producer: PRODUCER,
  versions: '0.3 and later, every steps_per_print steps',
  source: 'deepspeed/runtime/engine.py, _report_progress',
  anchors: [', skipped='],
  fields: {
    step: 'global step; 0 before the first one',
    skipped: 'steps skipped so far',
    rate: 'learning rate of the first group',
  },
  pattern:
    /\bstep=(?<step>\d{1,9}), skipped=(?<skipped>\d{1,9}), lr=\[(?<rate>\d{1,3}(?:\.\d{1,25})?(?:e[-+]?\d{1,3})?)?/g,
  read({ step = '', skipped = '', rate }, emit) {
    const iteration = Number(step);
    emit(figureFinding('deepspeed.skipped_steps', Number(skipped), 'count', { iteration }));
    if (rate !== undefined) emit(figureFinding('deepspeed.learning_rate', Number(rate), null, { iteration }));
  },
};

/** No iteration rows: Megatron-DeepSpeed also prints its own line for the same step. */
export const DEEPSPEED_PIPELINE_STEP: LineFormat = {
  form: 'line',
  id: 'deepspeed.pipeline-step',
  title: 'Step of the pipeline engine',
  producer: PRODUCER,
  versions: '0.3 and later; global rank 0',
  source: 'deepspeed/runtime/pipe/engine.py, train_batch',
  anchors: ['iter time (s): '],
  fields: {
    step: 'global steps',
    loss: 'of the batch, averaged over micro-batches',
    seconds: 'per step, averaged over steps_per_print',
    rate: 'samples per second of the whole job',
    rateBefore: 'the same, where a fork prints it first',
    tflops: 'TFLOP/s as a fork prints it',
  },
  pattern:
    /(?:steps?: {0,5}(?<step>\d{1,9})(?: \/ {0,6}\d{1,9})? loss: (?<loss>-?\d{1,9}\.\d{1,8}) (?:[\w-]{1,40}: -?\d{1,9}\.\d{1,8} ){0,8})?(?:samples\/sec: (?<rateBefore>\d{1,9}\.\d{1,6}), )?iter time \(s\): (?<seconds>\d{1,9}\.\d{1,6})(?: samples\/sec: (?<rate>\d{1,9}\.\d{1,6}))?(?:, tflops: (?<tflops>\d{1,6}(?:\.\d{1,6})?))?/g,
  read({ step, loss, seconds = '', rate, rateBefore, tflops }, emit) {
    const where = step === undefined ? {} : { iteration: Number(step) };
    emit(figureFinding('deepspeed.step_time.s', Number(seconds), 's', where));
    const samples = rate ?? rateBefore;
    if (samples !== undefined) emit(figureFinding('deepspeed.samples_per_s', Number(samples), 'samples/s', where));
    if (loss !== undefined) emit(figureFinding('deepspeed.loss', Number(loss), null, where));
    if (tflops !== undefined) emit(figureFinding('deepspeed.tflops', Number(tflops), 'TFLOP/s', where));
  },
};

export const DEEPSPEED_GRID: LineFormat = {
  form: 'line',
  id: 'deepspeed.grid',
  title: 'Groups of ranks',
  producer: 'Megatron-DeepSpeed',
  versions: '2020 and 2021',
  source: 'megatron/mpu/initialize.py of the DeepSpeed fork',
  anchors: ['MPU DP: ', 'MPU PP: ', 'MPU MP: ', 'MPU IO: ', 'MPU TP: '],
  fields: { axis: 'DP, PP, MP (tensor), IO (first and last stage)', ranks: 'global ranks of one group' },
  pattern: /MPU (?<axis>DP|PP|MP|IO|TP): \[(?<ranks>\d{1,7}(?:, \d{1,7}){0,9000})\]/g,
  read({ axis = '', ranks = '' }, emit) {
    emit({ ...figureFinding(`mpu.${axis.toLowerCase()}`, ranks.split(',').length, 'ranks'), text: `[${ranks}]` });
  },
};

export const DEEPSPEED_LAUNCHER: LineFormat = {
  form: 'line',
  id: 'deepspeed.launcher',
  title: 'Launcher: nodes, processes, world size',
  producer: PRODUCER,
  versions: '0.1 and later',
  source: 'deepspeed/launcher/launch.py, main',
  anchors: ['WORLD INFO DICT: ', ', num_local_procs=', 'dist_world_size='],
  fields: {
    world: 'devices of every host',
    nodes: 'hosts',
    local: 'processes on this host',
    node: 'index of this host',
    size: 'world size',
  },
  pattern:
    /WORLD INFO DICT: (?<world>\{[^{}]{1,6000}\})|\bnnodes=(?<nodes>\d{1,6}), num_local_procs=(?<local>\d{1,4}), node_rank=(?<node>\d{1,6})|\bdist_world_size=(?<size>\d{1,7})/g,
  read({ world, nodes, local, size }, emit) {
    if (world !== undefined) {
      emit({ row: 'launch', label: 'DeepSpeed launcher' });
      emit(wordFinding('launcher.world_info', world));
    }
    if (nodes !== undefined) emit(figureFinding('launcher.nodes', Number(nodes), 'count'));
    if (local !== undefined) emit(figureFinding('launcher.local_processes', Number(local), 'count'));
    if (size !== undefined) emit(bannerSetting('world_size', 'dist_world_size', size));
  },
};
