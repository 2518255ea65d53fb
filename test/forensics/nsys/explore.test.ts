import { writeFileSync } from 'node:fs';
import { it } from 'vitest';
import { nsysText } from '../../../src/report/nsys-text.js';
import { scratchDirectory } from '../../store/scratch.js';
import { writePlantedRun } from '../../support/nsys/planted-run.js';
import { described } from './planted.js';
it.each(['2.9','3.16','3.28'] as const)('explore %s', async (schema) => {
  const dir = scratchDirectory();
  const t0 = Date.now();
  const run = writePlantedRun(dir, 1, schema);
  const t1 = Date.now();
  const result = await described(dir);
  console.log(schema, t1 - t0, Date.now() - t1);
  writeFileSync(`/tmp/explore-${schema}.json`, JSON.stringify(result, null, 1));
  writeFileSync(`/tmp/explore-${schema}.txt`, nsysText(result, { limit: Infinity }));
  writeFileSync(`/tmp/truth.json`, JSON.stringify(run.scenario.truth, (k, v) => typeof v === 'bigint' ? String(v) : v, 1));
});
