/** Lists of what the store holds and of what an ingest did. */
import { groupBy } from '../../model/group-by.js';
import type { Failure, IngestResult, IngestSource, RunsResult, SourcesResult } from '../../model/results/common.js';
import * as d from '../document/document.js';
import { noteText } from '../run/notes-text.js';

export const runsDocument = ({ schema, db, runs }: RunsResult): d.Document =>
  d.document(
    schema,
    '',
    d.table(
      runs,
      [
        d.column('name', ({ name }) => name, { title: 'run' }),
        runs.some(({ label }) => label !== null) && 'label',
        runs.some(({ commit }) => commit !== null) && 'commit',
        ...(['sources', 'failed', 'snapshots'] as const),
        d.counts('incidents', (run) => run.incidents, { title: 'failure lines' }),
        d.column('created_at', (run) => run.created_at.slice(0, 19).replace('T', ' '), { title: 'ingested' }),
      ],
      { key: 'runs' },
    ) ?? d.paragraph(`no runs in ${db}`),
  );

export function sourcesDocument({ schema, db, sources }: SourcesResult): d.Document {
  const size = d.column('file_bytes', (source: { readonly file_bytes: number }) => source.file_bytes, {
    title: 'size',
  });
  const tableOf = (rows: SourcesResult['sources']) =>
    d.table(rows, ['status', 'format', 'rank', size, 'notes', path], {
      key: 'sources',
      under: ({ path, error }) => failureTexts(path, error),
    });
  return d.document(schema, '', ...byRun(sources, tableOf), sources.length === 0 && d.paragraph(`no sources in ${db}`));
}

const byRun = <Row extends { readonly run: string }>(
  rows: readonly Row[],
  tableOf: (ofRun: readonly Row[]) => d.MaybePart,
) =>
  [...groupBy(rows, ({ run }) => run)].map(([run, ofRun]) =>
    d.section(d.as('run', d.code(run)), { key: 'runs', isOneOf: true }, tableOf(ofRun)),
  );

const path = d.names('path', (source: { readonly path: string }) => source.path);

/** A row for each file that was not skipped, or with `--explain` for each file, with what went wrong. */
export function ingestDocument({ schema, db, runs, sources, separated }: IngestResult): d.Document {
  const shown = sources.filter(({ status, detection }) => status !== 'skipped' || detection !== undefined);
  const notFollowed = sources.filter((source) => !shown.includes(source) && source.notes.some(isNotFollowed));
  const done = [...groupBy(sources, ({ status }) => status)].map(([status, own]) => d.t`${own.length} ${status}`);
  return d.document(
    schema,
    '',
    separated !== null && d.paragraph(`${separated}; each is a run (--run NAME makes them one)`, { key: 'separated' }),
    ...byRun(shown, (rows) =>
      d.table(rows, ['status', 'format', 'rank', path], { key: 'sources', under: underSource }),
    ),
    ...notFollowed.map(({ path }) => d.paragraph(d.t`not followed: ${d.code(path)} (--follow-links)`)),
    d.paragraph(
      d.t`${d.counted(runs.length, 'run')}: ${done.length === 0 ? 'nothing found' : d.joined(done, ', ')} → ${d.as('db', d.code(db))}`,
    ),
  );
}

const isNotFollowed = ({ kind }: { readonly kind: string }): boolean => kind === 'not-followed';

const underSource = ({ path, status, error, notes, detection }: IngestSource): string[] => [
  ...(detection ?? []).map(({ parser, score, why }) => `${parser} ${score.toFixed(2)}: ${why}`),
  ...failureTexts(path, status === 'failed' || detection !== undefined ? error : null),
  ...notes.filter((note) => note.severity === 'warning' && !isNotFollowed(note)).map(noteText),
];

function failureTexts(path: string, error: Pick<Failure, 'code' | 'text' | 'remedy'> | null): string[] {
  if (error === null) return [];
  return [`${error.code}: ${error.text.startsWith(path) ? error.text : `${path}: ${error.text}`}`, error.remedy];
}
