/** Lists of what the store holds and of what an ingest did. */
import { pushAll } from '../../model/lists.js';
import type { IngestResult, RunsResult, SourcesResult } from '../../model/results/common.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { noteLines } from '../run/notes-text.js';
import { left, printable, right, tableOf, wrap } from '../table.js';
import { paragraph } from '../text-pieces.js';

export function runsText(result: RunsResult): string {
  if (result.runs.length === 0) return `no runs in ${result.db}\n`;
  return `${tableOf(
    result.runs,
    [
      { ...left('run', (run) => run.name), isWhole: true },
      left('label', (run) => run.label),
      left('commit', (run) => (run.commit === null ? null : run.commit.slice(0, 12))),
      right('sources', (run) => formatCount(run.sources)),
      right('failed', (run) => formatCount(run.failed)),
      right('snapshots', (run) => formatCount(run.snapshots)),
      right('failure lines', (run) => formatCount(run.incidents)),
      left('ingested', (run) => run.created_at),
    ],
    '',
  )}\n`;
}

export function sourcesText(result: SourcesResult): string {
  if (result.sources.length === 0) return `no sources in ${result.db}\n`;
  const rows = tableOf(
    result.sources,
    [
      { ...left('run', (source) => source.run), isWhole: true },
      left('status', (source) => source.status),
      { ...left('format', (source) => source.format), isWhole: true },
      right('rank', (source) => source.rank),
      right('size', (source) => formatBytes(source.file_bytes)),
      right('notes', (source) => formatCount(source.notes)),
      { ...left('path', (source) => source.path), isWhole: true },
    ],
    '',
  );
  const failures = result.sources.flatMap((source) =>
    source.error === null ? [] : failureLines(source.path, source.error),
  );
  return `${[rows, ...failures].join('\n')}\n`;
}

/** One line a file, then what went wrong. Skipped files are counted, unless `explain` lists every claim. */
export function ingestText(result: IngestResult): string {
  const { separated } = result;
  const lines =
    separated === null ? [] : paragraph(`${printable(separated)}; each is a run (--run NAME makes them one)`);
  const counts = new Map<string, number>();
  for (const source of result.sources) {
    counts.set(source.status, (counts.get(source.status) ?? 0) + 1);
    const rank = source.rank === null ? '' : ` · rank ${source.rank}`;
    if (source.status !== 'skipped' || source.detection !== undefined) {
      lines.push(
        `${source.status.padEnd(10)} ${result.runs.length > 1 ? `${printable(source.run)}: ` : ''}${printable(source.path)}${source.format === null ? '' : ` · ${source.format}`}${rank}`,
      );
    } else if (source.notes.some((note) => note.kind === 'not-followed'))
      lines.push(`not followed: ${printable(source.path)} (--follow-links)`);
    for (const claim of source.detection ?? [])
      lines.push(`             ${claim.parser} ${claim.score.toFixed(2)}: ${printable(claim.why)}`);
    if (source.error !== null && (source.status === 'failed' || source.detection !== undefined))
      pushAll(lines, failureLines(source.path, source.error));
    pushAll(
      lines,
      noteLines(
        source.notes.filter((note) => note.severity === 'warning' && note.kind !== 'not-followed'),
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
