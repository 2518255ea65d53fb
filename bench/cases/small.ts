/**
 * The cost of a question about one small file: `diagnose FILE` without and with a store, against Node alone and a
 * Python script that loads the same file and adds up its trace.
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../src/store/load-queries.js';
import { type BenchContext, type Case, requirePython } from '../case.js';
import { type Input, snapshotInput } from '../inputs.js';
import { alternate, type Contender, type ProcessRun, type Sample } from '../measure.js';
import { type Group, MEDIAN } from '../report.js';

const CLI = join(packageRoot(), 'dist', 'src', 'cli', 'main.js');
const NODE = 'node alone';
const PYTHON = 'Python: load and loop';

const LOOP = `
import pickle, sys
snapshot = pickle.load(open(sys.argv[1], 'rb'))
segments = snapshot['segments'] if isinstance(snapshot, dict) else snapshot
live = sum(block['size'] for segment in segments for block in segment['blocks'] if block['state'] != 'inactive')
peak = now = 0
for trace in snapshot.get('device_traces', []) if isinstance(snapshot, dict) else []:
    for entry in trace:
        if entry['action'] == 'alloc': now += entry['size']
        elif entry['action'] == 'free_completed': now -= entry['size']
        peak = max(peak, now)
print(live, peak)
`;

/** CPU seconds of an answer at most, without and with a store. */
interface Limits {
  readonly cold: number;
  readonly warm: number;
}

/** Sizes of files, in bytes, and the entries of a generated snapshot about as large. */
const CLASSES = [
  { below: 1e6, entries: 3_000, limits: undefined },
  { below: 4e6, entries: 10_000, limits: { cold: 0.65, warm: 0.15 } },
] as const;

const SAMPLE = join(packageRoot(), 'samples', 'llama3-70b-fragmentation');
const SAMPLE_LIMITS: Limits = { cold: 1.8, warm: 0.2 };

const COLD = 'diagnose, no store yet';
const WARM = 'diagnose, store there';
const cpuOf = (row: string): string => `${row}: CPU`;

export const smallCase: Case = {
  name: 'small',
  async *run(context) {
    for (const { below, entries, limits } of CLASSES)
      yield await measure(context, realSnapshot(below) ?? (await snapshotInput(context, entries)), limits);
    yield await measure(context, { file: SAMPLE, bytes: null }, SAMPLE_LIMITS);
  },
};

/** The largest pickle below a size in the directory of real files. */
function realSnapshot(below: number): Input | undefined {
  const folder = join(process.env['MBF_CORPUS'] ?? '', 'snapshots');
  if (process.env['MBF_CORPUS'] === undefined || !existsSync(folder)) return undefined;
  return readdirSync(folder)
    .filter((name) => name.endsWith('.pickle'))
    .map((name) => ({ file: join(folder, name), bytes: statSync(join(folder, name)).size }))
    .filter(({ bytes }) => bytes < below)
    .sort((a, b) => b.bytes - a.bytes)[0];
}

async function measure(
  context: BenchContext,
  { file, bytes }: { readonly file: string; readonly bytes: number | null },
  limits: Limits | undefined,
): Promise<Group> {
  const cache = await mkdtemp(join(context.directory, 'cache-'));
  const ask = (): Promise<ProcessRun> =>
    context.timer.run(process.execPath, [CLI, 'diagnose', file], { env: { XDG_CACHE_HOME: cache } });
  try {
    const samples = await alternate(
      [
        async () => rows(NODE, await context.timer.run(process.execPath, ['-e', '0'])),
        // Of single files only.
        ...(bytes === null
          ? []
          : [async () => rows(PYTHON, await context.timer.run(requirePython(context).executable, ['-c', LOOP, file]))]),
        async () => {
          await rm(cache, { recursive: true, force: true });
          return rows(COLD, await ask());
        },
        async () => rows(WARM, await ask()),
      ] satisfies Contender[],
      context.repeat,
      context.progress,
    );
    return {
      case: 'small',
      title: bytes === null ? 'the sample run' : `snapshot of ${(bytes / 1e6).toFixed(2)} MB`,
      baselines: bytes === null ? [NODE] : [NODE, PYTHON],
      samples,
      work: {},
      bars:
        limits === undefined
          ? {}
          : {
              [cpuOf(COLD)]: [{ of: MEDIAN, limit: limits.cold }],
              [cpuOf(WARM)]: [{ of: MEDIAN, limit: limits.warm }],
            },
      notes: ['each answer is a process of its own; CPU is user and system time, of all threads'],
    };
  } finally {
    await rm(cache, { recursive: true, force: true });
  }
}

function rows(name: string, { seconds, cpuSeconds, peakRssBytes }: ProcessRun): Record<string, Sample> {
  const cpu = cpuSeconds === null ? {} : { [cpuOf(name)]: { seconds: cpuSeconds, peakRssBytes: null } };
  return { [name]: { seconds, peakRssBytes }, ...cpu };
}
