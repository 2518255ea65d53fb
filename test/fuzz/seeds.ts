/**
 * What mutations begin with: the samples and fixtures of this checkout, the texts in the tests of the parsers, small
 * files made by the generators of the tests, and the corpus of real files where there is one.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import jsTokens from 'js-tokens';
import { parse } from 'yaml';
import { pickle, pickled } from '../../samples/generate/write/pickle-writer.js';
import { packageRoot } from '../../src/store/load-queries.js';
import { readSamples, textOf } from '../parsers/sample-files.js';
import { jsonLines, smallExport, sqliteBytes, storedZstd } from '../support/nsys-export.js';
import { entry, frame, segment, snapshot, trace } from '../support/small-snapshot.js';
import { spellJson } from '../support/spell-json.js';

export interface Seed {
  /** Base name: detection and rank rules read it. */
  readonly name: string;
  readonly bytes: Buffer;
}

const ROOT = packageRoot();
export const CORPUS = process.env['MBF_CORPUS'] ?? join(ROOT, '..', 'shared', 'corpus');
/** Longer files are slow, and mostly more of the same. */
const MOST_TEXT = 24_000;
const MOST_BINARY = 300_000;

function filesIn(directory: string, pattern: RegExp): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => pattern.test(name))
    .map((name) => join(directory, name))
    .filter((path) => statSync(path).isFile())
    .sort();
}

/** Uncompressed; text is cut after a line. */
function seedOf(path: string): Seed[] {
  if (statSync(path).size > 20_000_000) return [];
  const isGzip = path.endsWith('.gz');
  const bytes = isGzip ? gunzipSync(readFileSync(path)) : readFileSync(path);
  const name = basename(path, '.gz');
  const isBinary = bytes.subarray(0, 1000).includes(0) || bytes[0] === 0x80;
  if (isBinary) return bytes.length <= MOST_BINARY ? [{ name, bytes }] : [];
  const isDocument = /^\s*[{[<]/.test(bytes.toString('latin1', 0, 100));
  if (isDocument) return bytes.length <= MOST_BINARY ? [{ name, bytes }] : [];
  return [
    { name, bytes: bytes.subarray(0, bytes.length > MOST_TEXT ? bytes.lastIndexOf(10, MOST_TEXT) + 1 : undefined) },
  ];
}

const seedsIn = (pattern: RegExp, ...directories: string[]): Seed[] =>
  directories.flatMap((directory) => filesIn(directory, pattern)).flatMap(seedOf);

/** Texts written in the tests of a parser: literals without substitutions, and lists of lines. */
function testTexts(test: string, name: string): Seed[] {
  const path = join(ROOT, 'test', test);
  if (!existsSync(path)) return [];
  const texts: string[] = [];
  let lines: string[] = [];
  const flush = (): void => {
    if (lines.length > 0) texts.push(lines.join('\n'));
    lines = [];
  };
  for (const { type, value } of jsTokens(readFileSync(path, 'utf8'))) {
    if (type === 'NoSubstitutionTemplate') texts.push(unescaped(value.slice(1, -1)));
    else if (type === 'StringLiteral') lines.push(unescaped(value.slice(1, -1)));
    else if (type === 'Punctuator' && value !== ',') flush();
  }
  flush();
  return [...new Set(texts)]
    .filter((text) => text.length >= 30 && text.length < MOST_TEXT)
    .map((text) => ({ name, bytes: Buffer.from(text) }));
}

/** Samples of a parser: `test/parsers/samples`. */
function samplesOf(parser: string, name: string): Seed[] {
  const { texts, samples } = readSamples(parser, join(ROOT, 'test', 'parsers', 'samples'));
  return samples
    .map((sample) => text(sample.name ?? name, textOf(sample, texts)))
    .filter(({ bytes }) => bytes.length >= 30 && bytes.length < MOST_TEXT);
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', 0: '\0' };
const unescaped = (text: string): string =>
  text.replace(/\\(?:u\{?([\da-f]{1,6})\}?|x([\da-f]{2})|(.))/gis, (_, unicode?: string, hex?: string, char = '') =>
    unicode !== undefined || hex !== undefined
      ? String.fromCodePoint(Math.min(0x10ffff, Number.parseInt(unicode ?? hex!, 16)))
      : (ESCAPES[char] ?? char),
  );

const text = (name: string, content: string): Seed => ({ name, bytes: Buffer.from(content) });

function snapshots(): Seed[] {
  const value = snapshot({
    segments: [segment(), segment({ address: 0x7f11_0000_0000, frames: [frame('other')] })],
    device_traces: [[], trace(60)],
    external_annotations: [{ stage: 'START', name: 'step', device: 0, time_us: 5 }],
    allocator_settings: { PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True', max_split_size: -1 },
  });
  const made = [2, 3, 4, 5].map((protocol) => ({
    name: `made-${protocol}.pickle`,
    bytes: pickled(value, { protocol }),
  }));
  return [
    ...made,
    { name: 'framed.pickle', bytes: pickle(value) },
    { name: 'no-memo.pickle', bytes: pickled(value, { memo: false }) },
    ...seedsIn(/\.(?:pickle|pkl)(?:\.gz)?$/, join(ROOT, 'test', 'fixtures'), join(CORPUS, 'snapshots')),
  ];
}

/** What `convert` writes of a snapshot: the pickle's value as JSON. */
const SNAPSHOT_JSON = spellJson(
  snapshot({ device_traces: [[...trace(3), entry('oom', 1, { size: 99_999_999, device_free: 5 })]] }),
  () => 0,
);

function logSamples(): Seed[] {
  const examples = parse(readFileSync(join(ROOT, 'src', 'knowledge', 'log-examples.yaml'), 'utf8')) as Record<
    string,
    unknown
  >;
  const lines = Object.values(examples).flatMap((value) =>
    Array.isArray(value) ? value.map(String) : [String(value)],
  );
  const parts: Seed[] = [];
  for (let at = 0; at < lines.length; at += 12)
    parts.push(text('train.log', `${lines.slice(at, at + 12).join('\n')}\n`));
  for (const path of filesIn(join(ROOT, 'test', 'parsers', 'log-samples'), /\.yaml$/)) {
    const samples = Object.values(parse(readFileSync(path, 'utf8')) as Record<string, unknown>).flat();
    const texts = samples
      .map((sample) => (sample as { text?: unknown } | null)?.text)
      .filter((one) => typeof one === 'string');
    for (let at = 0; at < texts.length; at += 8)
      parts.push(text('slurm-17.out', `${texts.slice(at, at + 8).join('\n')}\n`));
  }
  return parts;
}

const ENVIRONMENT = `SHELL=/bin/bash
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
NCCL_DEBUG=INFO
RANK=3
WORLD_SIZE=8
CUDA_VISIBLE_DEVICES=0,1,2,3
BASH_FUNC_module%%=() {  eval $(/usr/bin/modulecmd bash $*)
}
`;

const RULES = `rules:
  - id: my-cache
    component: activations
    sub_component: cache
    at: {file: my_model/cache.py, function: Cache.update}
    source: my_model/cache.py
    samples:
      - stack: |
          update my_model/cache.py:12
          forward my_model/model.py:40
  - id: second
    component: parameters
    phase: setup
    within: [{file: 'train.py'}]
    at: {file: '**/layers.py', function: 'build*'}
    source: x
`;

const TREE = { keys: ['SHELL=/bin/bash', 'RANK=0'] };
const CHROME = JSON.stringify({
  schemaVersion: 1,
  ...TREE,
  deviceProperties: [{ id: 0, name: 'NVIDIA H100', totalGlobalMem: 85_000_000_000 }],
  traceEvents: [
    {
      ph: 'i',
      cat: 'cpu_instant_event',
      name: '[memory]',
      pid: 1,
      tid: 1,
      ts: 1,
      s: 't',
      args: { 'Total Allocated': 512, Bytes: 512, 'Device Id': 0, 'Device Type': 1, Addr: 1 },
    },
    { ph: 'X', cat: 'cpu_op', name: 'aten::mm', pid: 1, tid: 1, ts: 2, dur: 5, args: { 'Call stack': 'a.py(1): f' } },
  ],
});

const EMBEDDED = pickled(snapshot({ device_traces: [trace(9)] })).toString('base64');
const PAGE = `<!DOCTYPE html>
<html>
<head>
</head>
<body>
<script type="module">
import {add_local_files} from "https://cdn.jsdelivr.net/gh/pytorch/pytorch@main/torch/utils/viz/MemoryViz.js"
const local_files = [{"name": "snapshot.pickle", "base64": "${EMBEDDED}"}]
add_local_files(local_files, 'Active Memory Timeline')
</script>
</body>
`;

const DEEPSPEED = `{"train_micro_batch_size_per_gpu": 2, "bf16": {"enabled": true},
 "zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}}`;
const EVENT = {
  ...{ apiVersion: 'v1', kind: 'Event', reason: 'OOMKilling', type: 'Warning', lastTimestamp: '2026-11-20T10:20:00Z' },
  message: 'Memory cgroup out of memory: Killed process 4712 (python3)',
  involvedObject: { kind: 'Node', name: 'node-7' },
};

const fixtures = (...path: string[]): string => join(ROOT, 'test', 'fixtures', ...path);
const samples = join(ROOT, 'samples');
const SQLITE = (): Seed[] => {
  const tables = smallExport();
  return [512, 4096, 65_536].map((pageSize) => ({ name: 'report.sqlite', bytes: sqliteBytes(tables, pageSize) }));
};

/** By format; read when a format is first chosen. */
export const SEEDS = {
  'snapshot-pickle': snapshots,
  'snapshot-json': () => [
    text('snapshot.json', SNAPSHOT_JSON),
    text('segments.json', JSON.stringify((JSON.parse(SNAPSHOT_JSON) as { segments: unknown }).segments)),
    ...seedsIn(/\.json(?:\.gz)?$/, join(CORPUS, 'snapshots')).filter(({ name }) => !name.includes('truth')),
  ],
  page: (directory: string) => [
    ...seedsIn(/\.html$/, join(CORPUS, 'snapshots')),
    ...filesIn(directory, /^report\.html$/).map((path) => ({
      name: 'report.html',
      bytes: readFileSync(path).subarray(0, 200_000),
    })),
    text('page.html', PAGE),
  ],
  log: () => [...logSamples(), ...seedsIn(/\.(?:out|log|txt)$/, samples, join(CORPUS, 'logs'))],
  yaml: () => [
    ...seedsIn(/\.ya?ml$/, samples, fixtures('wandb')),
    ...samplesOf('config', 'config.yaml'),
    ...testTexts('parsers/plain-yaml.test.ts', 'run_config.yaml'),
  ],
  json: () => [...testTexts('parsers/settings-formats.test.ts', 'ds_config.json'), text('ds_config.json', DEEPSPEED)],
  toml: () => [
    text(
      'train.toml',
      '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nbatch_size = 8\nseq_len = 2048\n[parallelism]\ntensor_parallel_degree = 2\n',
    ),
    ...samplesOf('config', 'train.toml'),
  ],
  shell: () => [...seedsIn(/\.(?:sbatch|sh)$/, samples), ...testTexts('parsers/launches.test.ts', 'launch.sh')],
  environment: () => [text('env.txt', ENVIRONMENT), text('environ', ENVIRONMENT.replaceAll('\n', '\0'))],
  rules: () => [text('rules.yaml', RULES)],
  kubernetes: () => [
    ...samplesOf('kubernetes-events', 'events.yaml'),
    text(
      'pod.yaml',
      'apiVersion: v1\nkind: Pod\nmetadata: {name: trainer-0, namespace: default}\nspec:\n  nodeName: n1\n  containers:\n    - name: trainer\n      image: x\n      env:\n        - {name: RANK, value: "3"}\n      resources: {limits: {memory: 64Gi}}\nstatus:\n  containerStatuses:\n    - name: trainer\n      lastState: {terminated: {exitCode: 137, reason: OOMKilled, finishedAt: "2026-11-20T10:11:12Z"}}\n',
    ),
    text('events.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [EVENT] })),
    text(
      'events.txt',
      'LAST SEEN   TYPE      REASON      OBJECT          MESSAGE\n5m          Warning   OOMKilling  node/node-7     Memory cgroup out of memory: Killed process 4712\n4m          Warning   Evicted     pod/trainer-0   The node was low on resource: memory.\n',
    ),
  ],
  slurm: () => samplesOf('slurm-accounting', 'sacct.txt'),
  monitor: () => [...samplesOf('device-monitor', 'gpu.csv'), ...seedsIn(/gpu-.*\.csv$/, samples)],
  golden: () => [
    ...seedsIn(/\.json$/, join(CORPUS, 'golden')),
    ...testTexts('parsers/golden-text.ts', 'golden.json'),
    ...testTexts('parsers/golden.test.ts', 'golden.json'),
  ],
  scalars: () => [
    ...samplesOf('scalars', 'metrics.jsonl'),
    text(
      'metrics.jsonl',
      '{"step": 1, "loss": 2.5, "memory/max_allocated_gib": 12.5}\n{"step": 2, "loss": 2.4, "memory/max_allocated_gib": 12.6}\n',
    ),
    text('metrics.csv', 'step,loss,mem/peak_gib\n1,2.5,12.5\n2,2.4,12.6\n'),
  ],
  tensorboard: () => seedsIn(/tfevents[^/]*(?<!jsonl)$/, fixtures('tensorboard'), samples),
  wandb: () => seedsIn(/\.wandb$/, fixtures('wandb')),
  'wandb-folder': () => seedsIn(/(?:config\.yaml|metadata\.json|summary\.json)$/, fixtures('wandb')),
  'nsys-sqlite': SQLITE,
  'nsys-lines': () => [
    text('report.jsonl', jsonLines(smallExport())),
    text('report.json', jsonLines(smallExport(), { strings: 'lines', memory: 'capitals', omitsZeros: true })),
  ],
  profiler: () => [
    text('trace.json', CHROME),
    ...seedsIn(/\.json(?:\.gz)?$/, fixtures('profiler-timeline'), join(samples, 'profiler-timeline')),
  ],
  compressed: () =>
    [...SQLITE().slice(1, 2), ...snapshots().slice(0, 2), ...logSamples().slice(0, 3)].flatMap(({ name, bytes }) => [
      { name: `${name}.gz`, bytes: gzipSync(bytes) },
      { name: `${name}.gz`, bytes: Buffer.concat([gzipSync(bytes.subarray(0, 100)), gzipSync(bytes.subarray(100))]) },
      { name: `${name}.zst`, bytes: storedZstd(bytes) },
    ]),
} satisfies Readonly<Record<string, (directory: string) => Seed[]>>;
