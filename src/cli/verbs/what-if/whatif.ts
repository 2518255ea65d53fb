import type { SiteEdit } from '../../../findings/replay/describe-edits.js';
import { describeWhatIf } from '../../../findings/replay/describe-what-if.js';
import { MbfError } from '../../../model/errors.js';
import { whatIfText } from '../../../report/what-if/what-if-text.js';
import { defineVerb } from '../../define-verb.js';
import { flag, ONE_DEVICE, option, repeated, SNAPSHOT, sizeAboveZero } from '../../options.js';

export const verb = defineVerb({
  name: 'whatif',
  operands: { snapshot: SNAPSHOT },
  options: {
    set: repeated('--set <key:value>', 'an allocator option as in PYTORCH_CUDA_ALLOC_CONF; may be repeated'),
    capacityBytes: option('--capacity <size>', "the device's total memory, e.g. 80GiB", sizeAboveZero()),
    sweep: flag('--sweep', 'try the usual settings and devices (default without any other question)'),
    remove: repeated('--remove <site>', 'without the allocations of a call site; may be repeated', removed),
    scale: repeated(
      '--scale <site=factor>',
      'with those of a call site so many times as large, e.g. swiglu=0.5',
      scaled,
    ),
    freeEarly: flag('--free-early', 'which live blocks, freed earlier, would have let the failed request through'),
    device: ONE_DEVICE,
  },
  examples: [
    'whatif snapshot_oom_rank-3.pickle',
    'whatif --set expandable_segments:True',
    'whatif night-shift/3/snapshot#1 --capacity 141GB --json',
    'whatif --remove fused_bias_swiglu.py:33',
    'whatif --free-early',
  ],
  async ask({ snapshot, set, capacityBytes, sweep, remove, scale, freeEarly, device }, session) {
    const { store, chosen } = await session.device(snapshot, { kind: 'oom' }, device);
    return describeWhatIf(store, chosen, { set, capacityBytes, sweep, edits: [...remove, ...scale], freeEarly });
  },
  render: whatIfText,
});

function removed(site: string): SiteEdit {
  return { site, scale: 0 };
}

/** `SITE=0.5`; a site may itself contain `=`. */
function scaled(text: string): SiteEdit {
  const at = text.lastIndexOf('=');
  const scale = at <= 0 ? Number.NaN : Number(text.slice(at + 1));
  if (!(scale >= 0 && scale <= 1000) || text.slice(at + 1).trim() === '')
    throw new MbfError('MBF1001', `--scale ${JSON.stringify(text)} is not SITE=FACTOR, e.g. swiglu=0.5`);
  return { site: text.slice(0, at), scale };
}
