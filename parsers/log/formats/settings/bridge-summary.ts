import { normaliseConfigValue } from '../../../../src/knowledge/config-keys.js';
import { settingFinding } from '../../../../src/text/flatten-settings.js';
import type { BlockCode } from '../contract.js';

/**
 * What differs from Megatron-Core's defaults, and the sections that have none. What is absent is at its default, which
 * differs by version.
 */
export const bridgeSummary: BlockCode = {
  id: 'megatron-bridge.configuration-summary',
  begin(_match, emit) {
    let section = '';
    let rules = 0;
    return {
      line(text) {
        const line = text.trim();
        if (/^={20,200}$/.test(line)) {
          rules += 1;
          return section === '' && rules === 1 ? 'taken' : 'last';
        }
        if (line === '' || /^-{20,200}$/.test(line) || line === 'Other Configuration Values:') return 'taken';
        const header = /^\[(\w{1,60})\](?: Non-default values \(vs Mcore [\w.]{1,100}\))?:$/.exec(line);
        if (header !== null) {
          section = header[1]!;
          return 'taken';
        }
        const setting = /^ {1,4}([A-Za-z_]\w{0,120}): ([\s\S]{0,8000})$/.exec(text);
        if (setting === null || section === '') return 'foreign';
        const value = setting[2]!;
        const standard = value.lastIndexOf('  (Mcore default: ');
        const text1 = (standard < 0 ? value : value.slice(0, standard)).trim();
        const finding = settingFinding([section, setting[1]!], normaliseConfigValue(text1), 'log summary');
        if (finding !== null) emit(finding);
        return 'taken';
      },
    };
  },
};
