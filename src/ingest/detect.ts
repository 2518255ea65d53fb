/** Which parser reads a file, decided from its first 64 KiB and its name, and why. */
import { MbfError } from '../model/errors.js';
import type { Head, ParserSpec, Sniff } from '../model/parser.js';
import { recogniseWrong } from './known-wrong.js';

/** Below this a claim is a mere possibility: a stray text file scores about 0.1 as a log. */
export const MIN_SCORE = 0.25;

/** One parser's assessment of a file. */
export interface Claim extends Sniff {
  readonly parser: ParserSpec;
}

/** `claims` lists every parser, best first, for `ingest --explain`. */
export type Detection =
  | { readonly status: 'recognised'; readonly parser: ParserSpec; readonly claims: readonly Claim[] }
  | {
      /** `failed` costs exit code 4, `skipped` does not. */
      readonly status: 'failed' | 'skipped';
      /** Without `file`. */
      readonly error: MbfError;
      /** The known-wrong rule that decided; undefined if nothing knew the file. */
      readonly rule: string | undefined;
      readonly claims: readonly Claim[];
    };

export interface DetectOptions {
  /** The user named this very file, so that not being able to read it is a failure whatever it is. */
  readonly isNamed?: boolean;
}

/**
 * Files known to be something else are settled first; then the highest claim of at least {@link MIN_SCORE} wins, and
 * the order of `parsers` breaks ties.
 */
export function detect(parsers: readonly ParserSpec[], head: Head, options: DetectOptions = {}): Detection {
  const claims = parsers.map((parser): Claim => ({ parser, ...parser.sniff(head) }));
  claims.sort((a, b) => b.score - a.score); // stable: equal scores keep the registry's order

  const wrong = recogniseWrong(head);
  if (wrong !== undefined) {
    const status = options.isNamed === true ? 'failed' : wrong.status;
    return { status, error: wrong.error, rule: wrong.rule, claims };
  }
  const best = claims[0];
  if (best !== undefined && best.score >= MIN_SCORE) return { status: 'recognised', parser: best.parser, claims };
  const error = new MbfError('MBF2008', 'no parser recognises it');
  return { status: options.isNamed === true ? 'failed' : 'skipped', error, rule: undefined, claims };
}
