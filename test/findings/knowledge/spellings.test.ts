/** A change as lines to paste, as each framework spells it: `spellings.yaml`. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { canonicalConfigKey } from '../../../src/knowledge/config-keys.js';
import { pasteLines } from '../../../src/knowledge/spellings.js';
import type { AdviceChange, PasteLines } from '../../../src/model/results/advise.js';

const FILE = readFileSync(new URL('spellings.yaml', import.meta.url), 'utf8');
const CASES = Object.entries(parse(FILE) as Readonly<Record<string, Partial<AdviceChange & PasteLines>>>);

it.each(CASES)('%s', (_, { settings = {}, env = {}, ...lines }) => {
  expect(pasteLines({ settings, env })).toMatchObject(lines);
});

it('data types have flags too', () => {
  expect(pasteLines({ settings: { fp8: 'hybrid' }, env: {} }).megatron_lm).toContain('--fp8-format hybrid');
});

it.each([
  ...['tensor_model_parallel_size', 'bucket_size', 'nccl_ub', 'fp8', 'use_te_rng_tracker', 'average_in_collective'],
  'seq_length',
])('lines of %s are read back as the same setting', (key) => {
  const lines = pasteLines({ settings: { [key]: '2' }, env: {} });
  for (const line of [...lines.megatron_bridge, ...lines.nemo])
    expect(canonicalConfigKey(line.split(' = ')[0] ?? ''), line).toBe(key);
  for (const line of lines.megatron_lm) expect(canonicalConfigKey(line.split(' ')[0] ?? ''), line).toBe(key);
});
