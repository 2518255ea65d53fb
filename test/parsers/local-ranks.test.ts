/** torchrun's `[default3]:` numbers a process on its node; other lines may give its rank. */
import { describe, expect, it } from 'vitest';
import { readLogBytes } from '../../parsers/log/read-log.js';
import type { IncidentRow } from '../../src/model/tables.js';

function read(lines: readonly string[]): IncidentRow[] {
  const incidents: IncidentRow[] = [];
  readLogBytes(Buffer.from(`${lines.join('\n')}\n`), {
    incident: (row) => incidents.push(row),
    note() {},
    logRow() {},
  });
  return incidents;
}

const memory = (local: number, rank: number): string =>
  `[default${local}]:[Rank ${rank}] (after 1 iterations) memory (MB) | allocated: 30000.00 | max allocated: 40000.00 | reserved: 45000.00 | max reserved: 61000.00`;
const oom = (local: number): readonly string[] => [
  `[default${local}]:Traceback (most recent call last):`,
  `[default${local}]:  File "/opt/train.py", line 12, in forward`,
  `[default${local}]:    loss = model(batch)`,
  `[default${local}]:torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.44 GiB (GPU ${local}; 39.39 GiB total capacity; 23.22 GiB already allocated; 229.31 MiB free; 23.61 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF`,
];
const SIGTERM = [71, 72].map(
  (pid) => `WARNING:torch.distributed.elastic.multiprocessing.api:Sending process ${pid} closing signal SIGTERM`,
);
const footer = (rank: number, local: number, pid: number): readonly string[] => [
  'torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ',
  '============================================================',
  '/opt/train.py FAILED',
  '------------------------------------------------------------',
  'Failures:',
  '  <NO_OTHER_FAILURES>',
  '------------------------------------------------------------',
  'Root Cause (first observed failure):',
  '[0]:',
  '  time      : 2024-11-12_14:03:26',
  '  host      : node-037',
  `  rank      : ${rank} (local_rank: ${local})`,
  `  exitcode  : 1 (pid: ${pid})`,
  '  error_file: <N/A>',
  '  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html',
  '============================================================',
];
const outOfMemory = (rows: readonly IncidentRow[]) =>
  rows.filter(({ kind }) => kind === 'cuda_oom').map(({ rank, localRank, pid }) => ({ rank, localRank, pid }));

describe('a rank on its node', () => {
  it('is the rank that its own memory lines name', () => {
    const rows = read([memory(7, 15), memory(6, 14), ...oom(7)]);
    expect(outOfMemory(rows)).toEqual([{ rank: 15, localRank: 7, pid: null }]);
    expect(rows[0]!.rankOrigin).toBe('prefix:torchrun, rank from other lines');
  });

  it("is the rank of the launcher's footer, and so is the process", () => {
    expect(outOfMemory(read([...oom(7), ...SIGTERM, ...footer(15, 7, 98_744)]))).toEqual([
      { rank: 15, localRank: 7, pid: 98_744 },
    ]);
  });

  it('is unknown if two ranks have it, or none', () => {
    expect(outOfMemory(read([memory(7, 7), memory(7, 15), ...oom(7)]))).toEqual([
      { rank: null, localRank: 7, pid: null },
    ]);
    expect(outOfMemory(read([memory(6, 6), ...oom(7)]))).toEqual([{ rank: null, localRank: 7, pid: null }]);
  });

  it('does not take the pid of a process that the launcher ends on the line behind it', () => {
    const rows = read([...oom(7), ...SIGTERM]);
    expect(outOfMemory(rows)).toEqual([{ rank: null, localRank: 7, pid: null }]);
    expect(rows.filter(({ grammar }) => grammar === 'launcher.sigterm').map(({ pid }) => pid)).toEqual([71]);
  });
});
