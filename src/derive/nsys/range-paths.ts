/**
 * The NVTX ranges that were open on a thread at given times, computed in one walk over all ranges: each is opened and
 * closed once.
 */
import type { Store } from '../../store/store.js';

export interface RangeAsk {
  /** The caller's own; names the answer. */
  readonly index: number;
  readonly pid: number | null;
  readonly tid: number | null;
  readonly timeNs: number | null;
}

export interface RangePath {
  /** Outermost first. */
  readonly texts: readonly string[];
  /** One of them is of NCCL's own domain. */
  readonly isNccl: boolean;
}

interface Known {
  readonly index: number;
  readonly pid: number;
  readonly tid: number;
  readonly timeNs: number;
}

/** Open ranges of one thread; those below may end before those above where a program crosses them. */
class OpenRanges {
  private readonly ends: number[] = [];
  private readonly texts: number[] = [];
  private readonly nccl: boolean[] = [];

  push(endNs: number, text: number, isNccl: boolean): void {
    this.ends.push(endNs);
    this.texts.push(text);
    this.nccl.push(isNccl);
  }

  /** Removes what ended at `timeNs` or before, unless an open range is above it. */
  pass(timeNs: number): void {
    while (this.ends.length > 0 && this.ends.at(-1)! <= timeNs) {
      this.ends.pop();
      this.texts.pop();
      this.nccl.pop();
    }
  }

  at(timeNs: number): { readonly texts: number[]; readonly isNccl: boolean } {
    const open = this.ends.flatMap((end, i) => (end > timeNs ? [i] : []));
    return { texts: open.map((i) => this.texts[i]!), isNccl: open.some((i) => this.nccl[i]) };
  }

  clear(): void {
    this.ends.length = 0;
    this.texts.length = 0;
    this.nccl.length = 0;
  }
}

/** Answers by `index`; questions outside every range are left out. */
export async function rangePaths(
  store: Store,
  sourceId: number,
  asks: readonly RangeAsk[],
): Promise<ReadonlyMap<number, RangePath>> {
  const waiting = asks
    .flatMap(({ index, pid, tid, timeNs }): Known[] =>
      pid === null || tid === null || timeNs === null ? [] : [{ index, pid, tid, timeNs }],
    )
    .sort((a, b) => a.pid - b.pid || a.tid - b.tid || a.timeNs - b.timeNs);
  if (waiting.length === 0) return new Map();
  const paths = new Map<number, { readonly texts: number[]; readonly isNccl: boolean }>();
  const open = new OpenRanges();
  let next = 0;
  let thread: Pick<Known, 'pid' | 'tid'> = { pid: -1, tid: -1 };

  /** Answers the questions about the current thread before `untilNs`. */
  const answer = (untilNs: number): void => {
    for (; next < waiting.length; next++) {
      const ask = waiting[next]!;
      if (ask.pid !== thread.pid || ask.tid !== thread.tid || ask.timeNs >= untilNs) return;
      open.pass(ask.timeNs);
      const path = open.at(ask.timeNs);
      if (path.texts.length > 0) paths.set(ask.index, path);
    }
  };
  const spec = { pid: 'i32', tid: 'i32', start_ns: 'f64', end_ns: 'f64', text_id: 'f64', is_nccl: 'u8' } as const;
  for await (const { rows, columns } of store.readQueryColumns('nsys.ranges', { source_id: sourceId }, spec)) {
    for (let row = 0; row < rows; row++) {
      const pid = columns.pid[row]!;
      const tid = columns.tid[row]!;
      if (pid !== thread.pid || tid !== thread.tid) {
        answer(Number.POSITIVE_INFINITY);
        open.clear();
        thread = { pid, tid };
        // Questions about threads without ranges are between those about two threads that have some.
        while (next < waiting.length && isBefore(waiting[next]!, thread)) next++;
      }
      const start = columns.start_ns[row]!;
      answer(start);
      open.pass(start);
      const end = columns.end_ns[row]!;
      open.push(Number.isNaN(end) ? Number.POSITIVE_INFINITY : end, columns.text_id[row]!, columns.is_nccl[row] === 1);
    }
  }
  answer(Number.POSITIVE_INFINITY);

  const words = await readTexts(
    store,
    sourceId,
    [...paths.values()].flatMap(({ texts }) => texts),
  );
  return new Map(
    [...paths].map(([index, { texts, isNccl }]) => [
      index,
      { texts: texts.map((id) => words.get(id) ?? `text ${id}`), isNccl },
    ]),
  );
}

function isBefore(ask: Known, { pid, tid }: Pick<Known, 'pid' | 'tid'>): boolean {
  return ask.pid < pid || (ask.pid === pid && ask.tid < tid);
}

async function readTexts(store: Store, sourceId: number, ids: readonly number[]): Promise<ReadonlyMap<number, string>> {
  if (ids.length === 0) return new Map();
  const list = [...new Set(ids)].join(',');
  const rows = await store.all('nsys.texts', { source_id: sourceId, text_ids: list });
  return new Map(rows.map(({ text_id, text }) => [text_id, text]));
}
