/**
 * What the samples of the trainers' formats cannot show: prefixes, colours and repainted bars, blocks of ranks that
 * interleave, launches, and that no figure of the corpus's logs is left unread.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { explainLog } from '../../parsers/log/index.js';
import { readLogBytes } from '../../parsers/log/read-log.js';
import { openByteSource } from '../../src/ingest/byte-source.js';
import { type AttemptRow, type LogRow, placedRow } from '../../src/model/log-rows.js';
import type { ByteSource } from '../../src/model/parser.js';
import type { UnmatchedGroup } from '../../src/model/results/format.js';
import { CORPUS, skipLoudly } from '../support/corpus.js';

interface Read {
  readonly rows: readonly LogRow[];
  readonly attempts: readonly AttemptRow[];
}

function read(...lines: readonly string[]): Read {
  const rows: LogRow[] = [];
  const attempts: AttemptRow[] = [];
  readLogBytes(Buffer.from(lines.map((line) => `${line}\n`).join('')), {
    incident() {},
    note() {},
    logRow: (finding, place) => rows.push(placedRow(finding, place)),
    attempt: (row) => attempts.push(row),
  });
  return { rows, attempts };
}

const iterations = ({ rows }: Read) => rows.filter((row) => row.row === 'iteration');
const memory = ({ rows }: Read) => rows.filter((row) => row.row === 'memory');
const values = ({ rows }: Read, prefix: string) =>
  rows.filter((row) => row.row === 'value').filter(({ name }) => name.startsWith(prefix));
const GIB = 1024 ** 3;

describe('prefixes and colours', () => {
  it('of nanotron name the writer and its host, and no global rank', () => {
    const log = read(
      '08/31/2024 14:37:31 [INFO|DP=1|PP=0|TP=0|node-7]:  Memory usage: 64.25MiB. Peak allocated 309.50MiB. Peak reserved: 496.00MiB',
      '\u001b[2;3m12/06 14:46:02 [INFO|training|CP=0|TP=1|node-8]\u001b[0m: iteration: 1 / 15 | consumed_tokens: 512 | elapsed_time_per_iteration_ms: 4.71K | lm_loss: 5.25 | cuda_memory_allocated: 67.4M',
    );
    expect(memory(log).map(({ metric, host, rank }) => [metric, host, rank])).toEqual([
      ['allocated', 'node-7', null],
      ['max_allocated', 'node-7', null],
      ['max_reserved', 'node-7', null],
      ['allocated', 'node-8', null],
    ]);
    expect(iterations(log)).toMatchObject([{ iteration: 1, target: 15, stepMs: 4710, loss: 5.25, host: 'node-8' }]);
    // The first has a year, the second none.
    expect(log.rows.map(({ timeUs }) => timeUs)).toEqual([
      ...Array(3).fill(Date.UTC(2024, 7, 31, 14, 37, 31) * 1000),
      null,
      null,
    ]);
  });

  it('of torchtitan are not part of its fields', () => {
    const colour = (code: number, text: string) => `\u001b[${code}m${text}  `;
    const fields = [
      colour(31, 'step: 10'),
      colour(32, 'loss:  7.12345'),
      colour(33, 'grad_norm:  0.5000'),
      colour(36, 'memory: 40.25GiB(50.81%)'),
      colour(34, 'tps: 8,731'),
      '\u001b[35mmfu: N/A\u001b[39m',
    ];
    const log = read(`[rank3]:[titan] 2026-01-02 03:04:05,678 - root - INFO - ${fields.join('')}`);
    expect(iterations(log)).toMatchObject([{ iteration: 10, loss: 7.12345, gradNorm: 0.5, rank: 3 }]);
    expect(memory(log)).toMatchObject([{ metric: 'max_reserved', bytes: 40.25 * GIB, iteration: 10, rank: 3 }]);
  });

  it('of transformers precede every line of a block', () => {
    const log = read(
      ...[
        '***** train metrics *****',
        '  train_mem_gpu_alloc_delta  =      693MB',
        '  train_runtime              = 0:15:19.02',
      ].map((text, at) => `[INFO|trainer_pt_utils.py:${907 + at}] 2021-05-25 06:53:45,86${at} >> ${text}`),
    );
    expect(memory(log)).toMatchObject([{ metric: 'train_mem_gpu_alloc_delta', bytes: 693 * 1024 ** 2 }]);
    expect(values(log, 'hf.metrics.train_runtime')).toMatchObject([{ value: 919.02, unit: 's' }]);
  });
});

describe('blocks of ranks that print at once', () => {
  it('keep to their writers', () => {
    const block = (rank: number, iteration: number, reserved: string) => [
      `[default${rank}]:[batch=${iteration}/40]:`,
      `[default${rank}]:\t Train memory/peak_reserved_mem: ${reserved}`,
    ];
    const [a, b] = [block(0, 5, '10.2500'), block(1, 6, '20.5000')];
    const log = read(a[0]!, b[0]!, a[1]!, b[1]!, '[default0]:done', '[default1]:done');
    expect(
      memory(log)
        .map(({ iteration, bytes }) => [iteration, bytes])
        .sort(),
    ).toEqual([
      [5, 10.25e9],
      [6, 20.5e9],
    ]);
  });

  it('of OLMo continue without a prefix and end at the next step', () => {
    const step = (number: number, megabytes: string) => [
      `[2024-04-17 09:42:${10 + number}] INFO     [olmo.train:816, rank=0] [step=${number}/100]`,
      '    train/CrossEntropyLoss=11.25',
      `    System/Peak GPU Memory (MB)=${megabytes}`,
    ];
    const log = read(...step(1, '42,133'), ...step(2, '43,000'));
    expect(iterations(log).map(({ iteration, loss }) => [iteration, loss])).toEqual([
      [1, 11.25],
      [2, 11.25],
    ]);
    expect(memory(log).map(({ bytes, rank }) => [bytes, rank])).toEqual([
      [42_133_000_000, 0],
      [43_000_000_000, 0],
    ]);
  });
});

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

describe('units that producers print alike and mean differently', () => {
  it('are those of the source', () => {
    const log = read(
      // Cut to whole GiB; cut to whole MiB; a decimal float of three digits; decimal; 2^30.
      'Max CUDA memory allocated was 21 GB',
      'GPU Memory before entering the train : 1916',
      'iteration: 1 / 9 | elapsed_time_per_iteration_ms: 900 | cuda_max_memory_reserved: 1.2G',
      '\t Memory Stats after model init::',
      '\tGPU peak memory active: 10.00 GB',
      'Memory stats after model init:',
      '\tGPU peak memory active: 10.00 GiB',
    );
    expect(memory(log).map(({ bytes, precisionBytes }) => [bytes, precisionBytes])).toEqual([
      [21 * GIB, GIB],
      [1916 * 1024 ** 2, 1024 ** 2],
      [1_200_000_000, 5_000_000],
      [10_000_000_000, 5_000_000],
      [10 * GIB, 0.005 * GIB],
    ]);
  });
});

// ---- what is left
// ---

/** Topics a reader of a log cannot do without. */
const NEEDED = ['iteration', 'memory', 'failure'];
/** Shapes of those topics that hold no figure, each with its reason. */
const NO_FIGURE: readonly { readonly shape: RegExp; readonly why: string }[] = [];

async function unmatched(source: ByteSource, name: string): Promise<readonly UnmatchedGroup[]> {
  const result = await explainLog(source, name, 0);
  expect(result.unmatched_others).toEqual({ shapes: 0, lines: 0 });
  return result.unmatched.filter(
    ({ topic, shape }) => NEEDED.includes(topic) && !NO_FIGURE.some((exception) => exception.shape.test(shape)),
  );
}

function sourceOf(text: string): ByteSource {
  let remaining = Buffer.from(text);
  return {
    sizeBytes: remaining.length,
    read: async (target, start) => {
      const part = remaining.subarray(0, target.length - start);
      target.set(part, start);
      remaining = remaining.subarray(part.length);
      return part.length;
    },
  };
}

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
    expect(await unmatched(sourceOf(`${text}\n`), 'log')).toMatchObject([{ topic, count: 1, text }]);
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
    expect(await unmatched(sourceOf(`${text}\n`), 'log')).toEqual([]);
  });

  it.each(['/a', '--a 1 ', 'a/', 'http://a', '1.2.3', 'a', ' ', 'frame #1', 'mem ', '1MB/s '])(
    'come to an end however they repeat: %j',
    async (unit) => {
      // A pattern that backtracks would need hours, and the limit below ends it.
      const { lines } = await explainLog(sourceOf(`${unit.repeat(400_000 / unit.length)} 7\n`), 'log', 0);
      expect(lines).toBe(1);
    },
    60_000,
  );

  const logs = existsSync(join(CORPUS, 'logs'))
    ? readdirSync(join(CORPUS, 'logs')).filter((name) => !name.endsWith('.json'))
    : [];
  if (logs.length === 0) skipLoudly('unread figures', 'the corpus (set MBF_CORPUS)');
  else
    it.each(logs)('are without figures of %s', async (name) => {
      const opened = await openByteSource(join(CORPUS, 'logs', name));
      const left = await unmatched(opened.source, name).finally(() => opened.close());
      expect(left.map(({ topic, line, text }) => `${topic}, line ${line}: ${text}`)).toEqual([]);
    });
});
