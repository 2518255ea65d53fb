/** Lists of what the store holds and of what an ingest did. */
import { pushAll } from '../../model/lists.js';
import type { IngestResult, RunsResult, SourcesResult } from '../../model/results/common.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { noteLines } from '../run/notes-text.js';
import { printable, table, wrap } from '../table.js';

export function runsText(result: RunsResult): string {
  if (result.runs.length === 0) return `no runs in ${result.db}\n`;
  return `${table(
    [
      { title: 'run' },
      { title: 'label' },
      { title: 'commit' },
      { title: 'sources', align: 'right' },
      { title: 'failed', align: 'right' },
      { title: 'snapshots', align: 'right' },
      { title: 'failure lines', align: 'right' },
      { title: 'ingested' },
    ],
    result.runs.map((run) => [
      run.name,
      run.label,
      run.commit === null ? null : run.commit.slice(0, 12),
      formatCount(run.sources),
      formatCount(run.failed),
      formatCount(run.snapshots),
      formatCount(run.incidents),
      run.created_at,
    ]),
  )}\n`;
}

export function sourcesText(result: SourcesResult): string {
  if (result.sources.length === 0) return `no sources in ${result.db}\n`;
  const rows = table(
    [
      { title: 'run' },
      { title: 'status' },
      { title: 'format' },
      { title: 'rank', align: 'right' },
      { title: 'size', align: 'right' },
      { title: 'notes', align: 'right' },
      { title: 'path' },
    ],
    result.sources.map((source) => [
      source.run,
      source.status,
      source.format,
      source.rank,
      formatBytes(source.file_bytes),
      formatCount(source.notes),
      source.path,
    ]),
  );
  const failures = result.sources.flatMap((source) =>
    source.error === null ? [] : failureLines(source.path, source.error),
  );
  return `${[rows, ...failures].join('\n')}\n`;
}

/** One line a file, then what went wrong. Skipped files are counted, unless `explain` lists every claim. */
export function ingestText(result: IngestResult): string {
  const lines: string[] = [];
  const counts = new Map<string, number>();
  for (const source of result.sources) {
    counts.set(source.status, (counts.get(source.status) ?? 0) + 1);
    const rank = source.rank === null ? '' : ` · rank ${source.rank}`;
    if (source.status !== 'skipped' || source.detection !== undefined) {
      lines.push(
        `${source.status.padEnd(10)} ${printable(source.path)}${source.format === null ? '' : ` · ${source.format}`}${rank}`,
      );
    }
    for (const claim of source.detection ?? [])
      lines.push(`             ${claim.parser} ${claim.score.toFixed(2)}: ${printable(claim.why)}`);
    if (source.error !== null && (source.status === 'failed' || source.detection !== undefined))
      pushAll(lines, failureLines(source.path, source.error));
    pushAll(
      lines,
      noteLines(
        source.notes.filter((note) => note.severity === 'warning'),
        '             ',
      ),
    );
  }
  const summary = [...counts].map(([status, count]) => `${formatCount(count)} ${status}`).join(', ');
  const runs = result.runs.map((run) => printable(run.name)).join(', ');
  lines.push(`run ${runs}: ${summary === '' ? 'nothing found' : summary} → ${printable(result.db)}`);
  return `${lines.join('\n')}\n`;
}

function failureLines(
  path: string,
  error: { readonly code: string; readonly text: string; readonly remedy: string },
): string[] {
  const text = error.text.startsWith(path) ? error.text : `${path}: ${error.text}`;
  return [
    ...wrap(`${error.code}  ${printable(text)}`, 100, '         '),
    ...wrap(`         ${error.remedy}`, 100, '         '),
  ];
}
