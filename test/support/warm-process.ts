/**
 * The command line in a process that stays: see `warm-cli.mjs`. One for each worker of the tests, begun when it is
 * first needed.
 */
import { join } from 'node:path';
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';

export interface WarmRequest {
  /** The compiled `main.js`. */
  readonly script: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface WarmAnswer {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Longer than any test may take. */
const MOST_WAIT_MS = 180_000;

interface Thread {
  readonly script: string;
  readonly port: MessagePort;
  readonly flag: Int32Array;
}

let thread: Thread | undefined;

function threadFor({ script, env }: WarmRequest): Thread {
  if (thread?.script === script) return thread;
  thread?.port.close();
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const { port1, port2 } = new MessageChannel();
  const worker = new Worker(join(import.meta.dirname, 'warm-process-thread.mjs'), {
    workerData: { port: port2, flag, env },
    transferList: [port2],
  });
  worker.unref();
  port1.unref();
  thread = { script, port: port1, flag };
  return thread;
}

/**
 * Waits for the answer. Throws if the process ended by the command, or something was thrown that `program.ts` does not
 * catch.
 */
export function runWarm(request: WarmRequest): WarmAnswer {
  const { port, flag } = threadFor(request);
  Atomics.store(flag, 0, 0);
  port.postMessage(request);
  const what = `mbforensics ${request.args.join(' ')}`;
  if (Atomics.wait(flag, 0, 0, MOST_WAIT_MS) === 'timed-out') throw new Error(`${what} did not end`);
  const { message } = receiveMessageOnPort(port) as { message: { answer?: WarmAnswer; fault?: string } };
  if (message.answer === undefined) throw new Error(`${what}: ${message.fault}`);
  return message.answer;
}
