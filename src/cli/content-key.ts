/** What decides whether the files of a path are those that were read: real path, size and time of change. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { asFailure } from '../ingest/as-failure.js';
import { discover, NOT_FOLLOWED } from '../ingest/discover/discover.js';
import { MbfError } from '../model/errors.js';
import { escapeControls } from '../model/escape-controls.js';
import type { Context } from './context.js';

/** Names what is cached of the paths of one run: changed files have another key. Links out of them are remarked. */
export async function contentKey(paths: readonly string[], context: Context): Promise<string> {
  for (const path of paths)
    if (!existsSync(path)) throw new MbfError('MBF1003', 'no such file or directory', { file: path });
  const { candidates, failed, skipped } = await discover(paths);
  for (const { rule, examples, count } of skipped) {
    if (rule !== NOT_FOLLOWED) continue;
    const [first] = examples;
    const more = count > 1 ? ` and ${count - 1} more` : '';
    context.err(`not followed: ${escapeControls(first!)}${more}; name it as a path, or use ingest --follow-links\n`);
  }
  const name = basename(resolve(paths[0]!));
  const key = createHash('sha256').update(`${name}\n`);
  for (const candidate of candidates) key.update(`${candidate.path} ${candidate.sizeBytes} ${candidate.mtimeMs}\n`);
  for (const entry of failed) key.update(`${entry.displayPath} ${asFailure(entry.error).text}\n`);
  if (context.formats !== undefined) key.update(context.formats);
  return key.digest('hex').slice(0, 32);
}
