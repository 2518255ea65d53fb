/** What most people bring: the snapshots of the ranks of one node, small enough that starting up counts. */
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  type BenchContext,
  type Case,
  PICKLE_LOAD,
  pickleLoad,
  requirePython,
  runCli,
  withFreshStore,
} from '../case.js';
import { type Input, rankInputs } from '../inputs.js';
import { alternate, type Contender, type Sample } from '../measure.js';
import type { Bar, Group, Work } from '../report.js';
import { countEvents, ingestInto, sizeTitle } from './snapshot-store.js';

const RANKS = 8;
/** As a script does that goes through the files of a run: each is dropped before the next one is loaded. */
const LOAD_EACH = `
import gc, pickle, sys
for path in sys.argv[1:]:
    with open(path, 'rb') as file:
        snapshot = pickle.load(file)
    del snapshot
    gc.collect()
`;
const EACH = `pickle.load, del, gc.collect × ${RANKS}`;

/** By entries of each file. */
const BARS: ReadonlyMap<number, { readonly all: Bar; readonly one: Bar }> = new Map([
  [100_000, { all: { of: EACH, limit: 0.8 }, one: { of: PICKLE_LOAD, limit: 2 } }],
]);

/** The files of one run in one process, the first of them alone, and what starting costs. */
export const ranksCase: Case = {
  name: 'ranks',
  async *run(context) {
    for (const events of context.events) {
      const { directory, files } = await rankInputs(context, events, RANKS);
      const bars = BARS.get(events);
      yield await against(context, events, `ingest DIR (${RANKS} files)`, directory, files, bars?.all, {
        [EACH]: async () => {
          const { executable } = requirePython(context);
          return context.timer.run(executable, ['-c', LOAD_EACH, ...files.map(({ file }) => file)]);
        },
      });
      const [first] = files;
      const load = pickleLoad(context, first!.file, 'gc on');
      yield await against(context, events, 'ingest FILE', first!.file, [first!], bars?.one, {
        [PICKLE_LOAD]: async () => (await load())[PICKLE_LOAD]!,
      });
    }
    yield await startUp(context);
  },
};

/** `path` into a new store each time, against what Python does with its files. */
async function against(
  context: BenchContext,
  entries: number,
  row: string,
  path: string,
  files: readonly Input[],
  bar: Bar | undefined,
  python: Readonly<Record<string, () => Promise<Sample>>>,
): Promise<Group> {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  // Untimed, as in the case of single files.
  const events = await withFreshStore(context, async (db) => {
    await ingestInto(context, path, db);
    return countEvents(context, db, files.length * entries);
  });
  const rivals = Object.entries(python).map(
    ([name, run]): Contender =>
      async () => ({ [name]: plain(await run()) }),
  );
  const ours: Contender = () => withFreshStore(context, async (db) => ({ [row]: await ingestInto(context, path, db) }));
  const work: Work = { bytes, events };
  return {
    case: 'ranks',
    title: `${files.length === 1 ? '' : `${files.length} files: `}${sizeTitle(events, bytes)}`,
    baselines: Object.keys(python),
    samples: await alternate([ours, ...rivals], context.repeat, context.progress),
    work: Object.fromEntries([row, ...Object.keys(python)].map((name) => [name, work])),
    bars: bar === undefined ? {} : { [row]: [bar] },
    notes: ['whole processes with their start-up, in turn; ours into a new store each time'],
  };
}

const NODE = 'node -e 0';

/** Each row does what the one above it does, and more. */
async function startUp(context: BenchContext): Promise<Group> {
  return withFreshStore(context, async (db) => {
    const log = join(dirname(db), 'one-line.log');
    await writeFile(log, 'iteration 1/10 | lm loss: 1.0\n');
    await ingestInto(context, log, db);
    const cli =
      (row: string, args: readonly string[]): Contender =>
      async () => ({ [row]: plain(await runCli(context, args)) });
    const samples = await alternate(
      [
        async () => ({ [NODE]: plain(await context.timer.run(process.execPath, ['-e', '0'])) }),
        cli('ingest --help: our modules', ['ingest', '--help']),
        cli('runs: the database library, a store opened to read', ['runs', '--db', db]),
        () =>
          withFreshStore(context, async (fresh) => ({
            'ingest of one line: a store made and written': await ingestInto(context, log, fresh),
          })),
      ],
      context.repeat,
      context.progress,
    );
    return {
      case: 'ranks',
      title: 'start-up, in the order of what each adds',
      baselines: [NODE],
      samples,
      work: {},
      bars: {},
      notes: [],
    };
  });
}

function plain({ seconds, peakRssBytes }: Sample): Sample {
  return { seconds, peakRssBytes };
}
