/** Lists of `words.yaml`, and what the inputs of a campaign hold that must not have an effect. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { packageRoot } from '../../src/store/load-queries.js';

/** Created by whatever runs a command of an input: checked after each input of the command line. */
export const CANARY = 'mbf-fuzz-canary';
/** The shape of a token of Hugging Face; printed by no command. */
export const PLANTED_SECRET = 'hf_QwErTyUiOpAsDfGhJkLzXcVbNm0123456789';

const text = readFileSync(join(packageRoot(), 'test', 'fuzz', 'words.yaml'), 'utf8').replaceAll('CANARY', CANARY);
// All of its values are texts.
const lists = parse(text, { schema: 'failsafe' }) as Readonly<Record<string, readonly (readonly string[])[]>>;

export const wordsOf = (name: string): readonly string[] => lists[name]!.flat();

/** `log config --json`; `sql TABLE` means all of its rows. */
export const questionsOf = (name: string): readonly (readonly string[])[] =>
  wordsOf(name).map((question) =>
    question.startsWith('sql ') ? ['sql', `FROM ${question.slice(4)}`] : question.split(' '),
  );
