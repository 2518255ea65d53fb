/** The open NVTX ranges at a moment of a memory snapshot. */
import type { NvtxAt } from '../../model/results/nsys.js';
import { shortText, UNKNOWN, wrapped } from '../text-pieces.js';

/** Most threads listed; a step runs on two. */
const MOST_THREADS = 3;

/** `  nvtx       iteration 104 › forward › aten::mm (thread pt_main_thread; ±2 µs)`. */
export function nvtxLines(nvtx: NvtxAt | null | undefined, label = 'nvtx'): string[] {
  if (nvtx === null || nvtx === undefined) return [];
  const error = nvtx.alignment.error_us;
  const clock = error === null ? 'clocks taken at their word' : `±${Math.max(1, Math.round(error))} µs`;
  return nvtx.stacks.slice(0, MOST_THREADS).flatMap(({ thread, tid, ranges }) => {
    const path = ranges.map(({ text }) => text).join(' › ');
    const who = tid === null ? 'the process' : `thread ${thread ?? tid ?? UNKNOWN}`;
    return wrapped(`  ${label.padEnd(9)}  ${shortText(path, 150)} (${shortText(who, 40)}; ${clock})`, '             ');
  });
}
