import { settingFinding } from '../../../../src/text/flatten-settings.js';
import type { BlockFormat, BlockReader, Emit } from '../contract.js';
import { YamlLines } from './yaml-lines.js';

function yamlReader(emit: Emit, first: string | null): BlockReader {
  const yaml = new YamlLines((path, value) => {
    const finding = settingFinding(path, value, 'log yaml');
    if (finding !== null) emit(finding);
  });
  if (first !== null) yaml.line(first);
  return {
    line: (text) => (yaml.line(text) ? 'taken' : 'foreign'),
    end: () => yaml.end(),
  };
}

/** The whole configuration as a tree of classes, printed before the run validates it: recipe values, not yet the effective ones. */
export const targetTree: BlockFormat = {
  form: 'block',
  id: 'megatron-bridge.print-yaml',
  title: 'configuration tree with _target_ keys',
  producer: 'Megatron Bridge',
  versions: '0.1 to main; NeMo 2 prints the same form',
  source: 'megatron/bridge/training/config.py ConfigContainer.print_yaml, bridge/training/utils/config_utils.py',
  anchors: ['_target_: megatron.', '_target_: nemo.'],
  fields: { key: 'a setting, as printed', value: 'its value, in one text form' },
  opens: /^ {0,16}_target_: (?:megatron|nemo)\.[\w.]{1,200}$/,
  mostForeign: 8,
  mostLines: 8000,
  begin: (match, emit) => yamlReader(emit, match.input),
  samples: [
    {
      lines: [
        '_target_: megatron.bridge.training.config.ConfigContainer',
        'ddp:',
        '  _target_: megatron.bridge.training.config.DistributedDataParallelConfig',
        '  bucket_size: null',
        'env_vars:',
        "  NCCL_NVLS_ENABLE: '0'",
        'mixed_precision: bf16_mixed',
        'model:',
        '  _target_: megatron.bridge.models.gpt_provider.GPTModelProvider',
        '  attention_backend:',
        '    _args_:',
        '    - 5',
        '    _call_: true',
        '    _target_: megatron.core.transformer.enums.AttnBackend',
        '  pipeline_dtype:',
        '    _call_: false',
        '    _target_: torch.bfloat16',
        '  recompute_modules:',
        '  - core_attn',
        '  - moe_act',
        '  seq_length: 6144',
        'training ...',
      ],
      rows: [
        {
          row: 'config',
          key: '_target_',
          rawKey: '_target_',
          value: 'megatron.bridge.training.config.ConfigContainer',
          origin: 'log yaml',
        },
        {
          row: 'config',
          key: 'ddp._target_',
          rawKey: 'ddp._target_',
          value: 'megatron.bridge.training.config.DistributedDataParallelConfig',
          origin: 'log yaml',
        },
        { row: 'config', key: 'bucket_size', rawKey: 'ddp.bucket_size', value: null, origin: 'log yaml' },
        { row: 'env', key: 'NCCL_NVLS_ENABLE', value: '0', origin: 'config file' },
        { row: 'config', key: 'mixed_precision', rawKey: 'mixed_precision', value: 'bf16_mixed', origin: 'log yaml' },
        {
          row: 'config',
          key: 'model._target_',
          rawKey: 'model._target_',
          value: 'megatron.bridge.models.gpt_provider.GPTModelProvider',
          origin: 'log yaml',
        },
        {
          row: 'config',
          key: 'attention_backend',
          rawKey: 'model.attention_backend',
          value: 'auto',
          origin: 'log yaml',
        },
        { row: 'config', key: 'pipeline_dtype', rawKey: 'model.pipeline_dtype', value: 'bfloat16', origin: 'log yaml' },
        {
          row: 'config',
          key: 'recompute_modules',
          rawKey: 'model.recompute_modules',
          value: '["core_attn","moe_act"]',
          origin: 'log yaml',
        },
        { row: 'config', key: 'seq_length', rawKey: 'model.seq_length', value: '6144', origin: 'log yaml' },
      ],
    },
  ],
};

/** NeMo 1 prints the Hydra configuration behind this heading; its logger indents the lines of a message. */
export const nemoExperiment: BlockFormat = {
  form: 'block',
  id: 'nemo.experiment-configuration',
  title: 'Hydra configuration of the experiment',
  producer: 'NeMo',
  versions: '1.x',
  source: 'examples/nlp/language_modeling/*.py (logging.info of OmegaConf.to_yaml) [mem]',
  anchors: ['* Experiment configuration *'],
  fields: { key: 'a setting, as printed', value: 'its value, in one text form' },
  opens: /\*{4,40} Experiment configuration \*{4,40}/,
  mostForeign: 12,
  mostLines: 8000,
  begin: (_match, emit) => {
    const reader = yamlReader(emit, null);
    let isOpen = false;
    return {
      line(text) {
        if (!isOpen) {
          // The first line of the tree is a section; the logger's own line before it is empty.
          if (text.trim() === '') return 'taken';
          if (!/^ {0,16}[A-Za-z_]\w{0,60}:(?: .{0,200})?$/.test(text)) return 'foreign';
          isOpen = true;
        }
        return reader.line(text);
      },
      end: () => reader.end(),
    };
  },
  samples: [
    {
      lines: [
        '    ************** Experiment configuration ***********',
        '',
        '    model:',
        '      micro_batch_size: 2',
        '      encoder_seq_length: 4096',
        '      data:',
        '        validation_ds:',
        '          micro_batch_size: 1',
        '      optim:',
        '        name: fused_adam',
        '        betas:',
        '        - 0.9',
        '        - 0.98',
        '    trainer:',
        '      devices: 8',
        'GPU available: True (cuda), used: True',
      ],
      rows: [
        { row: 'config', key: 'micro_batch_size', rawKey: 'model.micro_batch_size', value: '2', origin: 'log yaml' },
        { row: 'config', key: 'seq_length', rawKey: 'model.encoder_seq_length', value: '4096', origin: 'log yaml' },
        {
          row: 'config',
          key: 'validation_ds.micro_batch_size',
          rawKey: 'model.data.validation_ds.micro_batch_size',
          value: '1',
          origin: 'log yaml',
        },
        { row: 'config', key: 'optimizer', rawKey: 'model.optim.name', value: 'fused_adam', origin: 'log yaml' },
        { row: 'config', key: 'betas', rawKey: 'model.optim.betas', value: '[0.9,0.98]', origin: 'log yaml' },
        { row: 'config', key: 'nproc_per_node', rawKey: 'trainer.devices', value: '8', origin: 'log yaml' },
      ],
    },
  ],
};
