/** Large foreign files and noise: one clear error, and no needless reading. */
import { rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { OP, pickled, Raw } from '../../samples/generate/write/pickle-writer.js';
import { type Dict, snapshot, snapshotPickle, trace } from '../support/small-snapshot.js';
import { type Bench, cliBelow, expectCliError, openBench, seeded, temporaryDirectory } from './harness.js';

const GIB = 1024 ** 3;
let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
  await bench.take('good.pickle', snapshotPickle());
});
afterAll(() => bench.close());

it.each([1, 2, 7, 100, 4096, 65_536, 65_537, 1_000_000])(
  '%i random bytes, with a pickle header or without',
  async (size) => {
    const random = seeded(size);
    for (let i = 0; i < (size > 100_000 ? 1 : 8); i++) {
      const bytes = Buffer.from(Array.from({ length: size }, () => Math.floor(random() * 256)));
      if (i % 2 === 1) Buffer.from([0x80, 2 + Math.floor(random() * 4)]).copy(bytes);
      for (const name of ['x.pickle', 'x.pickle.gz', 'x.log', 'x']) {
        const { source } = await bench.take(name, bytes);
        // Bytes that happen to read as text may be an empty log; nothing else is ever made of noise.
        if (source.status === 'ingested') expect(source.format).toBe('log');
        else expect(source.error?.code).toMatch(/^MBF2/);
      }
    }
  },
);

/** A file that begins with these bytes and goes on with a hole. */
function sparse(directory: string, name: string, bytes: number, head: Uint8Array = Buffer.alloc(0)): string {
  const path = join(directory, name);
  writeFileSync(path, head);
  truncateSync(path, bytes);
  return path;
}

it.each([
  ['1 GiB of zeros', 'zeros.pickle', GIB, 'MBF2006', 0],
  ['10 GiB of zeros', 'zeros10.pickle', 10 * GIB, 'MBF2006', 0],
  ['10 GiB of zeros, a checkpoint by its name,', 'checkpoint.pt', 10 * GIB, 'MBF2006', 0],
  ['a pickle header before 10 GiB of zeros', 'header.pickle', 10 * GIB, 'MBF2104', 300],
])('%s is refused', async (_, name, bytes, code, head) => {
  const path = sparse(bench.directory, name, bytes, snapshotPickle().subarray(0, head));
  expect((await bench.takePath(path)).source.error?.code).toBe(code);
});

const root = temporaryDirectory();
const ask = cliBelow(root);

it('1 GiB of zeros on the command line: exit 4', () => {
  sparse(root, 'x.pickle', GIB);
  for (const verb of ['snapshot', 'diagnose'])
    expectCliError(ask(root, verb, 'x.pickle'), 4, 'MBF2006', 'x.pickle: holds only zero bytes');
  expect(ask(root, 'ingest', 'x.pickle').status).toBe(4);
});

const huge = trace(5).map((one) => ({ ...one, action: 'alloc', size: 2 ** 53 - 1 }));
// From 128 MiB on decoding has a thread of its own.
it.each<[string, number, string, Dict]>([
  ['whole', 0, '', {}],
  ['with a refused opcode at its end', 4, 'MBF2102', { odd: new Raw([OP.EMPTY_DICT, OP.EMPTY_DICT, OP.BUILD]) }],
  ['of sizes without a sum', 4, 'MBF2107', { device_traces: [huge] }],
  ['with an underflow', 4, 'MBF2104', { odd: new Raw([OP.MARK, OP.TUPLE2]) }],
  ['cut', 4, 'MBF2101', {}],
  ['that jumps to another memo slot', 4, 'MBF2105', { odd: new Raw([OP.NONE, OP.LONG_BINPUT, 0, 0, 0, 0x7f]) }],
])('a file of 140 MiB %s: exit %i %s', (what, exit, code, more) => {
  const noise = Buffer.alloc(140 * 1024 * 1024, Buffer.from([OP.NONE, OP.POP]));
  const bytes = pickled({ padding: new Raw(Buffer.concat([noise, Buffer.from([OP.NONE])])), ...snapshot(more) });
  const path = join(root, 'large.pickle');
  writeFileSync(path, what === 'cut' ? bytes.subarray(0, bytes.length - 100) : bytes);
  const answer = ask(root, 'snapshot', 'large.pickle');
  rmSync(path);
  // A file that takes more than five seconds has a line of progress.
  const result = { ...answer, stderr: answer.stderr.replace(/^large\.pickle {2}\S+ MiB {2}\w+\n/, '') };
  if (exit === 0) expect(result).toMatchObject({ status: 0, stderr: '' });
  else expectCliError(result, exit, code, 'large.pickle');
});
