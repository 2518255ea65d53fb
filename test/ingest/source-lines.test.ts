/** Lines are quoted from a file only while it is the one that was read. */
import { createHash } from 'node:crypto';
import { appendFileSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { hashFile } from '../../src/ingest/read/byte-source.js';
import { knownBytes, WHOLE_BYTES } from '../../src/ingest/read/file-digest.js';
import { type ReadFile, sourceLines } from '../../src/ingest/read/source-lines.js';
import { scratchDirectory } from '../store/scratch.js';

const UNKNOWN = { sha256: null, sample_sha256: null, modified_us: null };

function written(bytes: string | Uint8Array, name = 'train.log'): ReadFile {
  const path = join(scratchDirectory(), name);
  writeFileSync(path, bytes);
  const sha256 = createHash('sha256').update(readFileSync(path)).digest('hex');
  return { ...UNKNOWN, path, file_bytes: statSync(path).size, sha256 };
}

describe('lines of a source', () => {
  const text = 'one\ntwo\r\nthree\nfour';

  it('are counted from 1, with either line end, to the last without one', async () => {
    const file = written(text);
    expect(await sourceLines(file, 2, 3)).toEqual({ status: 'same', first_line: 2, lines: ['two', 'three'] });
    expect((await sourceLines(file, 4, 9)).lines).toEqual(['four']);
    expect((await sourceLines(file, 9, 9)).lines).toEqual([]);
    expect((await sourceLines(written(''), 1, 3)).lines).toEqual([]);
  });

  it('come out of compressed files, and across the pieces that are read', async () => {
    const many = Array.from({ length: 300_000 }, (_, i) => `line ${i + 1}`).join('\n');
    const file = written(gzipSync(many), 'train.log.gz');
    expect(await sourceLines(file, 299_998, 299_999)).toEqual({
      status: 'same',
      first_line: 299_998,
      lines: ['line 299998', 'line 299999'],
    });
  });

  it('are cut where they are megabytes long', async () => {
    const { lines } = await sourceLines(written(`${'x'.repeat(3_000_000)}\nshort\n`), 1, 2);
    expect(lines.map((line) => line.length)).toEqual([4096, 5]);
  });

  it('are not quoted from another file: longer, of the same length, gone, or a directory', async () => {
    const file = written(text);
    appendFileSync(file.path, '!');
    expect((await sourceLines(file, 1, 2)).status).toBe('changed');
    writeFileSync(file.path, text.replace('one', 'eno'));
    expect(await sourceLines(file, 1, 2)).toMatchObject({ status: 'changed', lines: [] });
    rmSync(file.path);
    expect((await sourceLines(file, 1, 2)).status).toBe('gone');
    const directory = scratchDirectory();
    expect(
      (await sourceLines({ ...UNKNOWN, path: directory, file_bytes: statSync(directory).size }, 1, 2)).status,
    ).toBe('unreadable');
  });

  it('note it if only the size was compared', async () => {
    expect((await sourceLines({ ...written(text), sha256: null }, 1, 1)).status).toBe('same_size');
  });

  it('of a large file are those of a sample and a time of change', async () => {
    const { path, file_bytes } = written(Buffer.concat([Buffer.from('one\n'), Buffer.alloc(WHOLE_BYTES)]));
    // As ingest computes it: Node's own milliseconds may differ in the last bit, and so in the microsecond.
    const mtimeMs = Number(statSync(path, { bigint: true }).mtimeNs) / 1e6;
    const file = { path, file_bytes, ...knownBytes(await hashFile(path), mtimeMs) };
    expect((await sourceLines(file, 1, 1)).status).toBe('same');
    utimesSync(path, 1, 1);
    expect((await sourceLines(file, 1, 1)).status).toBe('same_size');
    const bytes = readFileSync(path);
    bytes[0]! ^= 1;
    writeFileSync(path, bytes);
    expect((await sourceLines(file, 1, 1)).status).toBe('changed');
  });
});
