/** Golden values of the corpus are read whole, and refused when they are cut. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { looksLikeGolden } from '../../parsers/index.js';
import { CORPUS, skipLoudly } from '../support/corpus.js';
import { read, refusal } from './golden-text.js';

const DIRECTORY = join(CORPUS, 'golden');
const files = existsSync(DIRECTORY) ? readdirSync(DIRECTORY).filter((name) => name.endsWith('.json')) : [];

function jsonFiles(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return path === DIRECTORY ? [] : jsonFiles(path);
    return entry.name.endsWith('.json') ? [path] : [];
  });
}

describe('golden values of the corpus', () => {
  if (files.length === 0) {
    skipLoudly('golden values', 'the reference corpus (MBF_CORPUS)');
    return;
  }
  for (const name of files) {
    const text = readFileSync(join(DIRECTORY, name), 'utf8');

    it(`${name} is read whole`, () => {
      expect(looksLikeGolden(text)).toBe(true);
      const plain = JSON.parse(text) as Record<string, { values?: Record<string, unknown> }>;
      const values = read(text);
      if (values.kind === 'megatron_inference') {
        expect(values.requests).toBe(Object.values(plain).filter((v) => v?.constructor === Object).length);
        expect(values.throughput).toEqual([plain['throughput'] ?? []].flat());
        expect(values.mem_max_allocated_bytes).toBe(plain['mem-max-allocated-bytes'] ?? null);
        return;
      }
      if (values.kind !== 'megatron_training') throw new Error(values.kind);
      expect([...values.metrics.keys()]).toEqual(Object.keys(plain));
      for (const [key, series] of values.metrics) {
        expect([...series.values.values()]).toEqual(Object.values(plain[key]!.values!));
        const expected = values.is_legacy
          ? Object.keys(plain[key]!.values!).map((i) => series.start_step + Number(i) * series.step_interval)
          : Object.keys(plain[key]!.values!).map(Number);
        expect([...series.values.keys()]).toEqual(expected);
      }
    });

    it(`${name} is refused when cut`, () => {
      const end = text.trimEnd().length;
      for (let i = 1; i <= 40; i += 1) refusal(text.slice(0, Math.floor((end * i) / 41)));
      refusal(text.slice(0, end - 1));
    });
  }

  it('contains no other JSON that looks like golden values', () => {
    for (const path of jsonFiles(CORPUS)) expect(looksLikeGolden(readFileSync(path, 'utf8')), path).toBe(false);
  });
});
