/** Words for entries, components and commands of a device. Pure. */
import { shellWord, visibleText } from '../../model/escape-controls.js';
import type { PageDevice } from '../../model/picture/page-data.js';
import { formatBytes, formatCount } from '../../model/units.js';
import type { StateAt } from './state-at.js';

/** `optimizer_state` → `optimizer state`. */
export const componentName = (name: string): string => visibleText(name.replaceAll('_', ' '));

/** The exact number, for a tooltip. */
export const exactBytes = (bytes: number): string => `${formatCount(bytes)} bytes`;

/** The step that contains an entry; null between steps. */
export function stepOf({ steps }: PageDevice, seq: number): string | null {
  let low = 0;
  let high = steps.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (steps[middle]!.first <= seq) low = middle;
    else high = middle - 1;
  }
  const step = steps[low];
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
