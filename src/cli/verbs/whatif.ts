import type { Command } from 'commander';
import type { SiteEdit } from '../../findings/replay/describe-edits.js';
import { describeWhatIf } from '../../findings/replay/describe-what-if.js';
import { MbfError } from '../../model/errors.js';
import { parseSize } from '../../model/units.js';
import { whatIfText } from '../../report/what-if-text.js';
import type { Context } from '../context.js';
import { DEVICE_HELP, type DeviceOptions, withOneDevice } from '../one-device.js';
import { answer, withCommon } from '../verb.js';

interface Options extends DeviceOptions {
  readonly set: readonly string[];
  readonly capacity?: string;
  readonly sweep?: boolean;
  readonly remove: readonly string[];
  readonly scale: readonly string[];
  readonly freeEarly?: boolean;
}

const collect = (value: string, values: readonly string[]): readonly string[] => [...values, value];

export function registerWhatIf(program: Command, context: Context): void {
  withCommon(
    program
      .command('whatif')
      .description('the recorded requests under other allocator settings or on another device: would it have fitted')
      .argument('[snapshot]', 'a handle, a run, or a path; default: the run ingested last')
      .option('--set <key:value>', 'an allocator option as in PYTORCH_CUDA_ALLOC_CONF; may be repeated', collect, [])
      .option('--capacity <size>', "the device's total memory, e.g. 80GiB")
      .option('--sweep', 'try the usual settings and devices (default without any other question)')
      .option('--remove <site>', 'without the allocations of a call site; may be repeated', collect, [])
      .option('--scale <site=factor>', 'with those of a call site so many times as large, e.g. swiglu=0.5', collect, [])
      .option('--free-early', 'which live blocks, freed earlier, would have let the failed request through')
      .option('--device <n>', DEVICE_HELP),
    [
      'whatif snapshot_oom_rank-3.pickle',
      'whatif --set expandable_segments:True',
      'whatif night-shift/3/snapshot#1 --capacity 141GB --json',
      'whatif --remove fused_bias_swiglu.py:33',
      'whatif --free-early',
    ],
  ).action(async (operand: string | undefined, options: Options) => {
    const question = {
      set: options.set,
      capacityBytes: sizeOption('--capacity', options.capacity),
      sweep: options.sweep === true,
      edits: [...options.remove.map((site) => ({ site, scale: 0 })), ...options.scale.map(siteScale)],
      freeEarly: options.freeEarly === true,
    };
    await withOneDevice(operand, { kind: 'oom' }, options, context, async (store, chosen) => {
      answer(context, options, await describeWhatIf(store, chosen, question), whatIfText);
    });
  });
}

function sizeOption(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const bytes = parseSize(text);
  if (bytes === undefined || bytes === 0) throw new MbfError('MBF1001', `${name} ${JSON.stringify(text)} is no size`);
  return bytes;
}

/** `SITE=0.5`; a site may itself contain `=`. */
function siteScale(text: string): SiteEdit {
  const at = text.lastIndexOf('=');
  const scale = at <= 0 ? Number.NaN : Number(text.slice(at + 1));
  if (!(scale >= 0 && scale <= 1000) || text.slice(at + 1).trim() === '')
    throw new MbfError('MBF1001', `--scale ${JSON.stringify(text)} is not SITE=FACTOR, e.g. swiglu=0.5`);
  return { site: text.slice(0, at), scale };
}
