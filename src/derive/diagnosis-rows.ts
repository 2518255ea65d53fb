/** A diagnosis as rows of `verdict`, `evidence` and `diagnosis`, and back. */
import { groupBy } from '../model/group-by.js';
import type { Place } from '../model/place.js';
import type { Diagnosis } from '../model/results/common.js';
import type { Evidence, EvidenceKind, EvidenceQuery, EvidenceTopic, Verdict } from '../model/verdict.js';
import type { QueryRow } from '../store/query-catalog.js';
import type { Store } from '../store/store.js';
import type { CellValue } from '../store/to-duckdb.js';
import type { Circumstances } from './circumstances.js';
import type { Judged } from './verdict/combine.js';

/** What does not depend on the question. */
export type StoredDiagnosis = Omit<Diagnosis, 'run' | 'failed_sources' | 'advice'>;

type Row = Record<string, CellValue>;

/** Replaces the rows of a run. `failures`: what each verdict is about. In a transaction. */
export async function insertDiagnosis(
  store: Store,
  runId: number,
  { verdicts, ...rest }: StoredDiagnosis,
  failures: readonly (Judged | undefined)[],
  circumstances: Circumstances,
): Promise<void> {
  const key = { run: (await store.one('store.run_name', { run_id: runId }))!.name, run_id: runId };
  const verdictRows: Row[] = [];
  const evidenceRows: Row[] = [];
  const documents: Row[] = [];
  const keep = (part: string, number: number, value: unknown): void =>
    void documents.push({ run_id: runId, part, number, document: toDocument(value) });
  keep('run', 0, rest);
  keep('circumstances', 0, circumstances);
  for (const [i, { evidence, ...verdict }] of verdicts.entries()) {
    const { rank, device, cause, detail, confidence, basis, reason } = verdict;
    const judged = failures[i];
    const failure = judged?.failure ?? null;
    verdictRows.push({
      ...key,
      ...{ number: i + 1, failure, rank, device, cause, detail, confidence, basis, reason },
      snapshot_id: judged?.snapshot_id,
      seq: judged?.seq,
      incident_id: judged?.incident_id,
      kind: judged?.kind,
      capture: judged?.capture,
      untested_rivals: judged?.untested_rivals ?? [],
      doubts: judged?.doubts ?? [],
      is_proven: judged?.is_proven ?? false,
      contradicted_by: judged?.contradicted_by,
      replay_status: judged?.replay_status,
    });
    for (const [at, entry] of evidence.entries())
      evidenceRows.push({ ...key, verdict: i + 1, failure, rank, number: at + 1, ...rowOf(entry) });
    keep('verdict', i + 1, verdict);
  }
  // Those that are counted are there.
  await store.run('DELETE FROM verdict WHERE run_id = $run_id AND counted_with IS NULL', { run_id: runId });
  for (const table of ['evidence', 'diagnosis'])
    await store.run(`DELETE FROM ${table} WHERE run_id = $run_id`, { run_id: runId });
  await store.insertRows('verdict', verdictRows);
  await store.insertRows('evidence', evidenceRows);
  await store.insertRows('diagnosis', documents);
}

function rowOf({ kind, about, numbers, names, items, place, lines, query }: Evidence): Row {
  const shown: Partial<Record<'path' | 'option', string> & Record<'line' | 'entry', number>> = place;
  return {
    code: kind,
    about,
    // JSON has neither NaN nor infinities.
    numbers: Object.fromEntries(Object.entries(numbers).filter(([, value]) => Number.isFinite(value))),
    names,
    items: items === undefined ? null : JSON.stringify(items),
    path: shown.path,
    line: shown.line ?? null,
    entry: shown.entry ?? null,
    given_by: shown.option,
    // Of a file as a whole, what can be shown is its dump, or its first line.
    shows:
      lines === undefined ? null : 'line' in place || 'entry' in place ? 'place' : 'line' in lines ? 'file' : 'dump',
    query: query?.name,
    parameters: query === undefined ? null : JSON.stringify(query.params),
  };
}

/** Undefined where the run was not concluded: its ingest was killed. */
export async function readDiagnosis(store: Store, runId: number): Promise<StoredDiagnosis | undefined> {
  const documents = await store.all('verdict.diagnosis', { run_id: runId });
  const run = documents.find(({ part }) => part === 'run');
  if (run === undefined) return undefined;
  const evidence = groupBy(await store.all('verdict.evidence', { run_id: runId }), ({ verdict }) => verdict);
  const verdicts = documents
    .filter(({ part }) => part === 'verdict')
    .map(({ number, document }): Verdict => {
      const verdict = fromDocument<Omit<Verdict, 'evidence'>>(document);
      return { ...verdict, evidence: (evidence.get(number) ?? []).map(evidenceOf) };
    });
  return { ...fromDocument<Omit<StoredDiagnosis, 'verdicts'>>(run.document), verdicts };
}

export async function readStoredCircumstances(store: Store, runId: number): Promise<Circumstances | undefined> {
  const documents = await store.all('verdict.diagnosis', { run_id: runId });
  const stored = documents.find(({ part }) => part === 'circumstances');
  return stored === undefined ? undefined : fromDocument<Circumstances>(stored.document);
}

function evidenceOf(row: QueryRow<'verdict.evidence'>): Evidence {
  const { path, line, entry, given_by: option, shows } = row;
  const place = (
    path === null
      ? { option: option! }
      : { path, ...(line === null ? {} : { line }), ...(entry === null ? {} : { entry }) }
  ) as Place;
  const lines = shows === 'place' ? place : shows === 'dump' ? { path, entry: null } : { path, line: 1 };
  return {
    id: `E${row.number}`,
    kind: row.code as EvidenceKind,
    numbers: JSON.parse(row.numbers) as Evidence['numbers'],
    names: JSON.parse(row.names) as Evidence['names'],
    ...(row.items === null ? {} : { items: JSON.parse(row.items) as NonNullable<Evidence['items']> }),
    place,
    ...(row.about === null ? {} : { about: row.about as EvidenceTopic }),
    ...(shows === null ? {} : { lines: lines as NonNullable<Evidence['lines']> }),
    ...(row.query === null
      ? {}
      : { query: { name: row.query, params: JSON.parse(row.parameters!) as EvidenceQuery['params'] } }),
  };
}

/** JSON; maps and sets as objects with one key. */
function toDocument(value: unknown): string {
  return JSON.stringify(value, (_, held: unknown) =>
    held instanceof Map ? { $map: [...held] } : held instanceof Set ? { $set: [...held] } : held,
  );
}

/** A reviver is called for every value, and documents of a thousand verdicts have millions. */
const HAS_COLLECTION = /\{"\$(?:map|set)":/;

function fromDocument<Value>(text: string): Value {
  if (!HAS_COLLECTION.test(text)) return JSON.parse(text) as Value;
  return JSON.parse(text, (_, held: { readonly $map?: [unknown, unknown][]; readonly $set?: unknown[] } | null) => {
    if (Array.isArray(held?.$map)) return new Map(held.$map);
    return Array.isArray(held?.$set) ? new Set(held.$set) : held;
  }) as Value;
}
