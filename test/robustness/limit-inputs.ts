/**
 * Small files that ask for much: each at most 4 MB. The names are those under which the formats are recognised; a
 * configuration begins with settings, so that it is read and not passed over.
 */

export interface LimitInput {
  readonly name: string;
  /** File name in the run directory. */
  readonly file: string;
  make(): string | Buffer;
}

const MB = 1_000_000;
const SIZE = 4 * MB;

/** `piece` as often as fits. */
const fill = (piece: string, bytes = SIZE): string => piece.repeat(Math.floor(bytes / Buffer.byteLength(piece)));
/** Numbered pieces up to the size. */
function numbered(piece: (i: number) => string, bytes = SIZE): string {
  const parts: string[] = [];
  let length = 0;
  for (let i = 0; length < bytes - 100; i += 1) {
    const text = piece(i);
    parts.push(text);
    length += text.length;
  }
  return parts.join('');
}

const CONFIG = 'num_layers: 4\nhidden_size: 64\nmicro_batch_size: 1\ntensor_model_parallel_size: 2\n';
const SCRIPT = '#!/bin/bash\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\n';
const LAUNCH = '\ntorchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 64\n';
const JSON_HEAD = '"num_layers": 4, "hidden_size": 64, "micro_batch_size": 1, "tensor_model_parallel_size": 2';
const DEEPSPEED = '"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 3}';
const POD = 'apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n';
const ENV = 'CUDA_VISIBLE_DEVICES=0\nNCCL_DEBUG=INFO\nPATH=/bin\nHOME=/root\nUSER=root\nRANK=0\nWORLD_SIZE=8\n';

const yaml = (name: string, make: () => string): LimitInput => ({
  name: `yaml ${name}`,
  file: 'run_config.yaml',
  make: () => `${CONFIG}${make()}`,
});
const shell = (name: string, make: () => string): LimitInput => ({
  name: `shell ${name}`,
  file: 'train.sbatch',
  make: () => `${SCRIPT}${make()}${LAUNCH}`,
});
const json = (name: string, make: () => string): LimitInput => ({
  name: `json ${name}`,
  file: 'ds_config.json',
  make: () => `{${DEEPSPEED}, ${JSON_HEAD}, ${make()}`,
});
const toml = (name: string, make: () => string): LimitInput => ({
  name: `toml ${name}`,
  file: 'train_config.toml',
  make: () => `num_layers = 4\nhidden_size = 64\nmicro_batch_size = 1\n${make()}`,
});
const pods = (name: string, make: () => string): LimitInput => ({
  name: `kubernetes ${name}`,
  file: 'pods.yaml',
  make: () => `${POD}${make()}`,
});

/** A list of pods that each hold `body`, one object below the limit of objects. */
const podList = (body: string): string =>
  `---\n${fill(`apiVersion: v1\nkind: Pod\nmetadata:\n  name: b\n  labels:\n${body}---\n`)}`;

const chain = (count: number): string =>
  `V0=x\n${Array.from({ length: count }, (_, i) => `V${i + 1}=$V${i}\n`).join('')}`;

export const INGESTED: readonly LimitInput[] = [
  // YAML
  yaml('unclosed quotes', () => fill('"\n')),
  yaml('unclosed single quotes', () => fill("'\n")),
  yaml('colons', () => fill(': ', 3 * MB)),
  yaml('colons in lines', () => fill(':\n')),
  yaml('tabs in lines', () => fill('\t\n')),
  yaml('tabs', () => `a:\n${fill('\t')}`),
  yaml('a flow list', () => `a: [${fill('a,')}b]\n`),
  yaml('a flow list of numbers', () => `a: [${fill('1, ')}2]\n`),
  yaml('a flow map', () => `a: {${numbered((i) => `k${i}: 1,`)}b: 1}\n`),
  yaml('a flow map of one key', () => `a: {${fill('a: 1,')}}\n`),
  yaml('commas', () => `a: [${fill(',')}`),
  yaml('blank lines', () => fill('\n')),
  yaml('lines of blanks', () => fill(' \n')),
  yaml('documents', () => fill('---\n')),
  yaml('documents with a scalar', () => fill('---\na\n')),
  yaml('document ends', () => fill('...\n')),
  yaml('duplicate keys', () => fill('a: 1\n')),
  yaml('many keys', () => numbered((i) => `key${i}: ${i}\n`)),
  yaml('many quoted keys', () => numbered((i) => `"key${i}": ${i}\n`)),
  yaml('many anchored keys', () => numbered((i) => `key${i}: &a${i} ${i}\n`)),
  yaml('explicit keys', () => fill('? a\n')),
  yaml('nested explicit keys', () => '? '.repeat(600)),
  yaml('nested explicit keys, just below the limit', () => '? '.repeat(90)),
  yaml('nested flow keys', () => `${'{'.repeat(95)}a: 1${'}: 1'.repeat(94)}}\n`),
  yaml('dashes', () => fill('- ')),
  yaml('dashes in lines', () => `a:\n${fill('-\n')}`),
  yaml('a list', () => `a:\n${fill('- a\n')}`),
  yaml('anchors', () => `a: ${fill('&a ')}`),
  yaml('tags', () => `a: ${fill('!a ')}`),
  yaml('aliases without an anchor', () => `a: [${fill('*a,')}]`),
  yaml('aliases', () => `a: &a 1\nb: [${fill('*a,')}]`),
  yaml(
    'a billion laughs',
    () =>
      `${Array.from(
        { length: 30 },
        (_, i) =>
          `a${i}: &a${i} [${Array(9)
            .fill(i === 0 ? 'x' : `*a${i - 1}`)
            .join(',')}]\n`,
      ).join('')}`,
  ),
  yaml('an alias of a long text', () => `a: &a "${'x'.repeat(3 * MB)}"\nb: [${Array(50_000).fill('*a').join(',')}]\n`),
  yaml('merges', () => `a: &a {b: 1}\n${fill('<<: *a\n')}`),
  yaml('comments', () => fill('#\n')),
  yaml('directives', () => fill('%\n')),
  yaml('closing brackets', () => `a: ${fill(']')}`),
  yaml('pairs of brackets', () => `a: ${fill('[]')}`),
  yaml('open brackets', () => `a: ${fill('[')}`),
  yaml('block scalars', () => fill('a: |\n')),
  yaml('a long block scalar', () => `a: |\n${fill('  word\n')}`),
  yaml('a scalar of many lines', () => `a: x\n${fill('  word\n')}`),
  yaml('wrong escapes', () => `a: "${fill('\\q')}"\n`),
  yaml('deep indentation', () => Array.from({ length: 2700 }, (_, i) => `${' '.repeat(i)}a:\n`).join('')),
  yaml('indentation to and fro', () => `a:\n${numbered((i) => `${' '.repeat(1 + (i % 90))}b:\n`)}`),
  yaml('carriage returns', () => fill('\r')),
  yaml('byte order marks', () => fill('\ufeff')),
  // shell
  shell('chained variables', () => chain(40_000)),
  shell('chained variables, 4 MB', () => chain(230_000)),
  shell('doubling', () => `A=xxxxxxxx\n${fill('A=$A$A\n')}`),
  shell('doubling names', () => `V0=xxxx\n${numbered((i) => `V${i + 1}=$V${i}$V${i}\n`)}`),
  shell('appends', () => fill('A+=x\n')),
  shell('appends to an array', () => `A=()\n${fill('A+=(x)\n')}`),
  shell('appends of nothing', () => `A=()\n${fill("A+=('')\n")}`),
  shell('appends to many', () => numbered((i) => `A${i >> 14}+=x\n`)),
  shell('an array of many words', () => `A=(${fill('a ')})\n`),
  shell('an array that is expanded', () => `A=(${fill('a ', 100_000)})\n${fill('true "$' + '{A[@]}"\n')}`),
  shell('an empty array with a default', () => `A=(${fill("'' ", 150_000)})\n${fill('true $' + '{A:-x}\n')}`),
  shell('a default that is long', () => `A=${'x'.repeat(60_000)}\n${fill('B=y$' + '{U:-$A}\n')}`),
  shell('one command of many words', () => fill('a ')),
  shell('one word of many parts', () => `A=x\necho ${fill('$A')}`),
  shell('one word of many quotes', () => `echo ${fill("''")}`),
  shell('redirections behind a long word', () => `${fill("'a'", 2 * MB)}${fill('5>', 2 * MB)}`),
  shell('here-documents', () => `cat ${fill('<<A ')}\n`),
  shell('nested substitutions', () => fill('$(')),
  shell('nested parameters', () => fill('$' + '{a:-')),
  shell('quotes', () => fill('"\'')),
  shell('keywords', () => fill('! ')),
  shell('if', () => fill('if ')),
  shell('if in lines', () => fill('if a; then b; fi\n')),
  shell('case', () => fill('case a in\n')),
  shell('statements', () => fill('a;')),
  shell('conditions', () => fill('A=x&&')),
  shell('continuation lines', () => fill('\\\n')),
  shell('functions', () => fill('f() { a; }\n')),
  shell('arithmetic', () => fill('A=$((A+1))\n')),
  shell('eval', () => `${fill('eval ', 2 * MB)}${fill('a ', MB)}`),
  shell('bash -c', () => fill(`bash -c 'bash -c "bash -c a"'\n`)),
  shell('directives of blanks', () => `#SBATCH ${fill(' ')}`),
  shell('flags', () => `python train.py ${numbered((i) => `--flag-${i} ${i} `)}`),
  shell('exports', () => numbered((i) => `export NCCL_X${i}=$NCCL_X${i - 1}1\n`)),
  // JSON
  json('nested lists', () => `"a": ${fill('[')}`),
  json('nested objects', () => `"a": ${fill('{"a":')}`),
  json('nested keys', () => `"a": ${'{'.repeat(60)}"a":1${'}:1'.repeat(59)}}}`),
  json('less-than signs', () => `"a": [${fill('<,')}]}`),
  json('a long list', () => `"a": [${fill('1,')}2]}`),
  json('many keys', () => `${numbered((i) => `"k${i}": 1,`)}"b": 1}`),
  json('unclosed text', () => `"a": "${fill('x')}`),
  json('escapes', () => `"a": "${fill('\\u0041')}"}`),
  json('calls in lists', () => `"a": ${'A({"k":'.repeat(30)}1${'})'.repeat(30)}}`),
  json('comments', () => `"a": 1}\n${fill('//\n')}`),
  {
    name: 'json items of a list',
    file: 'pods.json',
    make: () => `{"kind":"List","items":[{"kind":"Pod","spec":{"containers":[]}},${fill('{"kind":"Pod"},')}{}]}`,
  },
  {
    name: 'json items with keys of their own',
    file: 'pods.json',
    make: () =>
      `{"kind":"List","apiVersion":"v1","items":[{"kind":"Pod","spec":{"containers":[]}},{"kind":"Pod","a":[${numbered((i) => `{"k${i}":1},`)}1]}]}`,
  },
  {
    name: 'json nested items',
    file: 'pods.json',
    make: () =>
      `{"kind":"List","apiVersion":"v1","items":[{"kind":"Pod","spec":{"containers":[]}},{"kind":"Pod","a":${fill('[')}`,
  },
  {
    name: 'slurm json',
    file: 'sacct.json',
    make: () => `{"meta":{"slurm":{}},"jobs":[${fill('{"job_id":1,"steps":[]},')}{}]}`,
  },
  {
    name: 'scalars of many keys',
    file: 'history.jsonl',
    make: () => `{"step":1,"loss":1}\n{${numbered((i) => `"k${i}":1,`)}"a":1}\n`,
  },
  { name: 'scalars nested', file: 'history.jsonl', make: () => `{"step":1,"loss":1}\n${fill('{"a":', 3 * MB)}\n` },
  {
    name: 'wandb summary',
    file: 'wandb-summary.json',
    make: () => `{"loss":1,"_step":1,${numbered((i) => `"k${i}":1,`)}"a":1}`,
  },
  { name: 'wandb summary nested', file: 'wandb-summary.json', make: () => `{"loss":1,"_step":1,"a":${fill('{"a":')}` },
  {
    name: 'trainer state',
    file: 'trainer_state.json',
    make: () => `{"log_history":[${fill('{"loss":1,"step":1},')}{}]}`,
  },
  // TOML and environments
  toml('lists', () => fill('a = [1]\n')),
  toml('an open list', () => `a = [\n${fill('1,\n')}`),
  toml('open lists', () => fill('a = [\n')),
  toml('many keys', () => numbered((i) => `k${i} = 1\n`)),
  toml('nested lists', () => `a = ${fill('[', 7000)}\n${fill('#\n')}`),
  toml('a long line', () => `a = ${fill('x')}\n`),
  toml('quotes', () => fill('a = "\n')),
  { name: 'environment of many', file: 'env.txt', make: () => `${ENV}${numbered((i) => `NCCL_K${i}=1\n`)}` },
  {
    name: 'environment of a process',
    file: 'environ',
    make: () => `${ENV}${numbered((i) => `NCCL_K${i}=1\n`)}`.replaceAll('\n', '\0'),
  },
  {
    name: 'device report in XML',
    file: 'smi.xml',
    make: () => `<?xml version="1.0" ?>\n<nvidia_smi_log>\n<gpu id="0">\n${fill('<a>\n')}`,
  },
  // Kubernetes
  pods('nested explicit keys', () => `spec:\n  ${'? '.repeat(500)}\n`),
  pods('nested flow keys', () => `spec: ${'{'.repeat(95)}a: 1${'}: 1'.repeat(94)}}\n`),
  pods('flow lists', () => podList(`    a: [${fill('a,', 60_000)}b]\n`)),
  pods('quotes', () => podList(`    a: "${fill('"\n', 60_000)}\n`)),
  pods('closing brackets', () => podList(`    a: ${fill(']', 40_000)}\n`)),
  pods('aliases', () => podList(`    a: &a [1]\n    b: [${fill('*a,', 600)}]\n`)),
  pods('labels', () => podList(numbered((i) => `    k${i}: v${i}\n`, 300_000))),
  pods('labels with quotes', () => podList(numbered((i) => `    "k${i}": v${i}\n`, 30_000))),
  pods('documents', () => fill('---\n')),
  pods('items', () => `---\napiVersion: v1\nkind: List\nitems:\n${fill('- kind: Pod\n')}`),
];

const RULE = 'rules:\n  - id: a\n    component: activation\n    at: {function: f}\n';

/** Files of `--rules`. */
export const RULES: readonly LimitInput[] = [
  {
    name: 'aliases',
    make: () =>
      `${RULE}    source: &a [x,x,x,x,x,x,x,x,x]\n${Array.from(
        { length: 12 },
        (_, i) =>
          `    k${i}: &a${i} [${Array(9)
            .fill(i === 0 ? '*a' : `*a${i - 1}`)
            .join(',')}]\n`,
      ).join('')}`,
  },
  {
    name: 'many rules',
    make: () => `rules:\n${numbered((i) => `  - id: r${i}\n    component: activation\n    at: {function: f}\n`)}`,
  },
  {
    name: 'a thousand rules',
    make: () =>
      `rules:\n${numbered((i) => `  - id: r${i}\n    component: activation\n    at: {function: f}\n`, 60_000)}`,
  },
  { name: 'many keys', make: () => `${RULE}${numbered((i) => `    k${i}: 1\n`, 300_000)}` },
  { name: 'quotes', make: () => `${RULE}${fill('"\n')}` },
  { name: 'nested explicit keys', make: () => `rules:\n  ${'? '.repeat(500)}` },
  { name: 'nested flow keys', make: () => `rules: [${'{'.repeat(95)}a: 1${'}: 1'.repeat(94)}}]\n` },
  { name: 'documents', make: () => `${RULE}${fill('---\n')}` },
  { name: 'an alias of itself', make: () => `rules: &a [*a]\n` },
  { name: 'a size beyond the limit', make: () => `${RULE}${fill('# comment\n', 5 * MB)}` },
].map((input) => ({ ...input, file: 'rules.yaml' }));
