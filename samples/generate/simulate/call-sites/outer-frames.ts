/** The outer part of every stack: from the script down to the training step, for both frameworks. */
import type { Framework } from '../../run.js';
import type { CallPath } from '../code-line.js';
import { at, BRIDGE, coreOf, MEGATRON_LM, MODULE_CALL } from './sources.js';

export interface OuterFrames {
  /** Around the model's constructor. */
  readonly modelBuild: CallPath;
  readonly distributedWrap: CallPath;
  /** Around `get_megatron_optimizer`. */
  readonly optimizerBuild: CallPath;
  /** In the training loop itself. */
  readonly train: CallPath;
  /** In `train_step`, around the pipeline schedule. */
  readonly schedule: CallPath;
  readonly optimizerStep: CallPath;
  /** In `evaluate`, around the pipeline schedule. */
  readonly evaluation: CallPath;
  readonly saveCheckpoint: CallPath;
  /** Between the model's `forward` and the schedule's `forward_step`: the script's own step function. */
  readonly modelCall: CallPath;
  /** Where the script moves a batch to the device, up to the same place. */
  readonly batch: CallPath;
}

export function outerFrames(framework: Framework, script: string): OuterFrames {
  return framework === 'megatron-bridge' ? bridge(script) : megatronLm(script);
}

/** The float16 and data-parallel wrappers every Megatron model sits in. */
function wrappers(core: string): CallPath {
  return [
    ...MODULE_CALL,
    at('forward', `${core}transformer/module.py`, 431, 'outputs = self.module(*inputs, **kwargs)'),
    ...MODULE_CALL,
    at('forward', `${core}distributed/data_parallel_base.py`, 22, 'return self.module(*inputs, **kwargs)'),
    ...MODULE_CALL,
  ];
}

function bridge(script: string): OuterFrames {
  const main: CallPath = [
    at('pretrain', `${BRIDGE}training/pretrain.py`, 132, '_pretrain(state=state, forward_step_func=forward_step_func)'),
    at('main', `/nemo_run/code/${script}.py`, 61, 'pretrain(config=cfg, forward_step_func=forward_step)'),
    at('<module>', `/nemo_run/code/${script}.py`, 65, 'main()'),
  ];
  const inner = at('_pretrain', `${BRIDGE}training/pretrain.py`, 187, 'train(');
  const setup: CallPath = [
    at(
      'setup',
      `${BRIDGE}training/setup.py`,
      218,
      'model = _build_distributed_model(cfg, model_config, pg_collection)',
    ),
    at('_pretrain', `${BRIDGE}training/pretrain.py`, 158, 'setup_output = setup('),
    ...main,
  ];
  const provider: CallPath = [
    at('_build_distributed_model', `${BRIDGE}training/setup.py`, 402, 'return get_model('),
    ...setup,
  ];
  const train: CallPath = [at('train', `${BRIDGE}training/train.py`, 446, ') = train_step('), inner, ...main];
  const forwardStep = at('forward_step', `${BRIDGE}training/gpt_step.py`, 341, 'output_tensor = model(**forward_args)');
  return {
    modelBuild: [
      at('provide', `${BRIDGE}models/gpt_provider.py`, 263, 'model = MCoreGPTModel('),
      at('get_model', `${BRIDGE}models/model_provider.py`, 527, 'model = _create_model(model_provider, model_type)'),
      ...provider,
    ],
    distributedWrap: [
      at('_ddp_wrap', `${BRIDGE}models/model_provider.py`, 701, 'DP('),
      at('get_model', `${BRIDGE}models/model_provider.py`, 561, 'model = _ddp_wrap('),
      ...provider,
    ],
    optimizerBuild: [
      at('setup_optimizer', `${BRIDGE}training/optim.py`, 58, 'optimizer = get_megatron_optimizer('),
      at('setup', `${BRIDGE}training/setup.py`, 241, 'optimizer, scheduler = setup_optimizer('),
      ...setup.slice(1),
    ],
    train,
    schedule: [
      at('train_step', `${BRIDGE}training/train.py`, 712, 'losses_reduced = forward_backward_func('),
      ...train,
    ],
    optimizerStep: [
      at('train_step', `${BRIDGE}training/train.py`, 741, 'update_successful, grad_norm, num_zeros = optimizer.step()'),
      ...train,
    ],
    evaluation: [
      at('evaluate', `${BRIDGE}training/eval.py`, 131, 'loss_dicts = forward_backward_func('),
      at('evaluate_and_print_results', `${BRIDGE}training/eval.py`, 276, 'total_loss_dict, collected = evaluate('),
      at('train', `${BRIDGE}training/train.py`, 583, 'evaluate_and_print_results('),
      inner,
      ...main,
    ],
    saveCheckpoint: [
      at('save_checkpoint', `${BRIDGE}training/checkpointing.py`, 561, 'state_dict = generate_state_dict('),
      at('save_checkpoint_and_time', `${BRIDGE}training/train.py`, 884, 'save_checkpoint('),
      at('checkpoint_and_decide_exit', `${BRIDGE}training/train.py`, 979, 'save_checkpoint_and_time('),
      at('train', `${BRIDGE}training/train.py`, 611, 'should_exit = checkpoint_and_decide_exit('),
      inner,
      ...main,
    ],
    modelCall: [...wrappers(coreOf('megatron-bridge')), forwardStep],
    batch: [
      at('get_batch', `${BRIDGE}training/gpt_step.py`, 122, 'batch[key] = batch[key].cuda(non_blocking=True)'),
      at('forward_step', `${BRIDGE}training/gpt_step.py`, 297, ') = get_batch(data_iterator, state.cfg, use_mtp)'),
    ],
  };
}

function megatronLm(script: string): OuterFrames {
  const file = `${MEGATRON_LM}${script}.py`;
  const training = `${MEGATRON_LM}megatron/training/training.py`;
  const main: CallPath = [at('<module>', file, 326, 'pretrain(')];
  const setup: CallPath = [
    at('pretrain', training, 816, 'model, optimizer, opt_param_scheduler = setup_model_and_optimizer('),
    ...main,
  ];
  const getModel: CallPath = [
    at('setup_model_and_optimizer', training, 1342, 'model = get_model(model_provider_func, model_type)'),
    ...setup,
  ];
  const inTrain: CallPath = [
    at('pretrain', training, 921, 'iteration, num_floating_point_operations_so_far = train('),
    ...main,
  ];
  const train: CallPath = [at('train', training, 2412, ') = train_step('), ...inTrain];
  const core = coreOf('megatron-lm');
  const step = (line: number, source: string): CallPath => [at('forward_step', file, line, source)];
  return {
    modelBuild: [
      at('gpt_builder', `${MEGATRON_LM}gpt_builders.py`, 93, 'model = GPTModel('),
      at('model_provider', `${MEGATRON_LM}model_provider.py`, 61, 'return model_builder('),
      at('build_model', training, 1051, 'model = model_provider_func('),
      at('get_model', training, 1096, 'model = build_model()'),
      ...getModel,
    ],
    distributedWrap: [at('get_model', training, 1194, 'DP('), ...getModel],
    optimizerBuild: [at('setup_model_and_optimizer', training, 1381, 'optimizer = get_megatron_optimizer('), ...setup],
    train,
    schedule: [at('train_step', training, 1551, 'losses_reduced = forward_backward_func('), ...train],
    optimizerStep: [
      at('train_step', training, 1590, 'update_successful, grad_norm, num_zeros_in_grad = optimizer.step()'),
      ...train,
    ],
    evaluation: [
      at('evaluate', training, 2748, 'loss_dicts = forward_backward_func('),
      at(
        'evaluate_and_print_results',
        training,
        2893,
        'total_loss_dict, collected_non_loss_data, timelimit = evaluate(',
      ),
      at('train', training, 2573, 'evaluate_and_print_results('),
      ...inTrain,
    ],
    saveCheckpoint: [
      at(
        'save_checkpoint',
        `${MEGATRON_LM}megatron/training/checkpointing.py`,
        471,
        'state_dict = generate_state_dict(',
      ),
      at('save_checkpoint_and_time', training, 2031, 'save_checkpoint('),
      at('checkpoint_and_decide_exit', training, 2166, 'save_checkpoint_and_time('),
      at('train', training, 2601, 'should_exit = checkpoint_and_decide_exit('),
      ...inTrain,
    ],
    modelCall: [...wrappers(core), ...step(241, 'output_tensor = model(')],
    batch: [
      at(
        'get_batch_on_this_tp_rank',
        `${MEGATRON_LM}megatron/training/utils.py`,
        472,
        "'tokens': data['tokens'].cuda(non_blocking=True),",
      ),
      at('get_batch', file, 71, 'batch = get_batch_on_this_tp_rank(data_iterator)'),
      ...step(223, 'tokens, labels, loss_mask, attention_mask, position_ids = get_batch(data_iterator)'),
    ],
  };
}
