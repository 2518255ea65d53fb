/** Which parser reads a file, decided from its first bytes and its name, and why. */
import { MbfError } from '../../model/errors.js';
import type { Head, ParserSpec, Sniff } from '../../model/parser.js';
import { HEAD_BYTES, type OpenedSource } from '../read/byte-source.js';
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

/** Notes and saved pages have other text before a log; a user who names one means what it holds. */
const FURTHER_BYTES = 4 * 1024 * 1024;
const FENCES = ['\n```', '\n~~~'];
const FENCED =
  'no parser recognises it; it has fenced blocks, and no line of a log in its first 4 MiB; `mbforensics -` reads standard input as a log';

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

/** {@link detect} of an open file. In a text that the user named and no parser knows, a log may begin later. */
export async function detectSource(
  parsers: readonly ParserSpec[],
  opened: Pick<OpenedSource, 'head' | 'sizeBytes'>,
  name: string,
  options: DetectOptions = {},
): Promise<Detection> {
  const head: Head = { bytes: await opened.head(), name, sizeBytes: opened.sizeBytes };
  const detection = detect(parsers, head, options);
  if (detection.status !== 'failed' || detection.rule !== undefined) return detection;
  const bytes = head.bytes.length < HEAD_BYTES ? head.bytes : await opened.head(FURTHER_BYTES);
  const logs = parsers.filter(({ id }) => id === 'log');
  const further = bytes === head.bytes ? detection : detect(logs, { ...head, bytes }, options);
  if (further.status === 'recognised' || !FENCES.some((fence) => Buffer.from(bytes).includes(fence))) return further;
  return { ...detection, error: new MbfError('MBF2008', FENCED) };
}
