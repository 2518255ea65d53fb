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
  // Without labels, lines of other ranks are interleaved with ours.
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
};
