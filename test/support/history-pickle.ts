/** Random histories of the allocator model as the snapshot files torch would write of them. */

import type { TorchRelease } from '../../samples/generate/run.js';
import type { CodeLine } from '../../samples/generate/simulate/code-line.js';
import type { RankProcess, Traceback } from '../../samples/generate/simulate/rank-process.js';
import { type PyDict, pickle } from '../../samples/generate/write/pickle-writer.js';
import { snapshotValue } from '../../samples/generate/write/snapshot-pickle.js';
import type { SegmentSnapshot } from '../../src/allocator/caching/allocator-snapshot.js';
import type { TraceEntry } from '../../src/allocator/caching/caching-allocator.js';
import type { Played } from '../allocator/history.js';

export interface HistoryForm {
  /** The ring keeps the last entries; default: all. */
  readonly maxEntries?: number;
  /** torch 2.13 records that the ring overflowed. */
  readonly overflowed?: boolean;
  readonly torch?: TorchRelease;
}

export function historyPickle(played: Played, conf: string, form: HistoryForm = {}): Buffer {
  const tracebacks = new Map<number, Traceback>();
  const traceback = (step: number | null): Traceback | null => {
    if (step === null) return null;
    let known = tracebacks.get(step);
    if (known === undefined) {
      const line: CodeLine = { name: `step_${step}`, filename: '/job/train.py', line: step + 1, source: '' };
      known = { frames: [line] } as Traceback;
      tracebacks.set(step, known);
    }
    return known;
  };
  const trace = played.trace.map(
    (entry, i): TraceEntry<Traceback> => ({
      ...entry,
      stack: traceback(entry.stack),
      timeUs: 1_700_000_000_000_000 + 10 * i,
    }),
  );
  const segments = played.allocator.snapshot().map(
    (segment): SegmentSnapshot<Traceback> => ({
      ...segment,
      stack: traceback(segment.stack),
      blocks: segment.blocks.map((block) => ({ ...block, stack: traceback(block.stack) })),
    }),
  );
  const process = {
    device: 0,
    trace,
    annotations: [],
    allocator: { settings: played.settings, snapshot: () => segments },
  } as unknown as RankProcess;
  const value = snapshotValue(process, {
    torch: form.torch ?? '2.12',
    deviceCount: 1,
    allocConf: conf,
    maxEntries: form.maxEntries ?? Number.POSITIVE_INFINITY,
  });
  if (form.overflowed !== undefined)
    (value.get('allocator_settings') as PyDict).set('trace_alloc_overflowed', [form.overflowed]);
  return pickle(value);
}
