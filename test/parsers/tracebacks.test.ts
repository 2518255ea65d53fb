import { describe, expect, it } from 'vitest';
import type { Segment } from '../../parsers/log/assembly.js';
import { isUserCode, readException } from '../../parsers/log/exception-line.js';
import { ANCHORS } from '../../parsers/log/find-messages.js';
import { SRUN_LABEL } from '../../parsers/log/prefix-rules.js';
import { stripPrefix } from '../../parsers/log/strip-prefix.js';
import { TRACEBACK_ANCHORS, type Traceback, TracebackAssembly } from '../../parsers/log/tracebacks.js';

/** The segments of a text, as the reader cuts them (without carriage returns and overlong lines). */
function segmentsOf(text: string, srunLabelled = false): Segment[] {
  const lines = text.split('\n');
  let offset = 0;
  return lines.map((line, index) => {
    const prefix = stripPrefix(line, srunLabelled ? SRUN_LABEL : null);
    const nextOffset = offset + Buffer.byteLength(line) + 1;
    const mask = ANCHORS.reduce((bits, anchor) => (line.includes(anchor.literal) ? bits | anchor.mask : bits), 0);
    const segment: Segment = {
      text: line.slice(prefix.end),
      prefix,
      line: index + 1,
      offset,
      nextOffset,
      mask,
      deviceAssert: line.includes('device-side assert'),
      continues: false,
    };
    offset = nextOffset;
    return segment;
  });
}

function read(text: string, srunLabelled = false): Traceback[] {
  const tracebacks: Traceback[] = [];
  const assembly = new TracebackAssembly((traceback) => tracebacks.push(traceback));
  for (const segment of segmentsOf(text, srunLabelled)) {
    assembly.feed(
      segment,
      TRACEBACK_ANCHORS.some((anchor) => segment.text.includes(anchor)),
    );
  }
  assembly.end();
  return tracebacks.sort((a, b) => a.line - b.line);
}

const LINES = [
  'Traceback (most recent call last):',
  '  File "/opt/run/pretrain.py", line 12, in <module>',
  '    main()',
  '  File "/opt/run/megatron/training/training.py", line 340, in train_step',
  '    losses = forward_backward_func(',
  '             ^^^^^^^^^^^^^^^^^^^^^^',
  '  File "/usr/local/lib/python3.12/dist-packages/torch/nn/modules/module.py", line 1751, in _call_impl',
  '    return forward_call(*args, **kwargs)',
  'ValueError: the step went wrong',
];

const prefixed = (prefix: string, lines: readonly string[] = LINES): string[] => lines.map((line) => prefix + line);

describe('tracebacks', () => {
  it.each([
    ['none', ''],
    ['torch', '[rank3]: '],
    ['torchrun', '[default3]:'],
    ['torchrun and torch', '[default3]:[rank3]: '],
    ['torchx', 'trainer/0 '],
    ['a logger on every line', '2025-03-04 05:06:07,089 ERROR '],
    ['indentation', '    '],
    ['ray', '(TrainWorker pid=4711, ip=10.0.0.3) '],
  ])('are read behind the prefix of %s', (_, prefix) => {
    const [traceback, ...more] = read(['step 1', ...prefixed(prefix), '', 'step 2'].join('\n'));
    expect(more).toEqual([]);
    expect(traceback).toMatchObject({
      line: 2,
      exceptionLine: 10,
      lastLine: 10,
      exception: 'ValueError',
      message: 'the step went wrong',
      frames: 3,
      chained: false,
      frame: { file: '/opt/run/megatron/training/training.py', line: 340, function: 'train_step' },
      innermost: { line: 1751, function: '_call_impl' },
    });
  });

  it('are read behind srun --label', () => {
    expect(read(prefixed('13: ').join('\n'), true)).toMatchObject([
      { exception: 'ValueError', exceptionLine: 9, prefix: { rank: 13 } },
    ]);
  });

  it('of interleaved ranks do not mix', () => {
    const otherLines = LINES.map((line) => line.replace('ValueError: the step', 'KeyError: the other'));
    const lines = LINES.flatMap((line, i) => [
      `[rank1]: ${line}`,
      ` iteration ${i}/ 90 |`,
      `[rank2]: ${otherLines[i]}`,
    ]);
    expect(read(lines.join('\n'))).toMatchObject([
      { exception: 'ValueError', frames: 3, prefix: { rank: 1 } },
      { exception: 'KeyError', frames: 3, prefix: { rank: 2 }, message: 'the other went wrong' },
    ]);
  });

  it('of ranks without prefixes are distinguished by their frames', () => {
    // The second one lags three lines behind.
    const lines: string[] = [];
    for (let i = 0; i < LINES.length + 3; i += 1) {
      if (i < LINES.length) lines.push(LINES[i]!);
      if (i >= 3) lines.push(LINES[i - 3]!.replace('ValueError', 'RuntimeError'));
    }
    const tracebacks = read(lines.join('\n'));
    expect(tracebacks.map(({ exception, frames }) => [exception, frames])).toEqual([
      ['ValueError', 3],
      ['RuntimeError', 3],
    ]);
  });

  it('keep the lines of a message, and end where something else begins', () => {
    const text = [
      ...LINES.slice(0, 8),
      'RuntimeError: CUDA error: unspecified launch failure',
      'CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.',
      'For debugging consider passing CUDA_LAUNCH_BLOCKING=1',
      '',
      ' iteration 5/ 90 | lm loss: 2.0 |',
    ];
    expect(read(text.join('\n'))).toMatchObject([{ exceptionLine: 9, lastLine: 11, messageLines: [9, 10, 11] }]);
    const [cut] = read([...LINES, '[2025-01-02 03:04:05] next record'].join('\n'));
    expect(cut).toMatchObject({ lastLine: 9, message: 'the step went wrong' });
  });

  it('know the one they follow from', () => {
    const text = [
      ...prefixed('[rank0]: '),
      '[rank0]: ',
      '[rank0]: During handling of the above exception, another exception occurred:',
      '[rank0]: ',
      ...prefixed('[rank0]: ').map((line) => line.replace('ValueError', 'KeyError')),
      '',
      'The above exception was the direct cause of the following exception:',
      '',
      ...LINES,
    ].join('\n');
    expect(read(text)).toMatchObject([
      { line: 1, chained: false },
      { line: 13, chained: true, chainedTo: 1, exception: 'KeyError' },
      // Another writer's: its first line is not of this chain.
      { line: 25, chained: false },
    ]);
    const group = read(
      [...LINES, '', 'The above exception was the direct cause of the following exception:', '', ...LINES].join('\n'),
    );
    expect(group).toMatchObject([{ chained: false }, { chained: true, chainedTo: 1 }]);
  });

  it('of exception groups, rich boxes, syntax errors and quoted in footers are read', () => {
    const group = [
      '  + Exception Group Traceback (most recent call last):',
      '  |   File "/opt/run/a.py", line 3, in gather',
      '  |     raise ExceptionGroup("two", errors)',
      '  | ExceptionGroup: two (2 sub-exceptions)',
      '  +-+---------------- 1 ----------------',
      '    | Traceback (most recent call last):',
      '    |   File "/opt/run/b.py", line 4, in load',
      '    |     raise ValueError("x")',
      '    | ValueError: x',
      '    +------------------------------------',
    ];
    expect(read(group.join('\n')).map(({ exception, frame }) => [exception, frame?.file])).toEqual([
      ['ExceptionGroup', '/opt/run/a.py'],
      ['ValueError', '/opt/run/b.py'],
    ]);
    const rich = [
      '╭───────────────────── Traceback (most recent call last) ──────────────────────╮',
      '│ /opt/run/train.py:31 in main                                                 │',
      '│                                                                              │',
      '│   30 │   x = 1                                                               │',
      '│ ❱ 31 │   step(x)                                                             │',
      '╰──────────────────────────────────────────────────────────────────────────────╯',
      'AttributeError: no step',
    ];
    expect(read(rich.join('\n'))).toMatchObject([
      { exception: 'AttributeError', frame: { file: '/opt/run/train.py', line: 31, function: 'main' } },
    ]);
    const syntax = [
      'Traceback (most recent call last):',
      '  File "/opt/run/conf.py", line 7',
      '    x = = 1',
      '        ^',
      'SyntaxError: invalid syntax',
    ];
    expect(read(syntax.join('\n'))).toMatchObject([{ exception: 'SyntaxError', frames: 1 }]);
    const footer = [
      '  traceback : Traceback (most recent call last):',
      '    File "/opt/run/train.py", line 31, in main',
      '      step()',
      '  ValueError: bad step',
      '  ',
      '============================================================',
    ];
    expect(read(footer.join('\n'))).toMatchObject([{ exception: 'ValueError', quoted: true }]);
  });

  it('are bare exceptions too, but no words about tracebacks', () => {
    expect(read([...LINES.slice(0, 8), 'AssertionError'].join('\n'))).toMatchObject([
      { exception: 'AssertionError', message: '' },
    ]);
    expect(read([...LINES.slice(0, 8), 'KeyboardInterrupt'].join('\n'))).toMatchObject([
      { exception: 'KeyboardInterrupt' },
    ]);
    expect(read('see the Traceback (most recent call last) above\nnothing: here')).toEqual([]);
  });

  it('that are cut off end without an exception', () => {
    expect(read(LINES.slice(0, 6).join('\n'))).toMatchObject([{ exception: null, exceptionLine: null, frames: 2 }]);
    const buried = [
      ...LINES.slice(0, 6),
      ...Array.from({ length: 200 }, (_, i) => `step ${i} done`),
      'ValueError: later',
    ];
    expect(read(buried.join('\n'))).toMatchObject([{ exception: null }]);
  });

  it('cost bounded memory, however many or deep', () => {
    // A recursion, a thousand open ones, and a header on every line.
    const recursion = [
      LINES[0]!,
      ...Array.from({ length: 30_000 }, () => LINES.slice(1, 3)).flat(),
      'RecursionError: deep',
    ];
    expect(read(recursion.join('\n')).length).toBeLessThanOrEqual(2);
    const many = Array.from({ length: 3000 }, (_, rank) => prefixed(`[rank${rank}]: `, LINES.slice(0, 3))).flat();
    expect(read(many.join('\n')).length).toBe(3000);
    read(Array.from({ length: 50_000 }, () => LINES[0]!).join('\n'));
    const [long] = read([...LINES.slice(0, 8), `ValueError: ${'x'.repeat(1e6)}`].join('\n'));
    expect(long?.message.length).toBeLessThanOrEqual(4000);
  });

  it('name the user’s frame: Megatron wherever it is, never torch or the standard library', () => {
    for (const file of [
      '/opt/run/train.py',
      '/usr/lib/python3/dist-packages/megatron/core/pipeline_parallel/schedules.py',
      '/opt/megatron-lm/megatron/training/training.py',
      'train.py',
    ]) {
      expect(isUserCode(file), file).toBe(true);
    }
    for (const file of [
      '/usr/local/lib/python3.12/dist-packages/torch/autograd/graph.py',
      '/opt/conda/lib/python3.11/contextlib.py',
      '/opt/pytorch/pytorch/torch/nn/modules/linear.py',
      '<frozen runpy>',
      '/usr/local/lib/python3.12/dist-packages/transformer_engine/pytorch/module/linear.py',
    ]) {
      expect(isUserCode(file), file).toBe(false);
    }
  });

  it('distinguish exceptions from other words at the start of a line', () => {
    expect(readException('torch.OutOfMemoryError: CUDA out of memory.', false)).toEqual({
      name: 'torch.OutOfMemoryError',
      message: 'CUDA out of memory.',
    });
    expect(readException('queue.Empty', false)).not.toBeNull();
    expect(readException('MyProblem: x', true)).not.toBeNull();
    for (const text of ['INFO: x', 'note: x', 'WARNING', 'Loading: 50%', 'see Error: x']) {
      expect(readException(text, false), text).toBeNull();
    }
  });
});
