import type { BlockCode, LineCode } from '../contract.js';
import { bracketBlock } from '../settings/emit-settings.js';
import { bannerSetting } from '../system/findings.js';

const DATA_AXES: ReadonlySet<string> = new Set(['dp', 'dp_replicate', 'dp_shard', 'dp_shard_mod_ep', 'dp_shard_in_ep']);
/** Experts use the ranks of other axes. */
const BORROWED: ReadonlySet<string> = new Set(['ep', 'etp']);

export const TORCHTITAN_MESH: LineCode = {
  id: 'torchtitan.device-mesh',
  read({ names = '', sizes = '', pairs }, emit, { settings }) {
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
      const key = settings!.get(name);
      if (key !== undefined) emit(bannerSetting(key, `device mesh ${name}`, String(size)));
    }
    // The mesh spans all ranks: an axis that is not listed has one rank.
    for (const name of ['pp', 'cp', 'tp'])
      if (axes.every(([other]) => other !== name)) emit(bannerSetting(settings!.get(name)!, 'device mesh', '1'));
    emit(bannerSetting('data_parallel_size', 'device mesh', String(product((name) => DATA_AXES.has(name)))));
    emit(bannerSetting('world_size', 'device mesh', String(product((name) => !BORROWED.has(name)))));
  },
};

const VALUE_LINE = /^\s{0,80}(?:["'\]}[{]|-?\d|null|true|false|None|True|False)/;

export const TORCHTITAN_CONFIGURATION: BlockCode = {
  id: 'torchtitan.configuration',
  begin: (match, emit) => bracketBlock(match[1]!, VALUE_LINE, [], 'log dump', emit),
};
