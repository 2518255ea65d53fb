/** The formats of the campaign: how often each is chosen, what it begins with, how it is changed and who reads it. */
import type { Random } from '../../samples/generate/simulate/random.js';
import { randomEnvironment, randomShell, randomToml, randomYaml } from './generate-text.js';
import { type Mutator, mutateBytes, mutateLines } from './mutate-bytes.js';
import { mutateJson, mutateJsonLines } from './mutate-json.js';
import { mutateParquet, mutateSqlite, mutateStore } from './mutate-pages.js';
import { mutatePickle } from './mutate-pickle.js';
import { mutateTfRecords, mutateWandbLog } from './mutate-records.js';
import type { Reader } from './oracle.js';
import type { ProgramHost } from './program-host.js';
import { SEEDS, type Seed } from './seeds.js';
import { parquetSeeds, randomTampering, repositorySeeds, storeSeeds } from './states.js';
import { wordsOf } from './words.js';

export interface FuzzFormat {
  /** Share of the batches. One of a repository, a store or a folder is a single input. */
  readonly weight: number;
  readonly reader: Reader | 'repository' | 'store';
  seeds(directory: string, host: ProgramHost): Seed[] | Promise<Seed[]>;
  /** Chosen from for seven of ten changes; the others know nothing of the format. */
  readonly mutators: readonly Mutator[];
  /** A document of its own, in the place of a changed one. */
  readonly generate?: ((random: Random) => Seed) | undefined;
}

const made = (name: string, generate: (random: Random) => string) => (random: Random) => ({
  name,
  bytes: Buffer.from(generate(random)),
});
const lines = [mutateLines];
const json = [mutateJson, mutateJson, mutateBytes];
const of = (
  seeds: FuzzFormat['seeds'],
  weight: number,
  mutators: readonly Mutator[],
  more: Partial<FuzzFormat> = {},
) => ({
  ...{ weight, reader: 'memory' as const, seeds, mutators },
  ...more,
});

export const FORMATS: Readonly<Record<string, FuzzFormat>> = {
  'snapshot-pickle': of(SEEDS['snapshot-pickle'], 10, [mutatePickle]),
  'snapshot-json': of(SEEDS['snapshot-json'], 5, json),
  page: of(SEEDS.page, 3, [mutateLines, mutateBytes]),
  log: of(SEEDS.log, 14, lines),
  yaml: of(SEEDS.yaml, 7, lines, { generate: made('run_config.yaml', randomYaml) }),
  json: of(SEEDS.json, 4, json),
  toml: of(SEEDS.toml, 3, lines, { generate: made('train.toml', randomToml) }),
  shell: of(SEEDS.shell, 8, lines, { generate: made('launch.sbatch', randomShell) }),
  environment: of(SEEDS.environment, 3, lines, { generate: made('env.txt', randomEnvironment) }),
  rules: of(SEEDS.rules, 3, lines, {
    reader: 'rules',
    generate: made('rules.yaml', (random) => `rules:\n  -${randomYaml(random)}`),
  }),
  kubernetes: of(SEEDS.kubernetes, 6, [mutateLines, mutateLines, mutateJson]),
  slurm: of(SEEDS.slurm, 4, lines),
  monitor: of(SEEDS.monitor, 5, [mutateLines, mutateLines, mutateJson]),
  golden: of(SEEDS.golden, 4, json, { reader: 'golden' }),
  scalars: of(SEEDS.scalars, 4, [mutateLines, mutateJsonLines]),
  tensorboard: of(SEEDS.tensorboard, 5, [mutateTfRecords]),
  wandb: of(SEEDS.wandb, 5, [mutateWandbLog]),
  'wandb-folder': of(SEEDS['wandb-folder'], 2, [mutateLines, mutateJson]),
  'nsys-sqlite': of(SEEDS['nsys-sqlite'], 8, [mutateSqlite]),
  'nsys-lines': of(SEEDS['nsys-lines'], 4, [mutateJsonLines, mutateLines]),
  'nsys-parquet': of(parquetSeeds, 8, [mutateParquet], { reader: 'folder' }),
  profiler: of(SEEDS.profiler, 4, json),
  compressed: of(SEEDS.compressed, 3, [mutateBytes], { reader: 'file' }),
  repository: of((directory, host) => repositorySeeds(host, directory), 3, [mutateLines, mutateJson], {
    reader: 'repository',
  }),
  store: of((directory, host) => storeSeeds(host, directory), 4, [mutateStore], {
    reader: 'store',
    generate: made('tampering.sql', randomTampering),
  }),
};

/** Names that a path must survive: of a terminal, of a shell, of a table. */
export const HOSTILE_NAMES = [...wordsOf('names'), `${'x'.repeat(200)}.log`];
