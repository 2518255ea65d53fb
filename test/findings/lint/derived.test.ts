/** What follows from settings at start-up: `derived.yaml`. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { derived } from '../../../src/derive/settings/derived.js';
import type { Sample } from '../../support/lint-sample.js';
import { textOf } from '../../support/lint-sample.js';
import { type Given, LM, MB, rawFacts } from './raw-facts.js';

type Config = Sample['config'];

interface Row extends Pick<Given, 'versions' | 'origin' | 'raw'> {
  readonly any?: Config;
  readonly lm?: Config;
  readonly bridge?: Config;
  readonly nemo?: Config;
  readonly gives: Config;
}

const texts = (config: Config): Record<string, string | null> =>
  Object.fromEntries(Object.entries(config).map(([key, value]) => [key, textOf(value)]));

const FILE = readFileSync(new URL('derived.yaml', import.meta.url), 'utf8');
const ROWS = Object.entries(parse(FILE) as Readonly<Record<string, readonly Row[]>>).flatMap(([title, rows]) =>
  rows.map((row) => [title, row] as const),
);

it.each(ROWS)('derives %s: %j', (_, { any, lm, bridge, nemo, gives, ...given }) => {
  const framework = lm ? LM : bridge ? MB : nemo ? ({ framework: 'nemo' } as const) : {};
  const settings = derived(rawFacts(texts(any ?? lm ?? bridge ?? nemo!), { ...framework, ...given }));
  const actual = Object.keys(gives).map((key) => [key, settings.has(key) ? settings.get(key)!.value : '?']);
  expect(Object.fromEntries(actual)).toEqual(texts(gives));
});

it('gives the place of the setting that it follows from', () => {
  const config = { num_layers: '1', enable_cuda_graph: 'True', cuda_graph_modules: 'full_iteration' };
  expect(derived(rawFacts(config)).get('cuda_graph_impl')).toMatchObject({ line: 2, raw_key: 'enable_cuda_graph' });
});
