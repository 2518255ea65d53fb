/** Statements of an answer about many ranks: as many as about two. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBConnection } from '@duckdb/node-api';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { openedStore } from '../../src/cli/path-store.js';
import { reportOf } from '../../src/cli/report-page.js';
import { STEPS } from '../../src/derive/derive.js';
import { diagnose } from '../../src/findings/flows/diagnose.js';
import { describeSnapshots } from '../../src/findings/state/describe-snapshots.js';
import { ingest } from '../../src/ingest/ingest.js';
import { GIB, MIB } from '../../src/model/units.js';
import { openStore } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import { newStore } from '../support/new-store.js';
import { type Act, recordProgram } from '../support/recorded-program.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const root = temporaryDirectory();
/** A page has the evidence of at most three verdicts; at most eight failures are replayed. */
const FEWEST = { none: 3, one: 2, all: 8 } as const;
const MANY = 64;
type Failing = keyof typeof FEWEST;

/** Steps that end in an optimizer's allocation and keep something each; sizes differ by rank. */
function program(rank: number, failing: boolean): Buffer {
  const step = (nth: number): Act[] => [
    { alloc: `kept ${nth}`, bytes: 4 * MIB, stack: ['log /job/metrics.py:7'] },
    { alloc: `activation ${nth}`, bytes: (20 + (rank % 5)) * MIB, stack: ['forward /job/model.py:10'] },
    { alloc: `norm ${nth}`, bytes: 2 * MIB, stack: ['get_grad_norm_fp32 megatron/core/optimizer/clip_grads.py:60'] },
    { free: `norm ${nth}` },
    { free: `activation ${nth}` },
  ];
  const weights: Act = { alloc: 'weights', bytes: 40 * MIB, stack: ['__init__ /job/model.py:3'] };
  const failure: Act[] = [{ alloc: 'last', bytes: 24 * MIB, stack: ['forward /job/model.py:10'] }, { oom: GIB }];
  return recordProgram([weights, ...[1, 2, 3, 4].flatMap(step), ...(failing ? failure : [])]);
}

const message = (rank: number): string =>
  `[rank${rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU ${rank % 8} has a total ` +
  'capacity of 79.10 GiB of which 256.00 MiB is free. Process 1 has 78.75 GiB memory in use. Of the allocated memory ' +
  '71.50 GiB is allocated by PyTorch, and 5.70 GiB is reserved by PyTorch but unallocated.';

async function storeOf(failing: Failing, ranks: number): Promise<string> {
  const directory = join(root, `${failing} ${ranks}`);
  mkdirSync(directory);
  for (let rank = 0; rank < ranks; rank += 1) {
    const fails = failing === 'all' || (failing === 'one' && rank === 0);
    writeFileSync(join(directory, `snapshot_${rank}.pickle`), program(rank, fails));
  }
  if (failing === 'one') writeFileSync(join(directory, 'train.log'), `${message(0)}\n`);
  const file = `${directory}.duckdb`;
  const store = await newStore(file, { threads: 1 });
  await ingest({ store, parsers: PARSERS, paths: [directory], now: new Date() });
  await store.close();
  return file;
}

async function statementsOf(work: () => Promise<unknown>): Promise<number> {
  const prepared = vi.spyOn(DuckDBConnection.prototype, 'prepare');
  const plain = vi.spyOn(DuckDBConnection.prototype, 'run');
  try {
    await work();
    return prepared.mock.calls.length + plain.mock.calls.length;
  } finally {
    prepared.mockRestore();
    plain.mockRestore();
  }
}

async function statementsOfSteps(file: string): Promise<Record<string, number>> {
  const store = await openStore(file, { mode: 'write' });
  const counts: Record<string, number> = {};
  try {
    await store.run('DELETE FROM labelled_device');
    for (const { tables, run } of STEPS) counts[tables[0]!] = await statementsOf(() => run(store, [1], {}));
  } finally {
    await store.close();
  }
  return counts;
}

async function statementsOfAnswers(file: string) {
  const answer = async (work: (store: Store) => Promise<unknown>): Promise<number> => {
    const store = await openStore(file, { mode: 'read' });
    try {
      return await statementsOf(() => work(store));
    } finally {
      await store.close();
    }
  };
  const targetOf = (store: Store) => ({ ...openedStore(store, []), runId: 1, run: 'run', handle: undefined });
  return {
    diagnose: await answer((store) => diagnose(store, 1, 'run', { advises: true })),
    snapshot: await answer((store) => describeSnapshots(store, { runId: 1 }, () => undefined)),
    report: await answer((store) => reportOf(targetOf(store), { operand: 'run', devices: 2 })),
  };
}

describe.each(Object.keys(FEWEST) as Failing[])('a run in which %s of the ranks failed', (failing) => {
  let few: string;
  let many: string;
  beforeAll(async () => {
    few = await storeOf(failing, FEWEST[failing]);
    many = await storeOf(failing, MANY);
  });

  it('is asked as many statements for an answer whatever the number of ranks', async () => {
    expect(await statementsOfAnswers(many)).toEqual(await statementsOfAnswers(few));
  });

  it('is derived by as many statements', async () => {
    expect(await statementsOfSteps(many)).toEqual(await statementsOfSteps(few));
  });
});
