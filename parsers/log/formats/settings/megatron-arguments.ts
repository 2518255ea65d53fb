import type { BlockCode } from '../contract.js';
import { dottedSetting, emitDotted } from './emit-settings.js';
import { prefixRemover } from './unknown-prefix.js';

/** Megatron-LM's arguments as rank 0 knows them after validation: the effective values of the run. */
export const megatronArguments: BlockCode = {
  id: 'megatron-lm.arguments',
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
    };
  },
};
