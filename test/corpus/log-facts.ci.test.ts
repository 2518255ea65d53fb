/**
 * What independent readers found in the logs of the corpus, against what the verbs say of them. The table below is the
 * map from a fact to its place; a fact without a place stands there with the reason.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { explainLog } from '../../parsers/log/index.js';
import { effectiveConfig, readSettings } from '../../src/findings/run/config.js';
import { describeLog } from '../../src/findings/run/describe-log.js';
import { openByteSource } from '../../src/ingest/byte-source.js';
import { ingest } from '../../src/ingest/ingest.js';
import { canonicalConfigKey } from '../../src/knowledge/config-keys.js';
import type { ExplainResult } from '../../src/model/results/format.js';
import type { LogRun } from '../../src/model/results/log.js';
import { openStore } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import { CORPUS, skipLoudly } from '../support/corpus.js';

const LOGS = join(CORPUS, 'logs');
type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
type Facts = { readonly [key: string]: Json };

/** One log as the tool sees it. */
interface Seen {
  readonly run: LogRun;
  readonly explain: ExplainResult;
  readonly text: Buffer;
  readonly settings: ReadonlyMap<string, string | null>;
  rows(sql: string): Promise<readonly Record<string, unknown>[]>;
}

interface Place {
  /** JSON path of `log --json`, or SQL. */
  readonly where: string;
  /** Throws where the fact is not what the tool says. */
  check(seen: Seen, expected: Json): void | Promise<void>;
}

const close = (value: unknown, expected: Json, tolerance = 0.006): void => {
  expect(value === null ? Number.NaN : Math.abs(Number(value) - Number(expected))).toBeLessThanOrEqual(tolerance);
};
const path = (where: string, read: (run: LogRun) => unknown): Place => ({
  where: `log --json: ${where}`,
  check: ({ run }, expected) => expect(read(run)).toEqual(expected),
});
const sql = (statement: string, tolerance = 0): Place => ({
  where: `sql: ${statement}`,
  async check({ rows }, expected) {
    const [row] = await rows(statement);
    const value = Object.values(row ?? {})[0];
    if (typeof expected === 'number') close(value, expected, tolerance);
    else expect(value).toEqual(expected);
  },
});
/** Where a fact is no statement about the run, or has no place. */
const none = (reason: string): Place => ({ where: `none: ${reason}`, check: () => {} });

const MEGATRON_MEMORY = `format LIKE 'megatron%' AND moment = 'after iteration'`;
const METRICS = {
  allocated_MB: 'allocated',
  max_allocated_MB: 'max_allocated',
  reserved_MB: 'reserved',
  max_reserved_MB: 'max_reserved',
};

async function memoryRecords(seen: Seen, rank: string | null): Promise<Record<string, number>[]> {
  const where = rank === null ? 'rank IS NULL' : `rank = ${Number(rank)}`;
  const columns = Object.entries(METRICS).map(
    ([name, metric]) => `any_value(value) FILTER (metric = '${metric}') AS ${name}`,
  );
  const rows = await seen.rows(
    `SELECT any_value(iteration) AS after_iterations, ${columns.join(', ')} FROM memory_sample WHERE ${MEGATRON_MEMORY} AND ${where} GROUP BY line ORDER BY line`,
  );
  return rows as Record<string, number>[];
}

/**
 * The truth knows Megatron's own line, not the `key=value` form of one fork; where that occurs, the JSON counts it too.
 */
function iterations(where: string, read: (run: LogRun) => unknown, statement: string): Place {
  return {
    where: `log --json: ${where} (without the key=value form: sql)`,
    async check({ run, rows, explain }, expected) {
      const [row] = await rows(
        `SELECT ${statement} AS value FROM iteration WHERE format <> 'megatron-deepspeed.iteration-keys'`,
      );
      const value = row!['value'];
      if (typeof expected === 'number') close(value, expected);
      else expect(value).toBe(expected);
      if (explain.formats.some(({ id }) => id === 'megatron-deepspeed.iteration-keys')) return;
      if (typeof expected === 'number') close(read(run), expected);
      else expect(read(run)).toBe(expected);
    },
  };
}

const see = (index: 'first' | 'last'): string =>
  `SELECT value FROM memory_sample WHERE moment LIKE 'see_memory_usage%' AND metric NOT LIKE 'host%' ORDER BY line ${index === 'first' ? 'ASC' : 'DESC'} LIMIT 4`;

const PLACES: Readonly<Record<string, Place>> = {
  bytes: {
    where: 'sql: SELECT file_bytes FROM source',
    check: async ({ rows }, expected) => {
      const [row] = await rows('SELECT file_bytes FROM source');
      expect(row!['file_bytes']).toBe(expected);
    },
  },
  lines: {
    where: 'formats explain --json: lines (a line feed at the end begins no further line)',
    check: ({ explain, text }, expected) => expect(explain.lines + (text.at(-1) === 10 ? 1 : 0)).toBe(expected),
  },
  iteration_lines: iterations('runs[].iterations.count', (run) => run.iterations.count, 'count(*)'),
  step_lines: iterations('runs[].iterations.count', (run) => run.iterations.count, 'count(*)'),
  first_iteration: iterations('runs[].iterations.lowest', (run) => run.iterations.lowest, 'min(iteration)'),
  first_step: iterations('runs[].iterations.first', (run) => run.iterations.first, 'arg_min(iteration, line)'),
  last_iteration: iterations('runs[].iterations.highest', (run) => run.iterations.highest, 'max(iteration)'),
  last_step: iterations('runs[].iterations.last', (run) => run.iterations.last, 'arg_max(iteration, line)'),
  target_iterations: path('runs[].iterations.target', (run) => run.iterations.target),
  iterations_monotonic: path('runs[].iterations.monotonic', (run) => run.iterations.monotonic),
  mean_step_ms: iterations('runs[].iterations.mean_step_ms', (run) => run.iterations.mean_step_ms, 'avg(step_ms)'),
  mean_step_ms_excluding_first: {
    where:
      'sql: mean of step_ms of table iteration without the first line (`log --json` leaves out the first of each attempt)',
    async check({ rows }, expected) {
      const [row] = await rows(
        "SELECT avg(step_ms) AS mean FROM (SELECT step_ms FROM iteration WHERE format <> 'megatron-deepspeed.iteration-keys' ORDER BY line OFFSET 1)",
      );
      close(row!['mean'], expected);
    },
  },
  min_step_ms: iterations('runs[].iterations.min_step_ms', (run) => run.iterations.min_step_ms, 'min(step_ms)'),
  max_step_ms: iterations('runs[].iterations.max_step_ms', (run) => run.iterations.max_step_ms, 'max(step_ms)'),
  mean_step_s_from_timestamps_steps2_5: {
    where: 'sql: differences of time_us of table iteration',
    async check({ rows }, expected) {
      const [row] = await rows(
        'SELECT (max(time_us) - min(time_us)) / 1e6 / (count(*) - 1) AS mean FROM iteration WHERE iteration BETWEEN 2 AND 5',
      );
      const [whole] = await rows(
        'SELECT (max(time_us) - min(time_us)) / 1e6 / (count(*) - 1) AS mean FROM iteration WHERE iteration <= 5',
      );
      // The truth does not say whether step 1 opens the first interval.
      const nearest = [row!['mean'], whole!['mean']]
        .map(Number)
        .sort((a, b) => Math.abs(a - Number(expected)) - Math.abs(b - Number(expected)))[0];
      close(nearest, expected, 0.01);
    },
  },
  memory_report_records: sql(
    `SELECT count(*) FROM memory_sample WHERE ${MEGATRON_MEMORY} AND metric = 'allocated' AND rank IS NOT NULL`,
  ),
  ranks_with_memory_report: sql(`SELECT count(DISTINCT rank) FROM memory_sample WHERE ${MEGATRON_MEMORY}`),
  per_rank_memory: {
    where: 'log --json: runs[].memory',
    async check(seen, expected) {
      for (const [rank, records] of Object.entries(expected as Facts)) {
        const own = await memoryRecords(seen, rank);
        expect(own, `rank ${rank}`).toEqual(records);
        for (const [name, metric] of Object.entries(METRICS)) {
          const bytes = seen.run.memory
            .filter(
              (record) =>
                record.rank === Number(rank) && record.metric === metric && record.moment === 'after iteration',
            )
            .map((record) => record.bytes);
          expect(bytes).toEqual(
            (records as readonly Record<string, number>[]).map((record) => Math.round(record[name]! * 1024 ** 2)),
          );
        }
      }
    },
  },
  memory_report_no_rank: {
    where: 'log --json: runs[].memory with rank null',
    check: async (seen, expected) => expect(await memoryRecords(seen, null)).toEqual(expected),
  },
  peak_memory_GiB: sql(`SELECT max(value) FROM memory_sample WHERE format LIKE 'torchtitan%'`),
  peak_memory_pct: sql(`SELECT max(value) FROM log_value WHERE name = 'iteration.memory_percent'`),
  rank: sql('SELECT any_value(rank) FROM iteration'),
  cuda_graphs: {
    where: "sql: phase 'graph_capture'",
    check: async ({ rows }, expected) => {
      const [row] = await rows(`SELECT count(*) > 0 AS seen FROM phase WHERE phase = 'graph_capture'`);
      expect(row!['seen']).toBe(expected);
    },
  },
  error_kind: {
    where: 'log --json: runs[].first_failure',
    check: ({ run }, expected) => {
      if (expected === null) expect(run.incidents.filter(({ is_oom: isOom }) => isOom)).toEqual([]);
      else expect(run.first_failure?.kind).toBe(expected);
    },
  },
  theoretical_MB: {
    where: "sql: log_value 'theory.…'",
    async check({ rows }, expected) {
      for (const [name, megabytes] of Object.entries(expected as Facts)) {
        if (typeof megabytes !== 'number') continue;
        const [row] = await rows(`SELECT value FROM log_value WHERE name = 'theory.${name}'`);
        close(Number(row?.['value']) / 1024 ** 2, megabytes, 0.001);
      }
    },
  },
  mllog_records: {
    where: 'formats explain --json: records of mlperf.mllog',
    check: ({ explain }, expected) => {
      expect(explain.formats.find(({ id }) => id === 'mlperf.mllog')?.count).toBe(expected);
    },
  },
  mllog_key_counts: {
    where: "sql: log_value 'mllog.<key>.time_ms'",
    async check({ rows }, expected) {
      for (const [key, count] of Object.entries(expected as Facts)) {
        const [row] = await rows(`SELECT count(*) AS count FROM log_value WHERE name = 'mllog.${key}.time_ms'`);
        expect(Number(row!['count']), key).toBe(count);
      }
    },
  },
  mllog_values: {
    where: "sql: log_value 'mllog.<key>'",
    async check({ rows }, expected) {
      for (const [key, value] of Object.entries(expected as Facts)) {
        const tracked = /^tracked_stats_(\w+)_mean$/.exec(key)?.[1];
        const [row] =
          tracked !== undefined
            ? await rows(
                `SELECT avg(value) AS value, NULL AS text FROM log_value WHERE name = 'mllog.tracked_stats.${tracked}'`,
              )
            : key === 'tracked_stats_count'
              ? await rows(
                  `SELECT count(*) AS value, NULL AS text FROM log_value WHERE name = 'mllog.tracked_stats.time_ms'`,
                )
              : key === 'run_stop'
                ? // The truth takes the value that goes with the end: the last accuracy.
                  await rows(
                    `SELECT arg_max(value, line) AS value, NULL AS text FROM log_value WHERE name = 'mllog.eval_accuracy'`,
                  )
                : await rows(
                    `SELECT arg_max(value, line) AS value, arg_max(text, line) AS text FROM log_value WHERE name = 'mllog.${key}'`,
                  );
        if (typeof value === 'number') close(row?.['value'], value, 0.0001);
        else expect(row?.['text'], key).toBe(value);
      }
    },
  },
  hf_train_runtime_s: sql(`SELECT arg_max(value, line) FROM log_value WHERE name = 'hf.train_runtime'`, 0.001),
  deepspeed_see_memory_usage: {
    where: "sql: memory_sample of moment 'see_memory_usage: …'",
    async check({ rows }, expected) {
      const facts = expected as Facts;
      const [row] = await rows(
        `SELECT count(*) AS count FROM memory_sample WHERE moment LIKE 'see_memory_usage%' AND metric = 'allocated'`,
      );
      expect(Number(row!['count'])).toBe(facts['count']);
      for (const index of ['first', 'last'] as const) {
        const printed = (facts[index] as readonly string[]).filter((text) => text !== 'GB').map(Number);
        const values = (await rows(see(index))).map(({ value }) => Number(value));
        expect(values.sort((a, b) => a - b)).toEqual(printed.sort((a, b) => a - b));
      }
      const [most] = await rows(
        `SELECT max(value) AS value FROM memory_sample WHERE moment LIKE 'see_memory_usage%' AND metric = 'max_reserved'`,
      );
      close(most!['value'], facts['max_Max_CA']!);
    },
  },
  deepspeed_cpu_vm: {
    where: "sql: memory_sample 'host_used'",
    async check({ rows }, expected) {
      const facts = expected as Facts;
      const [row] = await rows(
        `SELECT count(*) AS count, max(value) AS most FROM memory_sample WHERE metric = 'host_used'`,
      );
      expect(Number(row!['count'])).toBe(facts['count']);
      close(row!['most'], facts['max_used_GB']!);
    },
  },
  'markers.slurm_cancelled': {
    where: 'formats explain --json: records of slurm.cancelled',
    check: ({ explain }, expected) => {
      expect(explain.formats.find(({ id }) => id === 'slurm.cancelled')?.count).toBe(expected);
    },
  },
  'markers.slurm_cancelled_text': {
    where: 'log --json: runs[].incidents[].text',
    check: ({ run }, expected) => {
      expect(
        run.incidents.some(({ text }) => text.includes(String(expected).replace(/^slurmstepd: error: | \*\*\*$/g, ''))),
      ).toBe(true);
    },
  },
  'markers.slurm_time_limit': path(
    "number of runs[].incidents of kind 'time_limit'",
    (run) => run.incidents.filter(({ kind }) => kind === 'time_limit').length,
  ),
  'markers.sigterm': sql(`SELECT count(*) FROM log_value WHERE name = 'launcher.sigterm'`),
  'markers.killing_subprocess': sql(`SELECT count(*) FROM log_value WHERE name = 'launcher.killed_subprocess'`),
  'markers.overflow_skip': sql(`SELECT count(*) FROM log_value WHERE name = 'overflow.skipped_step'`),
  srun_label_prefix_ranks: none(
    'counts lines that begin with a number and a colon, which in two of three logs are an enumeration of layers',
  ),
  srun_labelled_lines: none('as above; lines are not counted by their prefix'),
  torchrun_default_prefixes: none(
    'lines are not counted by their prefix; what a prefix says stands in rank, local_rank and host of every row',
  ),
  note_memory_lines: none('a remark'),
  note: none('a remark'),
};

/** A setting of the truth, by any of its spellings. */
function configPlace(key: string): Place {
  return {
    where: `config --json: settings[key=${canonicalConfigKey(key)}]; none where it stands in no setting of the log, only in a path`,
    check({ settings, run, text }, expected) {
      const parallel: Readonly<Record<string, number | null>> = {
        world_size: run.world_size,
        tp: run.parallel.tp,
        pp: run.parallel.pp,
        dp: run.parallel.dp,
      };
      const value = key in parallel ? parallel[key] : settings.get(canonicalConfigKey(key));
      if (value === undefined) {
        // A number that stands only inside a path is no setting of the log; anywhere else it must have been read.
        const printed = new RegExp(`${key.replaceAll('_', '[-_ ]')}[^0-9a-z/]{0,60}${String(expected)}\\b`, 'i');
        expect(text.toString('latin1')).not.toMatch(printed);
        return;
      }
      const plain = (text: unknown): unknown => (String(text).toLowerCase() === 'true' ? '1' : String(text));
      expect(plain(value)).toBe(plain(expected));
    },
  };
}

const BANNER: Readonly<Record<string, (run: LogRun) => number | null>> = {
  world_size: (run) => run.world_size,
  dp: (run) => run.parallel.dp,
  tp: (run) => run.parallel.tp,
  pp: (run) => run.parallel.pp,
  mp: (run) => run.parallel.tp,
};
const NO_BANNER_PLACE: Readonly<Record<string, string>> = {
  params_billion: "log_value 'theory.parameters.…' of the estimator",
};

describe('facts of the logs of the corpus', () => {
  if (!existsSync(LOGS)) {
    skipLoudly('log facts', 'the corpus (set MBF_CORPUS)');
    return;
  }
  const names = readdirSync(LOGS)
    .filter((name) => existsSync(join(LOGS, `${name}.meta.json`)))
    .sort();
  let store: Store;
  let directory: string;
  const seen = new Map<string, Seen>();
  const table = new Map<string, { place: string; checked: number }>();
  const homeless: string[] = [];

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'mbf-logs-'));
    store = await openStore(join(directory, 'logs.duckdb'), { mode: 'write' });
    for (const name of names) {
      const file = join(LOGS, name);
      await ingest({ store, parsers: PARSERS, paths: [file], run: name, now: new Date() });
      const run = (await store.all('store.runs', { run_id: null })).find((row) => row.name === name)!;
      const opened = await openByteSource(file);
      const explain = await explainLog(opened.source, name, 0).finally(() => opened.close());
      const [log] = (await describeLog(store, run.run_id, name)).runs;
      seen.set(name, {
        run: log!,
        explain,
        text: readFileSync(file),
        settings: new Map(
          effectiveConfig(await readSettings(store, run.run_id)).settings.map(({ key, value }) => [key, value]),
        ),
        rows: (statement) =>
          store.select(
            statement.replace(
              /FROM (iteration|memory_sample|log_value|phase|source)\b/g,
              `FROM (SELECT * FROM $1 WHERE run_id = ${run.run_id}) AS $1`,
            ),
          ),
      });
    }
  });

  afterAll(async () => {
    await store?.close();
    rmSync(directory, { recursive: true, force: true });
    const rows = [...table].map(([fact, { place, checked }]) => `  ${fact} (${checked} logs) → ${place}`);
    console.info(['fact → place', ...rows, ...homeless.map((fact) => `  ${fact} → NO PLACE YET`)].join('\n'));
  });

  it.each(names)('%s', async (name) => {
    const { expected } = JSON.parse(readFileSync(join(LOGS, `${name}.meta.json`), 'utf8')) as { expected: Facts };
    const one = seen.get(name)!;
    const facts: [string, Json, Place | undefined][] = [];
    for (const [fact, value] of Object.entries(expected)) {
      if (fact === 'config') {
        for (const [key, setting] of Object.entries(value as Facts)) {
          if (key === 'banner') {
            for (const [axis, size] of Object.entries(setting as Facts)) {
              const read = BANNER[axis];
              if (size !== null)
                facts.push([
                  `config.banner.${axis}`,
                  size,
                  read &&
                    path(`runs[].${axis === 'world_size' ? axis : `parallel.${axis === 'mp' ? 'tp' : axis}`}`, read),
                ]);
            }
          } else if (NO_BANNER_PLACE[key] !== undefined)
            facts.push([`config.${key}`, setting, none(NO_BANNER_PLACE[key])]);
          else facts.push([`config.${key}`, setting, configPlace(key)]);
        }
      } else if (fact === 'markers') {
        for (const [marker, count] of Object.entries(value as Facts))
          facts.push([`markers.${marker}`, count, PLACES[`markers.${marker}`]]);
      } else facts.push([fact, value, PLACES[fact]]);
    }
    const wrong: string[] = [];
    for (const [fact, value, place] of facts) {
      if (place === undefined) {
        homeless.push(`${name}: ${fact}`);
        continue;
      }
      const known = table.get(fact) ?? { place: place.where, checked: 0 };
      table.set(fact, { ...known, checked: known.checked + 1 });
      try {
        await place.check(one, value);
      } catch (error) {
        wrong.push(
          `${fact} → ${place.where}: ${error instanceof Error ? error.message.replaceAll(/\s+/g, ' ').slice(0, 300) : String(error)}`,
        );
      }
    }
    expect(wrong).toEqual([]);
  });
});
