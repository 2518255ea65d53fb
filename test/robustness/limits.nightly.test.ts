/**
 * Files of at most 4 MB that ask for much memory or time (`limit-inputs.yaml`), each with a log in the same directory.
 * One process reads them; it is ended after 12 s of CPU time or 90 s: a guard against hangs, more than twice the goal
 * of 5 s. MBF_LIMITS_TABLE names a file for what each took, MBF_LIMITS_MAIN the `main.js` of another build to compare
 * with.
 */
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ProgramHost } from '../fuzz/program-host.js';
import { buildCli } from '../support/cli.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const MOST_RSS_BYTES = 2 ** 30;
const MB = 1_000_000;

interface Text {
  readonly before?: string;
  /** In the place of `before`: as often as fits into a number of bytes, between two texts. */
  readonly lead?: readonly [before: string, unit: string, bytes: number, after: string];
  readonly unit?: string;
  readonly times?: number;
  readonly bytes?: number;
  readonly after?: string;
  readonly make?: keyof typeof MADE;
}
interface Group {
  readonly file: string;
  readonly pod?: boolean;
  readonly before?: string;
  readonly after?: string;
}

const fill = (unit: string, bytes: number): string => unit.repeat(Math.floor(bytes / Buffer.byteLength(unit)));
const MADE = {
  flowKeys: () => `${'{'.repeat(95)}a: 1${'}: 1'.repeat(94)}}`,
  jsonKeys: () => `${'{'.repeat(60)}"a":1${'}:1'.repeat(59)}}}`,
  calls: () => `${'A({"k":'.repeat(30)}1${'})'.repeat(30)}}`,
  longAlias: () => `a: &a "${'x'.repeat(3 * MB)}"\nb: [${Array(50_000).fill('*a').join(',')}]\n`,
};
const NUMBERS: Readonly<Record<string, (i: number) => string>> = {
  i: String,
  previous: (i) => String(i - 1),
  nine: (i) =>
    Array(9)
      .fill(`*a${i - 1}`)
      .join(','),
  'i / 2^14': (i) => String(i >> 14),
  indent: (i) => ' '.repeat(i - 1),
  'to and fro': (i) => ' '.repeat(1 + (i % 90)),
};

function textOf({ before = '', lead, unit = '', times, bytes = 4 * MB, after = '', make }: Text): string {
  const start = lead === undefined ? before : `${lead[0]}${fill(lead[1], lead[2])}${lead[3]}`;
  if (make !== undefined) return `${start}${MADE[make]()}${after}`;
  const hasNumbers = unit.includes('{') && /\{(?:i|previous|nine|i \/ 2\^14|indent|to and fro)\}/.test(unit);
  if (!hasNumbers) return `${start}${times === undefined ? fill(unit, bytes) : unit.repeat(times)}${after}`;
  const parts: string[] = [];
  let length = 0;
  for (let i = 1; times === undefined ? length < bytes - 100 : i <= times; i++) {
    const part = unit.replaceAll(/\{([^{}"]{1,10})\}/g, (all, name: string) => NUMBERS[name]?.(i) ?? all);
    parts.push(part);
    length += part.length;
  }
  return `${start}${parts.join('')}${after}`;
}

const LINES = parse(readFileSync(join(import.meta.dirname, 'limit-inputs.yaml'), 'utf8')) as readonly (
  | Group
  | Readonly<Record<string, Text>>
)[];
let group: Group = { file: '' };
const INPUTS = LINES.flatMap((line) => {
  if ('file' in line) {
    group = line as Group;
    return [];
  }
  const { file, pod, before = '', after = '' } = group;
  return Object.entries(line).map(([name, text]) => {
    const make = (): string => {
      const inner = textOf(text);
      if (pod !== true) return `${before}${inner}${after}`;
      return before + fill(`apiVersion: v1\nkind: Pod\nmetadata:\n  name: b\n  labels:\n${inner}---\n`, 4 * MB);
    };
    return { name, file, make };
  });
});

const directory = temporaryDirectory();
const host = new ProgramHost(join(directory, 'home'), process.env['MBF_LIMITS_MAIN'] ?? buildCli().script);
afterAll(() => host.close());

const LOG = Array.from(
  { length: 5 },
  (_, i) =>
    ` iteration        ${i + 1}/     100 | consumed samples:           64 | elapsed time per iteration (ms): 1000.0 | ` +
    'learning rate: 1.000E-04 | global batch size:    64 | lm loss: 1.000000E+01 | loss scale: 1.0 | grad norm: 1.000 |',
).join('\n');

async function run(name: string, ...args: string[]) {
  const started = performance.now();
  const answer = await host.run(args, directory);
  if ('fault' in answer) throw new Error(answer.fault);
  const { status, stdout, stderr } = answer;
  const table = process.env['MBF_LIMITS_TABLE'];
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (table !== undefined)
    appendFileSync(table, `${name.padEnd(48)} exit ${status}  ${seconds} s  ${stderr.slice(0, 70)}\n`);
  expect(`${stdout}${stderr}`).not.toMatch(/bug in mbforensics|FATAL ERROR|\n\s+at .{1,300}\.c?js:/);
  expect(host.maxRssBytes).toBeLessThan(MOST_RSS_BYTES);
  expect([0, 1, 4]).toContain(status);
  return answer;
}

it('the list is read', () => {
  expect(INPUTS.length).toBe(130);
});

it.each(INPUTS.filter(({ file }) => file !== 'rules.yaml'))(
  '$name is read within limits, and the log beside it is ingested',
  async ({ name, file, make }) => {
    const folder = join(directory, 'run');
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    const content = make();
    expect(Buffer.byteLength(content)).toBeLessThanOrEqual(4_200_000);
    writeFileSync(join(folder, file), content);
    writeFileSync(join(folder, 'train.log'), LOG);
    const store = join(directory, 'store.duckdb');
    rmSync(store, { force: true });
    const { stdout } = await run(name, 'ingest', folder, '--db', store, '--json=full');
    const { sources } = JSON.parse(stdout) as { sources: { path: string; status: string }[] };
    expect(sources.find(({ path }) => path === 'train.log')?.status).toBe('ingested');
  },
);

it.each(INPUTS.filter(({ file }) => file === 'rules.yaml'))(
  '$name are read or refused with the file',
  async ({ name, file, make }) => {
    const path = join(directory, file);
    writeFileSync(path, make());
    const { status, stderr } = await run(name, 'explain', 'rules', 'test', path);
    if (status === 4) expect(stderr).toMatch(/rules\.yaml.*MBF2601|MBF2601[\s\S]*rules\.yaml/);
  },
);
