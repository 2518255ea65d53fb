/** Rows and launches of a log, and its figures that no format reads. */
import { expect } from 'vitest';
import { explainLog } from '../../parsers/log/index.js';
import { readLogBytes } from '../../parsers/log/read-log.js';
import type { AttemptRow } from '../../src/model/log-rows.js';
import type { ByteSource } from '../../src/model/parser.js';
import type { UnmatchedGroup } from '../../src/model/results/format.js';
import { type LogRow, placedRow } from '../support/launches/log-row.js';

export function readLog(log: string | Buffer): { readonly rows: LogRow[]; readonly attempts: AttemptRow[] } {
  const rows: LogRow[] = [];
  const attempts: AttemptRow[] = [];
  readLogBytes(Buffer.from(log), {
    incident() {},
    note() {},
    logRow: (finding, place) => rows.push(placedRow(finding, place)),
    attempt: (row) => attempts.push(row),
  });
  return { rows, attempts };
}

export const readLogRows = (log: string | Buffer): LogRow[] => readLog(log).rows;

/** Topics a reader of a log cannot do without. */
const NEEDED = ['iteration', 'memory', 'failure'];

export async function unreadFigures(source: ByteSource, name: string): Promise<readonly UnmatchedGroup[]> {
  const result = await explainLog(source, name, 0);
  expect(result.unmatched_others).toEqual({ shapes: 0, lines: 0 });
  return result.unmatched.filter(({ topic }) => NEEDED.includes(topic));
}
