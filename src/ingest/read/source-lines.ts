/** Lines of a file that was read before, quoted only while it is the file that was read. */
import { stat } from 'node:fs/promises';
import { hideSecretsInLines } from '../../knowledge/secrets.js';
import { MbfError } from '../../model/errors.js';
import type { ShownLines } from '../../model/results/common.js';
import { KIB, MIB } from '../../model/units.js';
import { openByteSource } from './byte-source.js';
import { compareBytes, type KnownBytes, knownBytes } from './file-digest.js';

/** Of one line; argument dumps of one line have megabytes. */
const LONGEST_LINE_BYTES = 4 * KIB;

export interface ReadFile extends KnownBytes {
  readonly path: string;
  readonly file_bytes: number;
}

/** Lines `first` to `last`, from 1, of the (inflated) file. Never throws: why there are none is the answer. */
export async function sourceLines(file: ReadFile, first: number, last: number): Promise<ShownLines> {
  const none = (status: ShownLines['status']): ShownLines => ({ status, first_line: first, lines: [] });
  try {
    if ((await stat(file.path)).size !== file.file_bytes) return none('changed');
    const opened = await openByteSource(file.path);
    try {
      const lines = hideSecretsInLines(await readLines(opened.source, first, last));
      if (file.sha256 === null && file.sample_sha256 === null) return { status: 'same_size', first_line: first, lines };
      const compared = compareBytes(file, knownBytes(await opened.finish(), opened.mtimeMs));
      if (compared === 'other') return none('changed');
      return { status: compared === 'same' ? 'same' : 'same_size', first_line: first, lines };
    } finally {
      await opened.close();
    }
  } catch (error) {
    const isGone =
      (error as NodeJS.ErrnoException).code === 'ENOENT' ||
      (error instanceof MbfError && (error.cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT');
    return none(isGone ? 'gone' : 'unreadable');
  }
}

const LF = 10;

async function readLines(
  source: { read(target: Uint8Array, start: number): Promise<number> },
  first: number,
  last: number,
): Promise<string[]> {
  const buffer = new Uint8Array(MIB);
  const decoder = new TextDecoder();
  const lines: string[] = [];
  let line = 1;
  let parts: Uint8Array[] = [];
  let kept = 0;
  const end = (): void => {
    if (line >= first && line <= last) lines.push(decoder.decode(Buffer.concat(parts)).replace(/\r$/, ''));
    parts = [];
    kept = 0;
    line += 1;
  };
  for (;;) {
    const count = await source.read(buffer, 0);
    if (count === 0) break;
    for (let from = 0; from < count; ) {
      const at = buffer.indexOf(LF, from);
      const to = at < 0 || at >= count ? count : at;
      if (line >= first && kept < LONGEST_LINE_BYTES) {
        const part = buffer.slice(from, Math.min(to, from + LONGEST_LINE_BYTES - kept));
        parts.push(part);
        kept += part.length;
      }
      if (to === count) break;
      end();
      if (line > last) return lines;
      from = to + 1;
    }
  }
  if (kept > 0) end();
  return lines;
}
