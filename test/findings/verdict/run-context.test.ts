/** What the rest of a run adds to one message, from files through the parsers and the store. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { DiagnoseResult } from '../../../src/model/results/common.js';
import { scratchDirectory } from '../../store/scratch.js';
import { ingested } from '../../support/new-store.js';
import { diagnose } from './worded.js';

async function diagnosed(files: Readonly<Record<string, string>>): Promise<DiagnoseResult> {
  const root = scratchDirectory();
  for (const [name, text] of Object.entries(files)) {
    const path = join(root, 'run', name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  const { store } = await ingested(join(root, 'store.duckdb'), [join(root, 'run')]);
  try {
    return await diagnose(store, 1, 'run');
  } finally {
    await store.close();
  }
}

const oom = (rank: number, allocated: string, unallocated: string): string =>
  `[rank${rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB. GPU ${rank} has a total capacity of 79.11 GiB of which 1.00 GiB is free. ` +
  `Including non-PyTorch memory, this process has 78.11 GiB memory in use. Of the allocated memory ${allocated} GiB is allocated by PyTorch, and ${unallocated} GiB is reserved by PyTorch but unallocated.\n`;
/** A memory line of Megatron-LM; figures in MiB, printed as MB. */
const memory = (rank: number, iteration: number, allocated: number, reserved: number): string =>
  `[Rank ${rank}] (after ${iteration} iterations) memory (MB) | allocated: ${allocated.toFixed(2)} | max allocated: ${(allocated + 900).toFixed(2)} | reserved: ${reserved.toFixed(2)} | max reserved: ${reserved.toFixed(2)}\n`;
const bridge = (rank: number, retries: number): string =>
  `[Rank ${rank}] (after 2 iterations) memory (GB) | mem-allocated-gigabytes: 41.5 | mem-inactive-gigabytes: 9.5 | mem-max-allocated-gigabytes: 60.25 | mem-max-reserved-gigabytes: 80.5 | mem-alloc-retires: ${retries}\n`;
const evidenceOf = (result: DiagnoseResult): string => result.verdicts[0]!.evidence.map(({ text }) => text).join('\n');

describe('beside a message', () => {
  it('the allocator variable of a script says whether the hint applies', async () => {
    const fragmented = oom(0, '60.00', '16.00');
    const set = await diagnosed({
      'train.log': fragmented,
      'launch.sbatch':
        '#!/bin/bash\n#SBATCH --nodes=1\nexport PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\nsrun python train.py\n',
    });
    expect(set.verdicts[0]).toMatchObject({ cause: 'fragmentation' });
    expect(evidenceOf(set)).toContain('expandable segments on');
    expect(set.verdicts[0]!.next.join(' ')).toContain('already on');
    const unset = await diagnosed({ 'train.log': fragmented });
    expect(unset.verdicts[0]!.next.join(' ')).toContain('expandable_segments:True on every rank');
    expect(evidenceOf(unset)).not.toContain('expandable segments');
  });

  it('of two allocator variables the one that torch asks first', async () => {
    const both =
      '#!/bin/bash\nexport PYTORCH_ALLOC_CONF=expandable_segments:True\nexport PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False\nsrun python train.py\n';
    const text = evidenceOf(await diagnosed({ 'train.log': oom(0, '60.00', '16.00'), 'launch.sbatch': both }));
    expect(text).toContain('PYTORCH_CUDA_ALLOC_CONF is set to "expandable_segments:False"');
    expect(text).toContain('expandable segments off');
  });

  it('the last memory line of the rank tells what it held, retries and split remainders', async () => {
    const result = await diagnosed({ 'train.log': `${bridge(3, 2)}${oom(3, '60.00', '16.00')}` });
    const text = evidenceOf(result);
    expect(text).toContain('last memory line before it (iteration 2): peak allocated 56.11 GiB');
    expect(text).toContain('8.85 GiB in unusable remainders');
    expect(text).toContain('2 times before');
  });

  it('other ranks show headroom', async () => {
    const others = [0, 1, 2].map((rank) => memory(rank, 2, 30_000, 40_960 + rank)).join('');
    const result = await diagnosed({
      'train.log': `${others}${memory(3, 2, 50_000, 70_000)}${oom(3, '75.00', '1.00')}`,
    });
    expect(result.verdicts[0]).toMatchObject({ cause: 'capacity', rank: 3 });
    expect(evidenceOf(result)).toContain('3 other ranks (most: rank 2) reserved at most 40.00 GiB, 39.11 GiB below');
  });

  it('allocated memory that grows by the same amount every iteration is a leak', async () => {
    const growing = Array.from({ length: 12 }, (_, i) => memory(1, i + 1, 30_000 + 1024 * i, 70_000)).join('');
    const leaking = await diagnosed({ 'train.log': `${growing}${oom(1, '75.50', '1.50')}` });
    expect(leaking.verdicts[0]).toMatchObject({ cause: 'leak', confidence: 'high' });
    expect(leaking.verdicts[0]!.summary).toContain('1.00 GiB every iteration');
    const steady = Array.from({ length: 12 }, (_, i) => memory(1, i + 1, 30_000 + (i % 2), 70_000)).join('');
    const full = await diagnosed({ 'train.log': `${steady}${oom(1, '75.50', '1.50')}` });
    expect(full.verdicts[0]).toMatchObject({ cause: 'capacity' });
    expect(full.verdicts[0]!.ruled_out.map(({ cause }) => cause)).toContain('leak');
  });

  it('who failed first is in front, and the others are listed', async () => {
    const result = await diagnosed({
      'train.log':
        oom(5, '75.00', '1.00') +
        '[rank2]:[E1121 02:00:23.123456789 ProcessGroupNCCL.cpp:616] [Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.\n',
    });
    expect(result.first_failure).toMatchObject({ kind: 'cuda_oom', rank: 5, victims: [2] });
    expect(result.verdicts.map(({ rank }) => rank)).toEqual([5]);
  });

  it('a failure that is no memory matter is reported by its kind', async () => {
    const refused = await diagnosed({
      'train.log':
        'Traceback (most recent call last):\n  File "/home/me/train.py", line 12, in main\n    build()\nValueError: Currently there is no support for Pipeline parallelism with CPU offloading\n',
    });
    expect(refused.verdicts).toMatchObject([{ cause: 'not_oom', summary: expect.stringContaining('configuration') }]);
    expect(evidenceOf(refused)).toContain('main at /home/me/train.py:12');
    const limit = await diagnosed({
      'slurm-1.out': 'slurmstepd: error: *** JOB 77 ON node1 CANCELLED AT 2026-01-02T03:04:05 DUE TO TIME LIMIT ***\n',
    });
    expect(limit.verdicts).toMatchObject([{ cause: 'not_oom', summary: expect.stringContaining('time limit') }]);
  });
});
