/** Which ranges are taken for training steps, and which never are. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { demandStepRange, steadyWindow, stepWindows } from '../../../src/findings/nsys/step-windows.js';
import type { NsysStep } from '../../../src/model/results/nsys.js';
import { type Range, range, type ScratchStore, scratchStore } from './stored.js';

let scratch: ScratchStore;
beforeAll(async () => {
  scratch = await scratchStore();
});
afterAll(() => scratch.close());

const all = async (ranges: readonly Range[], stepRange?: string) =>
  stepWindows(scratch.store, await scratch.ranges(ranges), stepRange);
const actual = async (ranges: readonly Range[], stepRange?: string) => {
  const { steps, by } = await all(ranges, stepRange);
  return { steps, by };
};
/** The text without additions of profilers, # for each number. */
const plain = (text: string): string =>
  text
    .replace(/, op_id = .*$/, '')
    .replace(/^\[pl\]\[\w+\]/, '')
    .replace(/\d+/g, '#');
const spans = (steps: readonly NsysStep[]): [number, number, number][] =>
  steps.map(({ index, start_ns, end_ns }) => [index, start_ns, end_ns]);

/** `count` steps of 100 ns, each with a forward, operators and an optimizer inside. */
function training(
  count: number,
  step: (i: number) => string | null,
  { optimizer = (_: number): string | null => null, more = {} as Partial<Range> } = {},
): Range[] {
  let op = 0;
  return Array.from({ length: count }, (_, i) => {
    const at = i * 100;
    const named = step(i);
    const ends = optimizer(i);
    op += 3;
    return [
      ...(named === null ? [] : [range(named, at, at + 95, more)]),
      range(`aten::linear, op_id = ${op}`, at + 2, at + 90, more),
      range(`aten::mm, op_id = ${op + 1}`, at + 5, at + 85, more),
      ...(ends === null ? [] : [range(ends, at + 91, at + 94, more)]),
    ];
  }).flat();
}

describe('ranges named as steps', () => {
  it.each([
    ['Megatron, NeMo and many others by hand', (i: number) => `iteration ${i}`],
    ['by hand', (i: number) => `iteration_${i}`],
    ['by hand', (i: number) => `Iteration-${i}`],
    ['by hand', (i: number) => `iteration${i}`],
    ['by hand', (i: number) => `Iter: ${i}`],
    ['a callback of Hugging Face', (i: number) => `step ${i}`],
    ['by hand', (i: number) => `step_${String(i).padStart(6, '0')}`],
    ['by hand', (i: number) => `steps${i}`],
    ['by hand', (i: number) => `Step[${i}]`],
    ['by hand', (i: number) => `train_step ${i}`],
    ['by hand', (i: number) => `Training step ${i}`],
    ['by hand', (i: number) => `train:step ${i}`],
    ['by hand', (i: number) => `global_step=${i}`],
    ['by hand', (i: number) => `batch ${i}`],
    ['torch.profiler', (i: number) => `ProfilerStep#${i}`],
    // Ranges of record_function under emit_nvtx bear the number of the operator.
    ['torch.profiler under emit_nvtx', (i: number) => `ProfilerStep#${i}, op_id = ${i * 3 + 2}`],
    ['record_function with shapes', (i: number) => `train_step ${i}, op_id = ${i * 3 + 2}, sizes = [[${i}, 8], []]`],
  ])('of %s', async (_, step) => {
    const { steps, by } = await actual(training(4, (i) => step(i + 100)));
    expect(by).toEqual({ by: 'range', text: plain(step(100)) });
    expect(spans(steps)).toEqual([0, 1, 2, 3].map((i) => [100 + i, i * 100, i * 100 + 95]));
  });

  it.each([
    ['Lightning', '[pl][profile]run_training_batch'],
    ['Lightning under emit_nvtx', '[pl][profile]run_training_batch, op_id = 12'],
    ['by hand', 'train_step'],
    ['by hand', 'Iteration'],
    ['a start/end range of the process', 'step'],
  ])('of %s without numbers', async (name, text) => {
    const more = name.includes('start/end') ? { type: 'start_end' as const } : {};
    const { steps, by } = await actual(training(3, () => text, { more }));
    expect(by).toEqual({ by: 'range', text: plain(text) });
    expect(spans(steps)).toEqual([
      [1, 0, 95],
      [2, 100, 195],
      [3, 200, 295],
    ]);
  });

  it('are counted where their numbers do not rise, or where they have several', async () => {
    const again = await actual(training(4, (i) => `step ${i % 2}`));
    expect(again.steps.map(({ index }) => index)).toEqual([1, 2, 3, 4]);
    const gaps = await actual(training(3, (i) => `step ${[7, 9, 12][i]}`));
    expect(gaps.steps.map(({ index }) => index)).toEqual([7, 9, 12]);
    const huge = await actual(training(3, (i) => `step ${i}99999999999999999999`));
    expect(huge.steps.map(({ index }) => index)).toEqual([1, 2, 3]);
  });

  it('are the longest of those that are named so', async () => {
    const inner = [0, 1, 2, 3].flatMap((i) =>
      [0, 1].map((j) => range(`batch ${j}`, i * 100 + j * 40, i * 100 + j * 40 + 35)),
    );
    const { by, steps } = await actual([...inner, ...training(4, (i) => `iteration ${i}`)]);
    expect(by!.text).toBe('iteration #');
    expect(steps).toHaveLength(4);
  });

  it('are of each process, on the thread with most of them', async () => {
    const { steps } = await actual([
      ...training(3, (i) => `step ${i}`, { more: { pid: 8 } }),
      ...training(4, (i) => `step ${i}`, { more: { pid: 2, tid: 5 } }),
      ...training(2, (i) => `step ${i}`, { more: { pid: 2, tid: 4 } }),
    ]);
    expect(steps.map(({ pid, index }) => [pid, index])).toEqual([
      [2, 0],
      [2, 1],
      [2, 2],
      [2, 3],
      [8, 0],
      [8, 1],
      [8, 2],
    ]);
  });

  it('end: those that were cut off are none', async () => {
    const { steps } = await actual([...training(3, (i) => `step ${i}`), range('step 3', 300, null)]);
    expect(steps.map(({ index }) => index)).toEqual([0, 1, 2]);
  });

  it('do not overlap, neither here nor in another process', async () => {
    const over = [0, 1, 2, 3].map((i) => range(`step ${i}`, i * 50, i * 50 + 80));
    expect(await actual(over)).toEqual({ steps: [], by: null });
    const elsewhere = over.map((one) => ({ ...one, pid: 2 }));
    const { steps } = await actual([...training(3, (i) => `step ${i}`), ...elsewhere]);
    expect(new Set(steps.map(({ pid }) => pid))).toEqual(new Set([1]));
  });

  it.each([
    ['operators', (i: number) => `aten::step ${i}`],
    ["NCCL's", (i: number) => `ncclGroupStart ${i}`],
    ['parts of a step', () => 'forward step'],
    ['parts of a step', () => 'backward step'],
    ['parts of a step', (i: number) => `micro batch ${i}`],
    ['parts of a step', () => 'lr_scheduler.step'],
    ['parts of a step', () => 'Scheduler step'],
    ['other steps', (i: number) => `validation step ${i}`],
    ['other steps', (i: number) => `eval batch ${i}`],
    ['other texts', () => 'stepping stone'],
    ['other texts', () => 'batch_norm'],
    ['other texts', () => 'iterate'],
    ['other texts', () => ''],
  ])('are no %s', async (_, text) => {
    // Too short and too few to be taken for what recurs.
    const ranges = [0, 1].map((i) => range(text(i), i * 100, i * 100 + 10));
    expect(await actual([...ranges, range('run', 0, 10_000)])).toEqual({ steps: [], by: null });
  });

  it('are never of the domain of NCCL', async () => {
    const name = range('NCCL', -10, null, { type: 'domain', domain: 3 });
    const ownValues = training(4, (i) => `step ${i}`, { more: { domain: 3 } }).filter(({ text }) =>
      text!.startsWith('step'),
    );
    expect(await actual([name, ...ownValues])).toEqual({ steps: [], by: null });
  });
});

describe('ranges that end a step', () => {
  it.each([
    ['torch', 'Optimizer.step#FusedAdam.step'],
    ['torch under emit_nvtx', 'Optimizer.step#FusedAdam.step, op_id = 45'],
    ['Lightning', '[pl][profile][LightningModule]Net.optimizer_step, op_id = 9'],
    ['by hand', 'optimizer.step'],
    ['by hand', 'optimizer step'],
    ['by hand', 'Optimizer Step'],
    ['by hand', 'optimizer_step'],
  ])('of %s', async (_, text) => {
    const { steps, by } = await actual(training(4, () => null, { optimizer: () => text }));
    expect(by).toEqual({ by: 'anchor', text: plain(text) });
    // From the end of one to the end of the next: where the first began nobody knows.
    expect(spans(steps)).toEqual([
      [1, 94, 194],
      [2, 194, 294],
      [3, 294, 394],
    ]);
  });

  it('of a chain of optimizers end one step together', async () => {
    const rows = training(4, () => null, { optimizer: () => 'Optimizer.step#FusedAdam.step' });
    const ends = rows.filter(({ text }) => text === 'Optimizer.step#FusedAdam.step');
    const second = ends.map((row) => ({ ...row, startNs: row.endNs!, endNs: row.endNs! + 2 }));
    const { steps } = await actual([...rows, ...second]);
    expect(spans(steps)).toEqual([
      [1, 96, 196],
      [2, 196, 296],
      [3, 296, 396],
    ]);
  });

  it('give way to ranges that name the step', async () => {
    const optimizer = (): string => 'Optimizer.step#AdamW.step';
    const { by } = await actual(training(3, (i) => `ProfilerStep#${i}`, { optimizer }));
    expect(by).toEqual({ by: 'range', text: 'ProfilerStep##' });
  });

  it('need a second one, and are not those that clear gradients', async () => {
    const optimizer = (): string => 'Optimizer.step#Adam.step';
    expect((await actual(training(1, () => null, { optimizer }))).by).toBeNull();
    const clearing = await actual(training(4, () => null, { optimizer: () => 'Optimizer.zero_grad#Adam.zero_grad' }));
    expect(clearing.by).toBeNull();
  });
});

describe('what recurs', () => {
  it('is taken for the step where it fills the time and nothing is named', async () => {
    const { steps, by } = await actual(training(5, () => 'gpt pretrain loop body'));
    expect(by).toEqual({ by: 'recurring', text: 'gpt pretrain loop body' });
    expect(steps).toHaveLength(5);
  });

  it('at equal distances tells where steps begin', async () => {
    const { steps, by } = await actual([0, 1, 2, 3].map((i) => range('body', i * 100, i * 100 + 20)));
    expect(by).toEqual({ by: 'period', text: 'body' });
    expect(spans(steps)).toEqual([
      [1, 0, 100],
      [2, 100, 200],
      [3, 200, 300],
    ]);
  });

  it('is no step where it is numbered over and over again, as layers are', async () => {
    const layers = [0, 1, 2, 3].flatMap((i) =>
      [0, 1, 2, 3].map((l) => range(`decoder.layers.${l}`, i * 100 + l * 25, i * 100 + l * 25 + 24)),
    );
    expect((await actual(layers)).by).toBeNull();
  });

  it('is nothing where it is rare, short or an operator', async () => {
    expect((await actual(training(2, () => 'body'))).by).toBeNull();
    // Short and at any distance.
    const short = [0, 10, 20, 30, 300, 900].map((at) => range('body', at, at + 5));
    expect((await actual(short)).by).toBeNull();
    // Five times within a tenth of the whole.
    expect((await actual([...training(5, () => 'body'), range('run', 0, 5000)])).by).toBeNull();
    expect((await actual(training(5, () => null))).by).toBeNull();
    for (const text of [
      'autograd::engine::evaluate_function: CheckpointFunctionBackward, op_id = 3',
      'Recompute, seq = 7',
    ])
      expect((await actual(training(5, () => text))).by).toBeNull();
  });
});

/** `count` iterations of the same phases, each of a length, without gaps; `own`: the length of what has no range. */
function phases(count: number, parts: readonly (readonly [string, number])[], own = 0): Range[] {
  let at = 0;
  return Array.from({ length: count }, () => {
    const ranges = parts.map(([text, length]) => {
      at += length;
      return range(text, at - length, at);
    });
    at += own;
    return ranges;
  }).flat();
}

describe('phases at one level', () => {
  it.each([
    ['by hand', ['forward', 'backward', 'optimizer']],
    ['with the optimizer named as a step', ['forward', 'backward', 'step']],
    ['with data', ['data loading', 'forward', 'backward', 'optimizer.step']],
    ['of DeepSpeed', ['DeepSpeedEngine.forward', 'DeepSpeedEngine.backward', 'DeepSpeedEngine.step']],
    ['of an inference engine', ['model: preprocess', 'model: forward', 'model: sample', 'model: bookkeep']],
    ['of a pipeline of models', ['reader', '3D_backbone', 'find_centers', 'bbox_head', 'post_processing']],
  ])('are one iteration together: %s', async (_, texts) => {
    const { steps, by } = await actual(
      phases(
        5,
        texts.map((text) => [text, 20] as const),
      ),
    );
    expect(by).toEqual({ by: 'combination', text: texts.join(' + ') });
    const length = 20 * texts.length;
    expect(spans(steps)).toEqual([0, 1, 2, 3, 4].map((i) => [i + 1, i * length, (i + 1) * length]));
  });

  it('leave out iterations that were cut off', async () => {
    const rows = phases(5, [
      ['forward', 30],
      ['backward', 60],
      ['optimizer', 10],
    ]);
    const { steps } = await actual(rows.slice(2, -1));
    expect(spans(steps).map(([, start]) => start)).toEqual([100, 200, 300]);
  });

  it('end with the optimizer, however many micro-batches there are', async () => {
    const micro = [0, 1, 2].flatMap((i) => [['forward', 10] as const, [`backward ${i}`, 20] as const]);
    const { steps, by } = await actual(phases(4, [...micro, ['optimizer', 10]]));
    expect(by).toEqual({ by: 'combination', text: 'forward + backward # + optimizer' });
    expect(spans(steps)).toEqual([0, 1, 2, 3].map((i) => [i + 1, 100 * i, 100 * i + 100]));
  });

  it('have the number of the iteration where a phase has it', async () => {
    const rows = phases(3, [
      ['load', 10],
      ['forward', 40],
      ['optimizer', 50],
    ]).map((row, i) => (row.text === 'forward' ? { ...row, text: `forward ${40 + Math.floor(i / 3)}` } : row));
    expect((await actual(rows)).steps.map(({ index }) => index)).toEqual([40, 41, 42]);
  });

  it('are none where a range covers the iteration', async () => {
    const rows = phases(4, [
      ['forward', 30],
      ['backward', 60],
      ['optimizer', 10],
    ]);
    const around = [0, 1, 2, 3].map((i) => range('body', 100 * i, 100 * i + 100));
    const { by, candidates } = await all([...rows, ...around]);
    expect(by).toEqual({ by: 'recurring', text: 'body' });
    expect(candidates.filter(({ reason }) => reason === 'phase').map(({ text }) => text)).toEqual([
      'backward',
      'forward',
    ]);
  });

  it('of which one alone has ranges are taken from one to the next', async () => {
    const { by, steps } = await actual(phases(5, [['forward', 60]], 40));
    expect(by).toEqual({ by: 'period', text: 'forward' });
    expect(spans(steps)[1]).toEqual([2, 100, 200]);
  });
});

describe('modules', () => {
  it.each([
    ['in one pass', (i: number) => `blocks.${i}`],
    ['in one pass', (i: number) => `model.layers.${i}`],
    ['in one pass', (i: number) => `layer_${i}`],
    ['in one pass', (i: number) => `TransformerBlock ${i}`],
    ['in one pass', (i: number) => `h.${i}`],
    ['in one pass', (i: number) => `encoder.block.${i}.attention`],
    ['in one pass', (i: number) => `stage${i}`],
    ['again and again', (i: number) => `blocks.${i % 4}`],
    ['without numbers', () => 'TransformerLayer'],
  ])('are never steps, %s', async (_, text) => {
    const rows = Array.from({ length: 16 }, (__, i) => range(text(i), 10 * i, 10 * i + 10));
    const { by, steps, candidates } = await all(rows);
    expect([by, steps]).toEqual([null, []]);
    expect(candidates.map(({ status, reason }) => [status, reason])).toEqual([
      ['rejected', text(1) === 'TransformerLayer' ? 'module' : 'module_index'],
    ]);
  });

  it('lose to the iteration around them', async () => {
    const layers = [0, 1, 2].flatMap((i) =>
      [0, 1, 2, 3].map((l) => range(`blocks.${l}`, 100 * i + 20 * l, 100 * i + 20 * l + 20)),
    );
    const whole = [0, 1, 2].map((i) => range('generate', 100 * i, 100 * i + 95));
    expect((await actual([...layers, ...whole])).by).toEqual({ by: 'recurring', text: 'generate' });
  });
});

describe('a range that the user names', () => {
  const rows = [
    ...training(4, (i) => `iteration ${i + 7}`, { optimizer: () => 'optimizer' }),
    ...[0, 1, 2, 3].flatMap((i) => [0, 1].map((b) => range(`blocks.${b}`, 100 * i + 10 * b, 100 * i + 10 * b + 9))),
  ];

  it.each([
    ['by its text', 'blocks.#', 'blocks.#', 8],
    ['by one of its texts', 'blocks.1', 'blocks.1', 4],
    ['by a text that occurs once', 'ITERATION 9', 'iteration #', 4],
    ['by the text of a candidate', 'optimizer', 'optimizer', 3],
  ])('is the step, %s', async (_, name, text, count) => {
    const { by, steps, candidates } = await all(rows, name);
    expect(by!.text).toBe(text);
    expect(steps).toHaveLength(count);
    expect(candidates[0]).toMatchObject({ status: 'chosen', reason: 'requested', text });
  });

  it('may be a combination', async () => {
    const parts = phases(4, [
      ['forward', 30],
      ['backward', 60],
    ]);
    const whole = [0, 1, 2, 3].map((i) => range(`step ${i}`, 90 * i, 90 * i + 80, { tid: 2 }));
    expect((await actual([...parts, ...whole])).by!.by).toBe('range');
    const { by, steps } = await actual([...parts, ...whole], 'forward + backward');
    expect(by).toEqual({ by: 'combination', text: 'forward + backward' });
    expect(steps).toHaveLength(4);
  });

  it('must be in the report', async () => {
    const found = await all(rows, 'nothing');
    expect([found.by, found.steps]).toEqual([null, []]);
    expect(() => demandStepRange([{ steps_by: found.by, step_candidates: found.candidates }], 'nothing')).toThrow(
      /--step-range "nothing": no such range; ranges that repeat: .*"iteration #"/,
    );
  });
});

it('says which ranges were chosen, which could be, and why others are none', async () => {
  const { candidates } = await all([
    ...training(4, (i) => `iteration ${i}`, { optimizer: () => 'optimizer' }),
    ...[0, 1, 2, 3].map((i) => range('forward', 100 * i + 1, 100 * i + 40)),
    ...[0, 1].map((i) => range(`epoch ${i}`, 200 * i - 1, 200 * i + 198)),
  ]);
  expect(candidates.map(({ status, method, text, reason }) => [status, method, text, reason])).toEqual([
    ['chosen', 'range', 'iteration #', 'named'],
    ['possible', 'anchor', 'optimizer', 'ends'],
    ['rejected', null, 'epoch #', 'epoch'],
    ['rejected', null, 'forward', 'phase'],
  ]);
  expect(candidates[0]).toMatchObject({ count: 4, share: 380 / 395, is_of_time: true });
});

describe('the steady window', () => {
  const step = (index: number, pid: number): NsysStep => ({
    index,
    start_ns: index * 100,
    end_ns: index * 100 + 90,
    pid,
  });

  it('leaves the first step out, and needs two', () => {
    expect(steadyWindow([])).toBeUndefined();
    expect(steadyWindow([step(1, 1)])).toBeUndefined();
    expect(steadyWindow([step(1, 1), step(2, 1), step(3, 1), step(1, 2)])).toEqual({
      fromNs: 200,
      toNs: 390,
      steps: 2,
    });
  });
});
