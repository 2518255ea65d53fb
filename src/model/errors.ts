/**
 * The one error type. An error states neutral facts (file, offset, reason). The advice is stored with its code in
 * `src/knowledge/errors.yaml`, so that the same failure always gives the same advice. The exit-code table is in
 * `src/cli/exit-codes.ts` and is keyed by {@link ErrorKind} alone.
 */
import type { ErrorCode } from './codes.gen.js';
import { escapeControls } from './escape-controls.js';

export type { ErrorCode };

/** Who has to act: the caller (`usage`), the bytes (`input`), the store file (`store`), or us (`internal`). */
export type ErrorKind = 'usage' | 'input' | 'store' | 'internal';

const KINDS: Readonly<Record<string, ErrorKind>> = { 1: 'usage', 2: 'input', 3: 'store', 9: 'internal' };

export function kindOfError(code: ErrorCode): ErrorKind {
  return KINDS[code.charAt('MBF'.length)]!;
}

/** Where in which input something is wrong. `offset` is in bytes of the decompressed stream, `line` is 1-based. */
export interface ErrorPlace {
  readonly file?: string | undefined;
  readonly offset?: number | undefined;
  readonly line?: number | undefined;
}

/** The only error thrown on purpose; anything else reaching the CLI is a bug (exit 70). */
export class MbfError extends Error {
  readonly code: ErrorCode;
  readonly place: ErrorPlace;

  constructor(code: ErrorCode, fact: string, place: ErrorPlace = {}, cause?: unknown) {
    super(fact, cause === undefined ? undefined : { cause });
    this.name = 'MbfError';
    this.code = code;
    this.place = place;
  }

  get kind(): ErrorKind {
    return kindOfError(this.code);
  }

  /** The same error, now knowing its file (parsers know offsets, not paths). */
  inFile(file: string): MbfError {
    return new MbfError(this.code, this.message, { ...this.place, file }, this.cause);
  }

  /** `FILE at byte N: fact` without code and remedy. */
  describe(): string {
    const { file, offset, line } = this.place;
    const where = [
      file ?? '',
      line === undefined ? '' : `line ${line}`,
      offset === undefined ? '' : `at byte ${offset}`,
    ]
      .filter((part) => part !== '')
      .join(' ');
    // A parser's mark below a line of the statement points at nothing once both are one line.
    const lastLine = Math.max(0, this.message.trimEnd().lastIndexOf('\n'));
    const message = this.message.slice(lastLine).trim() === '^' ? this.message.slice(0, lastLine) : this.message;
    return oneLine(where === '' ? message : `${where}: ${message}`);
  }
}

/** An error is one line and moves no cursor: file names may contain line breaks and escape sequences. */
function oneLine(text: string): string {
  const [first = '', ...others] = text.split(/[\r\n]+/);
  if (others.length === 0) return escapeControls(text);
  return escapeControls(
    [first.trimEnd(), ...others.map((line) => line.trim())].filter((line) => line !== '').join(' '),
  );
}
