/** Logs that begin behind other text, in files whose name is not that of a log. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { type Detection, detectSource } from '../../src/ingest/discover/detect.js';
import { openByteSource } from '../../src/ingest/read/byte-source.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const OOM =
  'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.11 GiB';
const STEP = 'Training epoch 0, iteration 0/19 | lr: 1.500e-07 | global_step: 0 | reduced_train_loss: 10.84';
const settings = (bytes: number): string => {
  const line = '  some_model_option: 0\n';
  return line.repeat(Math.ceil(bytes / line.length));
};
const fenced = (text: string, fence = '```'): string =>
  `# Notes\n\nHow it ran.\n\n${fence}console\n${text}\n${fence}\n`;
const KIB = 1024;

async function detected(name: string, content: string | Uint8Array, isNamed = true): Promise<[Detection, string]> {
  const path = join(temporaryDirectory(), name);
  writeFileSync(path, content);
  const opened = await openByteSource(path);
  try {
    const detection = await detectSource(PARSERS, opened, name.replace(/\.gz$/, ''), { isNamed });
    // Reading begins at the first byte, however much was looked at.
    const all = Buffer.alloc(5 * 1024 * KIB);
    let length = 0;
    for (let count = 1; count > 0; length += count) count = await opened.source.read(all, length);
    return [detection, all.toString('utf8', 0, length)];
  } finally {
    await opened.close();
  }
}

describe('a file that the user names', () => {
  it.each([
    ['Markdown', 'notes.md', fenced(settings(70 * KIB) + OOM)],
    ['Markdown with an iteration', 'notes.md', fenced(settings(300 * KIB) + STEP)],
    ['reStructuredText', 'notes.rst', settings(70 * KIB) + OOM],
    ['a dump of settings with the name of one', 'dump.yaml', `model:\n${settings(2048 * KIB)}${OOM}`],
  ])('holds a log further on: %s', async (_, name, text) => {
    for (const [file, content] of [
      [name, text],
      [`${name}.gz`, gzipSync(text)],
    ] as const) {
      const [detection, read] = await detected(file, content);
      expect(detection).toMatchObject({ status: 'recognised', parser: { id: 'log' } });
      expect(read).toBe(text);
    }
  });

  it('is refused with a way to read it where the log begins too late, and without where nothing looks like one', async () => {
    for (const fence of ['```', '~~~']) {
      const [late] = await detected('notes.md', fenced(settings(4.5 * 1024 * KIB) + OOM, fence));
      expect(late).toMatchObject({ status: 'failed', error: { code: 'MBF2008' } });
      expect(late.status === 'failed' && late.error.message).toMatch(/fenced blocks.*`mbforensics -`/);
    }
    const [plain] = await detected('notes.md', `# Notes\n\n${settings(70 * KIB)}`);
    expect(plain.status === 'failed' && plain.error.message).toBe('no parser recognises it');
  });
});

it('a file that is only met in a directory is not looked at further', async () => {
  const [detection] = await detected('notes.md', fenced(settings(70 * KIB) + OOM), false);
  expect(detection.status).toBe('skipped');
});
