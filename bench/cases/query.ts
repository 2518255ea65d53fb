import { copyFile, rm } from 'node:fs/promises';
import { type BenchContext, type Case, PICKLE_LOAD, pickleLoad, runCli, withFreshStore } from '../case.js';
import { snapshotInput } from '../inputs.js';
import { alternate, type Contender } from '../measure.js';
import { type Bar, type Group, PEAK_RSS } from '../report.js';
import { countEvents, ingestInto, sizeTitle } from './snapshot-store.js';

/** Questions by row name: one scan, the running peak, the heaviest stacks, and lifetimes. */
const SQL: Readonly<Record<string, string>> = {
  'sql: events by action': 'SELECT action, count(*), sum(size_bytes) FROM event GROUP BY ALL ORDER BY 2 DESC',
  'sql: peak of requested bytes': `SELECT max(total), arg_max(seq, total) FROM (
    SELECT seq, sum(CASE action WHEN 'alloc' THEN size_bytes WHEN 'free_completed' THEN -size_bytes END)
      OVER (PARTITION BY snapshot_id, device ORDER BY seq) AS total FROM event)`,
  'sql: top call sites': `SELECT frame.filename, frame.line, sum(event.size_bytes) AS bytes FROM event
    JOIN stack_frame USING (stack_id) JOIN frame USING (frame_id)
    WHERE event.action = 'alloc' AND stack_frame.pos = 8 GROUP BY ALL ORDER BY bytes DESC LIMIT 20`,
  'sql: largest allocations': `SELECT address, alloc_seq, free_completed_seq, actual_bytes, stack_id FROM allocation
    ORDER BY actual_bytes DESC LIMIT 20`,
  'sql: lifetimes by stack': `SELECT stack_id, count(*), avg(lifetime_us) AS lived_us FROM allocation
    WHERE lifetime_us IS NOT NULL GROUP BY ALL ORDER BY lived_us DESC LIMIT 20`,
};

/**
 * Questions about the allocator, each a process of its own; the first of all walks the trace, the later ones find what
 * it kept.
 */
const QUESTIONS: Readonly<Record<string, readonly string[]>> = {
  peak: ['peak'],
  'at peak': ['state', '--at', 'peak'],
  'at end': ['state', '--at', 'end'],
  segments: ['state', '--map', '--at', 'peak'],
  timeline: ['timeline'],
};

/** Of the questions that walk a whole trace, first asked or not. */
const QUESTION_BAR: Bar = { of: PICKLE_LOAD, limit: 0.1 };
const BARRED_QUESTIONS = ['peak', 'at peak', 'timeline'];
const BARRED_EVENTS = 5_000_000;

/**
 * The smallest supported memory limit: with this much for the database the whole process must not exceed twice as much.
 */
const SMALL_MEMORY = '256MB';
const SMALL_PROCESS_BYTES = 512e6;

/**
 * Answers from an ingested store, each a process of its own, against what Python pays before it can answer anything.
 */
export const queryCase: Case = {
  name: 'query',
  async *run(context) {
    for (const events of context.events) yield await measure(context, events);
  },
};

async function measure(context: BenchContext, entries: number): Promise<Group> {
  const { file, bytes } = await snapshotInput(context, entries);
  return withFreshStore(context, async (db) => {
    await ingestInto(context, file, db);
    const events = await countEvents(context, db, entries);
    const untouched = `${db}.untouched`;
    await copyFile(db, untouched);
    const cli =
      (row: string, args: readonly string[]): Contender =>
      async () => {
        const { seconds, peakRssBytes } = await runCli(context, [...args, '--db', db]);
        return { [row]: { seconds, peakRssBytes } };
      };
    /** As the first question after an ingest: nothing is derived yet. */
    const first =
      (row: string, args: readonly string[]): Contender =>
      async () => {
        const fresh = `${db}.fresh`;
        await copyFile(untouched, fresh);
        try {
          const { seconds, peakRssBytes } = await runCli(context, [...args, '--db', fresh]);
          return { [row]: { seconds, peakRssBytes } };
        } finally {
          await rm(fresh, { force: true });
        }
      };
    const loadProcess = pickleLoad(context, file, 'gc on');
    const questions = Object.entries(QUESTIONS);
    const samples = await alternate(
      [
        async () => {
          const { seconds, peakRssBytes } = await runCli(context, ['--version']);
          return { '--version (start-up)': { seconds, peakRssBytes } };
        },
        ...questions.map(([row, args]) => first(firstAsked(row), args)),
        ...questions.map(([row, args]) => cli(row, args)),
        ...['snapshot', 'diagnose'].map((verb) => cli(verb, [verb])),
        first(limited('peak'), ['peak', '--memory-limit', SMALL_MEMORY]),
        first(limited('timeline'), ['timeline', '--memory-limit', SMALL_MEMORY]),
        ...Object.entries(SQL).map(([row, statement]) => cli(row, ['sql', statement])),
        async () => ({ [PICKLE_LOAD]: (await loadProcess())[PICKLE_LOAD]! }),
      ],
      context.repeat,
      context.progress,
    );
    const barred = entries >= BARRED_EVENTS ? BARRED_QUESTIONS : [];
    return {
      case: 'query',
      title: `store of a ${sizeTitle(events, bytes)}`,
      baselines: [PICKLE_LOAD],
      samples,
      work: {},
      bars: {
        ...Object.fromEntries(barred.flatMap((row) => [row, firstAsked(row)]).map((row) => [row, [QUESTION_BAR]])),
        ...Object.fromEntries(
          ['peak', 'timeline'].map((row) => [limited(row), [{ of: PEAK_RSS, limit: SMALL_PROCESS_BYTES }]]),
        ),
      },
      notes: [
        'each answer is a process of its own with its start-up; the store is in the page cache, having just been written',
        '"first" is asked of a store that was only ingested: it walks the trace and keeps what it found',
      ],
    };
  });
}

function firstAsked(row: string): string {
  return `${row}, first`;
}

function limited(row: string): string {
  return `${row}, first, --memory-limit ${SMALL_MEMORY}`;
}
