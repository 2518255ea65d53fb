/** Which parser takes which file of the corpus. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exportedScalars } from '../../parsers/scalars/index.js';
import { tensorboardEvents } from '../../parsers/tensorboard/index.js';
import { CORPUS, skipLoudly } from '../support/corpus.js';

describe('files of the corpus', () => {
  if (!existsSync(CORPUS)) {
    skipLoudly('claims of parsers', 'the corpus (MBF_CORPUS)');
    return;
  }
  const files = readdirSync(CORPUS, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());

  it.each([
    ['exported scalars', exportedScalars, files],
    ['TensorBoard', tensorboardEvents, files.filter(({ name }) => !/tfevents/.test(name))],
  ] as const)('are none of %s', (_, parser, others) => {
    expect(others.length).toBeGreaterThan(0);
    for (const { name, parentPath } of others) {
      const bytes = readFileSync(join(parentPath, name)).subarray(0, 65_536);
      expect(parser.sniff({ bytes, name, sizeBytes: bytes.length }).score, name).toBe(0);
    }
  });
});
