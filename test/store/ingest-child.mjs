// Commits transactions to the store of argv[3] for ever, each with rows in two tables, and prints each number once it
// is committed. Transactions below argv[4] are already there. argv[5]: events per transaction.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [, , build, file, first, events] = process.argv;
const load = (...path) => import(pathToFileURL(join(build, 'src', ...path)).href);
const { openStore } = await load('store', 'open-store.js');
const { ColumnBatch, LAYOUTS, putI64 } = await load('model', 'columns.js');
const rows = Number(events);

try {
  const store = await openStore(file, { mode: 'write', memoryLimitBytes: 128 * 2 ** 20 });
  for (let number = Number(first); ; number += 1) {
    await store.transaction(async () => {
      const now = new Date();
      await store.insertRows('run', [
        { run_id: number, name: `run ${number}`, root_path: '/', created_at: now, touched_at: now },
      ]);
      const appender = await store.appender(LAYOUTS.trace_entry);
      const batch = new ColumnBatch(LAYOUTS.trace_entry, rows);
      batch.rows = rows;
      for (let row = 0; row < rows; row += 1) {
        batch.i32('snapshot_id')[row] = number;
        batch.i32('seq')[row] = row;
        putI64(batch.i64('addr'), row, (row * 2654435761) % 2 ** 40);
        putI64(batch.i64('size_bytes'), row, (row * 40503) % 65536);
      }
      appender.append(batch);
    });
    console.log(number);
    if (number % 3 === 0) await store.checkpoint();
  }
} catch (error) {
  console.log(JSON.stringify({ code: error.code, message: error.message, file: error.place?.file }));
  process.exit(0);
}
