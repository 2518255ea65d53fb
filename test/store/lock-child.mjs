// Opens the store of argv[3] in mode argv[4] with the code of argv[2], reports it, and holds it until a line arrives.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [, , build, file, mode] = process.argv;
const { openStore } = await import(pathToFileURL(join(build, 'src', 'store', 'open-store.js')).href);
try {
  const store = await openStore(file, { mode });
  console.log('open');
  await new Promise((resolve) => process.stdin.once('data', resolve));
  await store.close();
  console.log('closed');
} catch (error) {
  console.log(JSON.stringify({ code: error.code, message: error.message, file: error.place?.file }));
}
process.exit(0);
