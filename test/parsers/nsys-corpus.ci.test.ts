/** Real exports of the corpus, compared with the output of the `sqlite3` program. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { hasSqlite } from '../../samples/generate/write/nsys/database.js';
import { ingest } from '../../src/ingest/ingest.js';
import { keptEnv } from '../../src/knowledge/env-keys.js';
import type { IngestSource } from '../../src/model/results/common.js';
import { openStore } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import { expectClearError } from '../robustness/harness.js';
import { CORPUS, skipLoudly } from '../support/corpus.js';
import { sampled } from '../support/level.js';
import { allTexts } from '../support/nsys-export.js';

const NSYS = join(CORPUS, 'nsys');
const files = existsSync(NSYS)
  ? readdirSync(NSYS)
      .filter((name) => /\.(?:sqlite|jsonl?)(?:\.gz)?$/.test(name))
      .sort()
  : [];
const databases = files.filter((name) => name.endsWith('.sqlite'));
const hasProgram = hasSqlite();

type Answer = Readonly<Record<string, string | null>>;

/** Undefined if it is not a database. Every value is read as text, to keep 64 bits. */
function query(name: string, sql: string): Answer[] | undefined {
  const uri = `file:${encodeURI(join(NSYS, name))}?immutable=1`;
  const run = spawnSync('sqlite3', ['-batch', '-readonly', '-json', uri, sql], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  if (run.status !== 0) return undefined;
  return run.stdout.trim() === '' ? [] : (JSON.parse(run.stdout) as Answer[]);
}

function ask(name: string, sql: string): Answer[] {
  const rows = query(name, sql);
  if (rows === undefined) throw new Error(`${name}: ${sql}`);
  return rows;
}

const tablesOf = (name: string): string[] | undefined =>
  query(name, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")?.map(
    (row) => row['name']!,
  );
const isExport = (tables: readonly string[] | undefined): boolean =>
  tables?.some((table) => table === 'META_DATA_EXPORT' || table === 'EXPORT_META_DATA') === true;

/**
 * A figure of one table of an export and of ours, as SQL over columns; columns that an export's table lacks are NULL
 * there.
 */
interface Figure {
  readonly theirs: string;
  readonly ours: string;
}
interface Held {
  readonly table: string;
  readonly ours: string;
  /** Rows of ours, where one table holds those of several. */
  readonly where?: string;
  readonly figures: Readonly<Record<string, Figure>>;
  /** Column of a text's number and column of ours. */
  readonly texts: Readonly<Record<string, { readonly theirs: string; readonly ours: string }>>;
}

const equalSums = (theirs: string, ours = theirs): Figure => ({ theirs: `sum(${theirs})`, ours: `sum(${ours})` });
const SPAN = { starts: equalSums('start', 'start_ns'), ends: equalSums('"end"', 'end_ns') };
/** Sums of the pairs `theirs ours` of a text. */
const sums = (pairs: string): Record<string, Figure> =>
  Object.fromEntries(pairs.split(', ').map((pair) => [pair, equalSums(...(pair.split(': ') as [string, string]))]));
/** Numbers that mean "none" are NULL in our tables. */
const small = (theirs: string, ours: string): Figure => ({
  theirs: `sum(CASE WHEN ${theirs} < 2147483648 THEN ${theirs} END)`,
  ours: `sum(${ours})`,
});
const pid = (column: string): Figure => ({ theirs: `sum((${column} >> 24) & 0xFFFFFF)`, ours: 'sum(pid)' });
const ON_GPU = {
  ...{ ...SPAN, pids: pid('globalPid'), devices: small('deviceId', 'device'), contexts: small('contextId', 'context') },
  ...{ streams: small('streamId', 'stream'), correlations: equalSums('correlationId', 'correlation') },
};
const ON_CPU = { ...SPAN, pids: pid('globalTid'), tids: { theirs: 'sum(globalTid & 0xFFFFFF)', ours: 'sum(tid)' } };
const NAMES = { names: { theirs: 'nameId', ours: 'name_id' } };

const held = (
  table: string,
  ours: string,
  figures: Held['figures'],
  texts: Held['texts'] = {},
  where?: string,
): Held => ({
  ...{ table, ours, figures, texts },
  ...(where === undefined ? {} : { where }),
});
const library = (table: string, name: string): Held =>
  held(table, 'nsys_library', ON_CPU, NAMES, `library = '${name}'`);
const API = 'correlationId: correlation, returnValue: return_value, eventClass: event_class, callchainId: callchain';
const KERNEL =
  'gridX * gridY * gridZ: blocks, blockX * blockY * blockZ: threads, registersPerThread: registers, ' +
  'localMemoryTotal: local_memory_bytes, graphNodeId: graph_node';
const COPY = { causes: small('migrationCause', 'migration_cause'), from: small('srcDeviceId', 'source_device') };
const ORDER = { theirs: 'sum(start * (rowid % 997))', ours: 'sum(start_ns * ((seq + 1) % 997))' };
const KERNEL_NAMES = {
  names: { theirs: 'shortName', ours: 'name_id' },
  demangled: { theirs: 'demangledName', ours: 'demangled_id' },
};

const HELD: readonly Held[] = [
  held('CUPTI_ACTIVITY_KIND_RUNTIME', 'nsys_api', { ...ON_CPU, ...sums(API) }, NAMES),
  held('CUPTI_ACTIVITY_KIND_KERNEL', 'nsys_kernel', { ...ON_GPU, ...sums(KERNEL) }, KERNEL_NAMES),
  held(
    'CUPTI_ACTIVITY_KIND_MEMCPY',
    'nsys_copy',
    { ...ON_GPU, ...sums('bytes: bytes'), ...COPY },
    {},
    "operation = 'memcpy'",
  ),
  held('CUPTI_ACTIVITY_KIND_MEMSET', 'nsys_copy', { ...ON_GPU, ...sums('bytes: bytes') }, {}, "operation = 'memset'"),
  held('CUPTI_ACTIVITY_KIND_SYNCHRONIZATION', 'nsys_sync', { ...ON_GPU, ...sums('syncType: sync_type') }),
  held('CUPTI_ACTIVITY_KIND_GRAPH_TRACE', 'nsys_graph', { ...ON_GPU, ...sums('graphId: graph') }),
  held('CUDA_GPU_MEMORY_USAGE_EVENTS', 'nsys_memory', {
    ...{ starts: SPAN.starts, pids: ON_GPU.pids },
    ...sums('bytes: bytes, address: address'),
  }),
  held('NVTX_EVENTS', 'nsys_nvtx', { ...ON_CPU, ...sums('domainId: domain, rangeId: range_id'), order: ORDER }),
  library('CUBLAS_EVENTS', 'cublas'),
  library('CUDNN_EVENTS', 'cudnn'),
  library('CUSOLVER_EVENTS', 'cusolver'),
];

/** `eventType` of NVTX_EVENTS, after ENUM_NSYS_EVENT_TYPE. */
const NVTX_TYPES = `CASE eventType WHEN 33 THEN 'category' WHEN 34 THEN 'mark' WHEN 39 THEN 'thread_name' WHEN 59 THEN 'push_pop'
  WHEN 60 THEN 'start_end' WHEN 75 THEN 'domain' WHEN 76 THEN 'domain_end' ELSE 'other' END`;
/** Of ENUM_CUDA_MEMCPY_OPER and ENUM_CUDA_MEM_KIND, as the exports of later schemas have them. */
const word = (column: string): string =>
  `replace(replace(lower(replace(replace(${column}, '-', '_'), ' ', '_')), '(', ''), ')', '')`;
const managed = (column: string): string => `replace(${word(column)}, 'unified_', 'managed_')`;

const ordered = (rows: readonly Answer[]): string[] => rows.map((row) => JSON.stringify(row)).sort();

const MOST_CHARS = 16_384;
const cut = (text: string): string => (text.length <= MOST_CHARS ? text : `${text.slice(0, MOST_CHARS)}…`);

function tally(rows: readonly { readonly text: string | null; readonly n: string | null }[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { text, n } of rows) {
    const key = text === null ? '(none)' : `=${cut(text)}`;
    counts.set(key, (counts.get(key) ?? 0) + Number(n));
  }
  return new Map([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}

if (files.length === 0) skipLoudly('exports of Nsight Systems', `a corpus with exports at ${NSYS}`);
else {
  describe('the corpus', () => {
    const directory = mkdtempSync(join(tmpdir(), 'mbf-nsys-corpus-'));
    const sources = new Map<string, IngestSource>();
    const ids = new Map<string, number>();
    let store: Store;

    async function take(into: Store, allTables: boolean): Promise<void> {
      const parts = files.map((name) => join(NSYS, name));
      for (const [i, path] of parts.entries()) {
        const result = await ingest({
          rowsOnly: true,
          store: into,
          parsers: PARSERS,
          paths: [path],
          now: new Date(0),
          allTables,
        });
        expect(result.sources).toHaveLength(1);
        sources.set(files[i]!, result.sources[0]!);
      }
    }

    beforeAll(async () => {
      store = await openStore(join(directory, 'store.duckdb'), { mode: 'write' });
      await take(store, false);
      for (const row of await store.select('SELECT source_id, display_path AS name FROM source'))
        ids.set(String(row['name']), Number(row['source_id']));
    });
    afterAll(async () => {
      await store.close();
      rmSync(directory, { recursive: true, force: true });
    });

    const select = async (sql: string, name: string): Promise<Answer[]> =>
      (await store.select(sql, { id: ids.get(name)! })).map((row) =>
        Object.fromEntries(Object.entries(row).map(([key, value]) => [key, value === null ? null : String(value)])),
      );

    describe('without the sqlite3 program', () => {
      it('every file is an export that is read, or fails with one clear error', () => {
        for (const [name, source] of sources) {
          if (source.status === 'ingested') {
            expect([name, source.format, source.error]).toEqual([name, 'nsys', null]);
            for (const { kind } of source.notes) expect([name, kind]).toEqual([name, 'nsys_bad_text']);
          } else {
            expect(source.status).toBe('failed');
            expectClearError(source);
            expect(['MBF2001', 'MBF2701', 'MBF2702', 'MBF2703']).toContain(source.error?.code);
          }
        }
        expect([...sources.values()].filter(({ status }) => status === 'ingested').length).toBeGreaterThan(0);
      });

      it('a file that failed leaves nothing but its line', async () => {
        for (const [name, source] of sources) {
          if (source.status === 'ingested') continue;
          for (const table of ['nsys_report', 'nsys_table', 'nsys_text', 'nsys_api', 'nsys_kernel', 'nsys_nvtx'])
            expect(await select(`SELECT count(*) AS n FROM ${table} WHERE source_id = $id`, name)).toEqual([
              { n: '0' },
            ]);
        }
      });

      it('a report that is there both as JSON and as SQLite has the same rows', async () => {
        const stem = (name: string): string => name.replace(/\..*$/, '');
        const pairs = files.flatMap((json) => {
          const database = databases.find((name) => stem(name) === stem(json));
          return /\.jsonl?(?:\.gz)?$/.test(json) && database !== undefined ? [[json, database] as const] : [];
        });
        if (pairs.length === 0) console.warn('no report of the corpus is there in two forms');
        const text = (column: string): string =>
          `(SELECT text FROM nsys_text AS t WHERE t.source_id = r.source_id AND t.text_id = r.${column})`;
        const work = 'start_ns, end_ns, pid, device, context, stream, correlation';
        const tables: Readonly<Record<string, string>> = {
          nsys_api: `start_ns, end_ns, pid, tid, correlation, ${text('name_id')}, return_value, event_class`,
          nsys_kernel: `${work}, ${text('name_id')}, ${text('demangled_id')}, blocks, threads, registers, local_memory_bytes`,
          nsys_copy: `${work}, operation, copy_kind, bytes, source_kind, target_kind, source_device, target_device, migration_cause`,
          nsys_sync: `${work}, sync_type`,
          nsys_nvtx: `start_ns, end_ns, type, pid, tid, end_tid, domain, range_id, category, ${text('text_id')}`,
          nsys_library: `start_ns, end_ns, library, pid, tid, ${text('name_id')}`,
        };
        for (const [json, sqlite] of pairs) {
          for (const [table, columns] of Object.entries(tables)) {
            const rows = (name: string): string =>
              `SELECT ${columns} FROM ${table} AS r WHERE source_id = ${ids.get(name)!}`;
            const [answer] = await store.select(
              `SELECT (SELECT count(*) FROM (${rows(json)})) AS json, (SELECT count(*) FROM (${rows(sqlite)})) AS sqlite,
                 (SELECT count(*) FROM (${rows(json)} EXCEPT ALL ${rows(sqlite)})) AS different`,
            );
            expect([json, table, answer]).toEqual([
              json,
              table,
              { json: answer!['sqlite'], sqlite: answer!['sqlite'], different: 0 },
            ]);
          }
          expect(
            await select('SELECT pid, tid, name FROM nsys_thread WHERE source_id = $id ORDER BY ALL', json),
          ).toEqual(await select('SELECT pid, tid, name FROM nsys_thread WHERE source_id = $id ORDER BY ALL', sqlite));
          expect(await select('SELECT pid FROM nsys_process WHERE source_id = $id ORDER BY ALL', json)).toEqual(
            await select('SELECT pid FROM nsys_process WHERE source_id = $id ORDER BY ALL', sqlite),
          );
        }
      });
    });

    if (!hasProgram) {
      skipLoudly('exports of Nsight Systems', 'the sqlite3 program');
      return;
    }

    it.each(databases)('%s fails if and only if sqlite3 finds no export in it', (name) => {
      expect(sources.get(name)!.status === 'ingested').toBe(isExport(tablesOf(name)));
    });

    describe.each(databases.filter((name) => isExport(tablesOf(name))))('%s', (name) => {
      const tables = tablesOf(name)!;

      it('has as many rows in every table', async () => {
        const sql = tables.map((table) => `SELECT '${table}' AS name, CAST(count(*) AS TEXT) AS n FROM "${table}"`);
        // SQLite allows 500 parts of a UNION.
        const expected = ask(name, sql.join(' UNION ALL '));
        const counted = await select('SELECT name, row_count AS n FROM nsys_table WHERE source_id = $id', name);
        expect(ordered(counted)).toEqual(ordered(expected));
      });

      it.each(HELD.filter(({ table }) => tables.includes(table)))(
        'has the sums and texts of $table',
        async ({ table, ours, figures, texts, where = 'true' }) => {
          const columns = new Set(
            ask(name, `SELECT name FROM pragma_table_info('${table}')`).map((row) => row['name']!),
          );
          const isThere = (sql: string): boolean =>
            [...sql.matchAll(/\b[a-z]+[A-Za-z]*\b/g)].every(
              ([word]) =>
                ['sum', 'rowid'].includes(word) ||
                columns.has(word) ||
                !/^(?:[a-z]+[A-Z]|bytes|start|end|address)/.test(word),
            );
          const known = Object.entries(figures);
          const theirs = known.map(
            ([key, { theirs: sql }]) => `CAST(coalesce(${isThere(sql) ? sql : 'NULL'}, 0) AS TEXT) AS "${key}"`,
          );
          const mine = known.map(([key, { ours: sql }]) => `coalesce(${sql}, 0)::VARCHAR AS "${key}"`);
          expect(
            await select(`SELECT ${mine.join(', ')} FROM ${ours} WHERE source_id = $id AND ${where}`, name),
          ).toEqual(ask(name, `SELECT ${theirs.join(', ')} FROM "${table}"`));
          for (const { theirs: number, ours: own } of Object.values(texts)) {
            const expected = ask(
              name,
              `SELECT value AS text, CAST(count(*) AS TEXT) AS n FROM "${table}" LEFT JOIN StringIds ON id = ${number} GROUP BY 1`,
            ) as { text: string | null; n: string }[];
            const actual = (await select(
              `SELECT text, count(*) AS n FROM ${ours} AS r LEFT JOIN nsys_text AS t ON t.source_id = r.source_id AND text_id = ${own} WHERE r.source_id = $id AND ${where} GROUP BY 1`,
              name,
            )) as { text: string | null; n: string }[];
            expect(tally(actual)).toEqual(tally(expected));
          }
        },
      );

      it('has the texts and the types of NVTX_EVENTS', async () => {
        if (!tables.includes('NVTX_EVENTS')) return;
        const expected = ask(
          name,
          `SELECT coalesce(nullif(text, ''), value) AS text, CAST(count(*) AS TEXT) AS n FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId GROUP BY 1`,
        ) as { text: string | null; n: string }[];
        const actual = (await select(
          'SELECT text, count(*) AS n FROM nsys_nvtx AS r LEFT JOIN nsys_text USING (source_id, text_id) WHERE source_id = $id GROUP BY 1',
          name,
        )) as { text: string | null; n: string }[];
        expect(tally(actual)).toEqual(tally(expected));
        expect(
          await select(
            'SELECT type, count(*) AS n FROM nsys_nvtx WHERE source_id = $id GROUP BY 1 ORDER BY type::VARCHAR',
            name,
          ),
        ).toEqual(
          ask(name, `SELECT ${NVTX_TYPES} AS type, CAST(count(*) AS TEXT) AS n FROM NVTX_EVENTS GROUP BY 1 ORDER BY 1`),
        );
      });

      it('has the kinds of copies that its own enumerations name', async () => {
        if (!tables.includes('CUPTI_ACTIVITY_KIND_MEMCPY') || !tables.includes('ENUM_CUDA_MEMCPY_OPER')) return;
        const actual = await select(
          "SELECT copy_kind, source_kind, target_kind, count(*) AS n, sum(bytes) AS bytes FROM nsys_copy WHERE source_id = $id AND operation = 'memcpy' GROUP BY 1, 2, 3",
          name,
        );
        const expected = ask(
          name,
          `SELECT ${managed('c.label')} AS copy_kind, ${word('s.label')} AS source_kind, ${word('t.label')} AS target_kind,
             CAST(count(*) AS TEXT) AS n, CAST(sum(bytes) AS TEXT) AS bytes
           FROM CUPTI_ACTIVITY_KIND_MEMCPY JOIN ENUM_CUDA_MEMCPY_OPER AS c ON c.id = copyKind
             LEFT JOIN ENUM_CUDA_MEM_KIND AS s ON s.id = srcKind LEFT JOIN ENUM_CUDA_MEM_KIND AS t ON t.id = dstKind GROUP BY 1, 2, 3`,
        );
        expect(ordered(actual)).toEqual(ordered(expected));
      });

      it('has its clock, its host and its GPUs', async () => {
        const [clock] = ask(name, 'SELECT CAST(utcEpochNs AS TEXT) AS ns FROM TARGET_INFO_SESSION_START_TIME');
        const [details] = ask(name, 'SELECT CAST(duration AS TEXT) AS ns FROM ANALYSIS_DETAILS');
        const [host] = ask(name, "SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'Hostname'");
        const meta = tables.includes('META_DATA_EXPORT') ? 'META_DATA_EXPORT' : 'EXPORT_META_DATA';
        const [version] = ask(name, `SELECT value FROM ${meta} WHERE name = 'EXPORT_SCHEMA_VERSION'`);
        expect(
          await select(
            'SELECT clock_offset_ns, duration_ns, host, schema_version FROM nsys_report WHERE source_id = $id',
            name,
          ),
        ).toEqual([
          {
            clock_offset_ns: clock?.['ns'] ?? null,
            duration_ns: details?.['ns'] ?? null,
            host: host?.['value'] ?? null,
            schema_version: version?.['value'] ?? null,
          },
        ]);
        if (!tables.includes('TARGET_INFO_GPU')) return;
        const gpus = ask(
          name,
          'SELECT CAST(id AS TEXT) AS gpu, name, CAST(totalMemory AS TEXT) AS total_bytes FROM TARGET_INFO_GPU GROUP BY id ORDER BY id',
        );
        expect(
          await select('SELECT gpu, name, total_bytes FROM nsys_gpu WHERE source_id = $id ORDER BY gpu', name),
        ).toEqual(gpus);
      });

      it('has the names of threads and processes that did anything', async () => {
        const did = new Set(
          (
            await select(
              'SELECT pid FROM nsys_api WHERE source_id = $id UNION SELECT pid FROM nsys_nvtx WHERE source_id = $id UNION SELECT pid FROM nsys_kernel WHERE source_id = $id UNION SELECT pid FROM nsys_copy WHERE source_id = $id UNION SELECT pid FROM nsys_sync WHERE source_id = $id',
              name,
            )
          ).map((row) => row['pid']),
        );
        const threads = tables.includes('ThreadNames')
          ? ask(
              name,
              'SELECT CAST((globalTid >> 24) & 0xFFFFFF AS TEXT) AS pid, CAST(globalTid & 0xFFFFFF AS TEXT) AS tid, value AS name FROM ThreadNames JOIN StringIds ON id = nameId',
            ).filter((row) => did.has(row['pid']!))
          : [];
        expect(ordered(await select('SELECT pid, tid, name FROM nsys_thread WHERE source_id = $id', name))).toEqual(
          ordered(threads),
        );
        expect(
          (await select('SELECT pid FROM nsys_process WHERE source_id = $id', name)).map((row) => row['pid']).sort(),
        ).toEqual([...did].sort());
      });
    });

    describe('nothing private gets into a store', () => {
      const isKept = (line: string): boolean => {
        const key = line.split('=')[0]!;
        return keptEnv().some((known) => (known.endsWith('*') ? key.startsWith(known.slice(0, -1)) : key === known));
      };
      /** Texts that an export holds of the job, its user and its machine. */
      function secretsOf(name: string, isWhole: boolean): string[] {
        const tables = tablesOf(name)!;
        const privateTexts: (string | null)[] = [];
        const values = (table: string, sql: string): void => {
          if (tables.includes(table)) privateTexts.push(...ask(name, sql).map((row) => row['value'] ?? null));
        };
        for (const table of ['META_DATA_CAPTURE', 'META_DATA_EXPORT', 'EXPORT_META_DATA']) {
          // Paths, commands and users; a variable in whole, and its value. Whole tables name the programs that ran.
          const options = ['PATH', 'USER', 'HOST', 'FILE', ...(isWhole ? [] : ['COMMAND', 'ARG', 'DIR'])];
          values(
            table,
            `SELECT value FROM ${table} WHERE ${options.map((word) => `name LIKE '%${word}%'`).join(' OR ')}`,
          );
          if (!tables.includes(table)) continue;
          for (const row of ask(name, `SELECT value FROM ${table} WHERE name LIKE '%ENVIRONMENT_VARIABLE'`)) {
            const line = row['value'] ?? '';
            if (!isKept(line)) privateTexts.push(line, line.slice(line.indexOf('=') + 1));
          }
        }
        values('ProcessStreams', 'SELECT value FROM ProcessStreams JOIN StringIds ON id = contentId');
        values('TARGET_INFO_SYSTEM_ENV', "SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name LIKE '%Environment%'");
        values('StringIds', "SELECT value FROM StringIds WHERE value GLOB '[A-Za-z_]*=*' AND value NOT LIKE '% %'");
        const texts = privateTexts
          .flatMap((text) => (text === null ? [] : [text, ...text.split('\n')]))
          .map((text) => text.trim());
        // Short or neutralized values occur in any text; yes and no are not secrets.
        return [...new Set(texts)].filter((text) => text.length > 6 && !/REDACTED|^\W*$/.test(text));
      }

      it.each([
        ['of rows that are kept', false],
        ['of every table, where that is wanted', true],
      ])('%s', async (_, allTables) => {
        const checkedStore = allTables ? await openStore(join(directory, 'all.duckdb'), { mode: 'write' }) : store;
        if (allTables) await take(checkedStore, true);
        // The files' own names, which the store keeps.
        const texts = (await allTexts(checkedStore)).filter((text) => !text.startsWith(NSYS));
        const joined = texts.join('\u0001');
        const used = new Set(
          (await checkedStore.select('SELECT DISTINCT text FROM nsys_text')).map((row) => String(row['text'])),
        );
        let looked = 0;
        // The exports share most of their secrets.
        const absent = new Set<string>();
        const exports = databases.filter((file) => isExport(tablesOf(file)));
        for (const name of allTables ? sampled(exports, 3) : exports) {
          for (const secret of secretsOf(name, allTables)) {
            looked += 1;
            if (absent.has(secret)) continue;
            if (!joined.includes(secret)) {
              absent.add(secret);
              continue;
            }
            // A range or a kernel may be called as some variable reads; and where all tables are wanted, so are the
            // directories of libraries.
            const where = texts.filter((text) => text.includes(secret) && !(allTables && text.includes(`/${secret}/`)));
            if (where.every((text) => used.has(text))) continue;
            expect({ name, secret, where: where.slice(0, 3) }).toBeUndefined();
          }
        }
        expect(looked).toBeGreaterThan(0);
        if (allTables) await checkedStore.close();
      });
    });
  });
}
