import type { Note } from '../../model/tables.js';

const MOST_NOTES = 1000;

type Counted = Note & { readonly count: number };

/** Folds equal notes of one source into one with a count; the first place is kept. */
export class NoteFolder {
  private readonly notes = new Map<string, Note & { count: number }>();
  private dropped = 0;

  /** False if it is only counted. */
  add(note: Note): boolean {
    const key = `${note.kind}\0${note.text}\0${note.device ?? ''}`;
    const count = note.count ?? 1;
    const known = this.notes.get(key);
    if (known !== undefined) known.count += count;
    else if (this.notes.size >= MOST_NOTES) this.dropped += count;
    else {
      this.notes.set(key, { ...note, count });
      return true;
    }
    return false;
  }

  list(): Counted[] {
    return [...this.notes.values(), ...this.rest()];
  }

  /** The notes that were only counted; each added note has a count of one. */
  repeats(): Counted[] {
    const again = [...this.notes.values()].filter(({ count }) => count > 1);
    return [...again.map((note) => ({ ...note, count: note.count - 1 })), ...this.rest()];
  }

  private rest(): Counted[] {
    if (this.dropped === 0) return [];
    const text = `more than ${MOST_NOTES} different notes; the rest is only counted`;
    return [{ kind: 'notes_dropped', severity: 'warning', text, count: this.dropped }];
  }
}
