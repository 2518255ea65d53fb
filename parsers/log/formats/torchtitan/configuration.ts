import type { BlockFormat, LineFormat } from '../contract.js';
import { BracketCollector, emitTree } from '../settings/emit-settings.js';
import { bannerSetting } from '../system/findings.js';

const PRODUCER = 'torchtitan';

/** Axis of the mesh → setting. Axes that only split another one are left to {@link DATA_AXES}. */
const AXES: ReadonlyMap<string, string> = new Map([
  ['pp', 'pipeline_model_parallel_size'],
  ['tp', 'tensor_model_parallel_size'],
  ['cp', 'context_parallel_size'],
  ['dp_replicate', 'data_parallel_replicate_degree'],
  ['dp_shard', 'data_parallel_shard_degree'],
  ['ep', 'expert_model_parallel_size'],
  ['etp', 'expert_tensor_parallel_size'],
]);
const DATA_AXES: ReadonlySet<string> = new Set(['dp', 'dp_replicate', 'dp_shard', 'dp_shard_mod_ep', 'dp_shard_in_ep']);
/** Experts use the ranks of other axes. */
const BORROWED: ReadonlySet<string> = new Set(['ep', 'etp']);

export const TORCHTITAN_MESH: LineFormat = {
  form: 'line',
  id: 'torchtitan.device-mesh',
  title: 'Axes of the device mesh and their sizes',
  producer: PRODUCER,
  versions: '0.0.2 and later; `Building device mesh with parallelism: pp=…` since late 2025',
  source: 'torchtitan/distributed/parallel_dims.py, ParallelDims.build_mesh',
  anchors: [' device mesh with '],
  fields: {
    names: 'axes longer than 1, outermost first',
    sizes: 'their sizes; the product is the world size',
    pairs: '`axis=size`, all axes',
  },
  pattern:
    /Building (?:\d-D device mesh with \[(?<names>'\w{1,20}'(?:, '\w{1,20}'){0,7})\], \[(?<sizes>\d{1,7}(?:, \d{1,7}){0,7})\]|device mesh with parallelism: (?<pairs>\w{1,20}=\d{1,7}(?:, \w{1,20}=\d{1,7}){0,11}))/g,
  read({ names = '', sizes = '', pairs }, emit) {
    const axes: (readonly [name: string, size: number])[] =
      pairs === undefined
        ? names.split(', ').map((name, index) => [name.slice(1, -1), Number(sizes.split(', ')[index])])
        : pairs
            .split(', ')
            .map((pair) => [pair.slice(0, pair.indexOf('=')), Number(pair.slice(pair.indexOf('=') + 1))]);
    if (axes.some(([, size]) => !Number.isSafeInteger(size) || size < 1)) return;
    const product = (counts: (name: string) => boolean): number =>
      axes.reduce((total, [name, size]) => (counts(name) ? total * size : total), 1);
    for (const [name, size] of axes) {
      const key = AXES.get(name);
      if (key !== undefined) emit(bannerSetting(key, `device mesh ${name}`, String(size)));
    }
    // The mesh spans all ranks: an axis that is not listed has one rank.
    for (const name of ['pp', 'cp', 'tp'])
      if (axes.every(([other]) => other !== name)) emit(bannerSetting(AXES.get(name)!, 'device mesh', '1'));
    emit(bannerSetting('data_parallel_size', 'device mesh', String(product((name) => DATA_AXES.has(name)))));
    emit(bannerSetting('world_size', 'device mesh', String(product((name) => !BORROWED.has(name)))));
  },
};

export const TORCHTITAN_CONFIGURATION: BlockFormat = {
  form: 'block',
  id: 'torchtitan.configuration',
  title: 'Configuration of the job, after its file and command line were merged',
  producer: PRODUCER,
  versions: '0.0.2 and later with job.print_args (print_config); JSON, or the text of a Python dictionary',
  source: 'torchtitan/config/job_config.py, JobConfig.maybe_log; config_manager.py',
  anchors: ['Running with configs: {', 'Running with args: {'],
  fields: { key: 'a setting, as printed', value: 'its value, in one text form' },
  opens: /Running with (?:configs|args): (\{[\s\S]{0,8000})$/,
  mostForeign: 64,
  mostLines: 3000,
  begin(match, emit) {
    const value = new BracketCollector();
    let isDone = false;
    const finish = (): void => {
      if (!isDone) emitTree(value.tree(), [], 'log dump', emit);
      isDone = true;
    };
    if (value.add(match[1]!)) finish();
    return {
      line(text) {
        if (isDone) return 'over';
        if (!/^\s{0,80}(?:["'\]}[{]|-?\d|null|true|false|None|True|False)/.test(text)) return 'foreign';
        if (!value.add(text)) return 'taken';
        finish();
        return 'last';
      },
      end: finish,
    };
  },
};
