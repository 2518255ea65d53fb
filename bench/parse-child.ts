/**
 * `node parse-child.js FORMAT FILE`: one parser alone, twice over a file, its rows only counted. The first pass pays
 * for compiling the code, as every `ingest` does; the second shows what the code can do. No hashing, no derived
 * columns, no store.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { basename } from 'node:path';
import { PARSERS } from '../parsers/index.js';
import type { ByteSource, RowSink } from '../src/model/parser.js';
import type { ParseReport } from './case.js';

const [format, file] = process.argv.slice(2);
const parser = PARSERS.find((candidate) => candidate.id === format);
if (parser === undefined || file === undefined) throw new Error('usage: parse-child.js FORMAT FILE');

const counts = { events: 0, incidents: 0, logRows: 0 };
const sink: RowSink = {
  note() {},
  incident() {
    counts.incidents += 1;
  },
  logRow() {
    counts.logRows += 1;
  },
  attempt() {},
  profilerMemory() {},
  snapshot: async () => ({
    events(batch) {
      counts.events += batch.rows;
    },
    segments() {},
    blocks() {},
    annotations() {},
    hostEvents() {},
    hostSegments() {},
    oom() {},
    eventExtra() {},
    end() {},
  }),
};

const seconds: number[] = [];
for (let pass = 0; pass < 2; pass += 1) {
  counts.events = 0;
  counts.incidents = 0;
  const descriptor = openSync(file, 'r');
  const source: ByteSource = {
    // The decoder sizes its memo by it.
    sizeBytes: fstatSync(descriptor).size,
    read: async (target, start) => readSync(descriptor, target, start, target.length - start, null),
  };
  const began = performance.now();
  await parser.parse(source, sink, { name: basename(file) });
  seconds.push((performance.now() - began) / 1000);
  closeSync(descriptor);
}
const report: ParseReport = { seconds, counts };
process.stdout.write(JSON.stringify(report));
