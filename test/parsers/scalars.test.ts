/** Exported scalars: every form by its header, figures as iterations and memory, and no foreign table or JSON. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { exportedScalars } from '../../parsers/scalars/index.js';
import { readNumber } from '../../parsers/scalars/numbers.js';
import { plainJson, plainJsonText } from '../../parsers/scalars/plain-json.js';
import { splitHeader } from '../../parsers/scalars/table-plan.js';
import { detect } from '../../src/ingest/detect.js';
import { MbfError } from '../../src/model/errors.js';
import type { IterationFinding } from '../../src/model/log-rows.js';
import { type PlacedFinding, placedRows } from '../support/collect-rows.js';
import { CORPUS } from '../support/corpus.js';
import { bytesSource } from '../support/decode.js';

const parse = (text: string, name: string, chunk?: number) =>
  placedRows(exportedScalars, bytesSource(Buffer.from(text), chunk), name);

const iterations = (rows: readonly PlacedFinding[]) =>
  rows.map(({ finding }) => finding).filter((finding): finding is IterationFinding => finding.row === 'iteration');
const values = (rows: readonly PlacedFinding[]) =>
  rows.flatMap(({ finding }) => (finding.row === 'value' ? [[finding.name, finding.value, finding.iteration]] : []));
const memory = (rows: readonly PlacedFinding[]) =>
  rows.flatMap(({ finding }) =>
    finding.row === 'memory' ? [[finding.metric, finding.bytes, finding.precisionBytes, finding.iteration]] : [],
  );

function claimed(text: string, name: string): string {
  const bytes = Buffer.from(text);
  const detection = detect(PARSERS, { bytes: bytes.subarray(0, 65_536), name, sizeBytes: bytes.length });
  return detection.status === 'recognised' ? detection.parser.id : detection.status;
}
const sniff = (text: string, name: string) => {
  const bytes = Buffer.from(text);
  return exportedScalars.sniff({ bytes: bytes.subarray(0, 65_536), name, sizeBytes: bytes.length });
};

async function codeOf(text: string, name: string): Promise<string> {
  try {
    await parse(text, name);
    return 'read';
  } catch (error) {
    return error instanceof MbfError ? error.code : String(error);
  }
}

const T = 1_760_000_000;
const CURVE_CSV = `Wall time,Step,Value\r\n${T}.25,1,57139998720.0\r\n${T + 1},2,nan\r\n`;
const CURVE_NAME = 'run-a_run-tag-mem-max-allocated-bytes.csv';
const HISTORY_CSV = `,_step,_timestamp,_runtime,train/loss,train/global_step,system.gpu.0.memoryAllocatedBytes,note
0,0,${T}.5,1.5,2.5,10,,hello
1,1,${T + 3}.5,4.5,,,64424509440.0,
2,2,${T + 5},6,2.25,20.0,,
`;
const CHART_CSV = `"Step","warm-sun-7 - iteration-time","warm-sun-7 - iteration-time__MIN","warm-sun-7 - iteration-time__MAX"
"1","17.5","17.5","17.5"
"2","2.25","2.25","2.25"
`;
const LIGHTNING_CSV = `epoch,lr-Adam,step,train_loss,val_loss
0,0.001,49,2.5,
0,,49,,2.75
1,0.0005,99,2.25,
`;
const TRAINER = `{
  "best_global_step": null,
  "best_metric": NaN,
  "epoch": 0.5,
  "global_step": 20,
  "is_hyper_param_search": false,
  "is_world_process_zero": true,
  "log_history": [
    {
      "epoch": 0.25,
      "grad_norm": 1.5,
      "learning_rate": 5e-05,
      "loss": 2.5,
      "memory/max_allocated (GiB)": 13.14,
      "step": 10
    },
    {
      "epoch": 0.5,
      "grad_norm": NaN,
      "learning_rate": 4e-05,
      "loss": -Infinity,
      "step": 20
    },
    {
      "epoch": 0.5,
      "eval_loss": 2.75,
      "eval_runtime": 3.5,
      "step": 20
    }
  ],
  "max_steps": 100,
  "train_batch_size": 2
}
`;
const CURVE_JSON = `[[${T}.5, 1, 2.5], [${T + 1}.5, 2, "NaN"]]`;
const HISTORY_LINES = `{"_step":0,"_timestamp":${T}.5,"_runtime":1.5,"lm loss":2.5,"timer":{"a":{"b":1.5}},"hist":{"_type":"histogram","values":[1]},"x":"NaN"}
{"_step":1,"_timestamp":${T + 1}.5,"_runtime":2.5,"lm loss":NaN,"words":"NaN of a loss"}
`;
const LLAMAFACTORY = `{"current_steps": 5, "total_steps": 100, "loss": 2.5, "lr": 1e-05, "epoch": 0.1, "percentage": 5.0, "elapsed_time": "0:00:10"}
`;
const VERL = `{"step": 1, "data": {"actor/grad_norm": 0.5, "perf/max_memory_allocated_gb": 42.5, "timing_s/step": 12.5}}
`;
const MLFLOW = `1760000000500 2.5 1
1760000001500 nan 2
`;

const FORMS: readonly (readonly [string, string, string])[] = [
  [CURVE_CSV, CURVE_NAME, 'a curve of TensorBoard as CSV'],
  [HISTORY_CSV, 'history.csv', 'the history of W&B as CSV'],
  [CHART_CSV, 'wandb_export_2026-01-01.csv', 'a chart of W&B'],
  [LIGHTNING_CSV, 'metrics.csv', 'the table of Lightning'],
  [TRAINER, 'trainer_state.json', 'the state of a trainer'],
  [CURVE_JSON, 'run-a-tag-lm loss.json', 'a curve of TensorBoard as JSON'],
  [HISTORY_LINES, 'history.jsonl', 'the history of W&B as lines'],
  [LLAMAFACTORY, 'trainer_log.jsonl', 'the log of LLaMA-Factory'],
  [VERL, 'exp.jsonl', 'the metrics of verl'],
  [MLFLOW, 'lm loss', 'a metric of MLflow'],
  ['step,train_loss\n256,2.5\n', 'Train_Samples_train_loss.csv', 'a table of DeepSpeed'],
  ['iteration,loss,grad_norm,lr\n1,2.5,1.5,0.1\n', 'losses.csv', 'a table of a hand-written loop'],
];

describe('every form', () => {
  it.each(FORMS)('is recognised: %#', (text, name) => {
    expect(claimed(text, name)).toBe('scalars');
  });

  it.each(FORMS)('is the same in whatever pieces it is read: %#', async (text, name) => {
    const complete = await parse(text, name);
    expect(complete.rows.length).toBeGreaterThan(0);
    expect(complete.notes).toEqual([]);
    for (const chunk of [1, 2, 7, 50]) expect(await parse(text, name, chunk)).toEqual(complete);
  });

  it.each(FORMS)('cut anywhere gives what it gave before, or one clear error: %#', async (text, name) => {
    const completeRows = new Set((await parse(text, name)).rows.map(({ finding }) => JSON.stringify(finding)));
    for (let length = 0; length < text.length; length += 1) {
      try {
        const { rows } = await parse(text.slice(0, length), name);
        // The last number of a text may be cut to another number, and the last step with it.
        const odd = rows.filter(({ finding }) => !completeRows.has(JSON.stringify(finding)));
        const places = new Set(odd.map(({ place }) => place.line));
        expect(places.size).toBeLessThanOrEqual(1);
      } catch (error) {
        expect(error).toBeInstanceOf(MbfError);
      }
    }
  });

  it('of any bytes behind its beginning ends in rows or in one clear error', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...FORMS),
        fc.nat(400),
        fc.uint8Array({ maxLength: 60 }),
        async ([text, name], at, noise) => {
          const bytes = Buffer.concat([Buffer.from(text.slice(0, at)), noise, Buffer.from(text.slice(at))]);
          try {
            await parse(bytes.toString('latin1'), name);
          } catch (error) {
            if (!(error instanceof MbfError)) throw error;
          }
        },
      ),
      { numRuns: 400 },
    );
  });
});

describe('a curve of TensorBoard', () => {
  it('is named by its file, is as exact as a float, and has times', async () => {
    const { rows } = await parse(CURVE_CSV, CURVE_NAME);
    expect(memory(rows)).toEqual([['max_allocated', 57_139_998_720, 2048, 1]]);
    expect(values(rows)).toEqual([['scalar.mem-max-allocated-bytes', Number.NaN, 2]]);
    expect(rows[0]!.place).toMatchObject({ line: 2, timeUs: (T + 0.25) * 1e6, format: 'scalars.tensorboard' });
    expect(rows[0]!.place.offset).toBe('Wall time,Step,Value\r\n'.length);
  });

  it('has its tag’s strokes back where the dictionary knows it', async () => {
    const curve = `Wall time,Step,Value\n${T},1,43.400001525878906\n`;
    const { rows } = await parse(curve, 'run-.-tag-memory_mem-allocated-gigabytes (1).csv');
    expect(rows[0]!.finding).toMatchObject({ row: 'memory', metric: 'allocated', unit: 'GB' });
  });

  it('is read from JSON too, lists of three', async () => {
    const { rows } = await parse(CURVE_JSON, 'run-a-tag-lm loss.json');
    expect(iterations(rows)).toEqual([
      { row: 'iteration', iteration: 1, target: null, loss: 2.5 },
      { row: 'iteration', iteration: 2, target: null, loss: Number.NaN },
    ]);
    expect(rows.map(({ place }) => place.timeUs)).toEqual([(T + 0.5) * 1e6, (T + 1.5) * 1e6]);
  });
});

describe('an export of W&B', () => {
  it('takes the step from its column, and the monitor’s figures for gauges', async () => {
    const { rows } = await parse(HISTORY_CSV, 'history.csv');
    expect(iterations(rows)).toEqual([
      { row: 'iteration', iteration: 10, target: null, loss: 2.5 },
      { row: 'iteration', iteration: 20, target: null, loss: 2.25 },
    ]);
    const gauges = rows.filter(({ finding }) => finding.row === 'gauge');
    expect(gauges).toMatchObject([
      {
        finding: { metric: 'device_used', bytes: 64_424_509_440, device: 0 },
        place: { line: 3, timeUs: (T + 3.5) * 1e6, format: 'scalars.wandb-history' },
      },
    ]);
  });

  it('of a chart has one run’s metric, without its ranges', async () => {
    const { rows, notes } = await parse(CHART_CSV, 'x.csv');
    expect(iterations(rows).map(({ iteration, stepMs }) => [iteration, stepMs])).toEqual([
      [1, 17_500],
      [2, 2250],
    ]);
    expect(rows).toHaveLength(2);
    expect(notes).toEqual([]);
  });

  it('of a chart with several runs makes no iterations, and adds a note', async () => {
    const header = ['Step', ...['a', 'b'].flatMap((run) => ['', '__MIN', '__MAX'].map((end) => `${run} - loss${end}`))];
    const { rows, notes } = await parse(
      `${header.map((name) => `"${name}"`).join()}\n1,2.5,2.5,2.5,3.5,3.5,3.5\n`,
      'x.csv',
    );
    expect(iterations(rows)).toEqual([]);
    expect(values(rows)).toEqual([
      ['scalar.a - loss', 2.5, 1],
      ['scalar.b - loss', 3.5, 1],
    ]);
    expect(notes).toMatchObject([{ kind: 'scalars_runs', severity: 'warning', count: 2 }]);
  });

  it('of lines has nested names with dots, no histograms, and NaN in both spellings', async () => {
    const { rows } = await parse(HISTORY_LINES, 'history.jsonl');
    expect(iterations(rows).map(({ iteration, loss }) => [iteration, loss])).toEqual([
      [0, 2.5],
      [1, Number.NaN],
    ]);
    expect(values(rows)).toEqual([
      ['scalar.timer.a.b', 1.5, 0],
      ['scalar.x', Number.NaN, 0],
    ]);
  });
});

describe('what trainers write', () => {
  it('Lightning counts from 0', async () => {
    const { rows } = await parse(LIGHTNING_CSV, 'metrics.csv');
    expect(iterations(rows).map(({ iteration, loss, learningRate }) => [iteration, loss, learningRate])).toEqual([
      [50, 2.5, 0.001],
      [100, 2.25, 0.0005],
    ]);
    expect(values(rows)).toContainEqual(['scalar.val_loss', 2.75, 50]);
  });

  it('Hugging Face’s state is its log, each entry in its line, NaN and all', async () => {
    const { rows, notes } = await parse(TRAINER, 'trainer_state.json');
    expect(iterations(rows)).toEqual([
      { row: 'iteration', iteration: 10, target: null, loss: 2.5, learningRate: 5e-5, gradNorm: 1.5 },
      {
        row: 'iteration',
        iteration: 20,
        target: null,
        loss: Number.NEGATIVE_INFINITY,
        learningRate: 4e-5,
        gradNorm: Number.NaN,
      },
    ]);
    expect(memory(rows)).toEqual([['max_allocated', Math.round(13.14 * 2 ** 30), 0.005 * 2 ** 30, 10]]);
    expect(values(rows)).toContainEqual(['scalar.eval/loss', 2.75, 20]);
    const line = TRAINER.split('\n').indexOf('    {') + 1;
    expect(rows.find(({ finding }) => finding.row === 'iteration')!.place).toMatchObject({ line, timeUs: null });
    expect(notes).toEqual([]);
  });

  it('MLflow has a file a metric, with milliseconds', async () => {
    const { rows } = await parse(MLFLOW, 'lm loss');
    expect(iterations(rows).map(({ iteration, loss }) => [iteration, loss])).toEqual([
      [1, 2.5],
      [2, Number.NaN],
    ]);
    expect(rows[0]!.place.timeUs).toBe(1_760_000_000_500_000);
  });

  it('verl and LLaMA-Factory have a line a step', async () => {
    const verl = await parse(VERL, 'exp.jsonl');
    expect(iterations(verl.rows)[0]).toMatchObject({ iteration: 1, stepMs: 12_500, gradNorm: 0.5 });
    expect(memory(verl.rows)).toEqual([['max_allocated', 42.5 * 2 ** 30, 0, 1]]);
    const factory = await parse(LLAMAFACTORY, 'trainer_log.jsonl');
    expect(iterations(factory.rows)[0]).toMatchObject({ iteration: 5, loss: 2.5, learningRate: 1e-5 });
  });

  it('DeepSpeed counts samples', async () => {
    const { rows } = await parse('step,train_loss\n256,2.5\n', 'Train_Samples_train_loss.csv');
    expect(iterations(rows)).toEqual([]);
    expect(values(rows)).toEqual([['scalar.Train/Samples/train_loss', 2.5, undefined]]);
  });
});

describe('what is damaged', () => {
  it('keeps the rows before an unclosed quote and reports its place', async () => {
    const start = 'step,loss,lr\n1,2.5,0.1\n2,2.25,0.1\n';
    const { rows, notes } = await parse(`${start}3,"2,0.1\n4,2,0.1\n`, 'x.csv');
    expect(iterations(rows).map(({ iteration }) => iteration)).toEqual([1, 2]);
    expect(notes).toMatchObject([{ kind: 'scalars_damaged', severity: 'warning', offset: start.length }]);
  });

  it('keeps the entries of a truncated state and reports the place of the cut', async () => {
    const at = TRAINER.indexOf('"eval_loss"');
    const { rows, notes } = await parse(TRAINER.slice(0, at), 'trainer_state.json');
    expect(iterations(rows)).toHaveLength(2);
    expect(notes).toMatchObject([{ kind: 'scalars_damaged', severity: 'warning' }]);
  });

  it('passes lines over that are none', async () => {
    const { rows, notes } = await parse(`${HISTORY_LINES}{"_step":\nnothing\n`, 'history.jsonl');
    expect(iterations(rows)).toHaveLength(2);
    expect(notes).toMatchObject([{ kind: 'scalars_damaged', severity: 'warning', count: 2, line: 3 }]);
  });

  it('reports a header without rows', async () => {
    expect((await parse('step,loss,lr\n', 'x.csv')).notes).toMatchObject([{ kind: 'scalars_empty' }]);
  });

  it('is one clear error where nothing can be read', async () => {
    expect(await codeOf('a,b\n1,2\n', 'x.csv')).toBe('MBF2921');
    expect(await codeOf('', 'x.csv')).toBe('MBF2921');
    expect(await codeOf(TRAINER.slice(0, TRAINER.indexOf('"grad_norm"')), 'trainer_state.json')).toBe('MBF2922');
  });
});

describe('foreign files', () => {
  it.each([
    ['id,text,label\n1,"a document",0\n', 'train.csv'],
    ['step,action,reward\n1,left,0\n', 'episode.csv'],
    ['step,loss\n1,2.5\n', 'x.csv'],
    ['timestamp, index, memory.used [MiB]\n2026/01/01 00:00:00.000, 0, 5 MiB\n', 'smi.csv'],
    ['{"text": "a document", "meta": {"step": 1}}\n{"text": "another"}\n', 'train.jsonl'],
    ['{"step": 1, "data": {"question": "a/b"}}\n', 'train.jsonl'],
    ['{"messages": [{"role": "user", "content": "loss"}]}\n', 'chat.jsonl'],
    ['{"lm loss": {"start_step": 1, "end_step": 2, "step_interval": 1, "values": {"1": 10.5}}}', 'golden_values.json'],
    ['{"0": {"lm loss": 10.5}, "alloc": 43.4, "max_alloc": 58.8}', 'golden.json'],
    ['{"architectures": ["LlamaForCausalLM"], "hidden_size": 4096}', 'config.json'],
    ['[[1, 2, 3], [4, 5, 6]]', 'matrix.json'],
    ['[[-1, 1, 4096, 0], [1700000000000000000, 2, 512, 4]]', 'x.raw.json'],
    ['{"_step": 5, "_timestamp": 1760000000.5, "_runtime": 10, "loss": 2.5}', 'wandb-summary.json'],
    ['iteration 1760000000500 2.5 1\n', 'log'],
    ['1760000000500 a line of a log\n', 'stdout.log'],
    ['1 2 3\n', 'numbers'],
    // An empty column is not the range of a chart.
    ['partition = torch.zeros(int(size[i]),\n.OutOfMemoryError: CUDA out of memory.\n', 'train.log'],
    ['Step,run - loss__MIN,\n1,2,3\n', 'chart.csv'],
  ])('stays unclaimed: %s', (text, name) => {
    expect(sniff(text, name).score).toBe(0);
  });

  it('is nothing of the corpus', () => {
    if (!existsSync(CORPUS)) return;
    for (const entry of readdirSync(CORPUS, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const bytes = readFileSync(join(entry.parentPath, entry.name)).subarray(0, 65_536);
      const head = { bytes, name: entry.name, sizeBytes: bytes.length };
      expect(exportedScalars.sniff(head).score, entry.name).toBe(0);
    }
  });

  it('is never an exception, whatever the bytes', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('{', '[', '"', ',', '\n', '1', 'step', 'loss', ' - ', '__MIN') }),
        (text) => {
          expect(sniff(text, 'x.csv').score).toBeLessThanOrEqual(1);
        },
      ),
    );
  });
});

describe('the parts', () => {
  it.each([
    ['12', 12],
    ['-1.5e-3', -0.0015],
    ['.5', 0.5],
    ['NaN', Number.NaN],
    ['-inf', Number.NEGATIVE_INFINITY],
    ['', undefined],
    ['1,5', undefined],
    ['0x10', undefined],
    ['1_000', undefined],
    ['one', undefined],
  ])('number %s is %s', (text, value) => {
    expect(readNumber(text)).toBe(value);
  });

  it.each([
    ['a,b', ['a', 'b']],
    ['"a, b","c""d",', ['a, b', 'c"d', '']],
    ['"a', null],
    ['"a"b,c', null],
  ])('header %s is %j', (line, cells) => {
    expect(splitHeader(line)).toEqual(cells);
  });

  it('make JSON of Python’s, of the same length, and leave texts alone', async () => {
    const text = '{"a": NaN, "b": [-Infinity, Infinity, -5], "NaN \\" Infinity": "-Infinity"}';
    const plain = plainJsonText(text);
    expect(plain).toHaveLength(text.length);
    expect(JSON.parse(plain)).toEqual({ a: '\u007f', b: ['-inf', 'inf', -5], 'NaN " Infinity': '-Infinity' });
    for (let chunk = 1; chunk < 30; chunk += 1) {
      const source = plainJson(bytesSource(Buffer.from(text), chunk));
      const buffer = Buffer.alloc(100);
      let out = '';
      for (let count = await source.read(buffer, 0); count > 0; count = await source.read(buffer, 0)) {
        out += buffer.toString('utf8', 0, count);
      }
      expect(out).toBe(plain);
    }
  });
});
