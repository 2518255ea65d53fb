/** The same log plain and in each notation that carries logs: the same facts, on the lines of the file. */
import { describe, expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { explainLog } from '../../parsers/log/explain-log.js';
import { LOG_FORMATS } from '../../parsers/log/formats/index.js';
import { logParser } from '../../parsers/log/index.js';
import { detect } from '../../src/ingest/discover/detect.js';
import { containerOf, unwrapHead } from '../../src/text/log-container.js';
import { collectRows } from '../support/collect-rows.js';
import { bytesSource } from '../support/decode.js';
import { sampled } from '../support/level.js';
import { messageSamples, STORED_SAMPLES, samplesOf } from '../support/log-samples.js';
import { trainingLog } from '../support/training-log.js';

/** A file, and the line of it that has each line of the log, from 1; undefined: in other lines, in the same order. */
interface Wrapped {
  readonly name: string;
  readonly file: string;
  readonly lineOf?: (line: number) => number;
  /** Lines of the file behind the log. */
  readonly tail?: readonly string[];
}
const identity = (line: number): number => line;
const second = (at: number): string => new Date(Date.UTC(2026, 1, 3, 4, 5, at)).toISOString();
const json = JSON.stringify;
const entities = (line: string): string =>
  line
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
const ascii = (text: string): string =>
  text.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
const cell = (text: string): string => `"${text.replaceAll('"', '""')}"`;

const CONTAINERS: Readonly<Record<string, (lines: readonly string[]) => Wrapped>> = {
  'Docker json-file': (lines) => ({
    name: 'x-json.log',
    file: lines.map((line, i) => `${ascii(json({ log: `${line}\n`, stream: 'stderr', time: second(i) }))}\n`).join(''),
    lineOf: identity,
  }),
  'Loki, a record a line': (lines) => ({
    name: 'loki.jsonl',
    file: lines
      .map((line, i) => `${json({ labels: { app: 'train', pod: 'p-0' }, line, timestamp: second(i) })}\n`)
      .join(''),
    lineOf: identity,
  }),
  'the answer of Loki': (lines) => ({
    name: 'loki.json',
    file: json({
      status: 'success',
      data: {
        resultType: 'streams',
        result: [{ stream: { app: 'x' }, values: lines.map((line, i) => [`${1_760_000_000 + i}000000000`, line]) }],
      },
    }),
  }),
  'a list of records': (lines) => ({
    name: 'records.json',
    file: json(lines.map((message, i) => ({ message, time: second(i) }))),
  }),
  'lists of a time and a record': (lines) => ({
    name: 'pairs.json',
    file: json({ values: lines.map((line, i) => [second(i), line]) }),
  }),
  'events of CloudWatch': (lines) => ({
    name: 'events.json',
    file: json(
      {
        events: lines.map((message, i) => ({
          timestamp: 1_760_000_000_000 + i,
          message,
          ingestionTime: 1_760_000_000_009 + i,
        })),
      },
      null,
      4,
    ),
    lineOf: (line) => 5 * (line - 1) + 5,
  }),
  'a query of CloudWatch': (lines) => ({
    name: 'query.json',
    file: json({
      results: lines.map((value, i) => [
        { field: '@timestamp', value: second(i) },
        { field: '@message', value },
      ]),
      status: 'Complete',
    }),
  }),
  'results of Splunk': (lines) => ({
    name: 'splunk.json',
    file: lines
      .map((_raw, i) => `${json({ preview: false, offset: i, result: { _time: second(i), host: 'n1', _raw } })}\n`)
      .join(''),
    lineOf: identity,
  }),
  'CSV of CloudWatch': (lines) => ({
    name: 'export.csv',
    file: `timestamp,message\n${lines.map((line, i) => `${1_760_000_000_000 + i},${cell(line)}\n`).join('')}`,
    lineOf: (line) => line + 1,
  }),
  'CSV of Grafana': (lines) => ({
    name: 'logs.csv',
    file: `"Time","labels","Line","tsNs"\r\n${lines.map((line, i) => `"${second(i)}","{""app"":""x""}",${cell(line)},"${1_760_000_000 + i}000000000"\r\n`).join('')}`,
    lineOf: (line) => line + 1,
  }),
  'one field of a table': (lines) => ({
    name: 'jobs.csv',
    file: `id,log,state\n7,${cell(lines.join('\n'))},failed\n`,
    lineOf: (line) => line + 1,
  }),
  'an issue of an API': (lines) => ({
    name: 'issue.json',
    file: json({
      url: 'https://x.invalid/1',
      title: 'it fails',
      user: { login: 'a' },
      body: `Log:\r\n${lines.join('\r\n')}\r\n`,
    }),
  }),
  'a notebook': (lines) => ({
    name: 'run.ipynb',
    file: json(
      {
        cells: [
          {
            cell_type: 'code',
            outputs: [{ name: 'stdout', output_type: 'stream', text: lines.map((line) => `${line}\n`) }],
            source: ['run()\n'],
          },
        ],
        nbformat: 4,
      },
      null,
      1,
    ),
  }),
  'a page with preformatted text': (lines) => ({
    name: 'issue.html',
    file: `<!DOCTYPE html>\n<html><head><title>Issue: error</title><script>if (a < b) { c = "</div>"; }</script>\n</head><body class="x">\n<div>Log:<pre><code>${lines.map(entities).join('\n')}\n</code></pre></div></body></html>\n`,
    lineOf: (line) => line + 3,
  }),
  'a page with line breaks': (lines) => ({
    name: 'mail.html',
    file: `<html><body><p>${lines.map(entities).join('<br>')}</p></body></html>`,
  }),
  'a page of a file': (lines) => ({
    name: 'blob.html',
    file: `<html>\n<body><table>\n${lines.map((line, i) => `<tr><td id="L${i}" data-line-number="${i}"></td><td class="blob-code blob-code-inner">${entities(line)}</td></tr>\n`).join('')}</table></body></html>`,
    lineOf: (line) => line + 2,
  }),
  'a recording of a terminal': (lines) => ({
    name: 'typescript',
    file: `Script started on 2026-02-03 04:05:06+00:00 [TERM="xterm"]\r\n\x1b[?2004h\x1b]0;a@b: ~\x07$ ./run\r\n${lines.map((line) => `wait |\b\b\b\b\b\b\x1b[0K\x1b[32m${line}\x1b(B\x1b[m\x1b[K\r\n`).join('')}`,
    lineOf: (line) => line + 2,
  }),
  Markdown: (lines) => ({
    name: 'notes.md',
    file: `# Notes\n\nHow it ran:\n\n\`\`\`console\n${lines.join('\n')}\n\`\`\`\n`,
    lineOf: (line) => line + 5,
    tail: ['```', ''],
  }),
};

/** What is read of a file, with its lines; of a line whose place is unknown without. */
async function factsOf(file: string, lineOf: ((line: number) => number) | null): Promise<readonly string[]> {
  const bytes = Buffer.from(file);
  let at = 0;
  const rows: string[] = [];
  const take = (kind: string, { offset: _, ...row }: { readonly line: number; readonly offset?: number }): void => {
    const named = Object.entries({ kind, ...row }).map(([key, value]) => {
      const isLine = /^(?:line|lastLine|tracebackLine)$/.test(key) && value !== null;
      return [key, !isLine ? value : lineOf === null ? '' : lineOf(value as number)] as const;
    });
    // In whatever order the keys are.
    rows.push(json(Object.fromEntries(named.sort(([a], [b]) => (a < b ? -1 : 1)))));
  };
  await logParser.parse(
    {
      sizeBytes: bytes.length,
      // In pieces: nothing depends on where they end.
      async read(target, start) {
        const count = bytes.copy(target, start, at, Math.min(bytes.length, at + 777));
        at += count;
        return count;
      },
    },
    {
      note() {},
      profilerMemory() {},
      snapshot: () => Promise.reject(new Error('no snapshot was to be read')),
      incident: (row) => take('incident', row),
      logRow: (finding, place) => take('row', { ...finding, ...place }),
      attempt: (row) => take('attempt', row),
    },
    { name: 'x' },
  );
  return rows.sort();
}

/** Log lines around a sample: a container is known by more than one line. */
const around = (lines: readonly string[]): string[] => ['starting up', 'still starting', ...lines, 'shutting down'];
const logs = [
  ...LOG_FORMATS.flatMap((format) =>
    samplesOf(format).map(({ lines }, i) => ({
      id: `${format.id} ${i}`,
      lines: around(lines.flatMap((line) => line.split('\n'))),
    })),
  ),
  ...[...STORED_SAMPLES.keys()]
    .filter((id) => !LOG_FORMATS.some((format) => format.id === id))
    .flatMap((id) => messageSamples(id).map(({ text }, i) => ({ id: `${id} ${i}`, lines: around(text.split('\n')) }))),
  {
    id: 'training',
    lines: trainingLog({
      iterations: 20,
      arguments: { num_layers: 32 },
      peaks: [{ rank: 0, first: 1000, later: 2000 }],
      after: [
        'Traceback (most recent call last):',
        '  File "/opt/x.py", line 9, in <module>',
        '    train()',
        '',
        'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.11 GiB',
      ],
    }).split('\n'),
  },
];

describe.each(Object.keys(CONTAINERS))('%s', (kind) => {
  it('has the facts of the log in it', async () => {
    for (const { id, lines } of sampled(logs, 10)) {
      const text = lines.map((line) => [...line].filter((character) => !'\r\b\u001b'.includes(character)).join(''));
      const { file, lineOf = null, tail = [] } = CONTAINERS[kind]!(text);
      const plain = await factsOf([...text, ...tail].join('\n'), lineOf);
      expect(await factsOf(file, lineOf === null ? null : identity), `${kind}: ${id}`).toEqual(plain);
    }
  });
});

const noted = async (file: string): Promise<readonly string[]> =>
  (await collectRows(logParser, file)).notes.map(({ kind }) => kind);
const exported = (times: readonly number[]): string =>
  times.map((at) => `${json({ timestamp: second(at), message: `iteration at ${at}` })}\n`).join('');

describe('a line that Docker wrote as several records', () => {
  const DOCKER_BYTES = 16 * 1024;
  const record = (log: string): string =>
    `${json({ log, stream: 'stderr', time: second(0) }).replaceAll('<', '\\u003c')}\n`;
  const linesOf = (texts: readonly string[]): string[] => {
    const bytes = Buffer.from(texts.map(record).join(''));
    return unwrapHead(containerOf({ bytes, sizeBytes: bytes.length })!, bytes)
      .toString()
      .split('\n');
  };

  it.each(['x', '<', '\t', 'é'])('is one line, of %j', (filler) => {
    const part = filler.repeat(DOCKER_BYTES / Buffer.byteLength(filler));
    expect(linesOf(['a\n', part, part, 'end\n', 'b\n'])).toEqual(['a', `${part}${part}end`, 'b', '']);
    // The end of its last record may be all that it has.
    expect(linesOf([part, '\n', 'b\n'])).toEqual([part, 'b', '']);
    expect(linesOf([`${part}\n`, 'b\n'])).toEqual([part, 'b', '']);
  });

  it('is none where a record is shorter: other drivers leave out the end of every line', () => {
    expect(linesOf(['x'.repeat(DOCKER_BYTES - 1), 'a', 'b'])).toEqual(['x'.repeat(DOCKER_BYTES - 1), 'a', 'b', '']);
  });

  it('has the message of a failure on its first line of the file, and the next one on its own', async () => {
    const message = 'ValueError: bad shape of the second input';
    const cut = `${message}${' '.repeat(DOCKER_BYTES - message.length)}`;
    const file = [`${second(0)} start\n`, cut, 'end\n', 'KeyboardInterrupt\n'].map(record).join('');
    const { incidents } = await collectRows(logParser, file);
    expect(incidents).toMatchObject([
      { exception: 'ValueError', line: 2 },
      { kind: 'cancelled', line: 4 },
    ]);
  });
});

describe('an export that is newest first', () => {
  const iteration = (at: number): string =>
    `[2026-02-03 04:05:${String(at).padStart(2, '0')}] iteration ${at}/ 20 | consumed samples: 32 | elapsed time per iteration (ms): 1000.0 | learning rate: 1.0E-4 | global batch size: 32 | lm loss: 9.0E+00 | loss scale: 1.0 | grad norm: 1.2 | number of skipped iterations: 0 | number of nan iterations: 0 |`;
  const traceback =
    'Traceback (most recent call last):\n  File "/opt/x.py", line 9, in main\n    run()\nValueError: no';
  const texts = [traceback, ...[4, 3, 2, 1].map(iteration)];
  it.each([
    ['lines of JSON', texts.map((line, i) => json({ time: second(9 - i), line })).join('\n'), [1, 2, 3, 4, 5]],
    ['a table', `Time,Line\n${texts.map((line, i) => `${second(9 - i)},${cell(line)}\n`).join('')}`, [5, 6, 7, 8, 9]],
  ])('as %s is read from its last record to its first', async (_, file, [failure = 0, ...places]) => {
    const { notes, attempts, incidents, rows } = await collectRows(logParser, file);
    expect(notes).toMatchObject([{ kind: 'newest_first', severity: 'info' }]);
    expect(attempts.length).toBeLessThanOrEqual(1);
    expect(incidents).toMatchObject([{ line: failure, exception: 'ValueError', frame: { line: 9 } }]);
    const iterations = rows.flatMap(({ finding, place }) =>
      finding.row === 'iteration' ? [[finding.iteration, place.line]] : [],
    );
    expect(iterations).toEqual([1, 2, 3, 4].map((at) => [at, places[4 - at]]));
  });

  it('as one document is read as it is, with a warning', async () => {
    const file = json([3, 2, 1].map((at) => ({ timestamp: second(at), message: iteration(at) })));
    const { notes } = await collectRows(logParser, file);
    expect(notes).toMatchObject([{ kind: 'newest_first', severity: 'warning' }]);
  });

  it('is not one that ascends', async () => {
    expect(await noted(exported([5, 7, 8, 8, 9]))).toEqual([]);
  });
});

const OOM =
  'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.11 GiB';
const ooms = async (file: string): Promise<readonly (readonly [string, number])[]> =>
  (await collectRows(logParser, file)).incidents.map(({ kind, line }) => [kind, line] as const);
const steps = (count: number): string =>
  Array.from({ length: count }, (_, i) => `${json({ level: 'info', message: `step ${i} done` })}\n`).join('');

describe('all texts of a record are read', () => {
  const traceback = `Traceback (most recent call last):\n  File "/opt/x.py", line 9, in main\n    run()\n${OOM}`;
  it.each([
    ['far behind the head', `${steps(3000)}${json({ message: 'Training failed', exc_info: traceback })}\n`, 3001],
    [
      'beside a longer one',
      `${json({ event: 'step', message: OOM, data: 'z'.repeat(200) })}\n`.repeat(1) + steps(2),
      1,
    ],
    ['of a document', json([{ message: 'a' }, { message: 'b', error: { stack: traceback } }], null, 2), 8],
    ['of a row', `time,message,exception\n1,a,\n2,Training failed,${cell(traceback)}\n3,b,\n`, 6],
  ])('%s', async (_, file, line) => {
    expect(await ooms(file)).toEqual([['cuda_oom', line]]);
  });

  it('and where the failure is in another member, the file is read as it is', async () => {
    expect(await ooms(`${steps(5)}${json({ message: 'failed', what: OOM })}\n`)).toEqual([['cuda_oom', 6]]);
  });
});

describe('what is held back is bounded, and the log behind it stays', () => {
  const many = 1_500_000;
  it.each([
    ['blanks', `${steps(60)}${' '.repeat(many)}x\n${json({ message: OOM })}\n`, 62],
    ['line ends', `${json({ log: `a${'\n'.repeat(many)}b` })}\n${json({ log: OOM })}\n`, 2],
    ['breaks of a page', `<html><body>a${'<br>'.repeat(many)}b<br>\n${OOM}\n</body></html>`, 2],
  ])('%s', async (_, file, line) => {
    expect(await ooms(file)).toEqual([['cuda_oom', line]]);
  });
});

it.each(['"log":"abc\\', '"log":"abc\\u00', '"log":"abc\\ud83d', '"lo', '"log"', '"log":["a'])(
  'a record that is cut at %s does not harm the next one',
  async (cut) => {
    expect(await ooms(`${steps(20)}{${cut}\n${json({ log: OOM })}\n`)).toEqual([['cuda_oom', 22]]);
  },
);

it('a title for a terminal without its end takes no line away', async () => {
  const file = `\x1b[32mbegin\x1b[0m\n\x1b]0;title\n${'x\b'.repeat(9)}\x1b(B${OOM}\n`;
  const { incidents } = await collectRows(logParser, file);
  expect(incidents).toMatchObject([{ kind: 'cuda_oom', line: 3, text: OOM }]);
});

it('what no format reads is explained by lines of the file', async () => {
  const lines = ['begin', 'a figure of 3.5 GiB of memory', OOM];
  const bytes = Buffer.from(
    json(
      lines.map((message) => ({ message })),
      null,
      1,
    ),
  );
  const { unmatched, messages } = await explainLog(bytesSource(bytes), 'x', 0);
  expect(unmatched).toMatchObject([{ line: 6 }]);
  expect(messages).toMatchObject([{ first_line: 9 }]);
});

it('the line of the file is found however the distances change', () => {
  const texts = Array.from({ length: 500 }, (_, i) => ['a', 'b', 'c'].slice(0, 1 + ((i * 7) % 3)).join('\n'));
  const file = texts.map((log, i) => `${json({ log })}\n${i % 5 === 0 ? '{}\n{}\n' : ''}`).join('');
  const reader = containerOf({ bytes: Buffer.from(file), sizeBytes: file.length })!.unwrap();
  reader.take(Buffer.from(file));
  const expected: number[] = [];
  let fileLine = 1;
  for (const [i, text] of texts.entries()) {
    for (const _ of text.split('\n')) expected.push(fileLine);
    fileLine += i % 5 === 0 ? 3 : 1;
  }
  expect(expected.map((_, i) => reader.lineOf(i + 1))).toEqual(expected);
});

it('lines of another writer between lines of JSON stay', async () => {
  const record = (line: string): string => `${json({ level: 'INFO', msg: line })}\n`;
  const traceback =
    'Traceback (most recent call last):\n  File "/opt/x.py", line 9, in main\n    run()\nValueError: no\n';
  const { incidents } = await collectRows(logParser, `${record('begin').repeat(60)}${traceback}`);
  expect(incidents).toMatchObject([{ line: 64, exception: 'ValueError', frame: { file: '/opt/x.py', line: 9 } }]);
});

it.each([
  [
    'metrics',
    `${json({ current_steps: 5, total_steps: 9, loss: 2.5, lr: 1e-5, message: 'step 5 of 9' })}\n`.repeat(3),
    'metrics.jsonl',
    'scalars',
  ],
  ['a table of metrics', 'step,loss,lr,text\n1,2.5,0.1,a long text\n2,2.4,0.1,b c d\n', 'metrics.csv', 'scalars'],
  [
    'a configuration',
    json({ train_batch_size: 8, zero_optimization: { stage: 3 }, text: 'x' }),
    'ds_config.json',
    'config',
  ],
])('%s are no log', (_, file, name, parser) => {
  const bytes = Buffer.from(file);
  const detection = detect(PARSERS, { bytes, name, sizeBytes: bytes.length }, { isNamed: true });
  expect(detection).toMatchObject({ status: 'recognised', parser: { id: parser } });
});
