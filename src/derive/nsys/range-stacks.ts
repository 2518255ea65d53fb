/** NVTX ranges open at one moment, thread by thread. */
import { groupBy } from '../../model/group-by.js';
import { pick } from '../../model/pick.js';
import type { NsysRangeStack } from '../../model/results/nsys.js';
import type { Store } from '../../store/store.js';

/** Of every process, or of one. Ranges without a thread make a stack of their own. */
export async function rangeStacks(
  store: Store,
  sourceId: number,
  timeNs: number,
  pid: number | null,
  ranks: ReadonlyMap<number, number> = new Map(),
): Promise<NsysRangeStack[]> {
  const rows = await store.all('nsys.ranges_at', { source_id: sourceId, time_ns: Math.round(timeNs), pid });
  // A start/end range may end on another thread: it belongs to the process.
  const stacks = groupBy(rows, ({ pid: process, type, tid }) => `${process}/${type === 'push_pop' ? tid : null}`);
  return [...stacks.values()].map((open) => {
    const { pid: process, type, tid, thread } = open[0]!;
    return {
      pid: process,
      ...(type === 'push_pop' && tid !== null ? { tid, thread } : { tid: null, thread: null }),
      rank: process === null ? null : (ranks.get(process) ?? null),
      ranges: open.map(({ domain_name: domain, ...range }) => ({
        ...pick(range, ['text', 'type']),
        domain,
        ...pick(range, ['start_ns', 'end_ns']),
      })),
    };
  });
}
