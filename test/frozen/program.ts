/** One build of the command line, in a process that stays; see test/support/warm-cli.mjs. */
import { type ChildProcess, fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Input } from './inputs.js';
import { type Answer, type Json, project } from './projection.js';

/** A process that holds more than this is replaced. */
const MOST_BYTES = 900 * 2 ** 20;
const MOST_SECONDS = 600;

export function filesOf(folder: string): string[] {
  if (!existsSync(folder)) return [];
  if (!statSync(folder).isDirectory()) return [folder];
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? filesOf(path) : [path];
    });
}

type Ran = Omit<Answer, 'files'>;

/** What warm-cli.mjs sends. */
interface Message {
  readonly answer?: Ran;
  readonly fault?: string;
  readonly rssBytes?: number;
}

export class Build {
  readonly checkout: string;
  readonly main: string;
  /** Time taken by each command, in all inputs. */
  readonly seconds = new Map<string, number>();
  readonly #hostScript: string;
  #host: ChildProcess | undefined;
  #finish: ((message: Message) => void) | undefined;

  constructor(checkout: string, hostScript: string) {
    this.checkout = checkout;
    this.#hostScript = hostScript;
    this.main = join(checkout, 'dist', 'src', 'cli', 'main.js');
    if (!existsSync(this.main)) throw new Error(`${checkout} is not built: ${this.main} is missing`);
  }

  /** Changes with the compiled program. */
  identity(): string {
    const hash = createHash('sha256');
    for (const path of ['dist/src', 'dist/parsers', 'dist/queries', 'queries']
      .map((at) => join(this.checkout, at))
      .flatMap(filesOf)) {
      hash.update(relative(this.checkout, path)).update(readFileSync(path));
    }
    return hash.digest('hex');
  }

  /** The projected answers to all commands of an input, in one store. */
  async answers(input: Input, folder: string, checkouts: readonly string[]): Promise<Json[]> {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const from = new Date();
    const results: Json[] = [];
    for (const command of input.commands) {
      const out = join(folder, 'out');
      rmSync(out, { recursive: true, force: true });
      const args = wordsOf(command).flatMap((word) =>
        word === '{in}' ? [...input.paths] : [word.replace('{out}', out)],
      );
      if (command.includes('{out}')) mkdirSync(out);
      const begun = Date.now();
      const answer = await this.#ask(args, folder);
      const seconds = (Date.now() - begun) / 1000;
      this.seconds.set(command, (this.seconds.get(command) ?? 0) + seconds);
      const files = Object.fromEntries(filesOf(out).map((path) => [relative(out, path), readFileSync(path)]));
      results.push(project({ ...answer, files }, { folder, checkouts, from, to: new Date() }));
    }
    rmSync(folder, { recursive: true, force: true });
    return results;
  }

  end(): void {
    const host = this.#host;
    this.#host = undefined;
    host?.kill('SIGKILL');
  }

  #ask(args: readonly string[], folder: string): Promise<Ran> {
    this.#host ??= this.#start();
    const host = this.#host;
    return new Promise((done) => {
      const timer = setTimeout(() => this.#finish?.({ fault: `no answer in ${MOST_SECONDS} s` }), MOST_SECONDS * 1000);
      this.#finish = (message) => {
        this.#finish = undefined;
        clearTimeout(timer);
        if (message.answer === undefined || (message.rssBytes ?? 0) > MOST_BYTES) this.end();
        done(message.answer ?? { status: 'no answer', stdout: '', stderr: message.fault ?? '' });
      };
      host.send({ args, cwd: folder, env: environment(folder) });
    });
  }

  #start(): ChildProcess {
    const host = fork(this.#hostScript, [this.main], {
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    let errors = '';
    host.stderr?.on('data', (chunk: Buffer) => {
      errors = (errors + chunk.toString('utf8')).slice(-10_000);
    });
    host.on('message', (message: Message) => this.#finish?.(message));
    host.on('close', (code, signal) => {
      if (this.#host === host) this.#finish?.({ fault: `the process ended with ${code ?? signal}: ${errors}` });
    });
    return host;
  }
}

/** Words of a command; double quotes keep several as one. */
function wordsOf(command: string): string[] {
  return [...command.matchAll(/"([^"]*)"|(\S+)/g)].map((match) => match[1] ?? match[2]!);
}

function environment(folder: string): Record<string, string> {
  const kept = Object.entries(process.env).filter(([name]) => /^(?:PATH|HOME|TMPDIR|TEMP|TMP|SYSTEMROOT)$/i.test(name));
  return {
    ...(Object.fromEntries(kept) as Record<string, string>),
    LC_ALL: 'C.UTF-8',
    TZ: 'UTC',
    MBF_DB: join(folder, 'store.duckdb'),
    XDG_CACHE_HOME: join(folder, 'cache'),
  };
}
