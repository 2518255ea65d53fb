/** A run directory in which every format that is read has secrets of every kind, and none of them twice. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import { createRandom } from '../../samples/generate/simulate/random.js';
import { eventFile } from '../../samples/generate/write/monitor/event-file.js';
import { PyText } from '../../samples/generate/write/pickle-writer.js';
import { changed, jsonLines, smallExport, sqliteBytes } from '../support/nsys-export.js';
import { type Dict, entry, frame, snapshotPickle } from '../support/small-snapshot.js';

const ALL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const HEX = '0123456789abcdef';

/** Random characters, the same for the same seed. */
class Random {
  private readonly next: () => number;
  constructor(seed: number) {
    this.next = createRandom(seed);
  }
  take(count: number, of = ALL): string {
    const text = Array.from({ length: count }, () => of[Math.floor(this.next() * of.length)]).join('');
    // A value of one kind of letter only is prose.
    return of === HEX ? text : `${text.slice(0, -3)}q7Z`;
  }
}

/** A setting whose value has a secret; `text` is the value, of which `secret` may be in no output. */
interface Planted {
  readonly name: string;
  readonly text: string;
  readonly secret: string;
}

export type Kind = (random: Random) => Planted;

const named =
  (name: string, length = 24): Kind =>
  (random) => {
    const secret = random.take(length);
    return { name, text: secret, secret };
  };
const shaped =
  (before: string, length: number, after = '', of = ALL): Kind =>
  (random) => {
    const body = random.take(length, of);
    return { name: 'remark', text: `${before}${body}${after}`, secret: body };
  };

/** Known by their name, and by their shape under a name that means nothing. */
export const KINDS: readonly Kind[] = [
  ...['hub_token', 'token', 'github_token', 'session_token', 'sas_token', 'bearer', 'wandb_key', 'ngc_key'].map(
    (name) => named(name),
  ),
  ...['comet_key', 'account_key', 'encryption_key', 'aws_access_key_id', 'aws_secret_access_key', 'api_key'].map(
    (name) => named(name, 40),
  ),
  ...['mlflow_tracking_token', 'mlflow_tracking_password', 'client_secret', 'db_password', 'PGPASSWORD', 'jwt'].map(
    (name) => named(name, 17),
  ),
  ...['slack_webhook_url', 'neptune_api_token', 'clearml_api_secret_key', 'hf_access_token'].map((name) => named(name)),
  ...[shaped('hf_', 34), shaped('ghp_', 36), shaped('github_pat_', 40), shaped('glpat-', 20), shaped('sk-proj-', 40)],
  ...[shaped('sk-ant-', 40), shaped('AKIA', 16, '', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'), shaped('AIza', 35)],
  ...[shaped('xoxb-0123456789-', 24), shaped('https://hooks.slack.com/services/T0/B0/', 24), shaped('npm_', 36)],
  ...[shaped('eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJlIn0.', 30), shaped('pypi-AgEIcHlwaS5vcmc', 40), shaped('nvapi-', 40)],
  ...[shaped('0123456789:AA', 33), shaped('https://discord.com/api/webhooks/0123456789/', 40), shaped('sk_live_', 24)],
  ...[shaped('SG.', 22, '.0123456789abcdefghij0123'), shaped('SK', 32, '', HEX), shaped('dop_v1_', 64, '', HEX)],
  ...[shaped('dapi', 32, '', HEX), shaped('hvs.', 24), shaped('dckr_pat_', 24), shaped('wandb_v1_', 77)],
  ...[shaped('https://somebody:', 14, '@host.example/x'), shaped('s3://KEYNAME:', 40, '@bucket/x')],
  ...[shaped('https://a.example/c?sv=2024&sig=', 30), shaped('Authorization: Bearer ', 24)],
];

/** The last letters of AKIA and its like may not be those that {@link Random.take} ends with. */
const plantedOf = (kind: Kind, random: Random): Planted => {
  const made = kind(random);
  if (!made.text.startsWith('AKIA')) return made;
  const secret = made.secret.toUpperCase();
  return { ...made, secret, text: `AKIA${secret}` };
};

export interface PlantedRun {
  readonly files: readonly string[];
  readonly secrets: readonly string[];
}

/** Writes the files below `directory`, with each of `kinds` in each of them. */
export function writePlantedRun(directory: string, seed: number, kinds = KINDS): PlantedRun {
  const secrets: string[] = [];
  const files: string[] = [];
  const random = new Random(seed);
  const all = (): Planted[] =>
    kinds.map((kind, i) => {
      const planted = plantedOf(kind, random);
      secrets.push(planted.secret);
      return { ...planted, name: planted.name === 'remark' ? `remark_${i}` : planted.name };
    });
  const put = (name: string, content: string | Uint8Array): void => {
    const path = join(directory, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    files.push(path);
  };
  const isShaped = ({ name }: Planted): boolean => name.startsWith('remark');
  const variable = ({ name, text }: Planted): string => `${name.toUpperCase()}=${text}`;

  put('train.log', logText(all(), all(), all(), all()));
  const variables = (separator = ' '): string => all().map(variable).join(separator);
  const flags = (): string[] => all().flatMap(({ name, text }) => [`--${name}`, text]);
  const option = ({ name, text }: Planted): string => `--${name.toLowerCase().replaceAll('_', '-')} "${text}"`;
  const putLines = (name: string, ...lines: readonly string[]): void => put(name, lines.join('\n'));
  const putJson = (name: string, value: unknown): void => put(name, JSON.stringify(value));

  putLines(
    'launch.sbatch',
    ...['#!/bin/bash', '#SBATCH --job-name=train'],
    ...all().map((planted) => `export ${variable(planted)}`),
    `mpirun -x ${variables(' -x ')} torchrun --nproc-per-node 8 train.py \\`,
    ...all().map((planted) => `  ${option(planted)} \\`),
    '  --tensor-model-parallel-size 2 --micro-batch-size 1 --num-layers 32',
    `curl -u somebody:${random.take(12)} https://host.example/`,
  );
  const known = {
    tensor_model_parallel_size: 2,
    micro_batch_size: 1,
    num_layers: 32,
    hidden_size: 4096,
    seq_length: 4096,
  };
  const settings = (list: readonly Planted[]): Record<string, string> =>
    Object.fromEntries(list.map(({ name, text }) => [name, text]));
  const listed = (list: readonly Planted[]) =>
    list.map(({ name, text }) => ({ name: name.toUpperCase(), value: text }));
  const tree = () => ({
    model: { ...known, ...settings(all()) },
    logger: settings(all()),
    env: listed(all()),
    args: flags(),
    env_vars: { NCCL_DEBUG: 'INFO', ...Object.fromEntries(all().map(({ name, text }) => [`NCCL_${name}`, text])) },
  });
  put('model_config.yaml', stringify(tree()));
  put('config.json', JSON.stringify(tree(), null, 1));
  putLines(
    'train_config.toml',
    ...['[model]', ...Object.entries(known).map(([key, value]) => `${key} = ${value}`)],
    ...all().map(({ name, text }) => `${name} = "${text}"`),
  );
  const shaped = all().filter(isShaped);
  putLines(
    'env.txt',
    ...['PATH=/usr/bin', 'HOME=/root', 'RANK=0', 'WORLD_SIZE=8', 'NCCL_DEBUG=INFO', 'SLURM_JOB_ID=1', 'HOSTNAME=node1'],
    ...all().map(variable),
    ...shaped.map(({ text }, i) => `NCCL_REMARK_${i}=${text}`),
  );
  const wandb = 'wandb/run-20261120_101112-ab12cd34/files';
  const wandbSettings = Object.entries({ ...known, ...settings(all()) }).map(([key, value]) => [key, { value }]);
  const _wandb = { value: { cli_version: '0.17.0', python_version: '3.10.12' } };
  put(`${wandb}/config.yaml`, stringify({ ...Object.fromEntries(wandbSettings), _wandb }));
  putJson(`${wandb}/wandb-metadata.json`, {
    ...{ os: 'Linux', python: '3.10.12', startedAt: '2026-11-20T10:11:12.000000', program: 'train.py', host: 'node1' },
    args: flags(),
    git: { remote: `https://somebody:${random.take(20)}@github.com/a/b.git`, commit: '0123456789'.repeat(4) },
    ...{ gpu: 'NVIDIA H100', gpu_count: 8 },
  });
  putJson(`${wandb}/wandb-summary.json`, { _step: 3, 'lm loss': 2.5, ...settings(all()) });
  const job = {
    ...{ association: {}, exit_code: { return_code: { number: 1 } }, required: {}, job_id: 4711 },
    ...{ name: `train ${variables()}`, state: { current: ['OUT_OF_MEMORY'] }, steps: [], nodes: 'node07' },
    comment: { job: variables(), administrator: '', system: '' },
    submit_line: `sbatch --export=ALL,${variables(',')} x.sh`,
    time: { elapsed: 10, start: 1_790_000_000, end: 1_790_000_010 },
  };
  putJson('sacct.json', { meta: { slurm: { release: '24.05.4' } }, jobs: [job] });
  const times = '2026-11-20T10:00:00|2026-11-20T10:11:12';
  putLines(
    'sacct.txt',
    'JobID|JobName|State|ExitCode|Start|End|Comment|SubmitLine',
    `4711|${variables()}|OUT_OF_MEMORY|0:125|${times}|${variables()}|sbatch --export=${variables(',')} x.sh\n`,
  );
  const pod = (list: readonly Planted[], others: readonly Planted[]) => ({
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'trainer-0', namespace: 'default' } },
    spec: {
      nodeName: 'node-7',
      containers: [
        {
          ...{ name: 'trainer', image: 'x', env: [...listed(list), { name: 'NCCL_DEBUG', value: 'INFO' }] },
          command: ['sh', '-c', others.map(variable).join(' ')],
          args: others.flatMap(({ name, text }) => [`--${name}`, text]),
          resources: { limits: { memory: '64Gi' } },
        },
      ],
    },
    status: {
      containerStatuses: [
        {
          name: 'trainer',
          restartCount: 1,
          state: { terminated: { exitCode: 137, reason: 'OOMKilled', message: others.map(variable).join('\n') } },
        },
      ],
    },
  });
  const evicted = (list: readonly Planted[]) => ({
    ...{ apiVersion: 'v1', kind: 'Event', type: 'Warning', reason: 'Evicted', metadata: { name: 'x' } },
    involvedObject: { kind: 'Pod', name: 'trainer-0', namespace: 'default' },
    message: `The node was low on resource: memory. ${list.map(variable).join(' ')}`,
    lastTimestamp: '2026-11-20T10:20:00Z',
  });
  const secretObject = (list: readonly Planted[]) => ({
    ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'keys' } },
    stringData: Object.fromEntries(list.map(({ secret }, i) => [`entry${i}`, secret])),
  });
  put('pods.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [pod(all(), all()), evicted(all())] }));
  put('pod.yaml', stringify(pod(all(), all())));
  put(
    'manifests.yaml',
    [secretObject(all()), { ...known, spec: settings(all()) }].map((one) => stringify(one)).join('---\n'),
  );
  const nsys = (list: readonly Planted[]) => {
    const tables = smallExport({
      environment: ['RANK=3', 'WORLD_SIZE=8', ...list.map(variable), `NCCL_NET=${list.at(-2)!.text}`],
    });
    const range = tables['NVTX_EVENTS']!;
    const message = tables['DIAGNOSTIC_EVENT']!;
    return changed(tables, {
      NVTX_EVENTS: {
        rows: range.rows.concat(
          list.map((planted) => ({ ...range.rows[1]!, text: `load ${variable(planted)}`, textId: null })),
        ),
      },
      DIAGNOSTIC_EVENT: {
        rows: message.rows.concat(
          list.map((planted) => ({ ...message.rows[0]!, text: `Started ${variable(planted)}` })),
        ),
      },
      USER_NOTES: {
        columns: { name: 'TEXT', value: 'TEXT', note: 'TEXT' },
        rows: list.map((planted) => ({ name: planted.name, value: planted.text, note: `x ${variable(planted)}` })),
      },
    });
  };
  put('report1.sqlite', sqliteBytes(nsys(all())));
  put('report2.jsonl', jsonLines(nsys(all())));
  const metadata = all().map(
    (planted, i): Dict => ({
      ...entry('alloc', i, { user_metadata: new PyText(variable(planted)), note: new PyText(variable(planted)) }),
      frames: [frame(`load_${variable(planted)}`, `https://somebody:${planted.secret}@host.example/train.py`, 7)],
    }),
  );
  const annotations = all().map((planted, i) => ({
    ...{ device: 0, time_us: 1000 + i, stage: new PyText('START'), name: new PyText(`step ${variable(planted)}`) },
  }));
  put(
    'snapshot_oom_rank-0.pickle',
    snapshotPickle({
      ...{ device_traces: [metadata], external_annotations: annotations },
      allocator_settings: { PYTORCH_CUDA_ALLOC_CONF: new PyText(''), ...settings(all()) },
    }),
  );
  const metric = { _runtime: 1, _timestamp: 1_790_000_000, loss: 2 };
  putLines('metrics.jsonl', ...all().map(({ name, text }, i) => JSON.stringify({ _step: i, ...metric, [name]: text })));
  putLines('scalars.csv', 'step,loss,note,lr', ...all().map((planted, i) => `${i},2.5,${variable(planted)},0.1`));
  putLines(
    'nvidia-smi.csv',
    'timestamp, index, name, memory.total [MiB], memory.used [MiB]',
    ...all().map((planted, i) => `2026/11/20 10:11:${10 + (i % 50)}.000, 0, ${variable(planted)}, 81559 MiB, ${i} MiB`),
  );
  const texts = [
    { name: 'args', text: JSON.stringify({ per_device_train_batch_size: 2, ...settings(all()) }) },
    ...all(),
  ].map(({ name, text }) => ({ name, text, timeUs: 0 }));
  put('events.out.tfevents.1760000000.node-3.99.0', eventFile(0, texts, []));
  return { files, secrets };
}

/** Lines that become rows: failures, source lines of tracebacks, printed arguments, commands, variables. */
function logText(...parts: readonly (readonly Planted[])[]): string {
  const [failures = [], sources = [], printed = [], commands = []] = parts;
  const bare = ({ name, text }: Planted): string => `${name.toUpperCase()}=${text}`;
  return [
    'using world size: 8, data-parallel size: 4, tensor-model-parallel size: 2',
    ...commands.map((planted) => `+ export ${bare(planted)}`),
    `+ torchrun train.py ${commands.map(({ name, text }) => `--${name} ${text}`).join(' ')} --micro-batch-size 1`,
    '------------------------ arguments ------------------------',
    '  micro_batch_size ................................ 1',
    ...printed.map(({ name, text }) => `  ${name} ${'.'.repeat(Math.max(4, 40 - name.length))} ${text}`),
    '-------------------- end of arguments ---------------------',
    ' iteration        1/     100 | consumed samples:            8 | elapsed time per iteration (ms): 1000.0 | lm loss: 1.0E+01 |',
    ...failures.flatMap((planted) => [
      `slurmstepd: error: Detected 1 oom_kill event in StepId=4711.0. Some of the step tasks have been OOM Killed. ${bare(planted)}`,
      `RuntimeError: ${bare(planted)} is wrong`,
    ]),
    ...sources.flatMap((planted) => [
      'Traceback (most recent call last):',
      '  File "/srv/run/train.py", line 12, in main',
      `    model = load(${planted.name.startsWith('remark') ? 'path' : planted.name}="${planted.text}")`,
      '  File "/srv/run/model.py", line 34, in load',
      `    return fetch("${planted.name.startsWith('remark') ? planted.text : 'x'}", ${planted.name.startsWith('remark') ? 'path' : planted.name}='${planted.text}')`,
      `torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 79.15 GiB total capacity; 70.00 GiB already allocated; 1.00 GiB free; 75.00 GiB reserved in total by PyTorch) ${bare(planted)}`,
    ]),
  ].join('\n');
}

const MARK = 8;

/** Finds secrets as they are, in Base64, in UTF-16; their letters are the same in a URL. */
export class SecretSearch {
  private readonly marks = new Map<string, string>();

  constructor(secrets: readonly string[]) {
    for (const secret of secrets) {
      this.marks.set(secret.slice(0, MARK), secret);
      for (const shift of [0, 1, 2]) {
        const coded = Buffer.from('x'.repeat(shift) + secret).toString('base64');
        // The letters that depend on this secret alone.
        this.marks.set(coded.slice(4, 4 + MARK), secret);
      }
    }
  }

  /** The first 40 secrets of a text, with what is before and after them. */
  in(content: string | Uint8Array): string[] {
    const latin = typeof content === 'string' ? content : Buffer.from(content).toString('latin1');
    const places: string[] = [];
    for (const text of latin.includes('\0') ? [latin, latin.replaceAll('\0', '')] : [latin]) {
      for (const { 0: word, index } of text.matchAll(/[A-Za-z0-9+/]{8,}/g)) {
        for (let at = 0; at + MARK <= word.length && places.length < 40; at++) {
          const secret = this.marks.get(word.slice(at, at + MARK));
          const from = Math.max(0, index + at - 80);
          if (secret !== undefined) places.push(`${secret} in ${JSON.stringify(text.slice(from, index + at + 40))}`);
        }
      }
    }
    return places;
  }
}
