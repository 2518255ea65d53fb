/** Names of frames, places and counts as they are shown. Pure. */
import { visibleText } from '../../model/escape-controls.js';
import type { DeviceColumns, PageDevice } from '../../model/picture/page-data.js';
import { formatCount } from '../../model/units.js';

/** Which state the figures are of: `After entry 1,024`. */
export function momentWords({ isDump, firstSeq }: PageDevice, seq: number): string {
  if (isDump) return 'In the dump';
  return seq < firstSeq ? 'Before the first entry' : `After entry ${formatCount(seq)}`;
}

/** `_linear_forward layers.py:459`: the folders of a file are left out. */
export const shortFrame = (frame: string): string => visibleText(frame).replace(/[^\s/]*\/(?=\S*:\d+$)/g, '');

/** The innermost frame of a stack, short. */
export function siteOf({ stacks, frames }: DeviceColumns, stack: number): string {
  const frame = stacks[stack]?.[0];
  return frame === undefined ? 'no stack recorded' : shortFrame(frames[frame]!);
}

/** `0x7f3a00000000`, of a place in the rows. */
export function addressOf({ bands }: DeviceColumns, place: number): string {
  let low = 0;
  let high = bands.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (bands[middle]!.place <= place) low = middle;
    else high = middle - 1;
  }
  const band = bands[low];
  return band === undefined ? 'an unknown address' : `0x${Math.floor(band.address + place - band.place).toString(16)}`;
}
