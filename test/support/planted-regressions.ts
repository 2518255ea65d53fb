/**
 * Seeded regressions: a small training program, thirty changes that do no harm, and one that takes memory, as two
 * commits of a real repository and the stacks that two snapshots would show. Contains which change it was.
 */
import { createRandom, type Random } from '../../samples/generate/simulate/random.js';
import type { Frame } from '../../src/attribution/frames/call-site.js';
import type { GrownSite } from '../../src/findings/diff/grown-sites.js';
import type { DiffComponent } from '../../src/model/diff-parts.js';
import type { ChangedValue } from '../../src/model/results/compare.js';
import { GIB, MIB } from '../../src/model/units.js';
import type { Component } from '../../src/model/vocabulary.js';

export const PLANTS = [
  'line',
  'caller_line',
  'deleted_del',
  'caller_del',
  'checkpoint_gone',
  'retained',
  'knob_yaml',
  'knob_recipe',
  'knob_alone',
  'no_grad_gone',
] as const;
export type Plant = (typeof PLANTS)[number];

export interface Regression {
  readonly plant: Plant;
  /** Path → text. */
  readonly before: Readonly<Record<string, string>>;
  readonly after: Readonly<Record<string, string>>;
  readonly sites: readonly GrownSite[];
  readonly components: readonly DiffComponent[];
  readonly config: readonly ChangedValue[];
  readonly total: number;
  /** Where the change is in `after`: one of its lines, or one next to the removed lines. */
  readonly file: string;
  readonly line: number;
  readonly key: string | null;
}

interface Line {
  text: string;
  /** Names the statement for as long as it exists, wherever it moves. */
  readonly id: number;
}

interface Method {
  name: string;
  /** The `def` first, and everything up to the next one. */
  lines: Line[];
}

interface Source {
  path: string;
  head: Line[];
  methods: Method[];
}

interface Way {
  /** Innermost first. */
  readonly frames: { readonly source: Source; readonly method: Method; readonly id: number }[];
  readonly component: Component;
  bytes: number;
}

const WORDS =
  'hidden residual scores context query keys weight output routed gated mixed merged folded scaled packed probs mask bias tokens states'.split(
    ' ',
  );
const NOUNS = 'layer block head expert stage shard chunk tower stem branch'.split(' ');
const VERBS = 'apply mix project route gather combine scale norm reduce prepare dispatch'.split(' ');

class Builder {
  readonly random: Random;
  #ids = 0;
  readonly sources: Source[] = [];

  constructor(random: Random) {
    this.random = random;
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.random() * list.length)]!;
  }

  int(from: number, to: number): number {
    return from + Math.floor(this.random() * (to - from + 1));
  }

  line(text: string): Line {
    this.#ids += 1;
    return { text, id: this.#ids };
  }

  /** A statement without a relevant effect on memory. */
  filler(): string[] {
    const [a, b] = [this.pick(WORDS), this.pick(WORDS)];
    return this.pick<() => string[]>([
      () => [`        ${a} = self.${this.pick(VERBS)}_${this.pick(NOUNS)}(${b})`],
      () => [`        if self.config.${this.pick(NOUNS)}_${this.pick(VERBS)}:`, `            ${a} = ${a} + ${b}`],
      () => [`        ${a}, ${b} = ${b}, ${a}`],
      () => [`        # ${this.pick(VERBS)} the ${this.pick(NOUNS)} before the next one`],
      () => [`        assert ${a} is not None`],
      () => [`        ${a} = ${b} * ${this.int(2, 9)}.0`],
      () => ['', `        ${a} = ${b}.view(-1, ${this.int(1, 9)})`],
      () => [`        self.${this.pick(NOUNS)}_count += ${this.int(1, 3)}`],
    ])();
  }

  method(name: string): Method {
    const lines = [`    def ${name}(self, ${this.pick(WORDS)}, ${this.pick(WORDS)}_in=None):`];
    if (this.random() < 0.5) {
      lines.push(`        """Run the ${this.pick(NOUNS)} of the ${this.pick(NOUNS)}.`, '', '        Args:');
      lines.push(`            x (Tensor): ${this.pick(WORDS)} of the ${this.pick(NOUNS)}`, '        """');
    }
    for (let i = this.int(2, 6); i > 0; i -= 1) lines.push(...this.filler());
    return { name, lines: lines.map((text) => this.line(text)) };
  }

  /** A line among the statements of a method. */
  insert(method: Method, text: string, at = this.int(this.bodyStart(method), method.lines.length)): Line {
    const line = this.line(text);
    method.lines.splice(this.outside(method, at), 0, line);
    return line;
  }

  /** Not between an `if` and what it guards, nor within a docstring. */
  outside(method: Method, at: number): number {
    let place = Math.max(at, this.bodyStart(method));
    while (place < method.lines.length && /^ {12}/.test(method.lines[place]!.text)) place += 1;
    return place;
  }

  bodyStart(method: Method): number {
    const quotes = method.lines.findIndex(({ text }) => text.trim() === '"""');
    return quotes < 0 ? 1 : quotes + 1;
  }

  source(path: string, ...names: string[]): Source {
    const otherFiles = Array.from(
      { length: this.int(2, 6) },
      () => `${this.pick(VERBS)}_${this.pick(NOUNS)}_${this.int(1, 99)}`,
    );
    const head = ['import torch', 'from torch import nn', '', '', `class ${this.pick(NOUNS)}Module(nn.Module):`];
    const methods = [...names, ...otherFiles].map((name) => this.method(name));
    for (let i = methods.length - 1; i > 0; i -= 1) {
      const k = this.int(0, i);
      [methods[i], methods[k]] = [methods[k]!, methods[i]!];
    }
    const made = { path, head: head.map((text) => this.line(text)), methods };
    this.sources.push(made);
    return made;
  }
}

const textOf = ({ head, methods }: Source): string =>
  `${[...head, ...methods.flatMap(({ lines }) => [...lines, { text: '' }])].map(({ text }) => text).join('\n')}\n`;

function lineOf(source: Source, id: number): number {
  let line = 1;
  for (const { id: headId } of source.head) {
    if (headId === id) return line;
    line += 1;
  }
  for (const method of source.methods) {
    for (const statement of method.lines) {
      if (statement.id === id) return line;
      line += statement.text.split('\n').length;
    }
    line += 1;
  }
  throw new Error(`line ${id} is gone from ${source.path}`);
}

const methodOf = (source: Source, name: string): Method => source.methods.find((method) => method.name === name)!;

const TORCH: Frame = {
  name: '_call_impl',
  filename: '/usr/lib/python3/dist-packages/torch/nn/modules/module.py',
  line: 1751,
};
const CHECKPOINT: Frame = {
  name: 'checkpoint',
  filename: '/usr/lib/python3/dist-packages/torch/utils/checkpoint.py',
  line: 496,
};

function framesOf(way: Way, prefix: string, checkpointed: ReadonlySet<number>): Frame[] {
  return way.frames.flatMap(({ source, method, id }): Frame[] => {
    const frame = {
      name: method.name,
      filename: `${prefix}${source.path.replace(/^src\//, '')}`,
      line: lineOf(source, id),
    };
    return checkpointed.has(id) ? [CHECKPOINT, frame] : [TORCH, frame];
  });
}

const YAML = `model:
  num_layers: 32
  hidden_size: 4096
  recompute_granularity: full
  cross_entropy_loss_fusion: true
train:
  micro_batch_size: 1
  lr: 0.0003
  log_interval: 10
  train_iters: 500
optimizer:
  use_distributed_optimizer: true
`;
const RECIPE = `from bridge.config import ConfigContainer


def pretrain_config():
    cfg = ConfigContainer()
    cfg.train.micro_batch_size = 1
    cfg.train.eval_interval = 100
    cfg.model.recompute_granularity = "full"
    cfg.optimizer.use_distributed_optimizer = True
    return cfg
`;

/** Knobs that can be planted: what of a run they scale. */
const KNOBS: readonly {
  readonly key: string;
  readonly a: string;
  readonly b: string;
  readonly of: readonly Component[];
}[] = [
  { key: 'micro_batch_size', a: '1', b: '2', of: ['activation', 'logits_loss'] },
  { key: 'recompute_granularity', a: 'full', b: 'selective', of: ['activation'] },
  { key: 'use_distributed_optimizer', a: 'true', b: 'false', of: ['optimizer_state'] },
];
/** Changed besides, of no consequence. */
const IDLE: readonly ChangedValue[] = [
  { key: 'lr', a: '0.0003', b: '0.0002' },
  { key: 'log_interval', a: '10', b: '5' },
  { key: 'train_iters', a: '500', b: '100' },
  { key: 'eval_interval', a: '100', b: '50' },
  { key: 'weight_decay', a: '0.1', b: '0.01' },
  { key: 'recompute_granularity', a: 'selective', b: 'full' },
  { key: 'bucket_size', a: '40000000', b: '10000000' },
];

export function plantRegression(seed: number, plant: Plant, edits = 30): Regression {
  const random = createRandom(seed);
  const make = new Builder(random);
  const base = make.pick(['src/bridge/', 'megatron/core/', 'src/megatron/bridge/']);
  const train = make.source(`${base}training/train.py`, 'train', 'train_step');
  const schedules = make.source(`${base}pipeline/schedules.py`, 'forward_step', 'backward_step');
  const model = make.source(`${base}models/gpt/gpt_model.py`, 'forward', 'compute_loss');
  const layer = make.source(`${base}transformer/transformer_layer.py`, 'forward', '_forward_mlp', '_forward_attention');
  const mlp = make.source(`${base}transformer/mlp.py`, 'forward', '_activate');
  const attention = make.source(`${base}transformer/attention.py`, 'forward', '_core');
  const linear = make.source(`${base}tensor_parallel/layers.py`, 'forward');
  const optimizer = make.source(`${base}optimizer/optimizer.py`, 'step', '_init_state');
  for (const name of ['utils/misc.py', 'data/dataset.py', 'distributed/ddp.py'])
    make.source(`${base}${name}`, 'forward', 'setup');

  const call = (source: Source, method: string, text: string): Way['frames'][number] => {
    const target = methodOf(source, method);
    return { source, method: target, id: make.insert(target, `        ${text}`).id };
  };
  const step = call(train, 'train_step', 'losses = self.forward_backward(batch)');
  const outer = [call(train, 'train', 'loss = self.train_step(batch)')];
  const forward = call(schedules, 'forward_step', 'output = self.model(tokens, mask)');
  const toLayer = call(model, 'forward', 'hidden = self.decoder(hidden, mask)');
  const toMlp = call(layer, 'forward', 'hidden = self._forward_mlp(hidden)');
  const toAttention = call(layer, 'forward', 'hidden = self._forward_attention(hidden)');
  const inMlp = call(layer, '_forward_mlp', 'output = checkpoint(self.mlp.forward, hidden)');
  const inAttention = call(layer, '_forward_attention', 'output = self.attention(hidden, mask)');
  const trunk = [toLayer, forward, step, ...outer];
  const ways: Way[] = [];
  const way = (component: Component, gib: number, ...frames: Way['frames']): Way => {
    const site = { frames, component, bytes: Math.round(gib * GIB) };
    ways.push(site);
    return site;
  };
  const activate = call(mlp, '_activate', 'gated = self.activation_func(gate) * scaled');
  const mlpWay = [call(mlp, 'forward', 'gated = self._activate(gate, scaled)'), inMlp, toMlp, ...trunk];
  way('activation', 2, activate, ...mlpWay);
  const fc1 = call(mlp, 'forward', 'gate, bias = self.linear_fc1(hidden)');
  const matmul = call(linear, 'forward', 'output = torch.matmul(total_input, weight.t())');
  way('activation', 3, matmul, fc1, inMlp, toMlp, ...trunk);
  const core = call(attention, '_core', 'scores = torch.baddbmm(scores, query, keys)');
  way(
    'activation',
    2,
    core,
    call(attention, 'forward', 'context = self._core(query, keys, mask)'),
    inAttention,
    toAttention,
    ...trunk,
  );
  way(
    'activation',
    1,
    matmul,
    call(attention, 'forward', 'output = self.linear_proj(context)'),
    inAttention,
    toAttention,
    ...trunk,
  );
  way(
    'logits_loss',
    2,
    call(model, 'compute_loss', 'logits = output.transpose(0, 1)'),
    call(model, 'forward', 'loss = self.compute_loss(output)'),
    forward,
    step,
    ...outer,
  );
  const states = way(
    'optimizer_state',
    6,
    call(optimizer, '_init_state', 'states = torch.zeros_like(weight)'),
    call(optimizer, 'step', 'self._init_state(weight)'),
    ...outer,
  );

  // ---- what will be planted, as it was before
  const leaves = ways.filter((one) => one !== states);
  const hurt = make.pick(
    plant === 'checkpoint_gone' ? leaves.slice(0, 2) : plant.startsWith('caller') ? leaves.slice(0, 4) : leaves,
  );
  const leaf = hurt.frames[0]!;
  const caller = hurt.frames[1]!;
  const guard = plant === 'caller_del' ? caller : leaf;
  const guardAt = (): number => guard.method.lines.findIndex(({ id }) => id === guard.id);
  let victim = leaf.id;
  if (plant === 'deleted_del' || plant === 'caller_del') {
    victim = make.insert(guard.method, `        del ${make.pick(WORDS)}`, guardAt() + 1 + make.int(0, 3)).id;
  } else if (plant === 'no_grad_gone') {
    const at = make.outside(guard.method, guardAt());
    victim = make.insert(guard.method, '        with torch.no_grad():', at).id;
    const guarded = guard.method.lines.find(({ id }) => id === guard.id)!;
    guarded.text = `    ${guarded.text}`;
    // Nothing comes between the two.
    guard.method.lines.splice(guard.method.lines.indexOf(guarded), 1);
    guard.method.lines.splice(guard.method.lines.findIndex(({ id }) => id === victim) + 1, 0, guarded);
  }
  const extra: Record<string, string> = {
    'conf/llama3_70b.yaml': YAML,
    [`${base}recipes/llama3.py`]: RECIPE,
    'README.md': '# Program\n\nIt trains.\n',
    'tests/test_mlp.py': 'def test_forward():\n    run(micro_batch_size=1)\n',
  };
  const checkpointed = new Set([inMlp.id]);
  const prefix = make.pick(['/opt/Megatron-Bridge/', '/workspace/', '/usr/local/lib/python3.12/dist-packages/']);
  const older = prefix.replace('/workspace/', '/home/ci/build/');
  const before = { ...extra, ...Object.fromEntries(make.sources.map((source) => [source.path, textOf(source)])) };
  const olderFrames = new Map(ways.map((one) => [one, framesOf(one, older, checkpointed)]));
  const olderBytes = new Map(ways.map((one) => [one, one.bytes]));

  // ---- what does no harm
  const after: Record<string, string> = { ...extra };
  const config: ChangedValue[] = [];
  const safe = new Set([victim, guard.id]);
  for (let i = 0; i < edits; i += 1) refactor(make, ways, safe, after, config, base);

  // ---- what does
  let { source } = leaf;
  let key: string | null = null;
  let line = 0;
  const replace = (id: number, change: (text: string) => string): void => {
    for (const method of source.methods) {
      const line = method.lines.find((candidate) => candidate.id === id);
      if (line !== undefined) line.text = change(line.text);
    }
  };
  const growBy = Math.round((1 + random() * 4) * GIB);
  let file = '';
  if (plant === 'line') {
    replace(leaf.id, (text) =>
      text.replace(/ = (.*)$/, make.pick([' = ($1).float()', ' = ($1).clone()', ' = self.expand($1)'])),
    );
    line = lineOf(source, leaf.id);
  } else if (plant === 'caller_line') {
    source = caller.source;
    replace(caller.id, (text) =>
      text.replace(/\((\w+)/, make.pick(['($1.repeat(2, 1)', '($1.float()', '(self.widen($1)'])),
    );
    line = lineOf(source, caller.id);
  } else if (plant === 'deleted_del' || plant === 'caller_del') {
    source = guard.source;
    line = lineOf(source, victim);
    for (const method of source.methods) method.lines = method.lines.filter(({ id }) => id !== victim);
  } else if (plant === 'checkpoint_gone') {
    source = inMlp.source;
    replace(inMlp.id, (text) => text.replace('checkpoint(self.mlp.forward, ', 'self.mlp.forward('));
    checkpointed.clear();
    line = lineOf(source, inMlp.id);
  } else if (plant === 'retained') {
    const at = guardAt();
    const added = make.insert(
      guard.method,
      `        self._${make.pick(NOUNS)}_history.append(${make.pick(WORDS)})`,
      at + 1 + make.int(0, 3),
    );
    line = lineOf(source, added.id);
  } else if (plant === 'no_grad_gone') {
    replace(leaf.id, (text) => text.slice(4));
    for (const method of source.methods) method.lines = method.lines.filter(({ id }) => id !== victim);
    line = lineOf(source, leaf.id);
  } else {
    const knob = make.pick(KNOBS);
    key = knob.key;
    for (const setting of config.splice(0)) if (setting.key !== knob.key) config.push(setting);
    config.push({ key: knob.key, a: knob.a, b: knob.b });
    if (plant === 'knob_yaml') {
      file = 'conf/llama3_70b.yaml';
      after[file] = after[file]!.replace(`${key}: ${knob.a}`, `${key}: ${knob.b}`);
      line = after[file]!.split('\n').findIndex((text) => text.includes(`${key}:`)) + 1;
    } else if (plant === 'knob_recipe') {
      file = `${base}recipes/llama3.py`;
      after[file] = after[file]!.replace(new RegExp(`(${key} = ).*`), `$1${pythonValue(knob.b)}`);
      line = after[file]!.split('\n').findIndex((text) => text.includes(key!)) + 1;
    }
    for (const way of ways) if (knob.of.includes(way.component)) way.bytes *= 2;
  }
  if (key === null) {
    file = source.path;
    const through =
      plant === 'caller_line' || plant === 'checkpoint_gone' ? (plant === 'caller_line' ? caller : inMlp).id : leaf.id;
    const all = ways.filter(({ frames }) => frames.some(({ id }) => id === through));
    // Leaves that several share grow by one of the ways only.
    const grown = plant === 'caller_line' || plant === 'checkpoint_gone' ? all : [hurt];
    for (const way of grown) way.bytes += Math.round(growBy / grown.length);
  }
  // Sizes are never quite the same twice.
  for (const way of ways) if (random() < 0.5) way.bytes += Math.round((random() - 0.4) * 60 * MIB);
  Object.assign(after, Object.fromEntries(make.sources.map((source) => [source.path, textOf(source)])));

  const sites = ways.flatMap((way): GrownSite[] => {
    const delta = way.bytes - olderBytes.get(way)!;
    if (delta === 0) return [];
    const b_frames = framesOf(way, prefix, checkpointed);
    return [{ delta_bytes: delta, a_frames: olderFrames.get(way)!, b_frames, component: way.component }];
  });
  const names = [...new Set(ways.map(({ component }) => component))];
  const components = names.map((component): DiffComponent => {
    const mine = ways.filter((way) => way.component === component);
    const a_bytes = mine.reduce((sum, way) => sum + olderBytes.get(way)!, 0);
    const b_bytes = mine.reduce((sum, way) => sum + way.bytes, 0);
    return { component, a_bytes, b_bytes, delta_bytes: b_bytes - a_bytes };
  });
  const total = components.reduce((sum, { delta_bytes }) => sum + delta_bytes, 0);
  return { plant, before, after, sites, components, config, total, file, line, key };
}

const pythonValue = (value: string): string =>
  value === 'true' ? 'True' : value === 'false' ? 'False' : /^\d/.test(value) ? value : `"${value}"`;

/** One change that does no harm. Lines of `safe` stay as they are. */
function refactor(
  make: Builder,
  ways: readonly Way[],
  safe: ReadonlySet<number>,
  extra: Record<string, string>,
  config: ChangedValue[],
  base: string,
): void {
  const source = make.pick(make.sources);
  const method = make.pick(source.methods);
  const start = make.bodyStart(method);
  const onStack = new Set(ways.flatMap(({ frames }) => frames.map(({ id }) => id)));
  const idle = method.lines.filter(
    ({ id, text }, i) => i >= start && !safe.has(id) && !onStack.has(id) && text.trim() !== '',
  );
  make.pick<() => void>([
    () =>
      void make.insert(
        method,
        `        # ${make.pick(VERBS)} ${make.pick(NOUNS)} first, see the ${make.pick(WORDS)} below`,
      ),
    () => {
      const doc = method.lines.find(({ text }) => text.includes('x (Tensor):'));
      if (doc !== undefined)
        doc.text = `            x (Tensor): ${make.pick(WORDS)} and ${make.pick(WORDS)}, as float32`;
    },
    // A local name, wherever it occurs.
    () => {
      const [from, to] = [make.pick(WORDS), `${make.pick(WORDS)}_${make.int(1, 99)}`];
      for (const line of method.lines.slice(start)) {
        if (!safe.has(line.id)) line.text = line.text.replaceAll(new RegExp(`(?<![\\w.])${from}\\b`, 'g'), to);
      }
    },
    // A call over several lines.
    () => {
      const line = make.pick(method.lines.slice(start));
      if (line === undefined || safe.has(line.id) || line.text.includes('\n')) return;
      line.text = line.text.replace(/^( *)(.*\()([^()]+)\)$/, (_, pad: string, head: string, args: string) =>
        [`${pad}${head}`, ...args.split(', ').map((arg) => `${pad}    ${arg},`), `${pad})`].join('\n'),
      );
    },
    () => void make.insert(method, `        logger.debug("${make.pick(VERBS)} of %s done", self.${make.pick(NOUNS)})`),
    () => {
      source.methods.splice(
        make.int(0, source.methods.length),
        0,
        make.method(`${make.pick(VERBS)}_new_${make.int(1, 999)}`),
      );
    },
    // A function goes elsewhere in its file.
    () => {
      const [moved] = source.methods.splice(source.methods.indexOf(method), 1);
      source.methods.splice(make.int(0, source.methods.length), 0, moved!);
    },
    () => {
      if (make.random() < 0.5) source.path = source.path.replace(/(\w+)\.py$/, `$1_${make.pick(NOUNS)}.py`);
    },
    () => void source.head.splice(1, 0, make.line(`from ${make.pick(NOUNS)}s import ${make.pick(VERBS)}`)),
    // Types of a signature.
    () => {
      const def = method.lines[0]!;
      def.text = def.text.replace(
        /self, (\w+), (\w+)=None\):/,
        'self, $1: torch.Tensor, $2: Optional[torch.Tensor] = None) -> torch.Tensor:',
      );
    },
    // A statement that is on no stack.
    () => {
      const line = make.pick(idle);
      if (line === undefined) return;
      if (/\d\.0$/.test(line.text)) line.text = line.text.replace(/\d\.0$/, '10.0');
      else if (line.text.includes(' + ')) line.text = line.text.replace(' + ', ' - ');
    },
    () => void make.insert(method, make.filler()[0]!.replace(/^ {8}if.*$/, `        ${make.pick(WORDS)} = None`)),
    // The line of a caller on every stack.
    () => {
      const frame = make.pick(make.pick(ways).frames.slice(2));
      const line = frame?.method.lines.find(({ id }) => id === frame.id);
      if (line === undefined || safe.has(line.id) || line.text.includes('\n') || line.text.includes('tag=')) return;
      if (make.random() < 0.3) line.text = line.text.replace(/\)$/, `, tag="${make.pick(NOUNS)}")`);
    },
    // A function gets another name, with its callers.
    () => {
      if (!/_\d+$/.test(method.name)) return;
      const name = `${method.name}_impl`;
      for (const source of make.sources) {
        for (const { lines } of source.methods) {
          for (const line of lines) line.text = line.text.replaceAll(new RegExp(`\\b${method.name}\\b`, 'g'), name);
        }
      }
      method.name = name;
    },
    () => {
      extra['README.md'] =
        `${extra['README.md']}\nUse micro_batch_size ${make.int(2, 8)} and torch.cuda.empty_cache().\n`;
    },
    () => {
      extra['tests/test_mlp.py'] =
        `${extra['tests/test_mlp.py']}\n\ndef test_${make.int(1, 999)}():\n    x = torch.zeros(4096, 4096).clone()\n`;
    },
    () => {
      const change = make.pick(IDLE);
      if (config.some(({ key }) => key === change.key)) return;
      config.push(change);
      const [yaml, recipe] = ['conf/llama3_70b.yaml', `${base}recipes/llama3.py`];
      if (change.a === null || change.b === null || change.key === 'recompute_granularity') return;
      extra[yaml] = extra[yaml]!.replace(`${change.key}: ${change.a}\n`, `${change.key}: ${change.b}\n`);
      extra[recipe] = extra[recipe]!.replace(`${change.key} = ${change.a}\n`, `${change.key} = ${change.b}\n`);
    },
  ])();
}
