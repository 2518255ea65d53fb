/**
 * What a stack was doing, where that is a usual reason to run out: checkpoints, logits and loss, the birth of optimizer
 * states.
 */
/** What a stack, or a traceback, was doing, where that is a usual reason to run out. */
export type Activity = 'checkpoint_save' | 'checkpoint_load' | 'logits_loss' | 'optimizer_init';
/** Weights are made or read: what fills the device is weights, and how many are still to come is unknown. */
export type WeightsActivity = 'model_construction' | 'weight_loading';

/** A function and its file. */
interface Place {
  readonly name: string;
  readonly filename: string;
}

/**
 * Saving builds the state dict with the same functions that loading fills it with: the outer frame distinguishes them.
 */
const LOADING =
  /^_?load_(?:checkpoint|base_checkpoint|global_dist_base_checkpoint|model_checkpoint|from_checkpoint|checkpoint_guess|main_state_dict)|^resume_from_checkpoint$|^load_state_dict$/;
const SAVING = /^_?save_(?:checkpoint|model_checkpoint|state_dict|to_checkpoint|pretrained|16bit_model)/;
/**
 * Files that only run for a checkpoint. Upstream: Megatron-Core `dist_checkpointing`, torch `distributed/checkpoint`,
 * Bridge and Megatron-LM `checkpointing.py`.
 */
const CHECKPOINT_FILES =
  /(?:^|\/)dist_checkpointing\/|(?:^|\/)torch\/distributed\/checkpoint\/|(?:^|\/)training\/checkpointing\.py$|nvidia_resiliency_ext\/checkpointing\//;
/**
 * Functions of the optimizer that gather or shard its state for a checkpoint. Upstream: Megatron-Core
 * `optimizer/distrib_optimizer.py`.
 */
const STATE_GATHER = /^(?:get_parameter_state_|sharded_param_state_|sharded_state_dict$|load_parameter_state_)/;

const LOSS_FILES =
  /(?:^|\/)(?:fused_|te_)?(?:linear_)?cross_entropy\.py$|(?:^|\/)loss_utils\.py$|(?:^|\/)training\/losses\.py$/;
const LOSS_NAMES =
  /^(?:compute_language_model_loss|(?:fused_)?vocab_parallel_cross_entropy|calculate_logits_max|compute_output_layer_and_language_model_loss|cross_entropy)$/;

/**
 * Moments are born in the first step. Upstream: Transformer Engine `fused_adam.py`, torch `optim/adam.py`, DeepSpeed
 * `stage_1_and_2.py`.
 */
const OPTIMIZER_BIRTH =
  /^(?:_?initialize_state|_init_group|initialize_optimizer_states|_init_optimizer_states_with_dummy_values)$/;

/** `frames` innermost first; a traceback of which only the innermost frame is known is one frame. */
export function activityOf(frames: readonly Place[]): Activity | null {
  const paths = frames.map(({ name, filename }) => ({ name, path: filename.replaceAll('\\', '/') }));
  const any = (test: (place: { readonly name: string; readonly path: string }) => boolean): boolean => paths.some(test);
  const checkpoint = any(
    ({ name, path }) => CHECKPOINT_FILES.test(path) || SAVING.test(name) || STATE_GATHER.test(name),
  );
  const loads = any(({ name }) => LOADING.test(name) || name.startsWith('load_parameter_state_'));
  const saves = any(({ name }) => SAVING.test(name));
  if (checkpoint || loads) {
    if (loads && !saves) return 'checkpoint_load';
    if (saves) return 'checkpoint_save';
    // Within the serialisers the verb is in the function or the file.
    if (any(({ name, path }) => /load|restor/i.test(name) && CHECKPOINT_FILES.test(path))) return 'checkpoint_load';
    return 'checkpoint_save';
  }
  if (any(({ name, path }) => OPTIMIZER_BIRTH.test(name) && /optim|adam|zero/i.test(path))) return 'optimizer_init';
  const isLoss = any(
    ({ name, path }) =>
      LOSS_FILES.test(path) || LOSS_NAMES.test(name) || (name === '_postprocess' && path.endsWith('/gpt_model.py')),
  );
  return isLoss ? 'logits_loss' : null;
}
