/**
 * `node formats-child.js megatron|all FILE`: the log reader over a file with some of its formats, twice; rows are only
 * counted. The failure grammar and the tracebacks are read in both.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { LOG_FORMATS, MEGATRON_FAMILY } from '../parsers/log/formats/index.js';
import { logVocabulary, readLog } from '../parsers/log/read-log.js';
import type { ParseReport } from './case.js';

const [which, file] = process.argv.slice(2);
if ((which !== 'megatron' && which !== 'all') || file === undefined)
  throw new Error('usage: formats-child.js megatron|all FILE');
const vocabulary = logVocabulary(which === 'all' ? LOG_FORMATS : MEGATRON_FAMILY);

const counts = { events: 0, incidents: 0, logRows: 0 };
const seconds: number[] = [];
for (let pass = 0; pass < 2; pass += 1) {
  counts.incidents = 0;
  counts.logRows = 0;
  const descriptor = openSync(file, 'r');
  const began = performance.now();
  await readLog(
    {
      sizeBytes: fstatSync(descriptor).size,
      read: async (target, start) => readSync(descriptor, target, start, target.length - start, null),
    },
    {
      incident() {
        counts.incidents += 1;
      },
      note() {},
      logRow() {
        counts.logRows += 1;
      },
    },
    vocabulary,
  );
  seconds.push((performance.now() - began) / 1000);
  closeSync(descriptor);
}
const report: ParseReport = { seconds, counts };
process.stdout.write(JSON.stringify(report));
