/** Accumulation points, annotated sources, pasted stacks: what is made of labelled stacks. */
import { describe, expect, it } from 'vitest';
import { layerName } from '../../../src/attribution/blocks/layer-name.js';
import type { Frame } from '../../../src/attribution/frames/call-site.js';
import { accumulationPoint } from '../../../src/findings/attribution/views/accumulation.js';
import { annotateSource, sameFile } from '../../../src/findings/attribution/views/annotate-source.js';
import { parseStacks } from '../../../src/findings/attribution/views/explain-stack.js';

/** `name file:line`, innermost first. */
const stack = (...frames: readonly string[]): Frame[] =>
  frames.map((text) => {
    const [name = '', place = ''] = text.split(' ');
    const [filename = '', line] = place.split(':');
    return { name, filename, line: Number(line) };
  });

const MAIN = ['train train.py:10', '<module> train.py:99'];

describe('accumulation points', () => {
  const stacks = [
    { frames: stack('gelu mlp.py:5', 'forward mlp.py:20', ...MAIN), bytes: 50 },
    { frames: stack('linear mlp.py:7', 'forward mlp.py:20', ...MAIN), bytes: 30 },
    { frames: stack('softmax attention.py:3', 'forward attention.py:8', ...MAIN), bytes: 15 },
    { frames: [], bytes: 5 },
  ];

  it('goes down as far as a frame covers the share of all bytes, those without frames included', () => {
    expect(accumulationPoint(stacks, null, 0.5)).toMatchObject({
      frame: 'gelu mlp.py:5',
      callers: ['forward mlp.py:20', 'train train.py:10', '<module> train.py:99'],
      bytes: 50,
      share: 0.5,
    });
    expect(accumulationPoint(stacks, null, 0.51)).toMatchObject({ frame: 'forward mlp.py:20', bytes: 80, share: 0.8 });
    expect(accumulationPoint(stacks, null, 0.81)).toMatchObject({ frame: 'train train.py:10', bytes: 95 });
    expect(accumulationPoint(stacks, null, 0.96)).toMatchObject({ frame: null, bytes: 0, share: 0 });
  });

  it('distinguishes calls of the same function on other lines', () => {
    const calls = [
      { frames: stack('f a.py:1', 'g a.py:2'), bytes: 40 },
      { frames: stack('f a.py:1', 'g a.py:3'), bytes: 60 },
    ];
    expect(accumulationPoint(calls, null, 0.5).frame).toBe('f a.py:1');
    expect(accumulationPoint(calls, null, 0.5).callers).toEqual(['g a.py:3']);
    expect(accumulationPoint(calls, null, 0.7).frame).toBeNull();
  });
});

describe('annotated sources', () => {
  const shares = [
    { frames: stack('f /run/pkg/model.py:2', 'f /run/pkg/model.py:2', 'g /run/pkg/model.py:3'), bytes: 100, blocks: 2 },
    { frames: stack('relu torch/f.py:9', 'g /run/pkg/model.py:3'), bytes: 10, blocks: 1 },
    { frames: stack('x /run/other/model.py:1'), bytes: 7, blocks: 1 },
    { frames: stack('y /run/pkg/model.py:12'), bytes: 3, blocks: 1 },
  ];

  it('counts a stack once a line, and to the innermost line as its own', () => {
    const { matched, lines, beyond_bytes } = annotateSource('src/pkg/model.py', 'a\nb\nc\n', shares);
    expect(matched).toEqual(['/run/pkg/model.py']);
    expect(lines).toEqual([
      { line: 1, text: 'a', bytes: 0, self_bytes: 0, blocks: 0 },
      { line: 2, text: 'b', bytes: 100, self_bytes: 100, blocks: 2 },
      { line: 3, text: 'c', bytes: 110, self_bytes: 10, blocks: 3 },
    ]);
    expect(beyond_bytes).toBe(3);
  });

  it('takes the files that share most of the path, and at least the name', () => {
    expect(sameFile('/my/pkg/a.py', ['/x/pkg/a.py', '/y/pkg/a.py', '/z/a.py', 'b.py'])).toEqual([
      '/x/pkg/a.py',
      '/y/pkg/a.py',
    ]);
    expect(sameFile('a.py', ['/x/b.py'])).toEqual([]);
  });
});

describe('pasted stacks', () => {
  it('reads this tool, memory_viz and Python tracebacks', () => {
    const ours = '#0 forward model.py:3\n  train train.py:9\n\nstep optim.py:1';
    expect(parseStacks(ours)).toEqual([stack('forward model.py:3', 'train train.py:9'), stack('step optim.py:1')]);
    expect(parseStacks('/a/model.py:3:forward\n/a/train.py:9:train')).toEqual([
      stack('forward /a/model.py:3', 'train /a/train.py:9'),
    ]);
    const traceback = `Traceback (most recent call last):
  File "/a/train.py", line 9, in train
    model(x)
  File "/a/model.py", line 3, in forward
    return x`;
    expect(parseStacks(traceback)).toEqual([stack('forward /a/model.py:3', 'train /a/train.py:9')]);
  });
});

describe('layers', () => {
  it('names the modules that call each other, outermost first, three of them', () => {
    const call = '_call_impl /x/torch/nn/modules/module.py:1';
    expect(
      layerName(
        stack(
          'forward /x/torch/nn/modules/linear.py:1',
          call,
          'forward /p/pkg/mlp.py:2',
          call,
          'forward /p/pkg/block.py:3',
          call,
          'forward /p/pkg/gpt.py:4',
          call,
          'train /p/train.py:1',
        ),
      ),
    ).toBe('block:forward → mlp:forward → linear:forward');
    expect(layerName(stack('train train.py:1'))).toBeUndefined();
    // Recordings with C++ frames have the interpreter's between any two.
    const native = 'PyEval_EvalFrame ceval.c:1';
    expect(layerName(stack('forward /p/pkg/mlp.py:2', native, call, native, 'train /p/train.py:1'))).toBe(
      'mlp:forward',
    );
  });
});
