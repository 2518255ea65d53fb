/** What is odd in a file, counted by kind: each makes one note, at its first place. */
import { loadData } from '../knowledge/load-data.js';
import type { Note } from '../model/tables.js';

interface Place {
  readonly line: number | undefined;
  readonly offset: number;
}

export class Oddities {
  private readonly counts = new Map<string, Place & { count: number }>();

  add(kind: string, line: number | undefined, offset: number): void {
    const known = this.counts.get(kind);
    if (known !== undefined) known.count += 1;
    else this.counts.set(kind, { count: 1, line, offset });
  }

  /** The first place of a kind. */
  first(kind: string): Place | undefined {
    const known = this.counts.get(kind);
    return known === undefined ? undefined : { line: known.line, offset: known.offset };
  }

  /** Those of a kind were none. */
  forget(kind: string): void {
    this.counts.delete(kind);
  }

  /** Of the kinds that have a text. */
  notes(texts = loadData('inputs/notes') as Readonly<Record<string, Pick<Note, 'severity' | 'text'>>>): Note[] {
    return [...this.counts].flatMap(([kind, place]) =>
      texts[kind] === undefined ? [] : [{ kind, ...texts[kind], ...place }],
    );
  }
}
