/**
 * Failure messages composed from a description of what upstream prints: clauses by version, in words, order, units and
 * surroundings that vary. Written from the sources and public reports of the producers, not from the entries of the
 * grammar that reads them. What a message states follows from how it was composed.
 */
import { Choices, type Message, messagesOfDevices } from './neighbour-messages.js';
import { messagesOfHosts, messagesOfLibraries } from './neighbour-texts.js';

export interface Neighbour {
  readonly text: string;
  readonly message: Message;
  /** What was put around it. */
  readonly surroundings: readonly string[];
  /** Undefined: the prefix does not state one. */
  readonly rank: number | null | undefined;
  /** Failures of this message's kinds that the text reports; undefined: not counted. */
  readonly count: number | undefined;
}

const FRAMES: readonly (readonly [string, number, string, string])[] = [
  ['/workspace/train.py', 212, 'main', 'loss = model(batch).loss'],
  [
    '/usr/lib/python3/dist-packages/torch/nn/modules/module.py',
    1511,
    '_call_impl',
    'return forward_call(*args, **kwargs)',
  ],
  ['/opt/app/layers/mixer.py', 88, 'forward', 'y = self.proj(torch.cat([a, b], dim=-1))'],
  [
    '/opt/venv/lib/python3.11/site-packages/transformers/models/llama/modeling_llama.py',
    640,
    'forward',
    'hidden = layer(hidden)',
  ],
  [
    '/opt/venv/lib/python3.11/site-packages/torch/optim/adamw.py',
    163,
    'step',
    'state["exp_avg"] = torch.zeros_like(p)',
  ],
];

function traceback(choices: Choices, last: readonly string[]): string[] {
  const frames = Array.from({ length: choices.integer(1, 3) }, () => choices.pick(FRAMES));
  const carets = choices.chance(0.4);
  return [
    'Traceback (most recent call last):',
    ...frames.flatMap(([file, line, name, code]) => [
      `  File "${file}", line ${line}, in ${name}`,
      `    ${code}`,
      ...(carets ? [`    ${'^'.repeat(code.length)}`] : []),
    ]),
    ...last,
  ];
}

interface Prefix {
  readonly name: string;
  readonly of: (rank: number) => string;
  readonly rank?: 'stated' | 'local';
}
const PREFIXES: readonly Prefix[] = [
  { name: 'none', of: () => '' },
  { name: 'none', of: () => '' },
  { name: 'none', of: () => '' },
  { name: '[rankN]:', of: (rank) => `[rank${rank}]: `, rank: 'stated' },
  { name: '[rankN]:', of: (rank) => `[rank${rank}]: `, rank: 'stated' },
  { name: 'srun --label', of: (rank) => `${rank}: `, rank: 'stated' },
  { name: 'mpirun --tag-output', of: (rank) => `[1,${rank}]<stderr>:`, rank: 'stated' },
  { name: 'torchrun', of: (rank) => `[default${rank}]:`, rank: 'local' },
  { name: 'ray', of: (rank) => `(WorkerDict pid=${4100 + rank}) ` },
  { name: 'ray with ip', of: (rank) => `(ActorWorker pid=${4100 + rank}, ip=10.0.0.${rank + 2}) ` },
  { name: 'vllm', of: () => '(EngineCore_0 pid=812) ERROR 05-22 10:11:12 [core.py:700] ' },
  { name: 'docker', of: () => '2026-03-01T10:11:12.123456789Z ' },
  { name: 'logging', of: () => '2026-03-01 10:11:12,345 - trainer - ERROR - ' },
  { name: 'level', of: () => 'ERROR:root:' },
  { name: 'quote', of: () => '> ' },
];

const AFTERMATH: readonly (readonly string[])[] = [
  ['terminate called without an active exception', 'Aborted (core dumped)'],
  ['srun: error: node17: task 3: Exited with exit code 1', 'srun: Terminating StepId=4711.0'],
  [
    '[W301 10:11:12.000000000 ProcessGroupNCCL.cpp:1250] Warning: WARNING: destroy_process_group() was not called before program exit',
  ],
  ['torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ', '='.repeat(60), 'train.py FAILED'],
  ["subprocess.CalledProcessError: Command '['python', 'train.py']' returned non-zero exit status 1."],
  ['make: *** [Makefile:12: train] Error 1'],
];

const NOISE: readonly string[] = [
  'Loading checkpoint shards: 100%|██████████| 4/4 [00:12<00:00,  3.05s/it]',
  'wandb: Tracking run with wandb version 0.17.4',
  'step 120 loss 2.314 lr 3.0e-05 grad_norm 0.87',
  'INFO: building the index of 1024 documents',
  'UserWarning: The given buffer is not writable.',
];

const bare = (text: string): string => text.replace(/\s+$/, '');

const PRODUCERS = [...messagesOfDevices, ...messagesOfLibraries, ...messagesOfHosts];

/** One message and what is around it. */
export function neighbour(seed: number): Neighbour {
  const choices = new Choices(seed);
  // Half of them from the caching allocators: most reports are theirs.
  const producer = choices.chance(0.4) ? choices.pick(messagesOfDevices) : choices.pick(PRODUCERS);
  return surround(choices, producer(choices));
}

function surround(choices: Choices, message: Message): Neighbour {
  const surroundings: string[] = [];
  const add = (what: string): void => void surroundings.push(what);
  const prefix = message.isLine === true ? PREFIXES[0]! : choices.pick(PREFIXES);
  if (prefix.name !== 'none') add(prefix.name);
  const rank = choices.integer(0, 7);
  const name = choices.pick(message.classes);
  const [first = '', ...others] = message.lines;
  const stated = name === '' ? message.lines : [`${name}: ${first}`, ...others];
  let body: string[] = [...stated];
  let count: number | undefined = message.isLine === true || message.kinds.includes('other') ? undefined : 1;
  const form =
    message.isLine === true || name === ''
      ? 'alone'
      : choices.pick(['alone', 'alone', 'traceback', 'traceback', 'cause', 'handling', 'logged', 'cut']);
  if (form !== 'alone') add(form);
  if (form === 'traceback') body = traceback(choices, body);
  else if (form === 'cause') {
    const outer = choices.pick([
      'RuntimeError: Engine core initialization failed. See root cause above.',
      'RuntimeError: Worker failed with error, please check the stack trace above for the root cause',
      'ray.exceptions.RayTaskError(RuntimeError): ray::WorkerDict.update_actor() (pid=4711, ip=10.0.0.9)',
    ]);
    body = [
      ...traceback(choices, body),
      '',
      'The above exception was the direct cause of the following exception:',
      '',
      ...traceback(choices, [outer]),
    ];
  } else if (form === 'handling') {
    const second = choices.pick([
      "KeyError: 'exp_avg'",
      "AttributeError: module 'flash_attn' has no attribute 'kernels'",
      'StopIteration',
    ]);
    const pair = choices.chance(0.5) ? [[second], body] : [body, ['ValueError: I/O operation on closed file.']];
    body = [
      ...traceback(choices, pair[0]!),
      '',
      'During handling of the above exception, another exception occurred:',
      '',
      ...traceback(choices, pair[1]!),
    ];
    // Both are exceptions that name their cause; the later one of the pair may be counted too.
    count = undefined;
  } else if (form === 'logged') {
    // A handler logs it, then it reaches stderr.
    body = [`Training failed: ${first}`, ...others, ...traceback(choices, stated)];
    if (prefix.name === 'none' && choices.chance(0.7)) {
      add('other stream has the rank');
      const written = [
        ...body.slice(0, message.lines.length).map((line) => `2026-03-01 10:11:12 ERROR ${line}`),
        ...body.slice(message.lines.length).map((line) => `[rank${rank}]: ${line}`),
      ];
      return { text: written.join('\n'), message, surroundings, rank, count };
    }
  } else if (form === 'cut') {
    body = traceback(choices, body).slice(choices.integer(2, 3));
  }
  let stating = message;
  if (message.cut !== undefined && form === 'alone' && prefix.name === 'none' && choices.chance(0.15)) {
    add('head cut off');
    body = [message.lines[0]!.slice(message.lines[0]!.indexOf(message.cut))];
    const { requested: _, ...bytes } = message.bytes;
    stating = { ...message, bytes, causes: [] };
  }
  let written = body.map((line) => bare(`${prefix.of(rank)}${line}`));
  let ranks: number | null | undefined =
    prefix.rank === 'stated' && (prefix.name !== 'srun --label' || body.length > 3)
      ? rank
      : // Words of a line, a rank on its node, and one label of srun may be a rank.
        prefix.rank !== undefined || prefix.name.startsWith('ray') || message.isLine === true
        ? undefined
        : null;
  if (prefix.rank === 'stated' && form !== 'handling' && choices.chance(0.3)) {
    add('two ranks');
    const nextRank = (rank + choices.integer(1, 3)) % 8;
    written = [...written, ...body.map((line) => bare(`${prefix.of(nextRank)}${line}`))];
    // Of srun's labels two lines alone are none.
    count = ranks === undefined || count === undefined ? undefined : 2;
  }
  if (choices.chance(0.25)) {
    add('noise before');
    written = [choices.pick(NOISE), choices.pick(NOISE), ...written];
  }
  if (choices.chance(0.3)) {
    add('aftermath');
    written = [...written, ...choices.pick(AFTERMATH)];
  }
  if (prefix.name === 'none' && message.isLine !== true && choices.chance(0.12)) {
    add('watchdog before');
    written = [
      '[rank6]:[E301 10:11:12.000000000 ProcessGroupNCCL.cpp:616] [Rank 6] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600010 milliseconds before timing out.',
      ...written,
    ];
  }
  if (prefix.name === 'none' && choices.chance(0.12)) {
    add('wrapped');
    const width = choices.integer(64, 110);
    written = written.flatMap((line) => line.match(new RegExp(`.{1,${width}}`, 'gs')) ?? [line]);
  }
  if (choices.chance(0.08)) {
    add('fenced');
    written = ['Hi, I get this error:', '```', ...written, '```'];
  }
  if (surroundings.includes('watchdog before')) ranks = ranks ?? undefined;
  return { text: written.join('\n'), message: stating, surroundings, rank: ranks, count };
}
