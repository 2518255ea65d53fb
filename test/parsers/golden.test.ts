/** Golden-value files: every schema read, told apart from other JSON, refused where damaged; and what is written is read back. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { looksLikeGolden, readGolden, writeBridgeGolden, writeMegatronGolden } from '../../parsers/index.js';
import { MbfError } from '../../src/model/errors.js';
import type {
  BridgeValues,
  MegatronInferenceValues,
  MegatronTrainingValues,
  UpstreamValues,
} from '../../src/model/golden-values.js';
import type { GoldenDocument, MeasuredRank, MeasuredSeries, Measurement } from '../../src/model/measurement.js';
import { bridgeValuesOf, megatronValuesOf } from '../../src/model/upstream-values-of.js';
import { CORPUS, skipLoudly } from '../support/corpus.js';
import { cpuMs } from '../support/cpu-time.js';

const PATH = 'golden_values.json';

function read(text: string): UpstreamValues {
  const file = readGolden(text, PATH);
  if (file.kind !== 'upstream') throw new Error('a document of ours');
  return file.values;
}

const training = (text: string): MegatronTrainingValues => read(text) as MegatronTrainingValues;
const bridge = (text: string): BridgeValues => read(text) as BridgeValues;
const inference = (text: string): MegatronInferenceValues => read(text) as MegatronInferenceValues;

function refusal(text: string): MbfError {
  try {
    readGolden(text, PATH);
  } catch (error) {
    if (!(error instanceof MbfError)) throw error;
    expect(error.code).toBe('MBF2801');
    expect(error.place.file).toBe(PATH);
    return error;
  }
  throw new Error(`was read: ${text.slice(0, 100)}`);
}

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

  it('keeps texts apart from what Python writes for numbers that are none', () => {
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
    const one = '{"start_step": 1, "end_step": 3, "step_interval": 1, "values": {"1": 1}}';
    expect(refusal(`{"a": ${one}, "b": 5}`).message).toBe('has the number 5 where the metric "b" belongs');
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

  it('may stand in a text, as JSON Lines leave it', () => {
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
  it.each(['', ' \n\t', '{}', ' {\n} ', '\ufeff', '\ufeff{}', '{"baseline": {}}'])('%j has no values', (text) => {
    expect(readGolden(text, PATH)).toEqual({ kind: 'upstream', values: { kind: 'empty' } });
  });

  it('look like golden values only if they are JSON', () => {
    expect(looksLikeGolden('{ }\n')).toBe(true);
    expect(looksLikeGolden('')).toBe(false);
    expect(looksLikeGolden(' \n')).toBe(false);
  });
});

function measurement(given: Partial<Measurement> = {}): Measurement {
  return {
    run: 'run',
    label: null,
    commit: 'abc',
    status: {
      ending: 'completed',
      failure: null,
      verdict: null,
      attempts: 1,
      first_iteration: 1,
      last_iteration: 3,
      target_iterations: 3,
    },
    world_size: 8,
    parallel: { tp: 1, pp: 1, vpp: null, cp: null, ep: null, dp: 8, etp: null },
    gpu: { name: 'H100', total_bytes: 80e9 },
    versions: { torch: '2.9.0' },
    commits: { megatron_lm: 'd98e8a6' },
    allocator_conf: null,
    ranks: [],
    peaks: [],
    steps: null,
    series: { iteration: [], loss: [], step_ms: [], tflops: [], grad_norm: [] },
    config: { 'model.seq_length': '8192' },
    env: { NCCL_DEBUG: null },
    disturbances: [],
    ...given,
  };
}

const rank = (given: Partial<MeasuredRank> = {}): MeasuredRank => ({
  rank: 0,
  stage: null,
  first_iteration: 1,
  last_iteration: 2,
  first_peak_allocated_bytes: 50.29e9,
  peak_allocated_bytes: 57.14e9,
  first_allocated_bytes: 38e9,
  allocated_bytes: 40e9,
  peak_reserved_bytes: 60e9,
  alloc_retries: 0,
  precision_bytes: 0.5e6,
  ...given,
});

const SERIES: MeasuredSeries = {
  iteration: [1, 2, 3],
  loss: [12.5966134, null, 12],
  step_ms: [8554.3, 812.4, null],
  tflops: [40.5, 410.25, 409],
  grad_norm: [1.5, 1.25, null],
};

describe('a document of ours', () => {
  const full: Measurement = measurement({
    status: {
      ending: 'oom',
      failure: { kind: 'cuda_oom', rank: 0, stage: null, iteration: 3, text: 'x', file: 'a.log', line: 9 },
      verdict: {
        cause: 'capacity',
        detail: null,
        confidence: 'high',
        summary: 's',
        requested_bytes: 1,
        live_bytes: null,
      },
      attempts: 1,
      first_iteration: 1,
      last_iteration: 3,
      target_iterations: null,
    },
    ranks: [rank()],
    peaks: [
      {
        handle: 'run/0/snapshot#1',
        rank: 0,
        device: 0,
        moment: 'peak',
        basis: 'actual',
        active_bytes: 5,
        requested_bytes: null,
        reserved_bytes: 6,
        components: { parameter: 5 },
        frames: [['f', 'a.py', 1]],
        sites: [{ stack: [0], kind: '', component: 'parameter', bytes: 5, count: 1 }],
        rest_bytes: 0,
        rest_count: 0,
        settings: {},
      },
    ],
    steps: {
      from: 2,
      to: 3,
      count: 2,
      warm_up: 1,
      median_ms: 1,
      spread_ms: 0,
      min_ms: 1,
      max_ms: 1,
      median_tflops: null,
      spread_tflops: null,
    },
    series: SERIES,
    disturbances: [{ kind: 'straggler', text: 't' }],
  });
  const document: GoldenDocument = {
    schema: 'mbforensics/golden@1',
    name: 'llama3',
    written_at: '2026-08-22T00:00:00Z',
    runs: [full, measurement()],
  };

  it('is read as it was written', () => {
    for (const text of [JSON.stringify(document), JSON.stringify(document, null, 2)]) {
      expect(looksLikeGolden(text)).toBe(true);
      expect(readGolden(text, PATH)).toEqual({ kind: 'document', document });
    }
    const { schema, ...rest } = document;
    const sorted = JSON.stringify({ ...rest, runs: Array(20).fill(full), schema });
    expect(sorted.length).toBeGreaterThan(20_000);
    expect(looksLikeGolden(sorted)).toBe(true);
  });

  it('keeps what a newer version may say, but for __proto__', () => {
    const text = JSON.stringify({ ...document, later: { a: [1] } }).replace('"later"', '"__proto__":{"x":1},"later"');
    const file = readGolden(text, PATH);
    expect(file).toEqual({ kind: 'document', document: { ...document, later: { a: [1] } } });
    expect(Object.getPrototypeOf((file as { document: object }).document)).toBe(Object.prototype);
  });

  it('of another version is refused', () => {
    const text = JSON.stringify({ ...document, schema: 'mbforensics/golden@2' });
    expect(refusal(text).message).toBe('says it is "mbforensics/golden@2"; this version reads mbforensics/golden@1');
    expect(looksLikeGolden(text)).toBe(true);
    expect(refusal('{"schema": "mbforensics/compare@1"}').message).toContain('this version reads');
  });

  it('is refused if any field is missing or of another kind', () => {
    const text = JSON.stringify(document);
    const paths: string[] = [];
    const walk = (value: unknown, path: string[]): void => {
      if (typeof value !== 'object' || value === null) return;
      for (const key of Object.keys(value)) {
        const isOpen = /components|versions|commits|config|env|settings/.test(path.at(-1) ?? '');
        // What is null may be, and lists may be empty.
        if (Array.isArray(value) || isOpen) {
          walk((value as Record<string, unknown>)[key], [...path, key]);
          continue;
        }
        const inside = [...path, key];
        for (const change of ['delete', 'object', 'list'] as const) {
          const damaged = JSON.parse(text) as Record<string, unknown>;
          let at = damaged as Record<string, unknown>;
          for (const step of path) at = at[step] as Record<string, unknown>;
          const old = at[key];
          if (change === 'delete') delete at[key];
          else if (change === 'object') at[key] = Array.isArray(old) || typeof old !== 'object' ? {} : ['x'];
          else at[key] = ['x'];
          paths.push(inside.join('.'));
          const message = refusal(JSON.stringify(damaged)).message;
          expect(message, `${change} ${inside.join('.')}`).toMatch(/^(?:has|says|holds) |no golden values|none of the/);
        }
        walk((value as Record<string, unknown>)[key], inside);
      }
    };
    walk(JSON.parse(text), []);
    expect(paths.length).toBeGreaterThan(250);
    const short = { ...full, series: { ...SERIES, loss: [1] } };
    expect(refusal(JSON.stringify({ ...document, runs: [short] })).message).toBe(
      'has 1 values as runs[0].series.loss of 3 iterations',
    );
    expect(refusal(JSON.stringify({ ...document, runs: [] })).message).toBe('holds no run');
  });
});

describe('what is no golden file', () => {
  it.each([
    ['[1, 2]', 'holds no object, so it has no golden values'],
    ['"text"', 'is no valid JSON: "t" is no value of JSON'],
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
    expect(refusal(text).message).toMatch(/^is no valid JSON: /);
  });

  it('is told apart by how it begins', () => {
    const others = [
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
    for (const text of others) expect(looksLikeGolden(text), text).toBe(false);
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
    expect(refusal(`{"throughput": [${'0,'.repeat(4_100_000)}0]}`).message).toContain('more than 4000000 values');
  });

  it('of long keys stays short in messages', () => {
    const key = '\\u001b[31m'.repeat(10_000);
    const { message } = refusal(metric(`{"${key}": 1}`));
    expect(message.length).toBeLessThan(1000);
    expect(message.includes('\u001b')).toBe(false);
  });

  it('never takes long, whatever is repeated', () => {
    for (const piece of ['"', '\\', '{"', ' ', '"\\u', '-', '0', 'NaN', '\ufeff', '{"0": {', '"{\\"']) {
      const text = piece.repeat(Math.ceil(1_000_000 / piece.length));
      const start = cpuMs();
      looksLikeGolden(text);
      try {
        readGolden(text, PATH);
      } catch (error) {
        expect((error as MbfError).code).toBe('MBF2801');
      }
      expect(cpuMs() - start).toBeLessThan(5000);
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
    fc.assert(fc.property(fc.json(), readOrRefused), { numRuns: 300 });
    fc.assert(
      fc.property(fc.constantFrom(...seeds), fc.nat(), fc.string({ maxLength: 3 }), fc.nat(4), (seed, at, put, cut) => {
        const place = at % seed.length;
        readOrRefused(seed.slice(0, place) + put + seed.slice(place + cut));
      }),
      { numRuns: 3000 },
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

describe('writing', () => {
  const run = measurement({
    series: SERIES,
    ranks: [
      rank({ rank: 3, first_iteration: 2, peak_allocated_bytes: 1e9 }),
      rank({ rank: 1, peak_reserved_bytes: 7e10 }),
    ],
  });

  it('Megatron-LM: seconds, bytes, the rank with the highest peak', () => {
    expect(writeMegatronGolden(run)).toBe(`{
    "lm loss": {
        "start_step": 1,
        "end_step": 3,
        "step_interval": 2,
        "values": {
            "1": 12.59661,
            "3": 12.0
        }
    },
    "mem-allocated-bytes": {
        "start_step": 1,
        "end_step": 2,
        "step_interval": 1,
        "values": {
            "1": 38000000000.0,
            "2": 40000000000.0
        }
    },
    "mem-max-allocated-bytes": {
        "start_step": 1,
        "end_step": 2,
        "step_interval": 1,
        "values": {
            "1": 50290000000.0,
            "2": 57140000000.0
        }
    },
    "iteration-time": {
        "start_step": 1,
        "end_step": 2,
        "step_interval": 1,
        "values": {
            "1": 8.5543,
            "2": 0.8124
        }
    }
}
`);
  });

  it('Megatron Bridge: steps from 0, decimal GB, the rank that printed first; no step without a loss', () => {
    const expected = `{
    "0": {
        "lm loss": 12.5966134,
        "elapsed time per iteration (ms)": 8554.3,
        "GPU utilization": 40.5
    },
    "2": {
        "lm loss": 12.0,
        "GPU utilization": 409.0
    },
    "alloc": 38.0,
    "max_alloc": 50.29,
    "max_reserved": 70.0
}
`;
    expect(writeBridgeGolden(run)).toBe(expected);
    expect(JSON.parse(writeBridgeGolden(run, 'baseline'))).toEqual({ baseline: JSON.parse(expected) });
  });

  it('keeps five significant digits of memory, as Bridge prints them', () => {
    const odd = rank({
      first_peak_allocated_bytes: 58_812_345_678,
      first_allocated_bytes: 987_654_321,
      peak_reserved_bytes: 1e11 + 1,
    });
    expect(bridge(writeBridgeGolden(measurement({ ranks: [odd] })))).toMatchObject({
      alloc: 0.98765,
      max_alloc: 58.812,
      max_reserved: 100,
    });
  });

  it('takes the interval from the steps behind the first', () => {
    const iteration = [1, 5, 10, 20];
    const none = iteration.map(() => null);
    const series = { iteration, loss: [4, 3, 2, 1], step_ms: none, tflops: none, grad_norm: none };
    const { metrics } = training(writeMegatronGolden(measurement({ series })));
    expect(metrics.get('lm loss')).toMatchObject({ start_step: 1, end_step: 20, step_interval: 5 });
  });

  it('of a run without figures is empty', () => {
    expect(writeMegatronGolden(measurement())).toBe('{}\n');
    expect(writeBridgeGolden(measurement())).toBe('{}\n');
    expect(read(writeBridgeGolden(measurement(), '08.22.26'))).toEqual({ kind: 'empty' });
  });

  const figure = fc.oneof(
    { weight: 8, arbitrary: fc.oneof(fc.double({ noDefaultInfinity: true, noNaN: true }), fc.float(), fc.integer()) },
    { weight: 2, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.constantFrom(Number.NaN, Infinity, -Infinity, -0, 0.1 + 0.2, 1e21, 5e-7) },
  );
  const bytes = fc.option(fc.nat({ max: 2 ** 40 }));
  const iterations = fc.option(fc.integer({ min: 0, max: 1e6 }));
  const ranks = fc.array(
    fc.record({
      rank: fc.option(fc.nat(64)),
      first_iteration: iterations,
      last_iteration: iterations,
      first_peak_allocated_bytes: bytes,
      peak_allocated_bytes: bytes,
      first_allocated_bytes: bytes,
      allocated_bytes: bytes,
      peak_reserved_bytes: bytes,
    }),
    { maxLength: 4 },
  );
  const runs = fc
    .tuple(fc.uniqueArray(fc.integer({ min: 0, max: 1e6 }), { maxLength: 20 }), fc.infiniteStream(figure), ranks)
    .map(([steps, figures, some]) => {
      const iteration = steps.sort((a, b) => a - b);
      const values = (): (number | null)[] => iteration.map(() => figures.next().value as number | null);
      const series = { iteration, loss: values(), step_ms: values(), tflops: values(), grad_norm: values() };
      return measurement({ series, ranks: some.map((given) => rank(given)) });
    });

  it('reads back equal: Megatron-LM', () => {
    fc.assert(
      fc.property(runs, (made) => {
        const expected = megatronValuesOf(made);
        const text = writeMegatronGolden(made);
        expect(looksLikeGolden(text)).toBe(true);
        expect(read(text)).toEqual(expected.metrics.size === 0 ? { kind: 'empty' } : expected);
      }),
      { numRuns: 300 },
    );
  });

  it('reads back equal: Megatron Bridge', () => {
    fc.assert(
      fc.property(runs, fc.constantFrom(undefined, 'baseline', 'current', '08.22.26'), (made, wrapper) => {
        const all = bridgeValuesOf(made);
        const steps = [...all.steps].filter(([, { lm_loss }]) => lm_loss !== null);
        const text = writeBridgeGolden(made, wrapper);
        const isEmpty = steps.length === 0 && all.alloc === null && all.max_alloc === null && all.max_reserved === null;
        if (!isEmpty || wrapper === undefined) expect(looksLikeGolden(text)).toBe(true);
        // The file has no gradient norms.
        const kept = new Map(steps.map(([step, value]) => [step, { ...value, grad_norm: null }]));
        const expected = { ...all, steps: kept, wrapper: wrapper ?? '' };
        expect(read(text)).toEqual(isEmpty ? { kind: 'empty' } : expected);
      }),
      { numRuns: 300 },
    );
  });
});

const DIRECTORY = join(CORPUS, 'golden');
const files = existsSync(DIRECTORY) ? readdirSync(DIRECTORY).filter((name) => name.endsWith('.json')) : [];

function jsonFiles(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return path === DIRECTORY ? [] : jsonFiles(path);
    return entry.name.endsWith('.json') ? [path] : [];
  });
}

describe('the corpus', () => {
  if (files.length === 0) skipLoudly('golden values', 'the reference corpus (MBF_CORPUS)');
  for (const name of files) {
    const text = readFileSync(join(DIRECTORY, name), 'utf8');

    it(`${name} is read whole`, () => {
      expect(looksLikeGolden(text)).toBe(true);
      const plain = JSON.parse(text) as Record<string, { values?: Record<string, unknown> }>;
      const values = read(text);
      if (values.kind === 'megatron_inference') {
        expect(values.requests).toBe(Object.values(plain).filter((v) => v?.constructor === Object).length);
        expect(values.throughput).toEqual([plain['throughput'] ?? []].flat());
        expect(values.mem_max_allocated_bytes).toBe(plain['mem-max-allocated-bytes'] ?? null);
        return;
      }
      if (values.kind !== 'megatron_training') throw new Error(values.kind);
      expect([...values.metrics.keys()]).toEqual(Object.keys(plain));
      for (const [key, series] of values.metrics) {
        expect([...series.values.values()]).toEqual(Object.values(plain[key]!.values!));
        const expected = values.is_legacy
          ? Object.keys(plain[key]!.values!).map((i) => series.start_step + Number(i) * series.step_interval)
          : Object.keys(plain[key]!.values!).map(Number);
        expect([...series.values.keys()]).toEqual(expected);
      }
    });

    it(`${name} is refused when cut`, () => {
      const end = text.trimEnd().length;
      for (let i = 1; i <= 40; i += 1) refusal(text.slice(0, Math.floor((end * i) / 41)));
      refusal(text.slice(0, end - 1));
    });
  }

  it('has no other JSON that looks like golden values', () => {
    if (files.length === 0) return;
    for (const path of jsonFiles(CORPUS)) expect(looksLikeGolden(readFileSync(path, 'utf8')), path).toBe(false);
  });
});
