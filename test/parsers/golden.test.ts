/**
 * Golden-value files: every schema is read and distinguished from other JSON; damage is refused; written files are read
 * back.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { looksLikeGolden, readGolden } from '../../parsers/index.js';
import type { MbfError } from '../../src/model/errors.js';
import { SEED } from '../support/level.js';
import { bridge, inference, PATH, refusal, training } from './golden-text.js';

const metric = (values: string, more = '"start_step": 1, "end_step": 3, "step_interval": 1'): string =>
  `{"lm loss": {${more}, "values": ${values}}}`;

describe('the training schema of Megatron-LM', () => {
  it('is metrics over steps, in ascending order', () => {
    const values = training(
      '{"lm loss": {"start_step": 1, "end_step": 10, "step_interval": 9, "values": {"10": 9.5, "1": 11.04733}},' +
        ' "num-zeros": {"start_step": 1, "end_step": 1, "step_interval": 1, "values": {"1": 521037888.0}}}',
    );
    expect(values).toEqual({
      kind: 'megatron_training',
      is_legacy: false,
      metrics: new Map([
        [
          'lm loss',
          {
            start_step: 1,
            end_step: 10,
            step_interval: 9,
            values: new Map([
              [1, 11.04733],
              [10, 9.5],
            ]),
          },
        ],
        ['num-zeros', { start_step: 1, end_step: 1, step_interval: 1, values: new Map([[1, 521037888]]) }],
      ]),
    });
    expect([...values.metrics.get('lm loss')!.values.keys()]).toEqual([1, 10]);
  });

  it('distinguishes strings from Python NaN and Infinity', () => {
    const { metrics } = training(metric('{"1": "nan", "2": NaN, "3": -Infinity, "4": Infinity, "5": "inf"}'));
    expect([...metrics.get('lm loss')!.values.values()]).toEqual(['nan', Number.NaN, -Infinity, Infinity, 'nan']);
  });

  it('leaves NaN inside of texts alone', () => {
    const { metrics } = training('{"NaN \\" Infinity": {"start_step":1,"end_step":1,"step_interval":1,"values":{}}}');
    expect([...metrics.keys()]).toEqual(['NaN " Infinity']);
  });

  it('had lists before: step = start + position × interval', () => {
    const values = training(metric('[10.5, "nan", 8]', '"start_step": 0, "end_step": 100, "step_interval": 5'));
    expect(values.is_legacy).toBe(true);
    expect([...values.metrics.get('lm loss')!.values]).toEqual([
      [0, 10.5],
      [5, 'nan'],
      [10, 8],
    ]);
  });

  it('takes the later of two values for one step', () => {
    const { metrics } = training(metric('{"1": 1, "01": 2, "2": 5, "2": 6}'));
    expect([...metrics.get('lm loss')!.values]).toEqual([
      [1, 2],
      [2, 6],
    ]);
  });

  it('reads steps below zero, and no step that no run reaches', () => {
    expect([...training(metric('{"-5": 1}')).metrics.get('lm loss')!.values]).toEqual([[-5, 1]]);
    expect(refusal(metric('{"9007199254740993": 1}')).message).toContain('among the steps of "lm loss"');
    expect(refusal(metric('{"99999999999999999999999999": 1}')).message).toContain('among the steps');
    const far = '"start_step": 9007199254740990, "end_step": 1, "step_interval": 3';
    expect(refusal(metric('[1, 2]', far)).message).toContain('no run reaches');
  });

  it.each([
    ['{"1": null}', 'has null as "lm loss" at step 1'],
    ['{"1": true}', 'has true as "lm loss" at step 1'],
    ['{"1": [1]}', 'has a list as "lm loss" at step 1'],
    ['{"one": 1}', 'has "one" among the steps of "lm loss"'],
    ['{"": 1}', 'has "" among the steps of "lm loss"'],
    ['{"1.5": 1}', 'has "1.5" among the steps of "lm loss"'],
    ['{"__proto__": 1}', 'has "__proto__" among the steps of "lm loss"'],
    ['7', 'has the number 7 where the values of "lm loss" belong'],
    ['[{}]', 'has an object as "lm loss" at step 1'],
  ])('refuses values %s', (values, why) => {
    expect(refusal(metric(values)).message).toBe(why);
  });

  it('refuses metrics without their steps', () => {
    const single = '{"start_step": 1, "end_step": 3, "step_interval": 1, "values": {"1": 1}}';
    expect(refusal(`{"a": ${single}, "b": 5}`).message).toBe('has the number 5 where the metric "b" belongs');
    expect(refusal(metric('{}', '"start_step": 1, "end_step": 3')).message).toContain('step_interval of "lm loss"');
    expect(refusal(metric('{}', '"start_step": 1.5, "end_step": 3, "step_interval": 1')).message).toBe(
      'has the number 1.5 where start_step of "lm loss" belongs',
    );
    expect(refusal(metric('[1]', '"start_step": 1, "end_step": 3, "step_interval": 0')).message).toContain('has 0 as');
    expect(refusal(metric('[1]', '"start_step": 1, "end_step": 3, "step_interval": -1')).message).toContain('has -1');
  });
});

describe('the inference schema of Megatron-LM', () => {
  const request = '{"input_prompt": "NaN", "generated_tokens": [1, 2], "logprobs": [-1.5], "latency": 2.4}';

  it('counts requests and keeps throughput and memory', () => {
    const values = inference(
      `{"0": ${request}, "1": ${request}, "throughput": [8.5, 12.25], "mem-max-allocated-bytes": 22786866688,` +
        ' "lifetime_prefill_token_count": 88, "memory_phases": {"a": 1}}',
    );
    expect(values).toEqual({
      kind: 'megatron_inference',
      requests: 2,
      throughput: [8.5, 12.25],
      mem_max_allocated_bytes: 22786866688,
    });
  });

  it('may have one throughput, none, and no memory', () => {
    expect(inference(`{"0": ${request}, "throughput": 12.5}`).throughput).toEqual([12.5]);
    expect(inference(`{"0": ${request}}`)).toMatchObject({ throughput: [], mem_max_allocated_bytes: null });
    expect(inference('{"throughput": [1]}').requests).toBe(0);
  });

  it('takes the median of several memory values behind the first', () => {
    expect(inference('{"mem-max-allocated-bytes": [NaN, 1000, 1020]}').mem_max_allocated_bytes).toBe(1010);
    expect(inference('{"mem-max-allocated-bytes": [7]}').mem_max_allocated_bytes).toBe(7);
  });

  it('may occur in a string, as JSON Lines writes it', () => {
    const text = JSON.stringify(`{"0": ${request}, "throughput": [3]}`);
    expect(inference(text)).toMatchObject({ requests: 1, throughput: [3] });
    expect(looksLikeGolden(text)).toBe(true);
    // The byte would be one of the inner text.
    expect(refusal(JSON.stringify('{"0": ')).place.offset).toBeUndefined();
  });

  it('refuses figures that are none', () => {
    expect(refusal('{"throughput": [1, "2"]}').message).toBe('has a text as throughput');
    expect(refusal('{"mem-max-allocated-bytes": {}}').message).toBe('has an object as mem-max-allocated-bytes');
  });
});

describe('the schema of Megatron Bridge', () => {
  const step = (loss: number): string =>
    `{"lm loss": ${loss}, "elapsed time per iteration (ms)": 900.5, "GPU utilization": 410.25}`;
  const flat = `{"0": ${step(3)}, "49": ${step(2)}, "alloc": 5.95, "max_alloc": 19.3, "max_reserved": 19.5, "job_id": 123}`;

  it('is flat: steps, memory, and the rest as text', () => {
    const values = { step_ms: 900.5, gpu_utilization: 410.25, grad_norm: null };
    expect(bridge(flat)).toEqual({
      kind: 'bridge',
      wrapper: '',
      steps: new Map([
        [0, { lm_loss: 3, ...values }],
        [49, { lm_loss: 2, ...values }],
      ]),
      alloc: 5.95,
      max_alloc: 19.3,
      max_reserved: 19.5,
      others: { job_id: '123' },
    });
  });

  it('keeps steps in the order of the file', () => {
    expect([...bridge(`{"9": ${step(1)}, "0": ${step(1)}, "-1": ${step(1)}}`).steps.keys()]).toEqual([9, 0, -1]);
  });

  it('may lack figures of a step, and have NaN', () => {
    const { steps } = bridge('{"0": {"lm loss": NaN, "GPU utilization": null, "grad norm": "inf"}, "1": {}}');
    const none = { lm_loss: null, step_ms: null, gpu_utilization: null, grad_norm: null };
    expect([...steps.values()]).toEqual([{ ...none, lm_loss: Number.NaN, grad_norm: 'nan' }, none]);
  });

  it.each([
    ['baseline', `{"current": {"0": ${step(2)}}, "baseline": {"0": ${step(1)}}}`],
    ['current', `{"08.22.26": {"0": ${step(2)}}, "current": {"0": ${step(1)}}}`],
    // By year, month, day; not as text.
    ['01.05.26', `{"12.31.25": {"0": ${step(2)}}, "01.05.26": {"0": ${step(1)}}, "01.04.26": {"0": ${step(3)}}}`],
    ['10.02.26', `{"10.02.26": {"0": ${step(1)}}, "9.30.26": {"0": ${step(2)}}, "09.30.26": {"0": ${step(2)}}}`],
  ])('may be wrapped: %s', (wrapper, text) => {
    const values = bridge(text);
    expect(values.wrapper).toBe(wrapper);
    expect(values.steps.get(0)!.lm_loss).toBe(1);
  });

  it('takes nothing over from keys that objects have by themselves', () => {
    const values = bridge(`{"0": ${step(1)}, "__proto__": {"lm loss": 5}, "constructor": "x", "toString": 1}`);
    expect(values.steps.size).toBe(1);
    expect(values.others).toEqual({ constructor: 'x', toString: '1' });
    expect(Object.getPrototypeOf(bridge(`{"0": ${step(1)}, "__proto__": "y"}`).others)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>)['lm loss']).toBeUndefined();
  });

  it('refuses figures that are none', () => {
    expect(refusal(`{"0": ${step(1)}, "alloc": "5"}`).message).toBe('has a text as "alloc"');
    expect(refusal('{"0": {"lm loss": [1]}}').message).toBe('has a list as "lm loss" at step 0');
    expect(refusal('{"baseline": {"0": {"loss": 1}}}').message).toContain('none of the metrics');
  });
});

describe('empty files', () => {
  it.each(['', ' \n\t', '{}', ' {\n} ', '\ufeff', '\ufeff{}', '{"baseline": {}}'])('%j: no values', (text) => {
    expect(readGolden(text, PATH)).toEqual({ kind: 'upstream', values: { kind: 'empty' } });
  });

  it('look like golden values only if they are JSON', () => {
    expect(looksLikeGolden('{ }\n')).toBe(true);
    expect(looksLikeGolden('')).toBe(false);
    expect(looksLikeGolden(' \n')).toBe(false);
  });
});

describe('files that are not golden values', () => {
  it.each([
    ['[1, 2]', 'holds no object, so it has no golden values'],
    ['"text"', 'is not valid JSON: "t" is not a JSON value'],
    ['5', 'holds no object, so it has no golden values'],
    ['{"a": 1}', 'holds none of the metrics of Megatron-LM or Megatron Bridge'],
    ['{"baseline": 5}', 'holds none of the metrics of Megatron-LM or Megatron Bridge'],
    ['{"0": {"a": 1}}', 'holds none of the metrics of Megatron-LM or Megatron Bridge'],
  ])('%s is refused', (text, why) => {
    expect(refusal(text).message).toBe(why);
  });

  it.each([
    ['{"a": 1', 7],
    ['{"a" 1}', 5],
    ['{a: 1}', 1],
    ['{"a": 1,}', 8],
    ['{"a": [1 2]}', 9],
    ['{"a": 1} x', 9],
    ['{"a": Nan}', 6],
    ['{"a": +1}', 6],
    ['{"a": 01}', 7],
    ['{"a": .5}', 6],
    ['{"a": "b}', 6],
    ['{"a": "\\x"}', 6],
    ['{"a": "\n"}', 7],
    ["{'a': 1}", 1],
    // Bytes, not characters.
    ['{"é€": x}', 10],
    ['\ufeff{"a": x}', 9],
  ])('%j is refused with the byte', (text, offset) => {
    expect(refusal(text).place.offset).toBe(offset);
    expect(refusal(text).message).toMatch(/^is not valid JSON: /);
  });

  it('is distinguished by its first bytes', () => {
    const otherFiles = [
      '{"segments": [{"device": 0, "address": 1}], "device_traces": []}',
      '{"train_batch_size": 8, "zero_optimization": {"stage": 3}}',
      '{"fp16": {"enabled": true}, "train_micro_batch_size_per_gpu": 1}',
      '{"bf16": {"enabled": "auto"}}',
      '[[1700000000000000, 2, 512, 4]]',
      '[[1700000000000000], [[0, 1, 2, 3, 4, 5, 6, 7, 8]]]',
      '{"schemaVersion": 1, "traceEvents": []}',
      '{"schema": "mbforensics/compare@1"}',
      '{"architectures": ["LlamaForCausalLM"], "hidden_size": 4096}',
      '{"0": {"name": "x"}}',
      '{"baseline": {"a": 1}}',
      '{"lm loss": [1, 2]}',
      '{"log_history": [{"loss": 1}]}',
      'iteration 1/ 10 | lm loss: 1.0',
      '"text"',
    ];
    for (const text of otherFiles) expect(looksLikeGolden(text), text).toBe(false);
  });

  it('is recognised all the same if golden values are cut short', () => {
    const cut = [
      '{"lm loss": {"start_step": 1, "end_step": 5, "step_interval": 1, "values": {"1": 1',
      '{"0": {"lm loss":',
    ];
    for (const text of [...cut, '{"baseline": {"12": {"GPU utilization": ', '{"7": {"generated_tokens": [']) {
      expect(looksLikeGolden(text), text).toBe(true);
      expect(refusal(text).place.offset).toBe(text.length);
    }
  });
});

describe('hostile input', () => {
  it('nested without end is refused', () => {
    for (const open of ['[', '{"0":', '{"a":[']) {
      expect(refusal(open.repeat(1_000_000)).message).toContain('nested deeper than');
    }
  });

  it('larger than any golden file is refused before it is read', () => {
    expect(refusal(`{"a": 1}${' '.repeat(256 * 1024 ** 2)}`).message).toContain('longer than 256 MiB');
  });

  it('with more values than fit into memory is refused', () => {
    expect(refusal(`{"throughput": [${'0,'.repeat(4_100_000)}0]}`).message).toContain('more than 1000000 values');
  });

  it('of long keys stays short in messages', () => {
    const key = '\\u001b[31m'.repeat(10_000);
    const { message } = refusal(metric(`{"${key}": 1}`));
    expect(message.length).toBeLessThan(1000);
    expect(message.includes('\u001b')).toBe(false);
  });

  it('ends, whatever is repeated', () => {
    for (const piece of ['"', '\\', '{"', ' ', '"\\u', '-', '0', 'NaN', '\ufeff', '{"0": {', '"{\\"']) {
      const text = piece.repeat(Math.ceil(1_000_000 / piece.length));
      looksLikeGolden(text);
      try {
        readGolden(text, PATH);
      } catch (error) {
        expect((error as MbfError).code).toBe('MBF2801');
      }
    }
  });

  it('of any kind is read or refused', () => {
    const seeds = [
      metric('{"1": 1.5, "2": "nan", "3": NaN}'),
      '{"0": {"lm loss": 1.0, "GPU utilization": 2}, "alloc": 1, "job_id": "x"}',
      '{"0": {"generated_tokens": [1]}, "throughput": [1, 2]}',
      '{"schema":"mbforensics/golden@1","name":"a","written_at":"b","runs":[]}',
    ];
    const readOrRefused = (text: string): void => {
      looksLikeGolden(text);
      try {
        readGolden(text, PATH);
      } catch (error) {
        expect((error as MbfError).code).toBe('MBF2801');
      }
    };
    fc.assert(fc.property(fc.json(), readOrRefused), { numRuns: 300, seed: SEED });
    fc.assert(
      fc.property(fc.constantFrom(...seeds), fc.nat(), fc.string({ maxLength: 3 }), fc.nat(4), (seed, at, put, cut) => {
        const place = at % seed.length;
        readOrRefused(seed.slice(0, place) + put + seed.slice(place + cut));
      }),
      { numRuns: 3000, seed: SEED },
    );
  });

  it('cut anywhere is refused with the byte where it ends', () => {
    const text = metric('{"1": 1.5, "2": "nan", "3": NaN}');
    for (let length = 1; length < text.length; length += 1) {
      const { offset } = refusal(text.slice(0, length)).place;
      // Inside a text, a word or a number the damage is where that begins.
      expect(offset).toBeLessThanOrEqual(length);
      expect(offset).toBeGreaterThanOrEqual(length - 17);
    }
  });
});
