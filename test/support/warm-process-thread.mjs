/**
 * Talks to a `warm-cli.mjs` while the thread of the tests waits for the answer, which therefore cannot listen itself.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { workerData } from 'node:worker_threads';

const { port, flag, env } = workerData;
const host = fileURLToPath(new URL('warm-cli.mjs', import.meta.url));
/** A process that holds more than this after an answer is replaced by a new one. */
const MOST_BYTES = 700 * 2 ** 20;
let child;

function send(message) {
  port.postMessage(message);
  Atomics.store(flag, 0, 1);
  Atomics.notify(flag, 0);
}

function start(script) {
  const started = fork(host, [script], {
    env,
    execArgv: [],
    serialization: 'advanced',
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let text = '';
  for (const stream of [started.stdout, started.stderr]) {
    stream.setEncoding('utf8').on('data', (more) => {
      text = (text + more).slice(-10_000);
    });
  }
  started.on('message', (message) => {
    if (message.rssBytes > MOST_BYTES) {
      child = undefined;
      started.disconnect();
    }
    send(message);
  });
  started.on('close', (code, signal) => {
    if (child !== started) return;
    child = undefined;
    send({ fault: `the process ended with ${code ?? signal}: ${text}` });
  });
  return started;
}

port.on('close', () => child?.disconnect());
port.on('message', ({ script, ...request }) => {
  child ??= start(script);
  child.send(request);
});
