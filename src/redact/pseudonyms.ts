/**
 * Names for names. A replacement has the length of what it replaces, and letters, capitals and digits at the same
 * places, so that columns, offsets and the lengths in binary files stay. It follows from the key and the name alone:
 * the same key gives the same replacements in every bundle. Without the key it cannot be reversed, nor guessed by
 * hashing likely names.
 */
import { createHmac } from 'node:crypto';
import type { Names } from './names.js';
import { lower, vocabulary } from './vocabulary.js';

/** Without vowels no replacement is a word, and none of them names a part of a model by chance. */
const LETTERS = 'bcdfghjkmnpqrstvwxz';

export class Pseudonyms {
  readonly #key: Uint8Array;
  /** Replacements in use, and what they replace. */
  readonly #taken = new Map<string, string>();

  constructor(key: Uint8Array) {
    this.#key = key;
  }

  /** Bytes that follow from the key and the text. */
  #bytes(kind: string, text: string, round: number): Buffer {
    let bytes = Buffer.alloc(0);
    for (let block = 0; bytes.length < text.length; block += 1)
      bytes = Buffer.concat([
        bytes,
        createHmac('sha256', this.#key).update(`${kind}\0${round}\0${block}\0${text}`, 'latin1').digest(),
      ]);
    return bytes;
  }

  /** Of a word in lower case, with one character a byte; a part that attribution rules know stays. */
  word(word: string, names: Names): string {
    const { words, literals } = vocabulary();
    const literal = word.length < 5 ? undefined : literals.find((part) => word.includes(part));
    const at = literal === undefined ? -1 : word.indexOf(literal);
    for (let round = 0; ; round += 1) {
      const bytes = this.#bytes('word', word, round);
      let text = '';
      for (let i = 0; i < word.length; i += 1)
        text +=
          literal !== undefined && i >= at && i < at + literal.length ? word[i]! : LETTERS[bytes[i]! % LETTERS.length]!;
      const isFree =
        !words.has(text) &&
        !names.words.has(text) &&
        !names.shortWords.has(text) &&
        (literal !== undefined || !literals.some((part) => text.includes(part)));
      // Of two and three letters there are few; they may share one.
      if (round > 200 || (isFree && this.#claim(text, word))) return text;
    }
  }

  #claim(text: string, original: string): boolean {
    const holder = this.#taken.get(text);
    if (holder !== undefined && holder !== original) return false;
    this.#taken.set(text, original);
    return true;
  }

  /** Every letter and digit replaced by one of its kind; those of hexadecimal texts by hexadecimal digits. */
  text(text: string): string {
    const isHex = /^[0-9a-f:-]+$/i.test(text) && /[0-9]/.test(text) && text.length >= 12;
    const bytes = this.#bytes('text', text, 0);
    let result = '';
    for (let i = 0; i < text.length; i += 1) {
      const character = text[i]!;
      const byte = bytes[i]!;
      if (isHex && /[0-9a-f]/i.test(character)) {
        const digit = '0123456789abcdef'[byte % 16]!;
        result += /[A-F]/.test(character) ? digit.toUpperCase() : digit;
      } else if (/[0-9]/.test(character)) result += String(byte % 10);
      else if (/[A-Z]/.test(character)) result += LETTERS[byte % LETTERS.length]!.toUpperCase();
      else if (/[a-z\x80-\xff]/.test(character)) result += LETTERS[byte % LETTERS.length]!;
      else result += character;
    }
    return result === text ? this.#other(text) : result;
  }

  /** A text of few characters may map to itself. */
  #other(text: string): string {
    return text.replace(/[0-9]/, (digit) => String((Number(digit) + 1) % 10));
  }

  /**
   * Letters and hyphens by kind; digits stay, so that hosts of a list (`h100-dgx-[001-016]`) and by themselves agree.
   * A replaced stem is a prefix of the replaced host.
   */
  host(host: string): string {
    return host.replace(/[A-Za-z\x80-\xff]+/g, (word) => {
      const bytes = this.#bytes('host', lower(word), 0);
      return [...word]
        .map((letter, i) => {
          const replaced = LETTERS[bytes[i]! % LETTERS.length]!;
          return letter < 'a' && letter >= 'A' ? replaced.toUpperCase() : replaced;
        })
        .join('');
    });
  }

  /** Of an IPv4 address: numbers of as many digits, equal where the numbers before them are equal. */
  address(text: string): string {
    if (!/^\d+(?:\.\d+){3}$/.test(text)) return this.text(text);
    let before = '';
    return text
      .split('.')
      .map((part) => {
        const [least, most] = part.length === 1 ? [1, 9] : part.length === 2 ? [10, 99] : [100, 254];
        const bytes = this.#bytes('address', `${before}/${part.length}`, 0);
        before += `.${part}`;
        // A rotation, so that two numbers never meet.
        const count = most - least + 1;
        return String(least + ((Number(part) - least + (bytes.readUInt16LE(0) % count)) % count));
      })
      .join('.');
  }
}
