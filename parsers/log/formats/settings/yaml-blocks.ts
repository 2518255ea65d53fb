import { settingFinding } from '../../../../src/text/flatten-settings.js';
import type { BlockCode, BlockReader, Emit } from '../contract.js';
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
export const targetTree: BlockCode = {
  id: 'megatron-bridge.print-yaml',
  begin: (match, emit) => yamlReader(emit, match.input),
};

/** NeMo 1 prints the Hydra configuration behind this heading; its logger indents the lines of a message. */
export const nemoExperiment: BlockCode = {
  id: 'nemo.experiment-configuration',
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
      end: () => reader.end?.(),
    };
  },
};
