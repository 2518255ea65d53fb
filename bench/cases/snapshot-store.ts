/** A snapshot in a store, through the command line as a user has it. */
import { formatCount } from '../../src/model/units.js';
import { type BenchContext, runCli } from '../case.js';
import type { Sample } from '../measure.js';

export const ingestWords = (file: string, db: string): string[] => ['ingest', file, '--db', db, '--quiet'];

export async function ingestInto(context: BenchContext, file: string, db: string): Promise<Sample> {
  const { seconds, peakRssBytes } = await runCli(context, ingestWords(file, db));
  return { seconds, peakRssBytes };
}

/**
 * Rows of `event`. The generator completes the current operation, so there may be a few more than requested.
 *
 * @throws {Error} if there are fewer: a fast ingest that loses rows is not a result.
 */
export async function countEvents(context: BenchContext, db: string, atLeast: number): Promise<number> {
  const { stdout } = await runCli(context, ['sql', 'SELECT count(*) FROM event', '--format', 'csv', '--db', db]);
  const events = Number(stdout.trim().split('\n').at(-1));
  if (!(events >= atLeast)) throw new Error(`the store holds ${events} events of a snapshot of ${atLeast}`);
  return events;
}

export function sizeTitle(events: number, bytes: number): string {
  return `snapshot of ${formatCount(events)} events, ${(bytes / 1e6).toFixed(1)} MB`;
}
