/** NVTX ranges open at one moment, thread by thread. */
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
  const stacks = new Map<string, { -readonly [Field in keyof NsysRangeStack]: NsysRangeStack[Field] }>();
  for (const row of rows) {
    // A start/end range may end on another thread: it belongs to the process.
    const tid = row.type === 'push_pop' ? row.tid : null;
    const key = `${row.pid}/${tid}`;
    const known = stacks.get(key) ?? {
      pid: row.pid,
      tid,
      thread: tid === null ? null : row.thread,
      rank: row.pid === null ? null : (ranks.get(row.pid) ?? null),
      ranges: [],
    };
    const { text, type, domain_name, start_ns, end_ns } = row;
    known.ranges = [...known.ranges, { text, type, domain: domain_name, start_ns, end_ns }];
    stacks.set(key, known);
  }
  return [...stacks.values()];
}
