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

/**
 * The whole configuration as a tree of classes, printed before the run validates it: recipe values, not yet the
 * effective ones.
 */
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
};
