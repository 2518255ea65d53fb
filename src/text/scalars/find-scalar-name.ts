/** Looks a scalar's name up in the dictionary. */
import { SCALAR_PRODUCERS, type ScalarMeaning, type ScalarProducer } from './scalar-names.js';

export interface KnownScalar {
  readonly producer: ScalarProducer;
  readonly meaning: ScalarMeaning;
  readonly isShared: boolean;
  /** Step of the first iteration, undefined where the name does not decide it. */
  readonly countsFrom: 0 | 1 | undefined;
  /** What the groups of the pattern matched. */
  readonly groups: readonly string[];
}

interface Rule {
  readonly pattern: RegExp;
  readonly known: Omit<KnownScalar, 'groups'>;
}

/** tensorboardX and names of files: an underscore for any character except letters, digits, dots and hyphens. */
function loose(tag: string): string {
  return tag.replace(/[^\w.-]/g, '_');
}

const EXACT = new Map<string, KnownScalar>();
const LOOSE = new Map<string, KnownScalar>();
const RULES: Rule[] = [];
for (const producer of SCALAR_PRODUCERS) {
  for (const { tag, pattern, meaning, isShared, countsFrom } of producer.names) {
    const known = { producer, meaning, isShared: isShared === true, countsFrom: countsFrom ?? producer.countsFrom };
    if (tag === undefined) {
      RULES.push({ pattern: new RegExp(`^(?:${pattern})$`), known });
      continue;
    }
    if (!EXACT.has(tag)) EXACT.set(tag, { ...known, groups: [] });
    if (!LOOSE.has(loose(tag))) LOOSE.set(loose(tag), { ...known, groups: [] });
  }
}

/** Longer than any name of the dictionary. */
const MOST_NAME_CHARS = 300;

/** Undefined if the dictionary does not know it. */
export function findScalarName(tag: string): KnownScalar | undefined {
  if (tag.length > MOST_NAME_CHARS) return undefined;
  const exact = EXACT.get(tag);
  if (exact !== undefined) return exact;
  for (const { pattern, known } of RULES) {
    const match = pattern.exec(tag);
    if (match !== null) return { ...known, groups: match.slice(1) };
  }
  return LOOSE.get(loose(tag));
}
