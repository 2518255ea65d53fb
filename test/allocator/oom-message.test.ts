/** Every wording torch has had, from the model's numbers and back through the log parser. */
import { describe, expect, it } from 'vitest';
import { incidentsInText } from '../../parsers/log/index.js';
import { MORE_THAN_1EB_MESSAGE, type OomWording, oomMessage } from '../../samples/generate/write/oom-message.js';
import type { OomReport } from '../../src/allocator/oom-report.js';
import { GIB, MIB } from '../../src/model/units.js';

const report: OomReport = {
  requestedBytes: 2 * GIB,
  roundedBytes: 2 * GIB,
  segmentBytes: 2 * GIB,
  stream: 0,
  deviceTotalBytes: 79.25 * GIB,
  deviceFreeBytes: 1.5 * GIB,
  processBytes: 70.25 * GIB,
  allowedBytes: null,
  allocatedBytes: 60.5 * GIB,
  reservedBytes: 66.75 * GIB,
  privatePoolFreeBytes: 0,
};
const WORDINGS: readonly OomWording[] = ['1.0', '1.4', '1.10', '2.1', '2.2', '2.5', '2.11'];

/** The one incident in a traceback's last line. */
function read(message: string) {
  const incidents = incidentsInText(`RuntimeError: ${message}\n`);
  expect(incidents).toHaveLength(1);
  return incidents[0]!;
}

describe('out-of-memory messages', () => {
  it.each(WORDINGS)('of torch %s are read back with every figure', (wording) => {
    const row = read(oomMessage(report, 3, { wording }));
    expect(row).toMatchObject({ kind: 'cuda_oom', device: 3 });
    const bytes = Object.fromEntries(Object.entries(row.bytes).map(([name, figure]) => [name, figure?.bytes]));
    expect(bytes).toMatchObject({ requested: 2 * GIB, total: 79.25 * GIB, free: 1.5 * GIB, allocated: 60.5 * GIB });
  });

  it('list other processes, and our own as one of them where the container hides it', () => {
    const row = read(oomMessage(report, 0, { otherProcesses: [{ pid: 77, bytes: 7 * GIB }], listedAsPid: 4711 }));
    expect(row.processes.map(({ pid, printed }) => [pid, printed.bytes])).toEqual([
      [77, 7 * GIB],
      [4711, 70.25 * GIB],
    ]);
  });

  it('say what private pools hold and what a fraction allows, from 2.5', () => {
    const limited = { ...report, allowedBytes: 68 * GIB, privatePoolFreeBytes: 512 * MIB };
    const text = oomMessage(limited, 0, { wording: '2.5' });
    expect(text).toContain(
      '68.00 GiB allowed; Of the allocated memory 61.00 GiB is allocated by PyTorch, with 512.00 MiB allocated in private pools ' +
        '(e.g., CUDA Graphs), and 5.75 GiB is reserved by PyTorch but unallocated.',
    );
    expect(oomMessage(limited, 0, { wording: '2.2' })).toContain(
      '. Of the allocated memory 60.50 GiB is allocated by PyTorch, and 6.25 GiB is reserved',
    );
    expect(oomMessage(limited, 0, { wording: '1.10' })).toContain(
      '1.50 GiB free; 68.00 GiB allowed; 66.75 GiB reserved in total by PyTorch)',
    );
  });

  it('keep torch’s misspelling of 2.1 and its hints', () => {
    expect(oomMessage(report, 0, { wording: '2.1' })).toMatch(/capacty of .* max_split_size_mb to avoid/);
    expect(oomMessage(report, 0, { wording: '2.2' })).toMatch(/capacity of .*expandable_segments:True to avoid/);
    expect(oomMessage(report, 0, { wording: '2.11' })).toMatch(/docs\.pytorch\.org/);
    expect(oomMessage(report, 0, { wording: '1.0' })).toMatch(/1\.50 GiB free; 6\.25 GiB cached\)$/);
  });

  it('are no memory matter beyond an exbibyte', () => {
    expect(read(MORE_THAN_1EB_MESSAGE).kind).toBe('not_oom');
  });
});
