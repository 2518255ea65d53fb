/** Notes of an input: everything odd, one line a kind. */
import type { NoteResult } from '../../model/results/common.js';
import { formatCount } from '../../model/units.js';

export function noteText({ severity, kind, text, device, seq, line, offset, count }: NoteResult): string {
  const places = [
    device === null ? '' : `device ${device}`,
    seq === null ? '' : `entry ${seq}`,
    line === null ? '' : `line ${line}`,
    offset === null ? '' : `byte ${offset}`,
  ].filter((part) => part !== '');
  const times = count > 1 ? ` (${formatCount(count)} times, first shown)` : '';
  const where = places.length === 0 ? '' : ` [${places.join(', ')}]`;
  return `${severity === 'warning' ? 'warning' : 'note'}  ${kind}: ${text}${where}${times}`;
}
