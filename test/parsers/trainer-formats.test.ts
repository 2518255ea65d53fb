/** Progress bars, and the lines of a log that no format reads. */
import { describe, expect, it } from 'vitest';
import { explainLog } from '../../parsers/log/index.js';
import { bytesSource } from '../support/decode.js';
import { readLog, unreadFigures } from './read-log.js';

const read = (...lines: readonly string[]) => readLog(lines.map((line) => `${line}\n`).join(''));
type Read = ReturnType<typeof read>;
const iterations = ({ rows }: Read) => rows.filter((row) => row.row === 'iteration');

describe('progress bars', () => {
  const bar = (label: string, done: number, total: number, remaining: string) =>
    `${label}${String(Math.floor((100 * done) / total)).padStart(3)}%|${'█'.repeat((10 * done) / total).padEnd(10)}| ${done}/${total} [00:10<00:20,  1.00it/s${remaining}]`;
  const repainted = (states: readonly string[]) => states.map((state) => `\r${state}`).join('');

  it('without training metrics are read at each tenth', () => {
    const states = Array.from({ length: 200 }, (_, at) => bar('Loading shards: ', at + 1, 200, ''));
    const log = read(repainted(states));
    expect(iterations(log)).toEqual([]);
    const ofName = (name: string) => log.rows.filter((row) => row.row === 'value' && row.name === name);
    expect(ofName('progress.elapsed_s')).toMatchObject([{ value: 10, text: 'Loading shards: 200' }]);
    const paces = ofName('progress.s_per_it[Loading shards]');
    expect(paces.length).toBeGreaterThan(9);
    expect(paces.length).toBeLessThan(30);
  });

  it('of Lightning count across epochs, so that an epoch is not a new launch', () => {
    const epoch = (number: number) =>
      repainted([10, 20, 30].map((done) => bar(`Epoch ${number}: `, done, 30, ', v_num=0, train_loss=2.5')));
    const log = read(epoch(0), epoch(1));
    expect(iterations(log).map(({ iteration, loss }) => [iteration, loss])).toEqual(
      [10, 20, 30, 40, 50, 60].map((iteration) => [iteration, 2.5]),
    );
    expect(log.attempts).toEqual([]);
  });

  it('of llama-recipes and torchtune contain epoch and step in their descriptions', () => {
    const log = read(
      repainted([
        bar('Training Epoch: 1/2, step 28/30 completed (loss: 1.5): ', 29, 30, ''),
        bar('Training Epoch: 1/2, step 29/30 completed (loss: 1.25): ', 30, 30, ''),
        bar('Training Epoch: 2/2, step 0/30 completed (loss: 1.0): ', 1, 30, ''),
      ]),
      repainted([bar('2|31|Loss: 0.75: ', 1, 30, '')]),
    );
    expect(iterations(log).map(({ iteration, target, loss }) => [iteration, target, loss])).toEqual([
      [29, 60, 1.5],
      [30, 60, 1.25],
      [31, 60, 1],
      [31, null, 0.75],
    ]);
    expect(log.attempts).toEqual([]);
  });
});

describe('lines that no format reads', () => {
  it.each([
    ['memory', 'our own peak memory: 12.5'],
    ['memory', 'holding 3.5 GiB of buffers'],
    ['memory', 'memory12 of /opt/run/a/b.py holds 4 MB'],
    ['iteration', 'custom loop, step 12 done'],
    ['iteration', 'global_step=300 reached'],
    ['failure', 'reader 3 failed'],
    ['failure', 'my.CustomError: shard 17 is broken'],
    ['failure', 'health check: 2 timeouts, fatal'],
  ])('are reported: %s of "%s"', async (topic, text) => {
    expect(await unreadFigures(bytesSource(Buffer.from(`${text}\n`)), 'log')).toMatchObject([
      { topic, count: 1, text },
    ]);
  });

  it.each([
    [
      'a Python warning',
      '/opt/lib/python3.8/torch/cuda/memory.py:373: FutureWarning: torch.cuda.memory_cached was renamed',
    ],
    ['an exception and its place', "terminate called after throwing an instance of 'c10::CUDAError'"],
    [
      'an exception and its place',
      'Exception raised from query at ../aten/src/ATen/CUDAEvent.h:95 (most recent call first):',
    ],
    ['a stack', 'frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x42 (0x1518 in /opt/lib/libc10.so)'],
    ['settings', '--train-iters 1000 --lr-warmup-fraction .01 --timeout 30'],
    ['an address on the web', 'see https://example.org/memory/1.2/step-3 for more'],
    ['a download', 'model.safetensors:  50%|█████     | 1.20GB/2.40GB [00:10<00:10, 120MB/s]'],
    ['a checkpoint', 'found /ckpt/run/global_step/step=49.ckpt'],
  ])('are not when they hold no figure: %s', async (_what, text) => {
    expect(await unreadFigures(bytesSource(Buffer.from(`${text}\n`)), 'log')).toEqual([]);
  });

  it.each(['/a', '--a 1 ', 'a/', 'http://a', '1.2.3', 'a', ' ', 'frame #1', 'mem ', '1MB/s '])(
    'come to an end however they repeat: %j',
    async (unit) => {
      // A pattern that backtracks would need hours, and the limit below ends it.
      const { lines } = await explainLog(
        bytesSource(Buffer.from(`${unit.repeat(400_000 / unit.length)} 7\n`)),
        'log',
        0,
      );
      expect(lines).toBe(1);
    },
    60_000,
  );
});
