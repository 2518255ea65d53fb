/** Runs the workers: starts them again when they end, and finds the input that ended them. */
import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Case, CURRENT, type CurrentHeader, type FromWorker, type Tally, type ToWorker } from './messages.js';
import { minimise } from './minimise.js';
import { type Finding, MOST_CPU_SECONDS } from './oracle.js';
import { cpuSecondsOf } from './watch-process.js';

const WATCH_MS = 500;
/** Of one input: its own limit is noticed by the worker if it ends. */
const HANG_CPU_SECONDS = MOST_CPU_SECONDS + 2;
const WORKER_HEAP_MB = 2048;
const MINIMISE_HANG_MS = 60_000;

export interface Shown {
  readonly finding: Finding;
  readonly case: Case;
}

function startWorker(): ChildProcess {
  return fork(join(import.meta.dirname, 'worker.js'), [], {
    execArgv: [`--max-old-space-size=${WORKER_HEAP_MB}`],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
}

function currentCase(directory: string): (Case & { readonly n: number }) | undefined {
  try {
    const bytes = readFileSync(join(directory, CURRENT));
    const end = bytes.indexOf(10);
    const { n, format, name } = JSON.parse(bytes.toString('utf8', 0, end)) as CurrentHeader;
    return { n, format, name, bytes: Buffer.from(bytes.subarray(end + 1)) };
  } catch {
    return undefined;
  }
}

interface Ended {
  readonly finding: Finding | undefined;
  readonly case: Case | undefined;
}

/** Watches one worker to its end: done, or ended with the input it had. */
function watch(child: ChildProcess, directory: string, take: (message: FromWorker) => void): Promise<Ended> {
  let isDone = false;
  let isHang = false;
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-4000);
  });
  child.on('message', (message: FromWorker) => {
    if (message.type === 'done') isDone = true;
    take(message);
  });
  let last: { n: number; cpu: number } | undefined;
  const timer = setInterval(() => {
    const now = currentCase(directory);
    const cpu = cpuSecondsOf(child.pid!);
    if (now === undefined || cpu === undefined) return;
    if (last?.n !== now.n) last = { n: now.n, cpu };
    else if (cpu - last.cpu > HANG_CPU_SECONDS) {
      isHang = true;
      child.kill('SIGKILL');
    }
  }, WATCH_MS);
  return new Promise((resolve) => {
    child.on('exit', (code, signal) => {
      clearInterval(timer);
      if (isDone || (code === 0 && !isHang)) return resolve({ finding: undefined, case: undefined });
      const current = currentCase(directory);
      const why = /FATAL ERROR: .*|terminate called .*|\w*Error: .*/.exec(errors)?.[0] ?? '';
      const finding: Finding = isHang
        ? { kind: 'hang', key: `hang ${current?.format}`, what: `not read in ${HANG_CPU_SECONDS} s of CPU` }
        : {
            kind: 'crash',
            key: `crash ${current?.format} ${why.slice(0, 60)}`,
            what: `the process ended with ${signal ?? code}: ${why || errors.slice(-300)}`,
          };
      resolve({ finding, case: current });
    });
  });
}

/** Inputs with all that is asked of each, in one process until it is ended. */
export class Checker {
  private readonly directory: string;
  private child: ChildProcess | undefined;
  private ended: Promise<Ended> | undefined;
  private onChecked: ((finding: Finding | undefined) => void) | undefined;

  constructor(directory: string) {
    this.directory = directory;
  }

  async check(testCase: Case): Promise<Finding | undefined> {
    if (this.child === undefined) {
      this.child = startWorker();
      this.ended = watch(this.child, this.directory, (message) => {
        if (message.type === 'checked') this.onChecked?.(message.finding);
      });
      void this.ended.then(() => {
        this.child = undefined;
      });
    }
    const checked = new Promise<Finding | undefined>((resolve) => {
      this.onChecked = resolve;
    });
    this.child.send({ type: 'check', directory: this.directory, case: testCase } satisfies ToWorker);
    return Promise.race([checked, this.ended!.then(({ finding }) => finding)]);
  }

  async close(): Promise<void> {
    this.child?.disconnect();
    await this.ended;
  }
}

export interface CampaignOptions {
  readonly seed: number;
  readonly jobs: number;
  readonly formats: readonly string[];
  readonly directory: string;
  readonly inputs: number;
  readonly minutes: number;
  readonly programPerMille: number;
}

/** A worker that ended this often without the input being at fault has a fault of its own. */
const MOST_STARTS = 200;

export async function runCampaign(
  { seed, jobs, formats, directory, inputs, minutes, programPerMille }: CampaignOptions,
  onFinding: (shown: Shown) => void,
  onTally: (tallies: readonly Tally[]) => void,
): Promise<Tally[]> {
  const endAt = Date.now() + minutes * 60_000;
  const tallies: Tally[] = [];
  const seen = new Set<string>();
  const runJob = async (job: number): Promise<void> => {
    const folder = join(directory, `worker-${job}`);
    let done = 0;
    for (let starts = 0; starts < MOST_STARTS && Date.now() < endAt; starts++) {
      const share = Math.ceil(inputs / jobs) - done;
      if (share <= 0) return;
      const child = startWorker();
      let index = -1;
      const ended = watch(child, folder, (message) => {
        if (message.type === 'tally') {
          if (index < 0) index = tallies.push(message.tally) - 1;
          else tallies[index] = message.tally;
          onTally(tallies);
        } else if (message.type === 'finding' && !seen.has(`${message.case.format} ${message.finding.key}`)) {
          seen.add(`${message.case.format} ${message.finding.key}`);
          onFinding(message);
        } else if (message.type === 'done') child.disconnect();
      });
      child.send({
        ...{ type: 'campaign', seed: seed + job * 1_000_003 + starts * 7919, formats, directory: folder },
        ...{ inputs: share, endAt, programPerMille },
      } satisfies ToWorker);
      const { finding, case: input } = await ended;
      if (finding === undefined) return;
      done += Object.values(tallies[index]?.inputs ?? {}).reduce((sum, count) => sum + count, 0);
      if (input === undefined) throw new Error(`a worker could not start: ${finding.what}`);
      if (seen.has(`${input.format} ${finding.key}`)) continue;
      seen.add(`${input.format} ${finding.key}`);
      const checker = new Checker(join(directory, `check-${job}`));
      const bytes = await minimise(
        input.bytes,
        async (candidate) => (await checker.check({ ...input, bytes: candidate }))?.kind === finding.kind,
        Math.min(MINIMISE_HANG_MS, Math.max(0, endAt - Date.now())),
      );
      await checker.close();
      onFinding({ finding, case: { ...input, bytes } });
    }
  };
  await Promise.all(Array.from({ length: jobs }, (_, job) => runJob(job)));
  return tallies;
}
