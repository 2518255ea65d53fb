import { existsSync } from 'node:fs';
import { readdir, stat, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { PARSERS } from '../../../../parsers/index.js';
import { discover } from '../../../ingest/discover/discover.js';
import { formatOf } from '../../../ingest/discover/examine.js';
import { remedyOf } from '../../../knowledge/errors.js';
import { MbfError } from '../../../model/errors.js';
import { getOrAdd } from '../../../model/group-by.js';
import { sumOf } from '../../../model/lists.js';
import type { DoctorCheck, DoctorResult } from '../../../model/results/doctor.js';
import { formatBytes, MIB } from '../../../model/units.js';
import { doctorDocument } from '../../../report/start/doctor-document.js';
import { openWithoutTables } from '../../../store/open-store.js';
import { SCHEMA_VERSION } from '../../../store/schema.js';
import { cachePlace } from '../../cached-files.js';
import type { Context } from '../../context.js';
import { defineVerb } from '../../define-verb.js';
import { EXIT } from '../../exit-codes.js';
import { operand } from '../../options.js';
import { writableCache } from '../../path-store.js';
import type { Session } from '../../session.js';
import { version } from '../../version.js';

/** Files whose first bytes are read; a home directory has millions. */
const MOST_FILES = 2_000;
/** The store of a snapshot of 1,000,000 entries. */
const LEAST_FREE_BYTES = 512 * MIB;

export const verb = defineVerb({
  name: 'doctor',
  lakeless: true,
  operands: { paths: operand('[path...]', 'what to look for readable files in; default: the current directory') },
  async ask({ paths }, session): Promise<DoctorResult> {
    const { context } = session;
    const checks = [
      nodeCheck(),
      await databaseCheck(),
      await storeCheck(session),
      await cacheCheck(context),
      ...(await diskChecks(session)),
    ];
    return {
      schema: 'mbforensics/doctor@1',
      version: version(),
      checks,
      ...(await readable(paths.length === 0 ? ['.'] : paths, session.db)),
    };
  },
  document: doctorDocument,
  exitCode: ({ checks }) => (checks.some(({ status }) => status === 'failed') ? EXIT.store : EXIT.done),
});

/** An older Node than `main.ts` demands does not get here. */
function nodeCheck(): DoctorCheck {
  return { name: 'Node', status: 'ok', text: `${process.versions.node} (${process.platform}-${process.arch})` };
}

async function databaseCheck(): Promise<DoctorCheck> {
  try {
    const store = await openWithoutTables();
    const [row] = await store.select('SELECT version() AS version');
    await store.close();
    return { name: 'DuckDB', status: 'ok', text: String(row?.['version']) };
  } catch (error) {
    return { name: 'DuckDB', status: 'failed', text: error instanceof Error ? error.message : String(error) };
  }
}

async function storeCheck(session: Session): Promise<DoctorCheck> {
  const name = 'store';
  if (!existsSync(session.db)) return { name, status: 'ok', text: `${session.db} does not exist yet; ingest makes it` };
  try {
    const runs = await session.inStore('read', (store) => store.all('store.runs', { run_id: null }));
    const { size } = await stat(session.db);
    const text = `${session.db}: schema version ${SCHEMA_VERSION}, ${runs.length} ${runs.length === 1 ? 'run' : 'runs'}, ${formatBytes(size)}`;
    return { name, status: 'ok', text };
  } catch (error) {
    if (!(error instanceof MbfError)) throw error;
    return { name, status: 'failed', text: `${error.describe()}. ${remedyOf(error.code)}` };
  }
}

/** Where the answers for paths are kept. */
async function cacheCheck(context: Context): Promise<DoctorCheck> {
  const name = 'cache';
  const directory = cachePlace(context);
  if ((await writableCache(directory)) === undefined) {
    return { name, status: 'warning', text: `${directory} cannot be written; each question reads its files again` };
  }
  const files = (await readdir(directory)).filter((file) => file.endsWith('.duckdb'));
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(directory, file))).size));
  return { name, status: 'ok', text: `${directory}: ${files.length} stores, ${formatBytes(sumOf(sizes))}` };
}

async function diskChecks({ db, context }: Session): Promise<DoctorCheck[]> {
  const directories = new Set([dirname(resolve(db)), context.cacheDir, tmpdir()].map(existing));
  return Promise.all(
    [...directories].map(async (directory): Promise<DoctorCheck> => {
      const { bavail, bsize } = await statfs(directory);
      const free = bavail * bsize;
      const isLow = free < LEAST_FREE_BYTES;
      const text = `${directory}: ${formatBytes(free)} free${isLow ? `; ingest may need ${formatBytes(LEAST_FREE_BYTES)}` : ''}`;
      return { name: 'disk', status: isLow ? 'warning' : 'ok', text };
    }),
  );
}

function existing(directory: string): string {
  return existsSync(directory) || directory === dirname(directory) ? directory : existing(dirname(directory));
}

async function readable(paths: readonly string[], db: string) {
  const { candidates } = await discover(paths, { exclude: [db, `${db}.wal`] });
  const formats = new Map<string, { format: string; files: number; bytes: number; example: string }>();
  const unread: { path: string; text: string }[] = [];
  for (const candidate of candidates.slice(0, MOST_FILES)) {
    try {
      const format = candidate.files === undefined ? await formatOf(candidate, PARSERS) : 'nsys';
      if (format === undefined) continue;
      const kind = getOrAdd(formats, format, () => ({ format, files: 0, bytes: 0, example: candidate.displayPath }));
      kind.files += 1;
      kind.bytes += candidate.sizeBytes;
    } catch (error) {
      if (!(error instanceof MbfError)) throw error;
      const named = error.inFile(candidate.displayPath);
      unread.push({ path: candidate.displayPath, text: `${named.describe()}. ${remedyOf(error.code)}` });
    }
  }
  return {
    files: { examined: Math.min(candidates.length, MOST_FILES), all: candidates.length },
    formats: [...formats.values()],
    unread,
  };
}
