/** Queries that are asked for many keys in one statement: the same rows as one by one, in the same order. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadQuery } from '../../src/store/load-queries.js';
import type { QueryName } from '../../src/store/query-catalog.js';
import type { Store } from '../../src/store/store.js';
import { ingested } from '../support/new-store.js';
import { type Act, recordProgram } from '../support/recorded-program.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { repoRoot } from './scratch.js';

const SOURCES = join(repoRoot, 'src');
const ASKED = new Set(
  readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .flatMap((path) => [...readFileSync(join(SOURCES, path), 'utf8').matchAll(/\.allOf\(\s*'([\w.]+)'/g)])
    .map(([, name]) => name as QueryName),
);

const MIB = 2 ** 20;
const stack = (name: string): readonly string[] => [
  `${name} megatron/core/optimizer/clip_grads.py:6`,
  'main /job/train.py:1',
];

/** Sizes, failures and frees differ by rank; one has memory from before its recording. */
function program(rank: number): Buffer {
  const acts: Act[] = [];
  for (let step = 0; step < 3 + rank; step += 1)
    acts.push(
      { alloc: `kept ${step}`, bytes: (2 + (step % rank || 0)) * MIB, stack: stack('log') },
      { alloc: `norm ${step}`, bytes: 4 * MIB, stack: stack('get_grad_norm_fp32') },
      { alloc: `graph ${step}`, bytes: 2 * MIB, stack: stack('handle_exception'), pool: [0, 1] },
      { free: `norm ${step}`, stack: stack('step') },
      ...(rank % 2 === 0 ? [{ oom: step * MIB }] : []),
    );
  const before = rank === 3 ? [{ name: 'old', bytes: 8 * MIB, stack: stack('_build_model') }] : [];
  return recordProgram(acts, before);
}

let store: Store;
/** Values of parameters, of each device. */
let keys: readonly Readonly<Record<string, unknown>>[];
beforeAll(async () => {
  const root = temporaryDirectory();
  mkdirSync(join(root, 'run'));
  for (const rank of [1, 2, 3, 4, 5]) writeFileSync(join(root, 'run', `snapshot_${rank}.pickle`), program(rank));
  ({ store } = await ingested(join(root, 'ranks.duckdb'), [join(root, 'run')]));
  const devices = await store.select(
    'SELECT snapshot_id, source_id, device, events FROM derived_history JOIN snapshot USING (snapshot_id) ORDER BY ALL',
  );
  keys = devices.map(({ snapshot_id, source_id, device, events }, i) => {
    const last = Number(events) - 1;
    const third = Math.floor(last / 3);
    return {
      ...{ snapshot_id, source_id, device, at_seq: [-1, last, third][i % 3], before_seq: last, run_id: null },
      ...{ first_seq: 1, last_seq: third, from_seq: third + 1, oom_seq: last, entries: 4, least_bytes: MIB },
      ...{ firsts: `0,${third + 1}`, lasts: `${third},${2 * third}`, wholes: '0,1', starts_empty: i % 2 === 0 },
      stack_ids: '0,1,2',
    };
  });
});
afterAll(() => store.close());

it.each([...ASKED])('%s', async (name) => {
  const asked = keys.map((key) => {
    const params = loadQuery(name).params.map((param) => [param.name, key[param.name]] as const);
    for (const [param, value] of params) if (value === undefined) expect.fail(`no values of ${param} here`);
    return Object.fromEntries(params) as never;
  });
  const oneByOne = [];
  for (const key of asked) oneByOne.push(await store.all(name, key));
  expect(await store.allOf(name, asked)).toEqual(oneByOne);
  expect(await store.allOf(name, [])).toEqual([]);
});
