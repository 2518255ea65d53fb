/**
 * Replaces names in text, wherever they occur: next to any sign, behind an escape (`\n`, `%2F`, a colour), inside a
 * compound (`ZebraRouter`, `zebra_loss2`), and inside base64. Texts have one character a byte, and keep their length.
 */
import { isUtf8 } from 'node:buffer';
import { findSecrets } from '../knowledge/secrets.js';
import { oneCharAByte, utf8 } from '../text/text-lines.js';
import type { NameKind, Names } from './names.js';
import type { Pseudonyms } from './pseudonyms.js';
import { isText } from './rewrite-text.js';
import { lower, upper, WORD } from './vocabulary.js';

/** Letters and digits, and UTF-8 sequences of letters. */
const RUN = /(?:[A-Za-z0-9]|[\xc3-\xdf][\x80-\xbf]|[\xe3-\xed][\x80-\xbf]{2})+/g;
export const BASE64 = /[A-Za-z0-9+/_-]{24,}={0,2}/g;
/** What is in front of the name of a user or a group. */
const AS_USER =
  /(?:user(?:_?(?:name|id))?|owner|author|log_?(?:in|name)|account|group(?:_?(?:name|id))?|reservation|wckey|uid|gid)["']?\s{0,4}[:=(]{1,2}\s{0,4}["']?(?:\d{1,10}\()?$|[-][-]?(?:user|account|reservation|A|u)[ =]$/i;
const JOINS = /[/\\_.-]/;

interface Replacement {
  readonly original: string;
  readonly text: string;
  readonly kind: NameKind;
  /** Replaced only in places of users and groups. */
  readonly isOrdinary?: boolean;
}

/** What was replaced, and how often. */
export interface Counts {
  readonly byKind: Map<NameKind, number>;
  total: number;
}

export class Rewriter {
  readonly #words = new Map<string, Replacement>();
  readonly #shortWords = new Map<string, Replacement>();
  /** Texts by their first run, the longest first. */
  readonly #texts = new Map<string, Replacement[]>();
  readonly counts: Counts = { byKind: new Map(), total: 0 };
  #inverse: Rewriter | undefined;

  constructor(names?: Names, pseudonyms?: Pseudonyms) {
    if (names === undefined || pseudonyms === undefined) return;
    const words = (from: ReadonlyMap<string, NameKind>, into: Map<string, Replacement>): void => {
      for (const word of [...from.keys()].sort())
        into.set(word, { original: word, text: pseudonyms.word(word, names), kind: from.get(word)! });
    };
    words(names.words, this.#words);
    words(names.shortWords, this.#shortWords);
    for (const [text, kind] of names.ordinary)
      this.#addText({
        original: text,
        text: text.replaceAll(WORD, (word) => inCaseOf(word, pseudonyms.word(lower(word), names))),
        kind,
        isOrdinary: true,
      });
    for (const [text, kind] of names.texts)
      this.#addText({ original: text, text: replacementOf(text, kind, pseudonyms), kind });
    this.#sortTexts();
  }

  #addText(pair: Replacement): void {
    const first = pair.original.match(RUN)?.[0];
    if (first === undefined) return;
    const list = this.#texts.get(first) ?? [];
    list.push(pair);
    this.#texts.set(first, list);
  }

  #sortTexts(): void {
    for (const list of this.#texts.values()) list.sort((a, b) => b.original.length - a.original.length);
  }

  /** Replacements with what they replace, in lower case where the case varies. */
  pairs(): Replacement[] {
    return [...this.#words.values(), ...this.#shortWords.values(), ...[...this.#texts.values()].flat()];
  }

  /** {@link rewrite} and {@link restore} of an ordinary text. */
  rewritten(text: string): string {
    return utf8(this.rewrite(oneCharAByte(text)));
  }

  restored(text: string): string {
    return utf8(this.restore(oneCharAByte(text)));
  }

  /** The text with the original names again, except secrets. */
  restore(text: string): string {
    this.#inverse ??= Rewriter.#ofPairs(
      this.pairs().map((pair) => ({ ...pair, original: pair.text, text: pair.original })),
      this,
    );
    return this.#inverse.rewrite(text);
  }

  static #ofPairs(pairs: readonly Replacement[], of: Rewriter): Rewriter {
    const inverse = new Rewriter();
    for (const pair of pairs) {
      if (of.#words.has(pair.text)) inverse.#words.set(pair.original, pair);
      else if (of.#shortWords.has(pair.text)) inverse.#shortWords.set(pair.original, pair);
      else if (pair.kind !== 'secret') inverse.#addText(pair);
    }
    inverse.#sortTexts();
    return inverse;
  }

  /** The text with names replaced; of equal length. `isNested`: what was decoded from base64. */
  rewrite(text: string, isNested = false): string {
    const pieces: string[] = [];
    let done = 0;
    const put = (at: number, length: number, replaced: string, kind: NameKind): void => {
      pieces.push(text.slice(done, at), replaced);
      done = at + length;
      this.#count(kind);
    };
    RUN.lastIndex = 0;
    for (let match = RUN.exec(text); match !== null; match = RUN.exec(text)) {
      const run = match[0];
      if (!this.#run(text, match.index, run, put)) {
        const skip = escapeBefore(text, match.index, run);
        if (skip > 0 && skip < run.length) this.#run(text, match.index + skip, run.slice(skip), put);
      }
      if (done > RUN.lastIndex) RUN.lastIndex = done;
    }
    const replaced = done === 0 ? text : pieces.join('') + text.slice(done);
    return hideSecrets(isNested ? replaced : this.#base64(replaced), this.#count.bind(this));
  }

  /** Replaces what one run begins or holds; false if nothing. */
  #run(
    text: string,
    at: number,
    run: string,
    put: (at: number, length: number, replaced: string, kind: NameKind) => void,
  ): boolean {
    for (const { original, text: replaced, kind, isOrdinary } of this.#texts.get(run) ?? []) {
      if (!text.startsWith(original, at)) continue;
      const after = text[at + original.length];
      if (isOrdinary === true) {
        const before = text[at - 1] ?? '';
        const isPath = before === '/' || before === '\\' || after === '@';
        if (!isPath && !AS_USER.test(text.slice(Math.max(0, at - 48), at))) continue;
      }
      // A stem of hosts is followed by the number.
      if (kind !== 'host' && kind !== 'secret' && after !== undefined && /[A-Za-z0-9]/.test(after)) continue;
      put(at, original.length, replaced, kind);
      return true;
    }
    // A host without its number: `h100-dgx-[001-016]` has it as a text; `gpu012` is a run that begins with one.
    let isReplaced = false;
    const replace = (known: Replacement, start: number, word: string): void => {
      put(at + start, word.length, inCaseOf(word, known.text), known.kind);
      isReplaced = true;
    };
    for (const { 0: word, index } of run.matchAll(WORD)) {
      const folded = lower(word);
      const known = this.#words.get(folded);
      if (known !== undefined) {
        replace(known, index, word);
        continue;
      }
      const short = this.#shortWords.get(folded);
      if (short !== undefined) {
        const before = text[at + index - 1] ?? '';
        const after = text[at + index + word.length] ?? '';
        if (JOINS.test(before) || JOINS.test(after)) replace(short, index, word);
      }
    }
    return isReplaced;
  }

  #base64(text: string): string {
    return text.replace(BASE64, (coded) => {
      const decoded = decodedText(coded);
      if (decoded === undefined) return coded;
      const rewritten = this.rewrite(decoded, true);
      if (rewritten === decoded) return coded;
      const isUrl = /[_-]/.test(coded);
      const recoded = Buffer.from(rewritten, 'latin1').toString(isUrl ? 'base64url' : 'base64');
      const padded = coded.endsWith('=') ? recoded.padEnd(coded.length, '=') : recoded.replace(/={1,2}$/, '');
      return padded.length === coded.length ? padded : coded.replace(/[^=]/g, 'A');
    });
  }

  #count(kind: NameKind): void {
    this.counts.byKind.set(kind, (this.counts.byKind.get(kind) ?? 0) + 1);
    this.counts.total += 1;
  }
}

function replacementOf(text: string, kind: NameKind, pseudonyms: Pseudonyms): string {
  if (kind === 'secret') return maskOf(text);
  if (kind === 'host') return pseudonyms.host(text);
  return kind === 'address' ? pseudonyms.address(text) : pseudonyms.text(text);
}

/** Letters only: it is valid in YAML, JSON, shells and URLs. */
function maskOf(secret: string): string {
  return secret.replace(/[^\s"'\\]/g, 'x');
}

function hideSecrets(text: string, count: (kind: NameKind) => void): string {
  let result = '';
  let done = 0;
  for (const { start, end } of findSecrets(text)) {
    const secret = text.slice(start, end);
    const mask = maskOf(secret);
    if (mask === secret) continue;
    result += text.slice(done, start) + mask;
    done = end;
    count('secret');
  }
  return done === 0 ? text : result + text.slice(done);
}

/** Capitals where the original has them. */
function inCaseOf(original: string, replaced: string): string {
  if (original === lower(original)) return replaced;
  if (original === upper(original)) return upper(replaced);
  return [...replaced]
    .map((letter, i) => {
      const model = original[i]!;
      return model >= 'A' && model <= 'Z' ? upper(letter) : letter;
    })
    .join('');
}

/** Characters at the beginning of a run that belong to an escape before it: `\n`, `\u001b`, `%2F`, `ESC[32m`. */
function escapeBefore(text: string, at: number, run: string): number {
  const before = text[at - 1];
  if (before === '\\') {
    if (run[0] === 'u' && /^u[0-9a-fA-F]{4}/.test(run)) return 5;
    if (run[0] === 'x' && /^x[0-9a-fA-F]{2}/.test(run)) return 3;
    return /^[abefnrtv0]/.test(run) ? 1 : 0;
  }
  if (before === '%') return /^[0-9a-fA-F]{2}/.test(run) ? 2 : 0;
  if (before === '[' || before === ';') {
    const sgr = /^\d{0,3}[A-HJKSTfm]/.exec(run);
    return sgr !== null && text.lastIndexOf('\x1b', at) >= at - 24 ? sgr[0].length : 0;
  }
  return 0;
}

/** The text that base64 encodes, if it is text: the bytes of a path that happens to be base64 are hardly ever. */
export function decodedText(coded: string): string | undefined {
  const bytes = Buffer.from(coded, 'base64');
  if (bytes.length < 12 || !isUtf8(bytes)) return undefined;
  const text = bytes.toString('latin1');
  const letters = text.replace(/[^\x20-\x7e]/g, '').length;
  return isText(text) && letters >= 0.8 * text.length ? text : undefined;
}
