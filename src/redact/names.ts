/**
 * Names of persons, sites and projects in the files of a run. Words are parts of names, and are replaced wherever they
 * occur. Whole texts (hosts, addresses, ids) are replaced as a whole.
 */
import { lower, vocabulary, wordsOf } from './vocabulary.js';

/** In the order of the report. */
export const NAME_KINDS = ['secret', 'user', 'host', 'domain', 'address', 'id', 'job', 'path', 'name', 'code'] as const;
export type NameKind = (typeof NAME_KINDS)[number];

/** Shorter words are parts of too many others. */
const LEAST_WORD = 4;

export class Names {
  /** Word in lower case → what it was first met in. */
  readonly words = new Map<string, NameKind>();
  /** Words of two and three letters: replaced only next to a sign that joins parts of names (`/_.-`). */
  readonly shortWords = new Map<string, NameKind>();
  /** Replaced as a whole, all letters and digits of it by their kind. */
  readonly texts = new Map<string, NameKind>();
  /** Names of users and groups that are short or ordinary words. */
  readonly ordinary = new Map<string, NameKind>();
  /** Words of an earlier redaction: they are kept. */
  readonly #replacements: ReadonlySet<string>;

  constructor(replacements: ReadonlySet<string> = new Set()) {
    this.#replacements = new Set(
      [...replacements].flatMap((text) => [text, ...wordsOf(text).map((word) => lower(word))]),
    );
  }

  /** A name of any kind: its words that identify. True if it has one. */
  name(text: string, kind: NameKind): boolean {
    let isKnown = true;
    for (const cased of wordsOf(text)) {
      const word = lower(cased);
      if (this.keeps(word)) continue;
      isKnown = false;
      const into = word.length < LEAST_WORD ? this.shortWords : this.words;
      if (!into.has(word)) into.set(word, kind);
    }
    return !isKnown;
  }

  /** A user or a group. A short or ordinary one is replaced only in places of users. */
  user(text: string): void {
    if (vocabulary().users.has(text) || !/[A-Za-z\x80-\xff]/.test(text)) return;
    if (wordsOf(text).some((word) => this.#isReplacement(lower(word)))) return;
    const isDistinct = wordsOf(text).some((word) => word.length >= LEAST_WORD && !this.keeps(lower(word)));
    if (isDistinct) this.name(text, 'user');
    else this.#add(this.ordinary, text, 'user');
  }

  /** A text that is replaced as a whole. */
  whole(text: string, kind: NameKind): void {
    this.#add(this.texts, text, kind);
  }

  /** A host, and its name without a number, as lists of nodes write it (`h100-dgx-[001-016]`). */
  host(text: string): void {
    if (!/[A-Za-z]/.test(text) || vocabulary().domains.includes(lower(text))) return;
    const [first = '', ...domain] = text.split('.');
    if (domain.length > 0) this.domain(domain.join('.'));
    // A single ordinary word (`node`, `worker`) is not a host.
    if (!/[\d-]/.test(first)) {
      this.name(first, 'host');
      return;
    }
    this.#add(this.texts, first, 'host');
    const stem = /^(.*[A-Za-z-])\d+$/.exec(first)?.[1];
    if (stem !== undefined && (stem.includes('-') || /\d/.test(stem))) this.#add(this.texts, stem, 'host');
    else if (stem !== undefined) this.name(stem, 'host');
  }

  domain(text: string): void {
    const name = lower(text);
    const isPublic = vocabulary().domains.some((known) => name === known || name.endsWith(`.${known}`));
    if (isPublic) return;
    const labels = name.split('.');
    // The last label is public (`com`, `internal`).
    for (const label of labels.slice(0, -1)) this.name(label, 'domain');
  }

  #add(into: Map<string, NameKind>, text: string, kind: NameKind): void {
    if (!this.#replacements.has(text) && !into.has(text)) into.set(text, kind);
  }

  keeps(word: string): boolean {
    return word.length < 2 || vocabulary().words.has(word) || this.#isReplacement(word);
  }

  /** A secret is replaced by as many `x`. */
  #isReplacement(word: string): boolean {
    return this.#replacements.has(word) || /^x{4,}$/.test(word);
  }

  get size(): number {
    return this.words.size + this.shortWords.size + this.texts.size + this.ordinary.size;
  }
}
