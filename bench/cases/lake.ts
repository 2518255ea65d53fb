/** A lake of a run of many ranks: what adding a block costs from the first to the last, and its bytes. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { groupBy } from '../../src/model/group-by.js';
import { sumOf } from '../../src/model/lists.js';
import type { LakeAddResult } from '../../src/model/results/lake.js';
import { formatCount } from '../../src/model/units.js';
import { packageRoot } from '../../src/store/load-queries.js';
import { type Case, runCli } from '../case.js';
import type { ProcessRun, Sample } from '../measure.js';
import { type Bar, type Group, MEDIAN } from '../report.js';

const BLOCK_CHILD = join(packageRoot(), 'dist', 'bench', 'lake-block-child.js');
const RANKS_PER_BLOCK = 64;
const ENTRIES = 65_000;
/** Cost of a rank in the last blocks, of that in the first. */
const MOST_GROWTH = 1.25;
/** Bytes at most: of answers, a rank; of events, and of state and events, an entry. */
const LIMITS = { rank: 400, entry: 3.5, entryOfBoth: 7 };

const STATEMENTS: Readonly<Record<string, string>> = {
  'causes of all ranks': 'SELECT cause, count(*) FROM verdict GROUP BY ALL',
  'peak by component of all ranks': 'SELECT component, max(bytes) FROM lake.peak_component GROUP BY ALL',
  'one rank': 'FROM lake.rank_summary WHERE rank = 17',
  'exact peak of all ranks from events':
    "SELECT rank, max(live) FROM (SELECT rank, sum(CASE action WHEN 'alloc' THEN size_bytes WHEN 'free_completed' THEN -size_bytes ELSE 0 END) OVER (PARTITION BY rank, device ORDER BY seq) AS live FROM lake.event) GROUP BY rank",
};

export const lakeCase: Case = {
  name: 'lake',
  async *run(context) {
    const directory = await mkdtemp(join(context.directory, 'lake-'));
    const lake = join(directory, 'lake');
    const blocks = Math.ceil(context.ranks / RANKS_PER_BLOCK);
    const ranksOf = Math.min(RANKS_PER_BLOCK, context.ranks);
    const added: LakeAddResult[] = [];
    const costs: Sample[] = [];
    try {
      for (let block = 0; block < blocks; block += 1) {
        const files = join(directory, 'run');
        await mkdir(files);
        const rank = String(block * ranksOf);
        await context.timer.run(process.execPath, [BLOCK_CHILD, files, rank, String(ranksOf), String(ENTRIES)]);
        const of = ['--block', `${block}/${blocks},local`, '--events', '--id', 'bench', '--quiet', '--json=full'];
        const run = await runCli(context, ['lake', 'add', files, '--to', lake, ...of]);
        added.push(JSON.parse(run.stdout) as LakeAddResult);
        costs.push(cpuOf(run));
        await rm(files, { recursive: true });
        context.progress(
          `  block ${block + 1} of ${blocks}: ${(costs.at(-1)!.seconds / ranksOf).toFixed(2)} CPU s a rank`,
        );
      }
      const tables = added.flatMap((one) => one.tables);
      const bytes = new Map(
        [...groupBy(tables, ({ level }) => level)].map(([level, own]) => [level, sumOf(own.map((one) => one.bytes))]),
      );
      const entries = sumOf(tables.filter(({ table }) => table === 'event').map(({ rows }) => rows));
      const ranks = sumOf(added.map((one) => one.ranks));
      const [answers = 0, state = 0, events = 0] = (['answers', 'state', 'events'] as const).map((level) =>
        bytes.get(level),
      );
      const quarter = Math.ceil(blocks / 4);
      const [first, last] = ['CPU of a block: first quarter', 'CPU of a block: last quarter'] as const;
      yield {
        case: 'lake',
        title: `lake add --events of ${formatCount(ranks)} ranks in ${blocks} blocks, ${formatCount(entries)} entries`,
        baselines: [first],
        samples: new Map([
          [first, costs.slice(0, quarter)],
          [last, costs.slice(-quarter)],
        ]),
        work: {},
        bars: { [last]: [{ of: first, limit: MOST_GROWTH }] },
        notes: [
          `answers: ${(answers / ranks).toFixed(0)} bytes a rank (bar: ${LIMITS.rank})`,
          `events: ${(events / entries).toFixed(2)} bytes an entry (bar: ${LIMITS.entry})`,
          `state and events: ${((state + events) / entries).toFixed(2)} bytes an entry (bar: ${LIMITS.entryOfBoth})`,
        ],
      };
      yield await questions('as added');
      const compaction = await runCli(context, ['lake', 'compact', lake, '--quiet', '--json=full']);
      const [{ files_before: before, files, before_bytes: beforeBytes, bytes: afterBytes }] = (
        JSON.parse(compaction.stdout) as {
          runs: { files_before: number; files: number; before_bytes: number; bytes: number }[];
        }
      ).runs as [never];
      const compacted = await questions('compacted');
      yield {
        ...compacted,
        notes: [
          `lake compact: ${String(before)} files of ${String(beforeBytes)} bytes are ${String(files)} of ${String(afterBytes)}; ${cpuOf(compaction).seconds.toFixed(1)} CPU s`,
        ],
      };
    } finally {
      await rm(directory, { recursive: true, force: true });
    }

    async function questions(what: string): Promise<Group> {
      const samples = new Map<string, Sample[]>();
      const bars: Record<string, Bar[]> = {};
      for (const [name, statement] of Object.entries(STATEMENTS)) {
        const runs: Sample[] = [];
        for (let i = 0; i < Math.min(context.repeat, 3); i += 1)
          runs.push(cpuOf(await runCli(context, ['sql', statement, '--lake', lake, '--limit', '5'])));
        samples.set(name, runs);
        if (!name.includes('events')) bars[name] = [{ of: MEDIAN, limit: 1 }];
      }
      return { case: 'lake', title: `questions, CPU, ${what}`, baselines: [], samples, work: {}, bars, notes: [] };
    }
  },
};

const cpuOf = ({ cpuSeconds, seconds, peakRssBytes }: ProcessRun): Sample => ({
  seconds: cpuSeconds ?? seconds,
  peakRssBytes,
});
