// Ingests argv[4] into the store of argv[3] with the code of argv[2] and argv[5] decoders, and prints each file.
// argv[6]: rowsOnly if nothing is to be concluded.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [, , build, file, path, decoders, rows] = process.argv;
const load = (name) => import(pathToFileURL(join(build, 'src', 'ingest', name)).href);
const { ingest } = await load('ingest.js');
const { storeToOpen } = await load('store-to-open.js');
const store = storeToOpen(file, { mode: 'write', threads: 1 });
const nothing = () => undefined;
const progress = { files: nothing, read: nothing, derive: nothing, done: (name) => console.log(name) };
try {
  const how = { run: 'x', paths: [path], now: new Date(0), rowsOnly: rows === 'rowsOnly', decoders: Number(decoders) };
  await ingest({ ...how, store, progress });
} finally {
  await store.close();
}
console.log('done');
