/** A process of the campaign: makes inputs, runs them, keeps those that reach new code, and reports findings. */
import childProcess from 'node:child_process';
import {
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { createRandom, type Random } from '../../samples/generate/simulate/random.js';
import { Coverage } from './coverage.js';
import type { FuzzFormat } from './formats.js';
import { type Case, CURRENT, type CurrentHeader, type Extreme, type FromWorker, type ToWorker } from './messages.js';
import type { Finding, ParserResult, Reader } from './oracle.js';
import type { Seed } from './seeds.js';

/** Before our modules are loaded: code compiled without counters is never counted. */
const ours = ['src', 'parsers'].map((folder) => new URL(`../../${folder}/`, import.meta.url).href);
const coverage = new Coverage((url) => ours.some((folder) => url.startsWith(folder)));

// A parser that starts a program is a finding, whatever the program. The command line is started outside of `guarded`.
let isGuarded = false;
let executed: string | undefined;
for (const name of ['spawn', 'spawnSync', 'exec', 'execSync', 'execFile', 'execFileSync', 'fork'] as const) {
  const original = childProcess[name] as (...args: unknown[]) => unknown;
  Object.assign(childProcess, {
    [name]: (...args: unknown[]) => {
      if (!isGuarded) return original(...args);
      executed = `${name} ${String(args[0]).slice(0, 200)}`;
      throw new Error('a parser starts no program');
    },
  });
}
syncBuiltinESMExports();

const { FORMATS, HOSTILE_NAMES } = await import('./formats.js');
const { below, mutateBytes, pickOf } = await import('./mutate-bytes.js');
const { CANARY, PLANTED_SECRET, questionsOf } = await import('./words.js');
const { minimise } = await import('./minimise.js');
const { checkParser, checkProgram, executedFinding, exceptionFinding } = await import('./oracle.js');
const { ProgramHost } = await import('./program-host.js');
const { checkRepository, checkStore, placeTable } = await import('./states.js');

const send = (message: FromWorker): void => void process.send!(message);

/** Inputs between two looks at the coverage, which takes as long as one or two of them. */
const BATCH = 16;
/** One of so many batches is looked at input by input, for how often blocks run. */
const SINGLE_EVERY = 12;
const TWICE_EVERY = 60;
const MOST_KEPT = 1500;
const MOST_KEPT_BYTES = 100_000;
const MINIMISE_MS = 8_000;
const STORE_QUESTIONS = questionsOf('storeQuestions');

/** Settings and variables with a token in them, which must not come out; a line of its own at the end of a text. */
const PLANTED: Readonly<Record<string, string>> = {
  environment: `\nHF_TOKEN=${PLANTED_SECRET}\n`,
  shell: `\nexport HF_TOKEN=${PLANTED_SECRET}\n`,
  log: `\nexport HF_TOKEN=${PLANTED_SECRET}\n`,
};

class Runner {
  readonly host: InstanceType<typeof ProgramHost>;
  private readonly directory: string;
  private readonly current: number;
  private n = 0;

  constructor(directory: string) {
    this.directory = directory;
    mkdirSync(directory, { recursive: true });
    this.host = new ProgramHost(join(directory, 'home'));
    this.current = openSync(join(directory, CURRENT), 'w+');
  }

  /** Notes the input for the parent, which ends this process if it does not come back. */
  private note(format: string, { name, bytes }: Seed): void {
    this.n += 1;
    const header = Buffer.from(`${JSON.stringify({ n: this.n, format, name } satisfies CurrentHeader)}\n`);
    writeSync(this.current, Buffer.concat([header, bytes]), 0, header.length + bytes.length, 0);
    ftruncateSync(this.current, header.length + bytes.length);
  }

  /** Through the parser, or what has its place. */
  async read(
    format: string,
    { reader }: FuzzFormat,
    input: Seed,
    random: Random,
    isTwice: boolean,
    cpuSeconds?: number,
  ): Promise<ParserResult> {
    this.note(format, input);
    const limits = { isTwice, ...(cpuSeconds === undefined ? {} : { mostCpuSeconds: cpuSeconds }) };
    if (reader === 'repository' || reader === 'store') {
      const finding =
        reader === 'repository'
          ? await checkRepository(this.host, input, this.directory)
          : await checkStore(this.host, input, this.directory, [
              pickOf(random, STORE_QUESTIONS),
              pickOf(random, STORE_QUESTIONS),
            ]);
      return { outcome: finding?.kind ?? 'answered', cpuSeconds: 0, peakBytes: 0, finding: finding ?? this.canary() };
    }
    if (reader !== 'folder') return this.guarded(reader, input, this.directory, limits);
    const { folder, restore } = placeTable(input, this.directory);
    try {
      return await this.guarded(reader, input, folder, limits);
    } finally {
      restore();
    }
  }

  private async guarded(
    reader: Reader,
    input: Seed,
    directory: string,
    limits: { isTwice: boolean },
  ): Promise<ParserResult> {
    isGuarded = true;
    try {
      const result = await checkParser(reader, input, directory, limits);
      return executed === undefined ? result : { ...result, finding: executedFinding(executed) };
    } finally {
      isGuarded = false;
      executed = undefined;
    }
  }

  async program(
    format: string,
    input: Seed,
    random: Random,
    questions?: Case['questions'],
  ): Promise<Finding | undefined> {
    this.note(format, input);
    return (await checkProgram(this.host, input, this.directory, random, questions)) ?? this.canary();
  }

  private canary(): Finding | undefined {
    const { directory } = this;
    for (const place of [directory, join(directory, 'run'), join(directory, 'repository'), process.cwd()]) {
      const path = join(place, CANARY);
      if (!existsSync(path)) continue;
      rmSync(path);
      return executedFinding(`a command of the input was executed in ${place}`);
    }
    return undefined;
  }
}

let stray: unknown;
process.on('unhandledRejection', (error) => {
  stray = error;
});
process.on('uncaughtException', (error) => {
  stray = error;
});

/** Everything that is asked of one input; of a case that is kept, each time the same. */
async function check(
  runner: Runner,
  { format, name, bytes, questions, cpuSeconds }: Case,
): Promise<Finding | undefined> {
  const spec = FORMATS[format];
  if (spec === undefined) throw new Error(`no format ${format}`);
  await spec.seeds(join(runner['directory'], '..'), runner.host);
  if (spec.reader === 'folder') await spec.seeds(runner['directory'], runner.host);
  const input = { name, bytes };
  const random = createRandom(1);
  const { finding } = await runner.read(format, spec, input, random, true, cpuSeconds);
  if (finding !== undefined) return finding;
  if (spec.reader === 'store') {
    for (let i = 0; i < 4; i++) {
      const { finding: answer } = await runner.read(format, spec, input, random, false);
      if (answer !== undefined) return answer;
    }
  }
  if (spec.reader !== 'memory' && spec.reader !== 'file') return undefined;
  return runner.program(format, input, random, questions ?? [['diagnose'], ['log', 'config'], ['show', 'E1']]);
}

class Campaign {
  private readonly options: Extract<ToWorker, { readonly type: 'campaign' }>;
  private readonly runner: Runner;
  private readonly random: Random;
  private readonly seeds = new Map<string, Seed[]>();
  private readonly kept = new Map<string, Seed[]>();
  private readonly shown = new Set<string>();
  private readonly inputs: Record<string, number> = {};
  private readonly outcomes: Record<string, number> = {};
  private done = 0;
  private programInputs = 0;
  private maxCpu: Extreme = { value: 0, input: '' };
  private maxGrowth: Extreme = { value: 0, input: '' };

  constructor(options: Extract<ToWorker, { readonly type: 'campaign' }>) {
    this.options = options;
    this.random = createRandom(options.seed);
    this.runner = new Runner(options.directory);
  }

  async run(): Promise<void> {
    const { inputs, endAt } = this.options;
    const all = this.options.formats.flatMap((name) => [[name, FORMATS[name]!.weight] as const]);
    const total = all.reduce((sum, [, weight]) => sum + weight, 0);
    let lastTally = 0;
    for (let batches = 0; this.done < inputs && Date.now() < endAt; batches++) {
      let at = this.random() * total;
      const [name] =
        all.find(([, weight]) => {
          at -= weight;
          return at < 0;
        }) ?? all[0]!;
      await this.batch(name, FORMATS[name]!, batches % SINGLE_EVERY === 0);
      if (Date.now() - lastTally < 500) continue;
      lastTally = Date.now();
      this.report();
    }
    this.runner.host.close();
    this.report();
  }

  private async batch(name: string, spec: FuzzFormat, isSingle: boolean): Promise<void> {
    if (!this.seeds.has(name)) await this.load(name, spec);
    // The seeds may have been the last inputs.
    if (this.done >= this.options.inputs) return;
    const isSlow = spec.reader === 'repository' || spec.reader === 'store' || spec.reader === 'folder';
    const size = Math.min(
      isSlow ? 1 : isSingle ? 2 : BATCH,
      Math.ceil(this.options.inputs / 50),
      this.options.inputs - this.done,
    );
    const batch = Array.from({ length: size }, () => this.make(name, spec));
    for (const input of batch) {
      await this.execute(name, spec, input, this.random() < 1 / TWICE_EVERY);
      if (isSingle && !isSlow && coverage.take(true).size > 0) this.keep(name, input);
    }
    if (isSingle || isSlow) return;
    const fresh = coverage.take(false);
    if (fresh.size === 0) return;
    // Which of them it was: half of them again, until one is left.
    let suspects = batch;
    while (suspects.length > 1) {
      const half = suspects.slice(0, suspects.length >> 1);
      for (const input of half) await this.runner.read(name, spec, input, this.random, false);
      suspects = coverage.reaches(fresh) ? half : suspects.slice(half.length);
    }
    this.keep(name, suspects[0]!);
  }

  private async load(name: string, spec: FuzzFormat): Promise<void> {
    const { directory } = this.options;
    const seeds = await spec.seeds(
      spec.reader === 'folder' || spec.reader === 'repository' || spec.reader === 'store'
        ? directory
        : join(directory, '..'),
      this.runner.host,
    );
    if (seeds.length === 0 && spec.generate === undefined) throw new Error(`no seeds of ${name}`);
    this.seeds.set(name, seeds);
    const folder = this.keptFolder(name);
    mkdirSync(folder, { recursive: true });
    // Of a worker that was ended before this one.
    this.kept.set(
      name,
      readdirSync(folder).map((file) => ({ name: seeds[0]?.name ?? file, bytes: readFileSync(join(folder, file)) })),
    );
    if (spec.reader === 'repository' || spec.reader === 'store') return;
    const most = Math.ceil(this.options.inputs / 50);
    for (const seed of seeds.slice(0, most)) {
      if (this.done < this.options.inputs) await this.execute(name, spec, seed, false);
    }
    coverage.take(false);
  }

  private make(name: string, spec: FuzzFormat): Seed {
    const { random } = this;
    if (spec.generate !== undefined && random() < 0.3) {
      const document = spec.generate(random);
      if (spec.reader === 'store' || random() < 0.6) return this.dressed(name, document);
      return this.dressed(name, { ...document, bytes: this.changed(spec, document.bytes, document.bytes) });
    }
    const [seeds, kept] = [this.seeds.get(name)!, this.kept.get(name)!];
    const chosen = (): Seed => {
      const pool = kept.length > 0 && random() < 0.6 ? kept : seeds;
      // The shorter of two, mostly: of the same code it takes less time. Of the kept ones, the later.
      const [a, b] = [pool[below(random, pool.length)]!, pool[Math.floor(Math.sqrt(random()) * pool.length)]!];
      return a.bytes.length < b.bytes.length === random() < 0.8 ? a : b;
    };
    const seed = chosen();
    return this.dressed(name, { name: seed.name, bytes: this.changed(spec, seed.bytes, chosen().bytes) });
  }

  private changed({ mutators, reader }: FuzzFormat, bytes: Buffer, spare: Buffer): Buffer {
    const { random } = this;
    let result = bytes;
    const times = reader === 'store' ? 1 : 1 + Math.floor(random() ** 2 * 5);
    for (let i = 0; i < times && result.length > 0; i++) {
      const mutator = reader === 'store' || random() < 0.7 ? pickOf(random, mutators) : mutateBytes;
      try {
        result = mutator(result, random, spare);
      } catch (error) {
        // A mutator that needs another layout than the mutated input has leaves it as it is.
        if (!(error instanceof RangeError)) throw error;
      }
      // Mutations of mutations grow.
      if (result.length > 700_000 && reader !== 'store') result = result.subarray(0, 600_000);
    }
    return result;
  }

  /** With another name now and then, and a secret of which the answers are searched. */
  private dressed(name: string, input: Seed): Seed {
    if (this.random() < 0.01 && !['repository', 'store', 'nsys-parquet'].includes(name))
      return { ...input, name: pickOf(this.random, HOSTILE_NAMES) };
    return input;
  }

  private async execute(name: string, spec: FuzzFormat, input: Seed, isTwice: boolean): Promise<void> {
    this.done += 1;
    this.inputs[name] = (this.inputs[name] ?? 0) + 1;
    const { outcome, cpuSeconds, peakBytes, finding } = await this.runner.read(name, spec, input, this.random, isTwice);
    const key = `${name} ${outcome}`;
    this.outcomes[key] = (this.outcomes[key] ?? 0) + 1;
    const what = `${name} ${input.name.slice(0, 40)}, ${input.bytes.length} bytes`;
    if (cpuSeconds > this.maxCpu.value) this.maxCpu = { value: cpuSeconds, input: what };
    if (peakBytes > this.maxGrowth.value) this.maxGrowth = { value: peakBytes, input: what };
    const result = stray === undefined ? finding : exceptionFinding(stray);
    stray = undefined;
    if (result !== undefined) await this.show(result, name, spec, input);
    const isAsked =
      (spec.reader === 'memory' || spec.reader === 'file') && this.random() < this.options.programPerMille / 1000;
    if (!isAsked) return;
    this.programInputs += 1;
    const planted = PLANTED[name];
    const asked =
      planted === undefined ? input : { ...input, bytes: Buffer.concat([input.bytes, Buffer.from(planted)]) };
    const answer = await this.runner.program(name, asked, this.random);
    if (answer !== undefined) await this.show(answer, name, spec, asked, true);
  }

  private keep(name: string, input: Seed): void {
    const kept = this.kept.get(name)!;
    if (kept.length >= MOST_KEPT || input.bytes.length > MOST_KEPT_BYTES) return;
    kept.push(input);
    writeFileSync(join(this.keptFolder(name), String(kept.length)), input.bytes);
  }

  private keptFolder(name: string): string {
    return join(this.options.directory, 'kept', name);
  }

  /** Once for each key, as short as it can be made in some seconds. */
  private async show(
    finding: Finding,
    format: string,
    spec: FuzzFormat,
    input: Seed,
    isProgram = false,
  ): Promise<void> {
    const key = `${format} ${finding.key}`;
    if (this.shown.has(key)) return;
    this.shown.add(key);
    const isFast = !isProgram && !['slow', 'memory', 'hang', 'crash'].includes(finding.kind) && spec.reader !== 'store';
    const showsIt = async (bytes: Buffer): Promise<boolean> => {
      const isTwice = finding.kind === 'unstable';
      const again = await this.runner.read(format, spec, { ...input, bytes }, this.random, isTwice);
      return again.finding?.key === finding.key;
    };
    const bytes = isFast ? await minimise(input.bytes, showsIt, MINIMISE_MS) : input.bytes;
    send({ type: 'finding', finding, case: { format, name: input.name, bytes } });
  }

  private report(): void {
    const { inputs, outcomes, programInputs, maxCpu, maxGrowth } = this;
    const { calls: programCalls, maxRssBytes } = this.runner.host;
    const kept = Object.fromEntries([...this.kept].map(([name, list]) => [name, list.length]));
    const most = Math.max(process.resourceUsage().maxRSS * 1024, maxRssBytes);
    const tally = { inputs, kept, outcomes, programInputs, programCalls, blocks: coverage.blocks, maxCpu, maxGrowth };
    send({ type: 'tally', tally: { ...tally, maxRssBytes: most } });
  }
}

let checker: Runner | undefined;
process.on('disconnect', () => process.exit());
process.on('message', (message: ToWorker) => {
  const work = async (): Promise<void> => {
    if (message.type === 'campaign') {
      await new Campaign(message).run();
      send({ type: 'done' });
      return;
    }
    checker ??= new Runner(message.directory);
    let finding = await check(checker, message.case);
    if (stray !== undefined) finding = exceptionFinding(stray);
    stray = undefined;
    send({ type: 'checked', finding });
  };
  work().catch((error: unknown) => {
    console.error(error);
    process.exit(3);
  });
});
