import type { BlockFormat } from '../contract.js';
import { dottedSetting, emitDotted } from './emit-settings.js';
import { prefixRemover } from './unknown-prefix.js';

/** Megatron-LM's arguments as rank 0 knows them after validation: the effective values of the run. */
export const megatronArguments: BlockFormat = {
  form: 'block',
  id: 'megatron-lm.arguments',
  title: 'dump of all arguments',
  producer: 'Megatron-LM',
  versions: '2019 to main; also Megatron-DeepSpeed and other forks',
  source: 'megatron/training/arguments.py _print_args (megatron/arguments.py before core 0.6)',
  anchors: ['------ arguments ------'],
  fields: { key: 'a setting, as printed', value: 'its value, in one text form' },
  opens: /-{8,40} arguments -{8,40}/,
  // Other ranks' lines stand between ours where nothing labels them.
  mostForeign: 200,
  mostLines: 5000,
  begin(match, emit) {
    const withoutPrefix = prefixRemover(match.input.slice(0, match.index));
    emit({ row: 'launch', label: 'Megatron arguments' });
    return {
      line(text) {
        if (/-{8,40} end of arguments -{8,40}/.test(text)) return 'last';
        const setting = dottedSetting(text) ?? dottedSetting(withoutPrefix(text));
        if (setting === null) return 'foreign';
        emitDotted(setting.name, setting.value, 'log dump', emit);
        return 'taken';
      },
      end() {},
    };
  },
  samples: [
    {
      // Behind a prefix that no rule knows.
      lines: [
        'job-7 @12.5s ~ ------------------------ arguments ------------------------',
        'job-7 @12.6s ~   micro_batch_size ................................ 2',
        'job-7 @13.0s ~ -------------------- end of arguments ---------------------',
      ],
      rows: [
        { row: 'launch', label: 'Megatron arguments' },
        { row: 'config', key: 'micro_batch_size', rawKey: 'micro_batch_size', value: '2', origin: 'log dump' },
      ],
    },
    {
      lines: [
        '------------------------ arguments ------------------------',
        '  accumulate_allreduce_grads_in_fp32 .............. True',
        '  apply_residual_connection_post_layernorm ........ False',
        'INFO:somebody.else:talks in between',
        '  attention_backend ............................... AttnBackend.auto',
        "  data_path ....................................... ['/data/a', '/data/b']",
        '  global_batch_size ............................... 96',
        '  log_num_zeros_in_grad_of_the_whole_model_and_more  True',
        '  params_dtype .................................... torch.bfloat16',
        '  recompute_granularity ........................... None',
        '  untie_embeddings_and_output_weights ............. True',
        '  wandb_project ................................... ',
        '-------------------- end of arguments ---------------------',
      ],
      rows: [
        { row: 'launch', label: 'Megatron arguments' },
        {
          row: 'config',
          key: 'accumulate_allreduce_grads_in_fp32',
          rawKey: 'accumulate_allreduce_grads_in_fp32',
          value: 'True',
          origin: 'log dump',
        },
        {
          row: 'config',
          key: 'apply_residual_connection_post_layernorm',
          rawKey: 'apply_residual_connection_post_layernorm',
          value: 'False',
          origin: 'log dump',
        },
        { row: 'config', key: 'attention_backend', rawKey: 'attention_backend', value: 'auto', origin: 'log dump' },
        { row: 'config', key: 'data_path', rawKey: 'data_path', value: '["/data/a","/data/b"]', origin: 'log dump' },
        { row: 'config', key: 'global_batch_size', rawKey: 'global_batch_size', value: '96', origin: 'log dump' },
        {
          row: 'config',
          key: 'log_num_zeros_in_grad_of_the_whole_model_and_more',
          rawKey: 'log_num_zeros_in_grad_of_the_whole_model_and_more',
          value: 'True',
          origin: 'log dump',
        },
        { row: 'config', key: 'params_dtype', rawKey: 'params_dtype', value: 'bfloat16', origin: 'log dump' },
        {
          row: 'config',
          key: 'recompute_granularity',
          rawKey: 'recompute_granularity',
          value: null,
          origin: 'log dump',
        },
        {
          row: 'config',
          key: 'share_embeddings_and_output_weights',
          rawKey: 'untie_embeddings_and_output_weights',
          value: 'False',
          origin: 'log dump',
        },
        { row: 'config', key: 'wandb_project', rawKey: 'wandb_project', value: '', origin: 'log dump' },
      ],
    },
  ],
};
