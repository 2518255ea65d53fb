/** Which rule of Megatron an exception's message breaks: constraint-texts.yaml. */
import { loadData } from './load-data.js';

export interface ConstraintText {
  /** Id of the rule, e.g. `offload-pp`; several texts may break one rule. */
  readonly id: string;
  readonly texts: readonly string[];
}

const squash = (text: string): string => text.replace(/[\s'"`\u2018\u2019\u201c\u201d]+/g, '').toLowerCase();

/** The first text found decides. */
export const constraintTexts = (): readonly ConstraintText[] =>
  (loadData('constraint-texts') as { readonly constraints: readonly ConstraintText[] }).constraints;

let squashed: readonly { readonly constraint: ConstraintText; readonly texts: readonly string[] }[] | undefined;

/** Most characters of a message that are looked at. */
const MOST_CHARS = 4000;

/** The rule whose text a message is; `message` without the exception's class. */
export function constraintOf(message: string): ConstraintText | null {
  squashed ??= constraintTexts().map((constraint) => ({ constraint, texts: constraint.texts.map(squash) }));
  const text = squash(message.slice(0, MOST_CHARS));
  return squashed.find(({ texts }) => texts.some((fragment) => text.includes(fragment)))?.constraint ?? null;
}
