/** The open NVTX ranges at a moment of a memory snapshot. */
import type { NvtxAt } from '../../model/results/nsys.js';

/** Most threads listed; a step runs on two. */
const MOST_THREADS = 3;

/** `iteration 104 › forward › aten::mm (thread pt_main_thread; ±2 µs)` for each thread. */
export function nvtxTexts(nvtx: NvtxAt | null | undefined): string[] {
  if (nvtx === null || nvtx === undefined) return [];
  const error = nvtx.alignment.error_us;
  const clock = error === null ? 'clocks not compared' : `±${Math.max(1, Math.round(error))} µs`;
  return nvtx.stacks.slice(0, MOST_THREADS).map(({ thread, tid, ranges }) => {
    const who = tid === null ? 'the process' : `thread ${thread ?? tid}`;
    return `${ranges.map(({ text }) => text).join(' › ')} (${who}; ${clock})`;
  });
}
