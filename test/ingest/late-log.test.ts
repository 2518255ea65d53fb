/** Logs that begin behind other text, in files whose name is not that of a log. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { type Detection, detectSource } from '../../src/ingest/discover/detect.js';
import { ingest } from '../../src/ingest/ingest.js';
import { openByteSource } from '../../src/ingest/read/byte-source.js';
import { newStore } from '../support/new-store.js';
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

async function ingested(name: string, content: string | Uint8Array) {
  const directory = temporaryDirectory();
  const path = join(directory, name);
  writeFileSync(path, content);
  const store = await newStore(join(directory, 'store.duckdb'));
  try {
    const { sources } = await ingest({ rowsOnly: true, store, parsers: PARSERS, paths: [path], now: new Date() });
    const [row] = await store.select(
      'SELECT (SELECT count(*) FROM incident) + (SELECT count(*) FROM log_iteration) AS n',
    );
    return { sources, facts: Number(row!['n']) };
  } finally {
    await store.close();
  }
}

describe('a file that the user names', () => {
  it.each([
    ['Markdown', 'notes.md', fenced(settings(70 * KIB) + OOM)],
    ['Markdown with an iteration', 'notes.md', fenced(settings(300 * KIB) + STEP)],
    ['Markdown with a log behind megabytes', 'notes.md', fenced(settings(4.5 * 1024 * KIB) + OOM, '~~~')],
    ['reStructuredText', 'notes.rst', settings(70 * KIB) + OOM],
    ['a dump of settings with the name of one', 'dump.yaml', `model:\n${settings(2048 * KIB)}${OOM}`],
    ['a page', 'issue.html', `<!DOCTYPE html>\n<title>CUDA error</title><pre>${settings(70 * KIB)}${OOM}</pre>`],
    [
      'lines of JSON',
      'app.jsonl',
      `${JSON.stringify({ log: 'to come\n' })}\n`.repeat(9000) + JSON.stringify({ log: OOM }),
    ],
  ])('holds a log further on: %s', async (_, name, text) => {
    for (const [file, content] of [
      [name, text],
      [`${name}.gz`, gzipSync(text)],
    ] as const) {
      const [detection, read] = await detected(file, content);
      expect(detection).toMatchObject({ status: 'recognised', parser: { id: 'log' } });
      expect(read).toBe(text);
      const { sources, facts } = await ingested(file, content);
      expect(sources).toMatchObject([{ status: 'ingested', format: 'log' }]);
      expect(facts).toBe(1);
    }
  });

  it.each([
    ['notes.md', `# Notes\n\n${settings(70 * KIB)}`, 'no parser recognises it'],
    ['page.html', '<!DOCTYPE html>\n<title>Hello</title><p>Nothing.</p>', 'is an HTML page'],
    ['login.log', '<!DOCTYPE html>\n<title>Sign in</title><p>Nothing.</p>', 'is an HTML page'],
  ])('is refused with the reason where no line of it is one of a log: %s', async (name, text, reason) => {
    const { sources } = await ingested(name, text);
    expect(sources).toMatchObject([{ status: 'failed', error: { text: expect.stringContaining(reason) } }]);
  });
});

it('a page that is only met in a directory is read where its beginning has a line of a log', async () => {
  const page = `<!DOCTYPE html>\n<title>error</title><pre>&gt; ${OOM}</pre>`;
  expect((await detected('issue.html', page, false))[0]).toMatchObject({ status: 'recognised', parser: { id: 'log' } });
  expect((await detected('other.html', '<!DOCTYPE html>\n<title>x</title>', false))[0].status).toBe('skipped');
});

it('a file that is only met in a directory is not looked at further', async () => {
  const [detection] = await detected('notes.md', fenced(settings(70 * KIB) + OOM), false);
  expect(detection.status).toBe('skipped');
});
