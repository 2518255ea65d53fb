/**
 * `mbforensics ingest`: paths → runs → files → rows. A transaction has whole files, so that whatever happens the store
 * holds whole sources only, and a second ingest goes on where the first was cut off; see `session.ts`.
 *
 * While one file is written, the next ones are already being decoded on other cores; and while a new store is being
 * made, so is the first.
 */

import { PARSERS } from '../../parsers/index.js';
import { NO_RUN_FIGURES } from '../attribution/blocks/attribution.js';
import { derive } from '../derive/derive.js';
import { MbfError } from '../model/errors.js';
import { pushAll } from '../model/lists.js';
import type { IngestResult, IngestSource, NoteResult } from '../model/results/common.js';
import { asFailure } from './as-failure.js';
import { type Candidate, discover, NOT_FOLLOWED, type Skipped } from './discover/discover.js';
import { type Examined, examine } from './discover/examine.js';
import { RanksOfFiles } from './discover/names/ranks-of-files.js';
import { planRuns } from './discover/names/run-names.js';
import { countAttempts } from './finish/count-attempts.js';
import { removeRun, unlikeRoots } from './finish/unlike-roots.js';
import type { IngestOptions } from './options.js';
import { DecodeThreads, decodedBytes } from './read/decode-in-thread.js';
import { readingOrder } from './reading-order.js';
import { blank, bytesOf, Session } from './session.js';

export async function ingest(options: IngestOptions): Promise<IngestResult> {
  const { file } = options.store;
  const thread = new DecodeThreads({ bulk: options.decoders });
  let early: Examined | undefined;
  let session: Session | undefined;
  try {
    const plans = await planRuns(options.paths, options);
    const runs: IngestResult['runs'][number][] = [];
    const sources: IngestSource[] = [];
    const written = new Set<number>();
    let separated: string | null = null;
    for (const plan of plans) {
      const before = { runs: runs.length, sources: sources.length };
      const { skipped, failed, ...found } = await discover(plan.paths, {
        exclude: [file, `${file}.wal`],
        followLinks: options.followLinks,
      });
      const candidates = await ofRanks(found.candidates, options);
      for (const group of skipped) pushAll(sources, skippedSources(plan.name, group));
      // An empty directory makes neither a store nor a run.
      if (candidates.length === 0 && failed.length === 0) continue;
      const order = readingOrder(candidates);
      if (session === undefined) {
        const first = order.others[0] ?? order.snapshots[0];
        if (first !== undefined && 'open' in options.store && options.store.isNew) {
          const { parsers = PARSERS, allTables, explain, formats, rowsOnly } = options;
          const run = rowsOnly === true ? undefined : NO_RUN_FIGURES;
          early = await examine(first, parsers, thread, {
            allTables,
            explain,
            formats,
            runBytes: decodedBytes(candidates),
            run,
          });
        }
        session = new Session(options, 'open' in options.store ? await options.store.open() : options.store, thread);
      }
      const run = await session.openRun(plan);
      const isNew = !run.isStored;
      options.progress?.files(candidates.length, bytesOf(candidates));
      runs.push({ name: run.name, label: run.label, commit: run.commit, path: plan.rootPath });
      for (const entry of failed) {
        const error = asFailure(entry.error.inFile(entry.displayPath));
        sources.push(blank(run, entry.displayPath, { status: 'failed', error }));
      }
      const asRead = [...order.others, ...order.snapshots];
      const results = new Map<Candidate, IngestSource>();
      for await (const source of session.sources(run, order, early)) results.set(asRead[results.size]!, source);
      pushAll(
        sources,
        candidates.flatMap((candidate) => results.get(candidate) ?? []),
      );
      early = undefined;
      if (!run.isStored) continue;
      const unlike = plan.named || !isNew ? undefined : await unlikeRoots(session.store, run.runId, plan.paths);
      if (unlike !== undefined) {
        const why = `the directories are of unlike runs: ${unlike}`;
        if (options.oneRun === true)
          throw new MbfError(
            'MBF1001',
            `${why}; name one of them, make a run of each: ingest --each, or one run of all: ingest --run NAME`,
          );
        // They are read again: what they are shows in the files only.
        separated = why;
        const { store } = session;
        await removeRun(store, run.runId);
        await session.close();
        session = new Session(options, store, thread);
        runs.length = before.runs;
        sources.length = before.sources;
        pushAll(plans, await planRuns(plan.paths, { each: true }));
        continue;
      }
      await countAttempts(session.store, run.runId);
      written.add(run.runId);
    }
    if (session !== undefined) {
      await thread.close();
      options.progress?.derive();
      if (options.rowsOnly !== true) await derive(session.store, [...written]);
      if (options.keepsLog !== true) await session.store.checkpoint();
    }
    return { schema: 'mbforensics/ingest@1', db: file, runs, sources, separated };
  } finally {
    await thread.close();
    await session?.close();
    await early?.close();
  }
}

async function ofRanks(candidates: readonly Candidate[], options: IngestOptions): Promise<readonly Candidate[]> {
  const isWanted = options.ofRanks;
  if (isWanted === undefined) return candidates;
  const ranks = new RanksOfFiles();
  const isKept = await Promise.all(candidates.map(async (each) => isWanted((await ranks.of(each))?.rank ?? null)));
  return candidates.filter((_, i) => isKept[i]);
}

/**
 * Files that are skipped by one rule, as one entry with an example. Links that are not followed are named one by one,
 * with a warning: what they lead to may be the run.
 */
function skippedSources(run: string, { rule, why, count, examples, root }: Skipped): IngestSource[] {
  const isLinks = rule === NOT_FOLLOWED;
  const note = (of: number): NoteResult => ({
    kind: rule,
    severity: isLinks ? 'warning' : 'info',
    text: why,
    count: of,
    device: null,
    seq: null,
    offset: null,
    line: null,
  });
  const entry = (path: string, of: number): IngestSource =>
    blank({ name: run }, path, { status: 'skipped', notes: [note(of)] });
  if (!isLinks) return [entry(examples[0] ?? root, count)];
  const last = examples.length - 1;
  return examples.map((link, at) => entry(link, at === last ? count - last : 1));
}
