/** Notes of an input: everything odd, one line a kind. */
import type { NoteResult } from '../../model/results/common.js';
import { formatCount } from '../../model/units.js';
import { printable, wrap } from '../table.js';

export function noteLines(notes: readonly NoteResult[], indent = ''): string[] {
  return notes.flatMap((note) => {
    const places = [
      note.device === null ? '' : `device ${note.device}`,
      note.seq === null ? '' : `entry ${note.seq}`,
      note.line === null ? '' : `line ${note.line}`,
      note.offset === null ? '' : `byte ${note.offset}`,
    ].filter((part) => part !== '');
    const times = note.count > 1 ? ` (${formatCount(note.count)} times, first shown)` : '';
    const where = places.length === 0 ? '' : ` [${places.join(', ')}]`;
    const text = `${indent}${note.severity === 'warning' ? 'warning' : 'note'}  ${note.kind}: ${printable(note.text)}${where}${times}`;
    return wrap(text, 100, `${indent}         `);
  });
}
