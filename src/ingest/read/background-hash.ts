/**
 * SHA-256 of an open file on a second core. Hashing takes 0.5 s a GB, a sixth of ingesting one; concurrently with the
 * decoder it costs nothing.
 */
import { Worker } from 'node:worker_threads';
import { READ_OFFSET } from './read-buffer.js';

/**
 * As text, because the thread must start from TypeScript sources under test and from built files alike. It reads
 * through the descriptor of the caller (threads share them, and positional reads do not disturb each other), so both
 * see the same file whatever happens to its name.
 */
const WORKER = `
const { parentPort, workerData } = require('node:worker_threads');
const { readSync } = require('node:fs');
const { createHash } = require('node:crypto');
const { fd, sizeBytes, readOffset } = workerData;
const hash = createHash('sha256');
const buffer = Buffer.allocUnsafeSlow(readOffset + 1024 * 1024).subarray(readOffset);
let position = 0;
while (position < sizeBytes) {
  const count = readSync(fd, buffer, 0, Math.min(buffer.length, sizeBytes - position), position);
  if (count === 0) break;
  hash.update(buffer.subarray(0, count));
  position += count;
}
parentPort.postMessage({ position, digest: hash.digest('hex') });
`;

/** It holds one buffer and a hash; the default would reserve what a whole program may need. */
const SMALL_HEAP = { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 16 };

export interface BackgroundHash {
  /** Lower-case hex, and how many bytes there were: fewer than asked for if the file shrank. */
  readonly result: Promise<{ readonly digest: string; readonly position: number }>;
  /** Must be awaited before the descriptor is closed. */
  stop(): Promise<void>;
}

export function hashInBackground(fd: number, sizeBytes: number): BackgroundHash {
  const workerData = { fd, sizeBytes, readOffset: READ_OFFSET };
  const worker = new Worker(WORKER, { eval: true, workerData, resourceLimits: SMALL_HEAP });
  const result = new Promise<{ digest: string; position: number }>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('the hashing thread was stopped')));
  });
  result.catch(() => {}); // the awaiting caller gets the error, if there is one
  return {
    result,
    async stop() {
      await worker.terminate();
    },
  };
}
