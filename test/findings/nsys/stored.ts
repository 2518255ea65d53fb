/** Ranges and work of devices put straight into a store, as an ingest leaves them there. */
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import type { Store } from '../../../src/store/store.js';
import { newStore } from '../../support/new-store.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

export interface Range {
  readonly pid: number | null;
  readonly tid: number | null;
  readonly type: 'push_pop' | 'start_end' | 'mark' | 'domain';
  readonly startNs: number;
  readonly endNs: number | null;
  readonly domain: number | null;
  /** Null: without one. */
  readonly text: string | null;
}

/** Something that a device did. */
export interface Work {
  readonly pid: number | null;
  readonly device: number | null;
  readonly startNs: number;
  readonly endNs: number;
  /** Name of a kernel, or what else it is. */
  readonly what: string | 'memcpy' | 'memset' | 'graph';
  /** Of a kernel, with namespaces and arguments. */
  readonly completeName?: string;
}

/** Each list of ranges or work is a report of its own in the one store, so that reports must not mix. */
export interface ScratchStore {
  readonly store: Store;
  /** `unknown`: texts that the report does not have. */
  ranges(ranges: readonly Range[], unknown?: ReadonlySet<string>): Promise<number>;
  work(work: readonly Work[]): Promise<number>;
}

export const range = (text: string, startNs: number, endNs: number | null, more: Partial<Range> = {}): Range => ({
  ...{ pid: 1, tid: 1, type: 'push_pop', startNs, endNs, domain: 0, text, ...more },
});

/** For all tests of a file. */
export function scratchStore(): ScratchStore {
  const folder = temporaryDirectory();
  let store: Store;
  let sources = 0;
  beforeAll(async () => {
    store = await newStore(join(folder, 'store.duckdb'), { threads: 1 });
  });
  afterAll(() => store.close());
  const texts = (source_id: number, all: readonly string[]) =>
    all.map((text, text_id) => ({ source_id, text_id, text }));
  return {
    get store() {
      return store;
    },
    async ranges(ranges, unknown = new Set()) {
      const source_id = ++sources;
      const names = [...new Set(ranges.flatMap(({ text }) => (text === null ? [] : [text])))];
      const rows = ranges.map(({ pid, tid, type, startNs, endNs, domain, text }, seq) => ({
        ...{ source_id, seq, start_ns: startNs, end_ns: endNs, type, pid, tid, end_tid: null, domain, range_id: null },
        ...{ category: null, text_id: text === null ? null : names.indexOf(text) },
      }));
      await store.transaction(async () => {
        await store.insertRows(
          'nsys_text',
          texts(source_id, names).filter(({ text }) => !unknown.has(text)),
        );
        await store.insertRows('nsys_nvtx', rows);
      });
      return source_id;
    },
    async work(work) {
      const source_id = ++sources;
      const on = ({ pid, device, startNs, endNs }: Work) => ({
        ...{ source_id, start_ns: startNs, end_ns: endNs, pid, device, context: 1, stream: 7, correlation: null },
      });
      const kernels = work.filter(({ what }) => !['memcpy', 'memset', 'graph'].includes(what));
      const copies = work.filter(({ what }) => what === 'memcpy' || what === 'memset');
      const names = [...new Set(kernels.flatMap(({ what, completeName }) => [what, completeName ?? what]))];
      const kernelRows = kernels.map((one) => ({
        ...{ ...on(one), name_id: names.indexOf(one.what), blocks: 1, threads: 1, registers: null },
        demangled_id: one.completeName === undefined ? null : names.indexOf(one.completeName),
        ...{ local_memory_bytes: null, graph_node: null },
      }));
      const copyRows = copies.map((one) => ({
        ...{ ...on(one), operation: one.what, copy_kind: one.what === 'memcpy' ? 'host_to_device' : null, bytes: 1 },
        ...{ source_kind: null, target_kind: 'device', source_device: null, target_device: null },
        ...{ migration_cause: null, graph_node: null },
      }));
      const graphs = work.filter(({ what }) => what === 'graph');
      await store.transaction(async () => {
        await store.insertRows('nsys_text', texts(source_id, names));
        await store.insertRows('nsys_kernel', kernelRows);
        await store.insertRows('nsys_copy', copyRows);
        await store.insertRows(
          'nsys_graph',
          graphs.map((one) => ({ ...on(one), graph: 1, graph_exec: 1 })),
        );
      });
      return source_id;
    },
  };
}
