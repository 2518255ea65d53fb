import { MbfError } from '../model/errors.js';

/** A word of a closed list as an option; throws MBF1001 on any other. */
export function oneOf<Word extends string>(option: string, text: string, words: readonly Word[]): Word {
  const word = words.find((candidate) => candidate === text);
  if (word === undefined)
    throw new MbfError('MBF1001', `${option} ${JSON.stringify(text)} is none of ${words.join(', ')}`);
  return word;
}
