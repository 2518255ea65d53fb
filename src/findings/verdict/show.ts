/** `mbforensics show`: one handle of a diagnosis in full: its text, its place, the query behind it, and the rows. */

import { frameText } from '../../attribution/frames/call-site.js';
import { readStacks } from '../../derive/stacks/read-stacks.js';
import { allFailures } from '../../model/all-failures.js';
import { MbfError } from '../../model/errors.js';
import type { DiagnoseResult, ShownLines, ShowResult } from '../../model/results/common.js';
import { formatCount } from '../../model/units.js';
import type { Evidence, EvidenceQuery } from '../../model/verdict.js';
import { ownSql } from '../../store/compose-sql.js';
import { loadQuery } from '../../store/load-queries.js';
import type { QueryName, QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';

/** Operands of `show` other than handles. */
export const SHOW_WORDS = ['accounting', 'tests', 'captures'] as const;

/** Lines before and after the one that is evidence. */
const CONTEXT_LINES = 3;

export interface ShowOptions {
  /** `E3`, or one of {@link SHOW_WORDS}; undefined: list the handles. */
  readonly handle: string | undefined;
  /** From 1. */
  readonly verdict: number;
  /** Rows; undefined: all. */
  readonly limit: number | undefined;
  /** The rules that make one verdict of the tests, in words. */
  readonly rules: NonNullable<ShowResult['tests']>['rules'];
  /** Reads lines of a file as it was ingested; only the command line may touch files. */
  readonly readLines: (file: QueryRow<'finding.source'>, first: number, last: number) => Promise<ShownLines>;
}

/** Throws MBF1002 where the diagnosis does not have such a verdict or handle. */
export async function describeShow(
  store: Store,
  runId: number,
  result: DiagnoseResult,
  options: ShowOptions,
): Promise<ShowResult> {
  const { handle } = options;
  const verdict = result.verdicts[options.verdict - 1];
  if (verdict === undefined) {
    const count = allFailures(result.verdicts).length;
    const leader = result.verdicts.findIndex(({ also }) => also.some(({ number }) => number === options.verdict)) + 1;
    throw new MbfError(
      'MBF1002',
      count === 0
        ? `the diagnosis of run ${result.run} has no verdict`
        : leader > 0
          ? `verdict ${options.verdict} is counted with verdict ${leader}, which has the evidence of all that are alike: --verdict ${leader}`
          : `the diagnosis of run ${result.run} has no verdict ${options.verdict}, but ${formatCount(count)}`,
    );
  }
  const entry = verdict.evidence.find(({ id }) => id === handle);
  const isWord = handle !== undefined && (SHOW_WORDS as readonly string[]).includes(handle);
  if (handle !== undefined && !isWord && entry === undefined) {
    const [first, last] = [verdict.evidence[0], verdict.evidence.at(-1)];
    const has = first === undefined ? 'it has none' : `it has ${first.id} to ${last!.id}`;
    throw new MbfError('MBF1002', `verdict ${options.verdict} has no evidence ${handle}: ${has}`);
  }
  return {
    schema: 'mbforensics/show@1',
    run: result.run,
    verdict: options.verdict,
    verdicts: allFailures(result.verdicts).length,
    rank: verdict.rank,
    device: verdict.device,
    cause: verdict.cause,
    evidence: entry ?? null,
    handles: handle === undefined ? verdict.evidence : null,
    accounting:
      handle === 'accounting'
        ? {
            total: verdict.accounting_total,
            parts: verdict.accounting,
            from: verdict.accounting_from,
            peak: verdict.accounting_peak,
          }
        : null,
    tests:
      handle === 'tests'
        ? { tests: verdict.tests, missing: verdict.missing, combination: verdict.combination, rules: options.rules }
        : null,
    captures: handle === 'captures' ? verdict.captures : null,
    ...(await rowsOf(store, entry?.query, options.limit)),
    text: entry === undefined ? null : await linesOf(store, runId, entry, options),
    frames: entry === undefined ? null : await framesOf(store, runId, entry, verdict.device),
  };
}

type Rows = Pick<ShowResult, 'query' | 'columns' | 'rows' | 'rows_left_out'>;

async function rowsOf(store: Store, query: EvidenceQuery | undefined, limit: number | undefined): Promise<Rows> {
  if (query === undefined) return { query: null, columns: [], rows: [], rows_left_out: 0 };
  const file = loadQuery(query.name);
  // Names and parameters come from our own evidence; the tests run all of these pairs.
  const rows = (await store.all(query.name as QueryName, query.params as never)) as Record<string, unknown>[];
  const columns = file.columns.map(({ name, type }) => ({ name, type }));
  const shown = rows.slice(0, limit);
  return {
    query: { name: query.name, title: file.title, sql: ownSql(file), params: query.params },
    columns,
    rows: shown.map((row) => columns.map(({ name }) => row[name] ?? null)),
    rows_left_out: rows.length - shown.length,
  };
}

async function linesOf(
  store: Store,
  runId: number,
  { lines: place }: Evidence,
  { readLines }: ShowOptions,
): Promise<ShownLines | null> {
  if (place === undefined || !('line' in place)) return null;
  const source = await store.one('finding.source', { run_id: runId, path: place.path });
  if (source === undefined) return null;
  return readLines(source, Math.max(1, place.line - CONTEXT_LINES), place.line + CONTEXT_LINES);
}

/** The stack of the failed request; null for other statements, or where it is without frames. */
async function framesOf(
  store: Store,
  runId: number,
  { about, lines: place }: Evidence,
  device: number | null,
): Promise<string[] | null> {
  // The stack belongs to the failing request: next to any other statement it would be read as its proof.
  if (about !== 'request' || device === null) return null;
  if (place === undefined || !('entry' in place) || place.entry === null) return null;
  const snapshots = await store.all('snapshot.list', { run_id: runId, handle: null });
  const snapshot = snapshots.find((row) => row.display_path === place.path);
  if (snapshot === undefined) return null;
  const entry = await store.one('history.entry', { snapshot_id: snapshot.snapshot_id, device, seq: place.entry });
  if (entry?.stack_id == null) return null;
  const frames = (await readStacks(store, [entry.stack_id])).get(entry.stack_id) ?? [];
  return frames.length === 0 ? null : frames.map(frameText);
}
