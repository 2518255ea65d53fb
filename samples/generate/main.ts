/** `node dist/samples/generate/main.js --seed N --out DIR`: writes the sample run into DIR. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildSample } from './sample.js';

const { values } = parseArgs({ options: { seed: { type: 'string' }, out: { type: 'string' } } });
const seed = Number(values.seed);
if (values.seed === undefined || values.out === undefined || !Number.isSafeInteger(seed)) {
  process.stderr.write('usage: node dist/samples/generate/main.js --seed N --out DIR\n');
  process.exit(2);
}
const files = buildSample(seed);
mkdirSync(values.out, { recursive: true });
for (const [name, bytes] of files) {
  writeFileSync(join(values.out, name), bytes);
  process.stdout.write(`${join(values.out, name)}: ${bytes.length} bytes\n`);
}
