/** Which parser reads a file, decided from its first bytes and its name, and why. */
import { MbfError } from '../../model/errors.js';
import type { Head, ParserSpec, Sniff } from '../../model/parser.js';
import type { OpenedSource } from '../read/byte-source.js';
import { recogniseWrong, YIELDING } from './known-wrong.js';

/** Below this a claim is a mere possibility: a stray text file scores about 0.1 as a log. */
export const MIN_SCORE = 0.25;

/** One parser's assessment of a file. */
export interface Claim extends Sniff {
  readonly parser: ParserSpec;
}

/** `claims` lists every parser, best first, for `ingest --explain`. */
export type Detection =
  | {
      readonly status: 'recognised';
      readonly parser: ParserSpec;
      readonly claims: readonly Claim[];
      /** It is only tried: the error of a file without a row. */
      readonly otherwise?: MbfError;
    }
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
  /** Only the claim that wins is wanted: parsers behind one that is sure are not asked. */
  readonly isBrief?: boolean;
}

/** The highest score. */
const SURE = 1;

/**
 * Files known to be something else are settled first; then the highest claim of at least {@link MIN_SCORE} wins, and
 * the order of `parsers` breaks ties.
 */
export function detect(parsers: readonly ParserSpec[], head: Head, options: DetectOptions = {}): Detection {
  const claims: Claim[] = [];
  for (const parser of parsers) {
    const claim = { parser, ...parser.sniff(head) };
    claims.push(claim);
    if (options.isBrief === true && claim.score >= SURE) break;
  }
  claims.sort((a, b) => b.score - a.score); // stable: equal scores keep the registry's order

  const best = claims[0];
  const isLog = best?.parser.id === 'log' && best.score >= MIN_SCORE;
  const wrong = recogniseWrong(head);
  if (wrong !== undefined && !(isLog && YIELDING.has(wrong.rule))) {
    const status = options.isNamed === true ? 'failed' : wrong.status;
    return { status, error: wrong.error, rule: wrong.rule, claims };
  }
  if (best !== undefined && best.score >= MIN_SCORE) return { status: 'recognised', parser: best.parser, claims };
  const error = new MbfError('MBF2008', 'no parser recognises it');
  return { status: options.isNamed === true ? 'failed' : 'skipped', error, rule: undefined, claims };
}

/** {@link detect} of an open file. A text that the user named and no parser knows is read for a log further on. */
export async function detectSource(
  parsers: readonly ParserSpec[],
  opened: Pick<OpenedSource, 'head' | 'sizeBytes'>,
  name: string,
  options: DetectOptions = {},
): Promise<Detection> {
  const detection = detect(parsers, { bytes: await opened.head(), name, sizeBytes: opened.sizeBytes }, options);
  const best = detection.claims[0];
  if (detection.status !== 'failed' || best?.parser.id !== 'log' || best.score <= 0) return detection;
  if (detection.rule !== undefined && !YIELDING.has(detection.rule)) return detection;
  return { status: 'recognised', parser: best.parser, claims: detection.claims, otherwise: detection.error };
}
