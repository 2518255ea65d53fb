import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { incidentsInText, logParser } from '../../parsers/log/index.js';
import { LiteralScanner } from '../../parsers/log/literal-scanner.js';
import { LINE_LABELS, SRUN_LABEL } from '../../parsers/log/prefix-rules.js';
import { findLineLabel, stripPrefix } from '../../parsers/log/strip-prefix.js';
import { logIncidents } from '../support/collect-rows.js';
import { bytesSource } from '../support/decode.js';
import { SEED } from '../support/level.js';
import { readSamples, textOf } from './sample-files.js';

const parse = async (content: string | Uint8Array, readBytes = 65_536) => {
  const { rows, ...read } = await logIncidents(bytesSource(Buffer.from(content), readBytes));
  return { rows: rows.toSorted((a, b) => a.offset - b.offset), ...read };
};

const oom = (device: number, mib: number, rest = ''): string =>
  `torch.OutOfMemoryError: CUDA out of memory. Tried to allocate ${mib}.00 MiB. GPU ${device} has a total capacity of 79.10 GiB of which 20.50 MiB is free.${rest}`;

describe('LiteralScanner', () => {
  it('finds what indexOf finds', () => {
    const literal = fc.string({ minLength: 6, maxLength: 40, unit: fc.constantFrom('a', 'b') });
    const inside = fc.tuple(fc.nat(5), fc.nat(5), fc.nat(8));
    fc.assert(
      fc.property(
        fc.uniqueArray(literal, { minLength: 1, maxLength: 12 }),
        fc.string({ maxLength: 300, unit: fc.constantFrom('a', 'b', 'b', 'a', 'c') }),
        inside,
        (literals, words, [before, behind, cut]) => {
          const scanner = new LiteralScanner(literals);
          const text = words.replaceAll('c', literals[0]!);
          // Any alignment, with literals beyond both ends; and a range that is smaller than the bytes.
          const area = Buffer.from(`${'a'.repeat(before)}${text}${'b'.repeat(behind)}`);
          const bytes = new Uint8Array(new Uint8Array(area).buffer, before, text.length);
          const [end, startLimit] = [text.length - Math.min(cut, 3), text.length - cut];
          const hits: [number, number[]][] = [];
          for (let at = cut; ; ) {
            const hit = scanner.next(bytes, at, startLimit, end);
            if (hit < 0) break;
            hits.push([hit, [...scanner.found]]);
            at = hit + 1;
          }
          const expected = Array.from({ length: Math.max(0, startLimit - cut) }, (_, at): [number, number[]] => [
            cut + at,
            literals.flatMap((word, index) =>
              text.slice(0, Math.max(0, end)).startsWith(word, cut + at) ? [index] : [],
            ),
          ]).filter(([, indices]) => indices.length > 0);
          expect(hits).toEqual(expected);
        },
      ),
    );
  });
});

describe('prefixes', () => {
  it.each([
    ['[rank7]: boom', { rank: 7, rankOrigin: 'prefix:[rankN]:' }, 'boom'],
    [
      '[default3]:[rank11]:[W530 21:08:49.892798587 ProcessGroupNCCL.cpp:1544] Warning: x',
      { rank: 11, localRank: 3, time: '530 21:08:49.892798587' },
      'Warning: x',
    ],
    ['[default3]:text', { rank: null, localRank: 3 }, 'text'],
    ['trainer/0 [rank2]: x', { rank: 2 }, 'x'],
    ['[1,5]<stderr>: x', { rank: 5, rankOrigin: 'prefix:mpirun' }, 'x'],
    ['[prterun-n1-77@1,5]<stdout>: x', { rank: 5 }, 'x'],
    ['[1,mpirank:9,algo-2]<stdout>:  x', { rank: 9, host: 'algo-2' }, ' x'],
    ['Tue Mar  4 10:11:12 2025[1,3]<stdout>:x', { rank: 3, time: 'Tue Mar  4 10:11:12 2025' }, 'x'],
    ['[2025-03-01T10:11:12.5Z] 0a1b2c3d [rank=3] || INFO: x', { rank: 3, time: '2025-03-01T10:11:12.5Z' }, 'x'],
    ['[gpu0137:2]:  x', { host: 'gpu0137', localRank: 2, rank: null }, ' x'],
    ['[default1:9]: x', { localRank: 1, rank: 9 }, 'x'],
    ['llm.sft-7b/0   x', { rank: null }, '  x'],
    ['2025-03-01T10:11:12.123456789Z stdout F   x', { time: '2025-03-01T10:11:12.123456789Z' }, '  x'],
    ['2025-03-01 10:11:12,123   x', { time: '2025-03-01 10:11:12,123' }, '  x'],
    ['2025-03-01 10:11:12.123 | INFO     | mod.sub:fn:12 - x', { time: '2025-03-01 10:11:12.123' }, 'x'],
    ['[INFO|trainer.py:99] 2025-03-01 10:11:12,123 >>   x', { time: '2025-03-01 10:11:12,123' }, '  x'],
    ['03/01/2025 10:11:12 - INFO - __main__ - x', { time: '03/01/2025 10:11:12' }, '__main__ - x'],
    ['[2025-03-01 10:11:12][INFO][training:1634] - x', { time: '2025-03-01 10:11:12' }, 'x'],
    ['[2025-03-01 10:11:12,123][I][training/log:12:main] x', { time: '2025-03-01 10:11:12,123' }, 'x'],
    ['INFO:   x', { rank: null }, '  x'],
    ['[36m[rank4]: x', { rank: 4 }, 'x'],
    ['[cuda:12] x', { rank: null }, '[cuda:12] x'],
    ['[cuda:1]: x', { host: null }, '[cuda:1]: x'],
    ['(Worker_TP1 pid=499) x', { rank: null, pid: 499 }, 'x'],
    ['(RayWorkerVllm pid=1756, ip=10.0.0.3) x', { pid: 1756, host: '10.0.0.3' }, 'x'],
    ['(EngineCore pid=610) ERROR 09-03 12:54:51 [core.py:1195] x', { pid: 610, time: '09-03 12:54:51' }, 'x'],
    ['[NeMo W 2024-05-08 10:50:46 nemo_logging:349] x', { time: '2024-05-08 10:50:46' }, 'x'],
    ['WARNING:megatron.core.rerun:x', { rank: null }, 'x'],
    ['2024-05-08 10:50:46,123 - root - ERROR - x', { time: '2024-05-08 10:50:46,123' }, 'x'],
    ['[rank0]:[titan] 2025-12-17 01:18:26,708 - root - INFO - x', { rank: 0, time: '2025-12-17 01:18:26,708' }, 'x'],
    ['[2024-05-08 10:50:46,123] [ERROR] [launch.py:12:main] x', { time: '2024-05-08 10:50:46,123' }, 'x'],
    ['[pod/train-worker-3/pytorch] 2024-05-08T10:50:46.123456789Z x', { host: 'train-worker-3' }, 'x'],
    [
      'node7:1201:1388 [5] include/alloc.h:178 NCCL WARN x',
      { host: 'node7', pid: 1201, device: 5 },
      'include/alloc.h:178 NCCL WARN x',
    ],
    ['[ 1234.567890] x', { time: '1234.567890' }, 'x'],
    ['> [rank2]: x', { rank: 2 }, 'x'],
    ['  File "a.py", line 3', { rank: null }, '  File "a.py", line 3'],
  ])('%s', (text, expected, bare) => {
    const prefix = stripPrefix(text);
    expect(prefix).toMatchObject(expected);
    expect(text.slice(prefix.end)).toBe(bare);
  });

  it('takes a task number for the rank only in labelled files and only without torchrun', () => {
    expect(stripPrefix(' 3: x').rank).toBeNull();
    expect(stripPrefix(' 3: x', SRUN_LABEL)).toMatchObject({ rank: 3, rankOrigin: 'prefix:srun' });
    // One task per node: the number is the node's.
    expect(stripPrefix(' 3: [default5]:x', SRUN_LABEL)).toMatchObject({ rank: null, localRank: 5 });
    expect(stripPrefix(' 3: [rank29]: x', SRUN_LABEL)).toMatchObject({ rank: 29, rankOrigin: 'prefix:[rankN]:' });
    expect(findLineLabel([' 0: a', '12: b', 'c'])).toBe(SRUN_LABEL);
    expect(findLineLabel(['0: a', 'b', 'c', 'd'])).toBeNull();
    expect(findLineLabel(['10:11:12 | a', '10:11:13 | b'])).toBeNull();
  });

  it.each([
    ['[3] x', { rank: 3 }],
    ['n001.cluster 3: x', { rank: 3, host: 'n001.cluster' }],
    ['rank3: x', { rank: 3 }],
    ['worker-0: x', { rank: null, host: 'worker-0' }],
    ['10.0.0.12: x', { rank: null, host: '10.0.0.12' }],
  ])('takes the label %s only in files that carry it on most lines', (text, expected) => {
    expect(stripPrefix(text)).toMatchObject({ end: 0 });
    const label = findLineLabel([text, text, 'other']);
    expect(LINE_LABELS).toContain(label);
    expect(stripPrefix(text, label)).toMatchObject({ ...expected, end: text.length - 1 });
    expect(findLineLabel([text, 'a', 'b', 'other'])).toBeNull();
    expect(findLineLabel(['loss: 1', 'step: 2', 'Error: x'])).toBeNull();
  });
});

describe('reading a log', () => {
  it('does not mix ranks whose lines interleave', async () => {
    const message = (rank: number): string[] => [
      `[rank${rank}]: Traceback (most recent call last):`,
      `[rank${rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to`,
      `[rank${rank}]: allocate ${rank + 1}.00 GiB. GPU ${rank} has a total capacity of`,
      `[rank${rank}]: 79.10 GiB of which ${rank + 10}.00 MiB is free. Of the allocated memory ${rank + 40}.00`,
      `[rank${rank}]: GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.`,
    ];
    const ranks = [0, 1, 2, 3, 4, 5, 6, 7];
    const lines = [0, 1, 2, 3, 4].flatMap((index) => ranks.map((rank) => message(rank)[index]!));
    const { rows } = await parse(lines.join('\n'));
    expect(rows.map(({ rank }) => rank)).toEqual(ranks);
    for (const { rank, device, bytes } of rows) {
      expect(device).toBe(rank);
      expect(bytes.requested?.text).toBe(`${rank! + 1}.00 GiB`);
      expect(bytes.total?.text).toBe('79.10 GiB');
      expect(bytes.free?.text).toBe(`${rank! + 10}.00 MiB`);
      expect(bytes.allocated?.text).toBe(`${rank! + 40}.00 GiB`);
    }
  });

  it('takes a watchdog for one incident of each of 600 ranks', async () => {
    const { texts } = readSamples('log');
    const lines = textOf({ text: '«watchdog interleaved plainly 0-599»' }, texts).split('\n').slice(0, 1800);
    expect((await parse(lines.join('\n'))).rows.map(({ rank }) => rank)).toEqual(
      Array.from({ length: 600 }, (_, rank) => rank),
    );
  });

  it('keeps following a rank while two thousand others write', async () => {
    const otherRanks = Array.from({ length: 2000 }, (_, rank) => `[rank${rank + 10}]:   File "train.py", line ${rank}`);
    const log = [
      '[rank3]: torch.OutOfMemoryError: CUDA out of memory.',
      ...otherRanks,
      '[rank3]: Tried to allocate 2.00 GiB.',
    ];
    const { rows } = await parse(log.join('\n'));
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ rank: 3, line: 1, lastLine: 2002 });
    expect(rows[0]?.bytes.requested?.text).toBe('2.00 GiB');
  });

  it('reads through colours, progress bars, NULs, CRLF and invalid UTF-8', async () => {
    const bar = Array.from({ length: 200 }, (_, at) => `\r ${at}%|###| ${at}/200`).join('');
    const log = Buffer.concat([
      Buffer.from(`${bar}\r\n`),
      Buffer.from([0xff, 0xfe, 0x80, 10]),
      Buffer.alloc(300),
      Buffer.from(`\u001b[31m[rank5]: \u001b[1m${oom(5, 7)}\u001b[0m\r\n`),
    ]);
    const { rows } = await parse(log);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ rank: 5, device: 5, line: 3 });
  });

  it('does not depend on where reads end', async () => {
    const log = `${'.'.repeat(3000)}\n${[1, 2, 3].map((n) => `[rank${n}]: ${oom(n, n)}`).join('\n')}\n${'filler\n'.repeat(500)}${oom(0, 9)}`;
    const unlimited = await parse(log);
    expect(unlimited.rows).toHaveLength(4);
    for (const size of [1, 7, 64, 1000]) expect((await parse(log, size)).rows).toEqual(unlimited.rows);
  });

  it('finds messages around the ends of its buffer', async () => {
    const filler = `${'some line of a training log that nobody asks about'.repeat(2)}\n`;
    const parts: string[] = [];
    for (let at = 0; at < 30; at += 1) parts.push(filler.repeat(1000 + at), oom(at % 8, at + 1), '\n');
    const { rows } = await parse(parts.join(''));
    expect(rows.map(({ bytes }) => bytes.requested?.text)).toEqual(
      Array.from({ length: 30 }, (_, at) => `${at + 1}.00 MiB`),
    );
    const lines = parts.join('').split('\n');
    for (const { line, text } of rows) expect(lines[line - 1]).toBe(text);
  });

  it('finds a message deep inside a line of megabytes', async () => {
    const { rows, notes } = await parse(
      `${'x'.repeat(3_000_000)} ${oom(6, 11)} ${'y'.repeat(3_000_000)}\nend\n${oom(1, 2)}\n`,
    );
    expect(rows.map(({ device, line }) => [device, line])).toEqual([
      [6, 1],
      [1, 3],
    ]);
    expect(notes.map(({ kind }) => kind)).toContain('long_line');
  });
});

describe('hostile input', () => {
  const MEGABYTE = 1_000_000;
  const repeat = (text: string): string => text.repeat(Math.ceil(MEGABYTE / text.length));
  it.each([
    ['digits', repeat('1')],
    ['sizes', repeat('1.00 GiB ')],
    ['heads', repeat('CUDA out of memory. ')],
    ['pieces', repeat('Tried to allocate 1.00 GiB. ')],
    [
      'anchors of everything',
      repeat('out of memory Cuda failure DataLoader worker (pid CUBLAS_STATUS_ RESOURCE_EXHAUSTED by PyTorch '),
    ],
    ['almost sizes', `Tried to allocate ${repeat('1111.')}`],
    ['spaces', `CUDA out of memory.${repeat(' ')}Tried to allocate 1.00 GiB`],
    ['brackets', repeat('[[rank')],
    ['prefixes', `${repeat('[rank1]: ')}CUDA out of memory.`],
    ['escapes', `${repeat('\u001b[')}CUDA out of memory.`],
    ['quotes', `CUDA out of memory.${repeat('\\"')}`],
    ['word characters', `${repeat('a.')}Error: CUDA out of memory.`],
    ['shapes', `OOM when allocating tensor with shape[${repeat('1,')}] and type float on`],
    ['carriage returns', `${repeat('\r')}CUDA out of memory.`],
    ['short lines', repeat('CUDA out of memory.\n')],
    ['many ranks', Array.from({ length: 40_000 }, (_, rank) => `[rank${rank}]: by PyTorch`).join('\n')],
  ])('a megabyte of %s is read to its end', async (_, text) => {
    // 0.05–1 s; a quadratic step takes minutes.
    await parse(text);
  });

  it('survives any bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 3000 }), async (bytes) => {
        await parse(bytes);
        logParser.sniff({ bytes, name: 'x', sizeBytes: bytes.length });
      }),
      { numRuns: 100, seed: SEED },
    );
  });
});

describe('sniff', () => {
  const score = (name: string, content: string | Uint8Array): number => {
    const sniff = logParser.sniff({ bytes: Buffer.from(content), name, sizeBytes: content.length });
    expect(sniff.why).toMatch(/\.$/);
    return sniff.score;
  };
  it('knows logs by name or content', () => {
    expect(score('train.log', 'hello\n')).toBe(0.9);
    expect(score('slurm-123.out', 'hello\n')).toBe(0.9);
    expect(score('log-allranks_0.out', 'hello\n')).toBe(0.9);
    expect(score('output', `${oom(0, 1)}\n`)).toBe(0.9);
    expect(score('output', 'Traceback (most recent call last):\n')).toBe(0.9);
    expect(score('output', 'hello\n')).toBe(0.3);
    expect(score('train.log', Buffer.concat([Buffer.from('hello\n'), Buffer.alloc(5000), Buffer.from('x\n')]))).toBe(
      0.9,
    );
  });
  it('takes data files for a mere possibility unless they contain a failure', () => {
    for (const name of ['config.yaml', 'a.json', 'b.py', 'c.md', 'd.csv', 'e.ipynb', 'f.html']) {
      expect(score(name, 'seed: 1\n')).toBe(0.1);
      expect(score(name, `${oom(0, 1)}\n`)).toBe(0.4);
    }
    expect(score('login.log', '<!DOCTYPE html><html>')).toBe(0.1);
  });
  it('takes a document with a line of a log', () => {
    for (const line of [
      'Training epoch 0, iteration 0/19 | lr: 1.500e-07 | global_step: 0 | reduced_train_loss: 10.84',
      'torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 6 (pid: 92121) of binary: python',
      'srun: error: node12: task 6: Exited with exit code 1',
    ])
      for (const name of ['notes.md', 'notes.rst', 'notes.adoc'])
        expect(score(name, `# Notes\n\n\`\`\`\n${line}\n\`\`\`\n`)).toBe(0.4);
    expect(score('notes.md', '# Notes\n\nStart it with `python -m torch.distributed.run`.\n')).toBe(0.1);
  });
  it('refuses files that are not text', () => {
    expect(score('a.log', Buffer.from([0x80, 4, 0x95, 0, 0, 0, 0, 0, 0, 0x7d, 0x94]))).toBe(0);
    expect(score('a.log', Buffer.from('\ufeffhello', 'utf16le'))).toBe(0);
    expect(score('a.log', '')).toBe(0);
    expect(score('a.txt', 'version https://git-lfs.github.com/spec/v1\noid sha256:0\n')).toBe(0);
  });
});

it('incidentsInText agrees with the parser', async () => {
  const log = `${oom(0, 1)}\nsrun: error: node1: task 0: Out Of Memory\n`;
  expect(incidentsInText(log)).toEqual((await parse(log)).rows);
});
