/** The choice of parser for the real files of the corpus. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { detect } from '../../src/ingest/discover/detect.js';
import { recogniseWrong } from '../../src/ingest/discover/known-wrong.js';
import type { Head } from '../../src/model/parser.js';
import { CORPUS, skipLoudly } from '../support/corpus.js';

describe('the corpus', () => {
  if (!existsSync(CORPUS)) {
    skipLoudly('known-wrong rules against real files', 'the corpus (set MBF_CORPUS)');
    return;
  }
  function heads(part: string): Head[] {
    const names = readdirSync(join(CORPUS, part)).filter((name) => !/\.(?:truth|meta)\.json$/.test(name));
    return names.map((name) => {
      const raw = readFileSync(join(CORPUS, part, name));
      const bytes = raw[0] === 0x1f && raw[1] === 0x8b ? gunzipSync(raw) : raw;
      return { name: name.replace(/\.gz$/, ''), bytes: bytes.subarray(0, 65536), sizeBytes: raw.length };
    });
  }

  it('contains no log and no pickled snapshot that is taken for another kind', () => {
    const pickles = heads('snapshots').filter(({ bytes }) => bytes[0] === 0x80);
    const readable = [...heads('logs'), ...pickles];
    expect(readable.length).toBeGreaterThan(0);
    for (const seen of readable) expect([seen.name, recogniseWrong(seen)]).toEqual([seen.name, undefined]);
  });

  it('has every form of a snapshot and of a capture claimed by its parser or named by a rule', () => {
    const claimed: Record<string, readonly string[]> = {
      snapshots: ['torch-snapshot', 'git-lfs-pointer', 'memory-viz-arrays'],
      nsys: ['nsys', 'git-lfs-pointer'],
    };
    for (const [part, expected] of Object.entries(claimed)) {
      for (const seen of heads(part)) {
        const detection = detect(PARSERS, seen);
        expect(expected, seen.name).toContain(detection.status === 'recognised' ? detection.parser.id : detection.rule);
      }
    }
  });
});
