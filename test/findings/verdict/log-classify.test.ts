/** One text, classified: fields, the failure that is judged, and texts that hold none. */
import { describe, expect, it } from 'vitest';
import { incidentsInText } from '../../../parsers/log/index.js';
import { insertLines } from '../../../src/ingest/write/insert-lines.js';
import type { ClassifyResult } from '../../../src/model/results/log.js';
import { GIB, MIB } from '../../../src/model/units.js';
import { classifyDocument } from '../../../src/report/knowledge/classify-document.js';
import { documentJson } from '../../../src/report/render/json.js';
import { documentText } from '../../../src/report/render/text.js';
import { judging } from './judging.js';
import { classify } from './worded.js';

const { scratch } = judging();

async function classified(text: string): Promise<ClassifyResult> {
  const result = await classify(incidentsInText(text), 'pasted.txt', (row) =>
    insertLines(scratch(), [row], 'pasted.txt'),
  );
  const document = classifyDocument(result);
  expect(documentJson(document)).toHaveProperty('verdict');
  const printed = documentText(document);
  expect(printed).not.toMatch(/undefined|NaN|\[object/);
  expect(Math.max(...printed.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
  return result;
}

const FULL =
  '[rank5]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 80.00 GiB of which 1.00 GiB is free. Process 900 has 78.50 GiB memory in use. Process 901 has 512.00 MiB memory in use. Of the allocated memory 70.00 GiB is allocated by PyTorch, and 7.00 GiB is reserved by PyTorch but unallocated.';

describe('classify', () => {
  it('reads figures as printed; which process is this one is said apart', async () => {
    const { incidents, verdict } = await classified(FULL);
    expect(incidents).toMatchObject([
      {
        ...{ kind: 'cuda_oom', is_oom: true, rank: 5, device: 1, file: 'pasted.txt', line: 1, self_pid: 900 },
        ...{ requested_bytes: 2 * GIB, total_bytes: 80 * GIB, free_bytes: GIB, process_bytes: null },
        ...{ allocated_bytes: 70 * GIB, reserved_total_bytes: 77 * GIB, reserved_unallocated_bytes: 7 * GIB },
        ...{ private_pool_bytes: null, other_process_bytes: 79 * GIB },
      },
    ]);
    expect(verdict).toMatchObject({ cause: 'fragmentation', incident: 0 });
    const sum = verdict.accounting.reduce((total, part) => total + part.bytes, 0);
    expect(sum).toBe(verdict.accounting_total!.bytes);
  });

  it('of the 1.4 wording: what is reserved and not allocated is the difference', async () => {
    const { incidents } = await classified(
      'RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 10.00 GiB total capacity; 8.00 GiB already allocated; 5.00 MiB free; 9.00 GiB reserved in total by PyTorch)',
    );
    expect(incidents[0]).toMatchObject({
      requested_bytes: 20 * MIB,
      reserved_total_bytes: 9 * GIB,
      reserved_unallocated_bytes: GIB,
      other_process_bytes: null,
    });
  });

  it('judges the failure that says why, not the first line that says that', async () => {
    const { incidents, verdict } = await classified(
      [
        '[rank3]:[E1121 02:10:00.000000000 ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600010 milliseconds before timing out.',
        FULL,
      ].join('\n'),
    );
    expect(incidents[verdict.incident!]).toMatchObject({ kind: 'cuda_oom', rank: 5 });
  });

  it('of a text without failures decides nothing', async () => {
    const { incidents, verdict } = await classified('iteration 1/ 10 | all is well\n');
    expect(incidents).toEqual([]);
    expect(verdict).toMatchObject({ cause: 'undecided', detail: null, confidence: 'low', incident: null });
    expect((await classified('')).verdict.cause).toBe('undecided');
  });

  it('of a failure that is no memory failure says so', async () => {
    const { incidents, verdict } = await classified(
      'RuntimeError: CUDA error: an illegal memory access was encountered\n',
    );
    expect(incidents.map(({ is_oom }) => is_oom)).toEqual([false]);
    expect(verdict.cause).toBe('not_oom');
    expect(verdict.evidence.map(({ source }) => source)).toEqual(['pasted.txt line 1']);
  });
});
