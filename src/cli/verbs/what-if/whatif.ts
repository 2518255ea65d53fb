import { TARGET_DEVICES, type TargetDevice, targetDeviceOf } from '../../../derive/settings/devices.js';
import type { SiteEdit } from '../../../findings/replay/describe-edits.js';
import { describeWhatIf } from '../../../findings/replay/describe-what-if.js';
import { whatIfDocument } from '../../../report/what-if/what-if-document.js';
import { worded } from '../../../report/words/worded.js';
import { defineVerb } from '../../define-verb.js';
import { count, flag, misuse, option, repeated, SNAPSHOT, sizeAboveZero, wrong } from '../../options.js';

export const verb = defineVerb({
  name: 'whatif',
  operands: { snapshot: SNAPSHOT },
  options: {
    set: repeated('--set <key:value>', 'an allocator option as in PYTORCH_CUDA_ALLOC_CONF; may be repeated'),
    capacityBytes: option('--capacity <size>', "the device's total memory, e.g. 80GiB", sizeAboveZero),
    sweep: flag('--sweep', 'try the usual settings and devices (default without any other question)'),
    remove: repeated('--remove <site>', 'without the allocations of a call site; may be repeated', (site) => ({
      site,
      scale: 0,
    })),
    scale: repeated(
      '--scale <site=factor>',
      'with those of a call site so many times as large, e.g. swiglu=0.5',
      scaled,
    ),
    freeEarly: flag('--free-early', 'which live blocks, freed earlier, would have let the failed request through'),
    device: repeated(
      '--device <name|n>',
      "a device to replay on, such as h100,h200, with the total that its driver reports; may be repeated. A number is the recorded device's ordinal; default: the one that ran out",
    ),
  },
  async ask({ snapshot, set, capacityBytes, sweep, remove, scale, freeEarly, device }, session) {
    const { ordinal, targets } = devicesOf(device);
    const { store, chosen } = await session.device(snapshot, { kind: 'oom' }, ordinal);
    const edits = [...remove, ...scale];
    return worded(await describeWhatIf(store, chosen, { set, capacityBytes, targets, sweep, edits, freeEarly }));
  },
  document: whatIfDocument,
});

/** `1`, `h100,h200`: a number is the recorded device, a name one to replay on. */
function devicesOf(given: readonly string[]) {
  const words = given.flatMap((list) => list.split(',')).map((word) => word.trim());
  const numbers = words.filter((word) => /^\d+$/.test(word)).map((word) => count(word, '--device'));
  if (numbers.length > 1)
    throw misuse(`--device ${numbers.join(', ')}: a recording is replayed of one device at a time`);
  const targets = words.filter((word) => !/^\d+$/.test(word)).map(targetOf);
  return { ordinal: numbers[0], targets: [...new Set(targets)] };
}

function targetOf(word: string): TargetDevice {
  const target = targetDeviceOf(word);
  if (target !== undefined) return target;
  const known = TARGET_DEVICES.map(({ name }) => name).join(', ');
  throw wrong('--device', word, `a device number or one of ${known}; for another GPU, give its total with --capacity`);
}

/** `SITE=0.5`; a site may itself contain `=`. */
function scaled(text: string): SiteEdit {
  const at = text.lastIndexOf('=');
  const scale = at <= 0 ? Number.NaN : Number(text.slice(at + 1));
  if (!(scale >= 0 && scale <= 1000) || text.slice(at + 1).trim() === '')
    throw misuse(`--scale ${JSON.stringify(text)} is not SITE=FACTOR, e.g. swiglu=0.5`);
  return { site: text.slice(0, at), scale };
}
