/** Questions about a launch of many iterations have an answer within the memory of an ingest. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { INGEST_RESOURCES } from '../../src/cli/path-store.js';
import { newStore } from '../support/new-store.js';
import { scratchDirectory } from './scratch.js';

const ITERATIONS = 600_000;

it('the steady steps, ends and rates of 600,000 iterations', async () => {
  const store = await newStore(join(scratchDirectory(), 'long.duckdb'), INGEST_RESOURCES);
  const now = new Date(0);
  await store.insertRows('run', [{ run_id: 1, name: 'r', root_path: '/r', created_at: now, touched_at: now }]);
  const file = { path: '/r/a', display_path: 'a', status: 'ingested', file_bytes: 1, parser_version: 1 };
  await store.insertRows('source', [{ source_id: 1, run_id: 1, attempt: 1, format: 'log', ...file, ingested_at: now }]);
  await store.insertRows('text_value', [{ text_id: 1, text: 'megatron.iteration' }]);
  // One iteration in 10 takes twice as long.
  await store.run(
    `INSERT INTO log_iteration BY NAME
     SELECT 1 AS source_id, 1 AS attempt, i + 1 AS line, i * 300 AS byte_offset, 1 AS format_id, i * 1000000 AS time_us,
       i + 1 AS iteration, CASE WHEN i % 10 = 5 THEN 2000 ELSE 1000 END AS step_ms, 3 + sin(i) AS loss, 400 AS tflops_per_gpu
     FROM range(${ITERATIONS}) AS lines(i)`,
  );
  const steady = await store.one('measure.steady_steps', { run_id: 1 });
  // The first line is warm-up.
  expect(steady).toMatchObject({ from: 2, to: ITERATIONS, count: ITERATIONS - 1, median_ms: 1000, max_ms: 2000 });
  expect(await store.all('log.launch_ends', { run_id: 1 })).toMatchObject([{ last_iteration: ITERATIONS }]);
  expect(await store.one('log.line_intervals', { run_id: 1 })).toMatchObject({
    median_ms: 1000,
    count: ITERATIONS - 1,
  });
  expect(await store.all('log.iterations', { run_id: 1, newest: 2 })).toMatchObject([
    { iteration: ITERATIONS - 1 },
    { iteration: ITERATIONS },
  ]);
  await store.close();
});
