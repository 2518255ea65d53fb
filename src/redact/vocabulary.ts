/** Which words of a name are public: those of `src/knowledge`, and lists of directories, code and packages. */
import { dataNames, loadData } from '../knowledge/load-data.js';

interface Lists {
  readonly directories: string;
  readonly code: string;
  readonly packages: string;
  readonly namespaces: string;
  readonly domains: string;
  readonly users: string;
}

export interface Vocabulary {
  /** In lower case. */
  readonly words: ReadonlySet<string>;
  /** Parts of words by which attribution rules match names (`*attention*.py`); they stay inside a replaced word. */
  readonly literals: readonly string[];
  readonly packages: ReadonlySet<string>;
  readonly namespaces: ReadonlySet<string>;
  readonly domains: readonly string[];
  readonly users: ReadonlySet<string>;
}

/**
 * Letters of one word, in a text with one character a byte: ASCII, and UTF-8 sequences of two and three bytes except
 * those of signs (U+0080 to U+00BF, U+2000 to U+2FFF). Words end where a capital begins the next one.
 */
const HIGH = '[\\xc3-\\xdf][\\x80-\\xbf]|[\\xe3-\\xed][\\x80-\\xbf]{2}';
export const WORD = new RegExp(`(?:[A-Z]?(?:[a-z]|${HIGH})+|[A-Z]+(?![a-z])|[A-Z])`, 'g');

const HIGH_BYTE = /[\x80-\xff]/;

/** Lower case of ASCII letters only: single bytes of UTF-8 are not letters. */
export function lower(text: string): string {
  return HIGH_BYTE.test(text) ? text.replace(/[A-Z]+/g, (capitals) => capitals.toLowerCase()) : text.toLowerCase();
}

export function upper(text: string): string {
  return HIGH_BYTE.test(text) ? text.replace(/[a-z]+/g, (letters) => letters.toUpperCase()) : text.toUpperCase();
}

export function wordsOf(text: string): string[] {
  return text.match(WORD) ?? [];
}

/** Examples of secrets look like names, and what lines and files are recognised by has parts of words, and names. */
const NOT_PUBLIC = /^(?:secrets|devices|words\/.*|log-formats\/.*|log-prefixes|inputs\/(?!system-metrics).*)$/;

let built: Vocabulary | undefined;

export function vocabulary(): Vocabulary {
  built ??= build();
  return built;
}

function build(): Vocabulary {
  const lists = loadData('public-words') as Lists;
  const split = (text: string): string[] => text.split(/\s+/);
  const words = new Set<string>();
  const literals = new Set<string>();
  const take = (value: unknown, isRule: boolean): void => {
    if (typeof value === 'string') {
      for (const word of wordsOf(value)) words.add(lower(word));
      if (isRule)
        for (const [, after, before] of value.matchAll(/\*([A-Za-z]{3,40})|([A-Za-z]{3,40})\*/g))
          literals.add((after ?? before)!.toLowerCase());
    } else if (Array.isArray(value)) for (const item of value) take(item, isRule);
    else if (value !== null && typeof value === 'object')
      for (const [key, item] of Object.entries(value)) {
        take(key, false);
        take(item, isRule);
      }
  };
  for (const name of dataNames()) if (!NOT_PUBLIC.test(name)) take(loadData(name), name.startsWith('attribution/'));
  return {
    words,
    literals: [...literals].sort((a, b) => b.length - a.length),
    packages: new Set(split(lists.packages)),
    namespaces: new Set(split(lists.namespaces)),
    domains: split(lists.domains),
    users: new Set(split(lists.users)),
  };
}
