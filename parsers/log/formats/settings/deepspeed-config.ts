import { configFinding, isKnownConfigKey, normaliseConfigValue } from '../../../../src/knowledge/config-keys.js';
import type { BlockCode } from '../contract.js';
import { BracketCollector, dottedSetting, emitDotted, emitTree } from './emit-settings.js';

/**
 * DeepSpeed's configuration after it filled in derived values, then the JSON it received. Its `world_size` counts
 * data-parallel ranks (`mpu.get_data_parallel_world_size()`), and its `global_rank` is not a setting of the run.
 */
const RENAMED: ReadonlyMap<string, string> = new Map([['world_size', 'data_parallel_size']]);
const SKIPPED: ReadonlySet<string> = new Set(['global_rank', 'dynamic_loss_scale_args']);

export const deepspeedConfig: BlockCode = {
  id: 'deepspeed.engine-configuration',
  begin(_match, emit) {
    let open: { readonly path: readonly string[]; readonly value: BracketCollector } | null = null;
    const take = (path: readonly string[], text: string): 'taken' | 'last' => {
      open ??= { path, value: new BracketCollector() };
      if (!open.value.add(text)) return 'taken';
      emitTree(open.value.tree(), open.path, 'log dump', emit);
      const isJson = open.path.length === 0;
      open = null;
      return isJson ? 'last' : 'taken';
    };
    return {
      line(text) {
        // Lines of JSON carry no prefix; another writer's line in between lacks a key.
        if (open !== null) {
          const fits = /^\s{0,80}(?:"[^"]{1,200}":|[\]}[{"]|-?\d|null|true|false)/.test(text);
          return fits ? take(open.path, text) : 'foreign';
        }
        const json = /^ {1,4}json = (\{[\s\S]{0,8000})$/.exec(text);
        if (json !== null) return take([], json[1]!);
        const setting = dottedSetting(text);
        if (setting === null) return 'foreign';
        const { name, value } = setting;
        if (SKIPPED.has(name)) return 'taken';
        if (value.startsWith('{')) return take([name], value);
        const fields = [...value.matchAll(/(?:^| )(\w{1,60})=([^\s=]{1,200})(?= |$)/g)];
        if (fields.length >= 3) {
          // pydantic: `stage=1 contiguous_gradients=True …`
          for (const field of fields)
            emit(configFinding(`${name}.${field[1]}`, normaliseConfigValue(field[2]!), 'log dump'));
          return 'taken';
        }
        // None: not in DeepSpeed's configuration. An optimizer or a scheduler that the client passes is not listed.
        if (value === 'None' && isKnownConfigKey(name)) return 'taken';
        const renamed = RENAMED.get(name);
        if (renamed === undefined) emitDotted(name, value, 'log dump', emit);
        else emit({ ...configFinding(renamed, normaliseConfigValue(value), 'log dump'), rawKey: name });
        return 'taken';
      },
      end() {
        if (open !== null) emitTree(open.value.tree(), open.path, 'log dump', emit);
      },
    };
  },
};
