/** Words for entries, components, frames, places and commands of a device. Pure. */
import { shellWord, visibleText } from '../../model/escape-controls.js';
import type { DeviceColumns, PageDevice } from '../../model/picture/page-data.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { lastWhere } from './axis.js';
import type { StateAt } from './state-at.js';

/** `optimizer_state` → `optimizer state`. */
export const componentName = (name: string): string => visibleText(name.replaceAll('_', ' '));

/** The exact number, for a tooltip. */
export const exactBytes = (bytes: number): string => `${formatCount(bytes)} bytes`;

/** The step that contains an entry; null between steps. */
export function stepOf({ steps }: PageDevice, seq: number): string | null {
  const step = steps[lastWhere(0, steps.length - 1, (i) => steps[i]!.first <= seq)];
  return step !== undefined && step.first <= seq && seq <= step.last ? visibleText(step.name) : null;
}

/** Of which entry the figures are: `after entry 1,024`. */
export function momentName({ firstSeq, isDump }: PageDevice, { from, to, at }: StateAt): string {
  if (isDump) return 'in the dumped state';
  const after = at < firstSeq ? 'before the first entry' : `after entry ${formatCount(at)}`;
  return from === to ? after : `highest state of entries ${formatCount(from)} to ${formatCount(to)}, ${after}`;
}

/** `entries 10 to 20`, of a visible range. */
export function rangeName({ from, to }: { readonly from: number; readonly to: number }): string {
  const first = Math.floor(from);
  return `entries ${formatCount(first)} to ${formatCount(Math.max(first, Math.ceil(to) - 1))}`;
}

/** The command that prints the entries of a range. */
export function entriesCommand({ handle, device }: PageDevice, from: number, to: number): string {
  return `mbforensics timeline ${shellWord(handle)} --device ${device} --from seq:${from} --to seq:${to}`;
}

/** A sentence for those who do not see the picture. */
export function stackedSentence(page: PageDevice): string {
  const { title, firstSeq, lastSeq, marks } = page;
  const peak = marks.find(({ kind }) => kind === 'peak');
  const ooms = marks.filter(({ kind }) => kind === 'oom').length;
  const total = page.deviceTotalBytes;
  return [
    `Memory of ${visibleText(title)} by component, entries ${formatCount(firstSeq)} to ${formatCount(lastSeq)}.`,
    ...(peak?.bytes == null ? [] : [`Peak: ${formatBytes(peak.bytes)} active after entry ${formatCount(peak.seq)}.`]),
    `${ooms === 0 ? 'No' : ooms} failed ${ooms === 1 ? 'allocation' : 'allocations'}.`,
    ...(total === null ? [] : [`The device has ${formatBytes(total)}.`]),
  ].join(' ');
}

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
  const band = bands[lastWhere(0, bands.length - 1, (i) => bands[i]!.place <= place)];
  return band === undefined ? 'an unknown address' : `0x${Math.floor(band.address + place - band.place).toString(16)}`;
}
