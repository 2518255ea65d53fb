/** The same log plain and in each notation that carries logs: the same facts, on the lines of the file. */
import { describe, expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { LOG_FORMATS } from '../../parsers/log/formats/index.js';
import { logParser } from '../../parsers/log/index.js';
import { detect } from '../../src/ingest/discover/detect.js';
import { collectRows } from '../support/collect-rows.js';
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
    rows.push(json(Object.fromEntries(named)));
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

it('an export that is newest first is read as it is, with a note', async () => {
  expect(await noted(exported([9, 8, 8, 7, 5]))).toEqual(['newest_first']);
  expect(await noted(exported([5, 7, 8, 8, 9]))).toEqual([]);
  expect(await noted(`Time,Line\n${[3, 2, 1].map((at) => `${second(at)},"x, y"\n`).join('')}`)).toEqual([
    'newest_first',
  ]);
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
