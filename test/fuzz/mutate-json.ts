/** Changes of a parsed document: types, keys, depth, width and numbers, so that the text stays valid JSON. */
import type { Random } from '../../samples/generate/simulate/random.js';
import { below, type Mutator, mutateBytes, oneOf, pickOf, shortLength } from './mutate-bytes.js';
import { wordsOf } from './words.js';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const LEAVES: readonly Json[] = [
  ...[
    ...[null, true, false, 0, -1, 1.5, 1e300, -1e300, 2 ** 53, 5e-324, '', 'x', '\u001b[31m', '\u202e', '\u0000'],
    ...['\ud800'],
  ],
  ...['NaN', 'Infinity', '1e999', '9223372036854775808', '__proto__', 'a'.repeat(5000)],
  ...[[], {}, [[]], [null], { a: {} }],
];
/** A larger document takes longer to parse and write than to read. */
const MOST_PARSED = 150_000;

const nested = (random: Random, value: Json): Json => {
  let result = value;
  const isList = random() < 0.5;
  for (let i = shortLength(random, 3000); i > 0; i--) result = isList ? [result] : { a: result };
  return result;
};

interface Place {
  readonly parent: Json[] | { [key: string]: Json };
  readonly key: string | number;
}

function placesOf(root: Json, into: Place[] = [], depth = 0): Place[] {
  if (root === null || typeof root !== 'object' || depth > 200) return into;
  const keys: (string | number)[] = Array.isArray(root) ? [...root.keys()] : Object.keys(root);
  for (const key of keys) {
    into.push({ parent: root, key });
    placesOf((root as { [key: string]: Json })[key]!, into, depth + 1);
  }
  return into;
}

const MARK = '@@raw@@';
/** Raw texts that a parsed document cannot hold, in the place of a marked value. */
const RAW = [...wordsOf('rawJson'), '9'.repeat(500)];

function changed(root: Json, random: Random): string {
  const places = placesOf(root);
  if (places.length === 0) return JSON.stringify(nested(random, pickOf(random, LEAVES)));
  for (let i = shortLength(random, 5); i > 0; i--) {
    const { parent, key } = pickOf(random, places);
    const holder = parent as { [key: string]: Json };
    const value = holder[key];
    if (value === undefined) continue;
    const copied = (): Json => {
      const source = pickOf(random, places);
      const text = JSON.stringify((source.parent as { [key: string]: Json })[source.key]) as string | undefined;
      return text === undefined ? null : text.length < 20_000 ? (JSON.parse(text) as Json) : value;
    };
    const remove = (): void => {
      if (Array.isArray(parent)) parent.splice(Number(key), 1);
      else delete holder[key];
    };
    const rename = (): void => {
      if (Array.isArray(parent)) return;
      delete holder[key];
      const name = pickOf(random, ['__proto__', 'constructor', '', '0', `${key}x`, 'a.b']);
      Object.defineProperty(holder, name, { value, enumerable: true, configurable: true });
    };
    const set = (make: () => Json) => (): void => {
      holder[key] = make();
    };
    oneOf<void>(random, [
      ...[remove, rename, set(() => structuredClone(pickOf(random, LEAVES))), set(() => nested(random, value))],
      ...[set(() => Array.from({ length: shortLength(random, 300) }, () => value)), set(copied), set(() => MARK)],
      set(() => (typeof value === 'string' ? Number(value) : String(value))),
      set(() => (typeof value === 'object' ? JSON.stringify(value) : [value])),
    ]);
  }
  const text = JSON.stringify(root, null, random() < 0.2 ? 1 : undefined);
  return text.replaceAll(`"${MARK}"`, () => pickOf(random, RAW));
}

export const mutateJson: Mutator = (bytes, random, spare) => {
  if (bytes.length > MOST_PARSED) return mutateBytes(bytes, random, spare);
  try {
    return Buffer.from(changed(JSON.parse(bytes.toString('utf8')) as Json, random));
  } catch {
    return mutateBytes(bytes, random, spare);
  }
};

/** One document a line. */
export const mutateJsonLines: Mutator = (bytes, random, spare) => {
  const lines = bytes.toString('utf8').split('\n');
  const at = below(random, lines.length);
  lines[at] = mutateJson(Buffer.from(lines[at]!), random, spare).toString('utf8');
  return Buffer.from(lines.join('\n'));
};
