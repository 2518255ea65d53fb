/**
 * What independent readers found in the logs of the corpus, against the stores and answers of the program. PLACES is
 * the map from a fact to its place; a fact without a place is there with the reason.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { explainLog } from '../../parsers/log/index.js';
import { effectiveConfig, readSettings } from '../../src/derive/run/config.js';
import { describeLog } from '../../src/findings/run/describe-log.js';
import { ingest } from '../../src/ingest/ingest.js';
import { openByteSource } from '../../src/ingest/read/byte-source.js';
import { canonicalConfigKey } from '../../src/knowledge/config-keys.js';
import type { FormatsExplainResult } from '../../src/model/results/format.js';
import type { LogRun } from '../../src/model/results/log.js';
import { openStore } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import { newStore } from '../support/new-store.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { corpusSuite, LOGS, logNames } from './corpus-suite.js';

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
type Facts = { readonly [key: string]: Json };

/** One log as the program reads it. */
interface Seen {
  readonly run: LogRun;
  readonly explain: FormatsExplainResult;
  readonly text: Buffer;
  readonly settings: ReadonlyMap<string, string | null>;
  rows(sql: string): Promise<readonly Record<string, unknown>[]>;
}

/** Throws where the fact is not what the program answers. */
type Place = (seen: Seen, expected: Json) => void | Promise<void>;

const close = (value: unknown, expected: Json, tolerance = 0.006): void => {
  expect(value === null ? Number.NaN : Math.abs(Number(value) - Number(expected))).toBeLessThanOrEqual(tolerance);
};
const read =
  (of: (run: LogRun) => unknown): Place =>
  ({ run }, expected) =>
    expect(of(run)).toEqual(expected);
/** The value of the first row, in its first column. */
const value = async ({ rows }: Seen, statement: string): Promise<unknown> =>
  Object.values((await rows(statement))[0] ?? {})[0];
const sql =
  (statement: string, tolerance = 0): Place =>
  async (seen, expected) => {
    const found = await value(seen, statement);
    if (typeof expected === 'number') close(found, expected, tolerance);
    else expect(found).toEqual(expected);
  };
/** Where a fact is no statement about the run, or has no place: with the reason. */
const none =
  (_reason: string): Place =>
  () => {};
/** Every fact of a record, by a statement of its own. */
const each =
  (statement: (key: string) => string, tolerance = 0): Place =>
  async (seen, expected) => {
    for (const [key, fact] of Object.entries(expected as Facts))
      if (typeof fact === 'number') close(await value(seen, statement(key)), fact, tolerance);
  };
const countOf =
  (format: string): Place =>
  ({ explain }, expected) =>
    expect(explain.formats.find(({ id }) => id === format)?.count).toBe(expected);

const MEGATRON_MEMORY = `format LIKE 'megatron%' AND moment = 'after iteration'`;
const METRICS = {
  ...{ allocated_MB: 'allocated', max_allocated_MB: 'max_allocated' },
  ...{ reserved_MB: 'reserved', max_reserved_MB: 'max_reserved' },
};

async function memoryRecords(seen: Seen, rank: string | null): Promise<Record<string, number>[]> {
  const where = rank === null ? 'rank IS NULL' : `rank = ${Number(rank)}`;
  const columns = Object.entries(METRICS).map(
    ([name, metric]) => `any_value(value) FILTER (metric = '${metric}') AS ${name}`,
  );
  const rows = await seen.rows(
    `SELECT any_value(iteration) AS after_iterations, ${columns.join(', ')} FROM memory_sample
     WHERE ${MEGATRON_MEMORY} AND ${where} GROUP BY line ORDER BY line`,
  );
  return rows as Record<string, number>[];
}

/**
 * The truth knows Megatron's own line, not the `key=value` form of one fork; where that occurs, the JSON counts it too.
 */
function iterations(statement: string, of: (run: LogRun['iterations']) => unknown): Place {
  return async (seen, expected) => {
    const same = (found: unknown): void =>
      typeof expected === 'number' ? close(found, expected) : expect(found).toBe(expected);
    same(await value(seen, `SELECT ${statement} FROM iteration WHERE ${OWN_LINE}`));
    if (!seen.explain.formats.some(({ id }) => id === 'megatron-deepspeed.iteration-keys'))
      same(of(seen.run.iterations));
  };
}
const OWN_LINE = `format <> 'megatron-deepspeed.iteration-keys'`;
const MEAN_SECONDS = 'SELECT (max(time_us) - min(time_us)) / 1e6 / (count(*) - 1) FROM iteration WHERE iteration';
const SEE = `FROM memory_sample WHERE moment LIKE 'see_memory_usage%'`;
const COUNT = iterations('count(*)', ({ count }) => count);

const PLACES: Readonly<Record<string, Place>> = {
  bytes: sql('SELECT file_bytes FROM source'),
  // A line feed at the end begins no further line.
  lines: ({ explain, text }, expected) => expect(explain.lines + (text.at(-1) === 10 ? 1 : 0)).toBe(expected),
  iteration_lines: COUNT,
  step_lines: COUNT,
  first_iteration: iterations('min(iteration)', ({ lowest }) => lowest),
  first_step: iterations('arg_min(iteration, line)', ({ first }) => first),
  last_iteration: iterations('max(iteration)', ({ highest }) => highest),
  last_step: iterations('arg_max(iteration, line)', ({ last }) => last),
  target_iterations: read((run) => run.iterations.target),
  iterations_monotonic: read((run) => run.iterations.monotonic),
  mean_step_ms: iterations('avg(step_ms)', (of) => of.mean_step_ms),
  // `log --json` leaves out the first line of each attempt.
  mean_step_ms_excluding_first: sql(
    `SELECT avg(step_ms) FROM (SELECT step_ms FROM iteration WHERE ${OWN_LINE} ORDER BY line OFFSET 1)`,
    0.006,
  ),
  min_step_ms: iterations('min(step_ms)', (of) => of.min_step_ms),
  max_step_ms: iterations('max(step_ms)', (of) => of.max_step_ms),
  async mean_step_s_from_timestamps_steps2_5(seen, expected) {
    const means = [await value(seen, `${MEAN_SECONDS} BETWEEN 2 AND 5`), await value(seen, `${MEAN_SECONDS} <= 5`)];
    // The truth does not state whether step 1 opens the first interval.
    const off = (mean: unknown): number => Math.abs(Number(mean) - Number(expected));
    close(means.sort((a, b) => off(a) - off(b))[0], expected, 0.01);
  },
  memory_report_records: sql(
    `SELECT count(*) FROM memory_sample WHERE ${MEGATRON_MEMORY} AND metric = 'allocated' AND rank IS NOT NULL`,
  ),
  ranks_with_memory_report: sql(`SELECT count(DISTINCT rank) FROM memory_sample WHERE ${MEGATRON_MEMORY}`),
  async per_rank_memory(seen, expected) {
    for (const [rank, records] of Object.entries(expected as Readonly<Record<string, Record<string, number>[]>>)) {
      expect(await memoryRecords(seen, rank), `rank ${rank}`).toEqual(records);
      const own = seen.run.memory.filter((row) => row.rank === Number(rank) && row.moment === 'after iteration');
      for (const [name, metric] of Object.entries(METRICS)) {
        const bytes = own.filter((row) => row.metric === metric).map((row) => row.bytes);
        expect(bytes).toEqual(records.map((record) => Math.round(record[name]! * 1024 ** 2)));
      }
    }
  },
  memory_report_no_rank: async (seen, expected) => expect(await memoryRecords(seen, null)).toEqual(expected),
  peak_memory_GiB: sql(`SELECT max(value) FROM memory_sample WHERE format LIKE 'torchtitan%'`),
  peak_memory_pct: sql(`SELECT max(value) FROM log_value WHERE name = 'iteration.memory_percent'`),
  rank: sql('SELECT any_value(rank) FROM iteration'),
  cuda_graphs: sql(`SELECT count(*) > 0 FROM phase WHERE phase = 'graph_capture'`),
  error_kind({ run }, expected) {
    if (expected === null) expect(run.incidents.filter(({ is_oom: isOom }) => isOom)).toEqual([]);
    else expect(run.first_failure?.kind).toBe(expected);
  },
  theoretical_MB: each((name) => `SELECT value / 1024 ** 2 FROM log_value WHERE name = 'theory.${name}'`, 0.001),
  mllog_records: countOf('mlperf.mllog'),
  mllog_key_counts: each((key) => `SELECT count(*) FROM log_value WHERE name = 'mllog.${key}.time_ms'`),
  async mllog_values(seen, expected) {
    for (const [key, fact] of Object.entries(expected as Facts)) {
      const tracked = /^tracked_stats_(\w+)_mean$/.exec(key)?.[1];
      const from = (what: string, name: string): string => `SELECT ${what} FROM log_value WHERE name = 'mllog.${name}'`;
      const statement =
        tracked !== undefined
          ? from('avg(value)', `tracked_stats.${tracked}`)
          : key === 'tracked_stats_count'
            ? from('count(*)', 'tracked_stats.time_ms')
            : // The truth takes the value that goes with the end: the last accuracy.
              from('arg_max(value, line)', key === 'run_stop' ? 'eval_accuracy' : key);
      if (typeof fact === 'number') close(await value(seen, statement), fact, 0.0001);
      else expect(await value(seen, from('arg_max(text, line)', key)), key).toBe(fact);
    }
  },
  hf_train_runtime_s: sql(`SELECT arg_max(value, line) FROM log_value WHERE name = 'hf.train_runtime'`, 0.001),
  async deepspeed_see_memory_usage(seen, expected) {
    const facts = expected as Facts;
    expect(Number(await value(seen, `SELECT count(*) ${SEE} AND metric = 'allocated'`))).toBe(facts['count']);
    for (const [index, order] of [['first', 'ASC'] as const, ['last', 'DESC'] as const]) {
      const printed = (facts[index] as readonly string[]).filter((text) => text !== 'GB').map(Number);
      const rows = await seen.rows(`SELECT value ${SEE} AND metric NOT LIKE 'host%' ORDER BY line ${order} LIMIT 4`);
      expect(rows.map((row) => Number(row['value'])).sort((a, b) => a - b)).toEqual(printed.sort((a, b) => a - b));
    }
    close(await value(seen, `SELECT max(value) ${SEE} AND metric = 'max_reserved'`), facts['max_Max_CA']!);
  },
  async deepspeed_cpu_vm(seen, expected) {
    const { count, max_used_GB: most } = expected as Facts;
    const used = "FROM memory_sample WHERE metric = 'host_used'";
    expect(Number(await value(seen, `SELECT count(*) ${used}`))).toBe(count);
    close(await value(seen, `SELECT max(value) ${used}`), most!);
  },
  'markers.slurm_cancelled': countOf('slurm.cancelled'),
  'markers.slurm_cancelled_text'({ run }, expected) {
    const message = String(expected).replace(/^slurmstepd: error: | \*\*\*$/g, '');
    expect(run.incidents.some(({ text }) => text.includes(message))).toBe(true);
  },
  'markers.slurm_time_limit': read((run) => run.incidents.filter(({ kind }) => kind === 'time_limit').length),
  'markers.sigterm': sql(`SELECT count(*) FROM log_value WHERE name = 'launcher.sigterm'`),
  'markers.killing_subprocess': sql(`SELECT count(*) FROM log_value WHERE name = 'launcher.killed_subprocess'`),
  'markers.overflow_skip': sql(`SELECT count(*) FROM log_value WHERE name = 'overflow.skipped_step'`),
  srun_label_prefix_ranks: none('counts lines with a number and a colon, in two of three logs a list of layers'),
  srun_labelled_lines: none('lines are not counted by their prefix'),
  torchrun_default_prefixes: none('the same; rank, local_rank and host of every row are what a prefix states'),
  note_memory_lines: none('a remark'),
  note: none('a remark'),
};

/** A setting of the truth, by any of its spellings. */
function configPlace(key: string): Place {
  return ({ settings, run, text }, expected) => {
    const { tp, pp, dp } = run.parallel;
    const parallel: Readonly<Record<string, number | null>> = { tp, pp, dp, world_size: run.world_size };
    const found = key in parallel ? parallel[key] : settings.get(canonicalConfigKey(key));
    if (found === undefined) {
      // A number that is only inside a path is no setting of the log; anywhere else it must have been read.
      const printed = new RegExp(`${key.replaceAll('_', '[-_ ]')}[^0-9a-z/]{0,60}${String(expected)}\\b`, 'i');
      expect(text.toString('latin1')).not.toMatch(printed);
      return;
    }
    const plain = (text: unknown): unknown => (String(text).toLowerCase() === 'true' ? '1' : String(text));
    expect(plain(found)).toBe(plain(expected));
  };
}

const BANNER: Readonly<Record<string, (run: LogRun) => number | null>> = {
  world_size: (run) => run.world_size,
  dp: (run) => run.parallel.dp,
  tp: (run) => run.parallel.tp,
  pp: (run) => run.parallel.pp,
  mp: (run) => run.parallel.tp,
};

corpusSuite('facts of the logs of the corpus', existsSync(LOGS), () => {
  const names = logNames.filter((name) => existsSync(join(LOGS, `${name}.meta.json`)));
  const directory = temporaryDirectory();
  let store: Store;
  const runs = new Map<string, number>();

  beforeAll(async () => {
    const written = await newStore(join(directory, 'logs.duckdb'));
    for (const name of names)
      await ingest({
        rowsOnly: true,
        store: written,
        parsers: PARSERS,
        paths: [join(LOGS, name)],
        run: name,
        now: new Date(),
      });
    await written.close();
    store = await openStore(join(directory, 'logs.duckdb'), { mode: 'read' });
    for (const { name, run_id: id } of await store.all('store.runs', { run_id: null })) runs.set(name, id);
  });
  afterAll(() => store?.close());

  async function see(name: string): Promise<Seen> {
    const id = runs.get(name)!;
    const opened = await openByteSource(join(LOGS, name));
    const explain = await explainLog(opened.source, name, 0).finally(() => opened.close());
    const { settings } = effectiveConfig(await readSettings(store, id));
    const ofRun = `FROM (SELECT * FROM $1 WHERE run_id = ${id}) AS $1`;
    return {
      run: (await describeLog(store, id, name)).runs[0]!,
      explain,
      text: readFileSync(join(LOGS, name)),
      settings: new Map(settings.map(({ key, value }) => [key, value])),
      rows: (sql) => store.select(sql.replace(/FROM (iteration|memory_sample|log_value|phase|source)\b/g, ofRun)),
    };
  }

  it.each(names)('%s', async (name) => {
    const { expected } = JSON.parse(readFileSync(join(LOGS, `${name}.meta.json`), 'utf8')) as { expected: Facts };
    const { config, markers, ...others } = expected as Readonly<Record<string, Facts>>;
    const { banner, ...settings } = (config ?? {}) as Readonly<Record<string, Facts>>;
    const sizes = Object.entries(banner ?? {}).filter(([, size]) => size !== null);
    const facts: [fact: string, expected: Json, place: Place | undefined][] = [
      ...sizes.map(([axis, size]): (typeof facts)[number] => [
        `banner ${axis}`,
        size,
        BANNER[axis] && read(BANNER[axis]),
      ]),
      // The parameters of a banner are `theory.parameters.…` of the estimator.
      ...Object.entries(settings).flatMap(([key, setting]): typeof facts =>
        key === 'params_billion' ? [] : [[key, setting, configPlace(key)]],
      ),
      ...Object.entries(markers ?? {}).map(([name, count]): (typeof facts)[number] => {
        return [`markers.${name}`, count, PLACES[`markers.${name}`]];
      }),
      ...Object.entries(others).map(([fact, truth]): (typeof facts)[number] => [fact, truth, PLACES[fact]]),
    ];
    const seen = await see(name);
    const wrong: string[] = [];
    for (const [fact, truth, place] of facts) {
      if (place === undefined) console.info(`${name}: nothing is compared with ${fact}`);
      try {
        await place?.(seen, truth);
      } catch (error) {
        wrong.push(`${fact}: ${String(error).replaceAll(/\s+/g, ' ').slice(0, 300)}`);
      }
    }
    expect(wrong).toEqual([]);
  });
});
