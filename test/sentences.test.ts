/** Sentences are made in src/report only: findings return codes with figures, src/knowledge/words has the words. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'rolldown/parseAst';
import { describe, expect, it } from 'vitest';
import { wordTable } from '../src/report/words/fill.js';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');

/** What a user reads as a remedy of an error, and what is data: SQL, patterns, conditions, lines to paste. */
const NO_SENTENCE = /^(?:SELECT|DELETE FROM|UPDATE|INSERT|mbforensics|export|git|nsys) |[(|)]\?|\\[bsdw]| [≠<>] |^\s*$/;

/** Names of figures and origins as files, stores and upstream have them; they are compared, and stored. */
const NAMES =
  /^(?:lm loss|total loss|grad norm|GPU utilization|elapsed time per iteration \(ms\)|log (?:dump|yaml|summary|banner)|run file|command line|config file|memory snapshot|nsys capture|optimizer step|failure message|largest sample|same file|by hand|world size|first step)/;

/** Parts of errors that are not written in the error itself: errors are not results. */
const OF_ERRORS: Readonly<Record<string, number>> = {
  'src/derive/state/choose-snapshot.ts': 2,
  'src/derive/trace/moment.ts': 1,
  'src/derive/trace/state-at.ts': 6,
  'src/findings/compare/bisect/criterion-checks.ts': 3,
  'src/findings/compare/bisect/criterion.ts': 3,
  'src/findings/diff/choose-pair.ts': 3,
  'src/findings/export/export-live-stacks.ts': 3,
  'src/findings/flows/bisect/records.ts': 3,
  'src/findings/replay/describe-edits.ts': 1,
  'src/findings/replay/describe-what-if.ts': 1,
  'src/findings/timeline/zoom-range.ts': 6,
  'src/findings/verdict/show.ts': 2,
};

/** Names of groups and rows, conditions in their notation, names of CUDA's errors, lines to paste and commands. */
const OF_DATA: Readonly<Record<string, number>> = {
  'src/derive/nsys/cuda-errors.ts': 25,
  'src/derive/settings/condition.ts': 3,
  'src/derive/settings/parse-condition.ts': 14,
  'src/derive/settings/terms.ts': 23,
  'src/derive/stacks/read-stacks.ts': 2,
  'src/derive/state/live/live-sites.ts': 1,
  'src/derive/verdict/arrange-verdicts.ts': 2,
  'src/findings/advice/fixes/failing-site.ts': 1,
  'src/findings/advice/trainer.ts': 1,
  'src/findings/compare/site-changes.ts': 1,
  'src/findings/diff/side-stacks.ts': 1,
  'src/findings/diff/split-by-caller.ts': 2,
  'src/findings/measure/contract.ts': 1,
  'src/findings/state/live/live-groups.ts': 9,
  'src/findings/state/parity/bridge.ts': 1,
  'src/findings/symptoms/constraints.ts': 2,
};

/** Where a fact of a run is from, and why it is so: texts that the store or a golden document keeps as they are. */
const STORED: Readonly<Record<string, number>> = {
  'src/derive/circumstances.ts': 1,
  'src/derive/estimate/residual/readings.ts': 17,
  'src/derive/estimate/run-inputs.ts': 9,
  'src/derive/lint/expandable-constraint.ts': 12,
  'src/derive/measure/run-state.ts': 1,
  'src/derive/nsys/owner-rules.ts': 18,
  'src/derive/nsys/range-paths.ts': 1,
  'src/derive/nsys/report-memory.ts': 1,
  'src/derive/nsys/step-windows.ts': 2,
  'src/derive/replay/ask.ts': 1,
  'src/derive/replay/sweep-questions.ts': 1,
  'src/derive/run/first-failure.ts': 11,
  'src/derive/run/log-facts.ts': 2,
  'src/derive/run/pace.ts': 4,
  'src/derive/run/run-facts.ts': 17,
  'src/derive/settings/framework-versions.ts': 1,
  'src/derive/settings/sizes.ts': 1,
  'src/derive/settings/versions.ts': 1,
  'src/derive/verdict/accounting.ts': 1,
  'src/derive/verdict/no-oom.ts': 2,
  'src/derive/verdict/step-clock.ts': 3,
  'src/findings/compare/bisect/judge-commit.ts': 2,
  'src/findings/measure/disturbances.ts': 9,
};

/** Results that still have sentences, and how many: the number may only fall. */
const LEFT: Readonly<Record<string, number>> = {
  'src/derive/lint/lint.ts': 2,
  'src/findings/flows/explain/explain.ts': 3,
  'src/findings/flows/explain/pages/index.ts': 7,
  'src/findings/flows/explain/pages/knobs.ts': 9,
  'src/findings/flows/explain/pages/markdown.ts': 1,
  'src/findings/flows/explain/upstream.ts': 1,
  'src/findings/flows/report.ts': 3,
  'src/findings/picture/choose-ranges.ts': 5,
  'src/findings/picture/draw-device.ts': 4,
  'src/findings/snapshots/describe-series.ts': 2,
};

/** Figures in such texts. */
const LEFT_FORMATS: readonly string[] = [
  'src/derive/estimate/residual/readings.ts',
  'src/derive/estimate/run-inputs.ts',
  'src/derive/lint/expandable-constraint.ts',
  'src/derive/run/run-facts.ts',
  'src/findings/compare/bisect/judge-commit.ts',
  'src/findings/measure/disturbances.ts',
  'src/findings/picture/draw-device.ts',
];

interface Node {
  readonly type: string;
  readonly start: number;
  readonly [key: string]: unknown;
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';

/** Children that may be sentences: no types, no imports, nothing of an error. */
function* nodesOf(node: Node): Generator<Node> {
  const isError = node.type === 'NewExpression' && /Error$/.test(String((node['callee'] as Node)['name']));
  if (isError || node.type === 'ImportDeclaration') return;
  yield node;
  for (const child of Object.values(node).flat()) if (isNode(child)) yield* nodesOf(child);
}

/** The text of a literal, `{}` for what a template has in it. */
function textOf(node: Node): string | undefined {
  if (node.type === 'Literal' && typeof node['value'] === 'string') return node['value'];
  if (node.type !== 'TemplateLiteral') return undefined;
  return (node['quasis'] as { readonly value: { readonly cooked: string } }[])
    .map(({ value }) => value.cooked)
    .join('{}');
}

/** Two words or more next to each other, one of them in small letters; of a template, a figure counts as one. */
const PROSE = /[A-Za-z]{2,}[,;:]? [a-z]{2,}|\{\} [a-z]{2,}|[a-z]{2,},? \{\}/;

function sentencesIn(source: string): string[] {
  const texts = [...nodesOf(parseAst(source, { lang: 'ts' }) as unknown as Node)].flatMap((node) => textOf(node) ?? []);
  return texts.filter((text) => PROSE.test(text) && !NO_SENTENCE.test(text) && !NAMES.test(text));
}

/** Calls that put a figure into words, outside of errors. */
const formatsIn = (source: string): string[] =>
  !/ from '[^']*\/units\.js'/.test(source)
    ? []
    : [...nodesOf(parseAst(source, { lang: 'ts' }) as unknown as Node)]
        .filter(({ type }) => type === 'Identifier')
        .map((node) => String(node['name']))
        .filter((name) => /^(?:formatBytes|formatCount|counted)$/.test(name));

const files = ['src/findings', 'src/derive'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name}`)
    .sort(),
);
const sources = new Map(files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));

describe('findings', () => {
  it.each([
    ["const text = 'they grew a lot';", 1],
    ['const text = `$A of $B grew`;', 1],
    ["const text = isOne ? 'one change' : `all $N changes`;", 2],
    ["throw new MbfError('MBF1001', `unknown name $N; expected one of these`);", 0],
    ["import { a } from './of these.js'; const sql = 'SELECT 1 FROM log_memory LIMIT 1';", 0],
    ["const key = 'peak_allocated'; const line = `$K=$V`;", 0],
  ])('of %s', (source, count) => {
    expect(sentencesIn(source.replace(/\$([A-Z])/g, '$${$1}'))).toHaveLength(count);
  });

  it('make no sentence', () => {
    const counts = files.flatMap((file) => {
      const texts = sentencesIn(sources.get(file)!);
      return texts.length === 0 ? [] : [[file, texts.length] as const];
    });
    expect(Object.fromEntries(counts)).toEqual({ ...OF_ERRORS, ...OF_DATA, ...STORED, ...LEFT });
  });

  it('format no figure', () => {
    expect(files.filter((file) => formatsIn(sources.get(file)!).length > 0).sort()).toEqual(LEFT_FORMATS);
  });
});

describe('sentences', () => {
  const MAKER = /(?:const (\w+) = )?sentencesOf\('([\w-]+)'(?:, '([\w-]+)')?\)/g;

  it('have words for every code', () => {
    /** Of makers that other files import. */
    const shared = new Map<string, readonly [string, string]>();
    for (const source of sources.values())
      for (const [, name, topic, table = 'sentences'] of source.matchAll(
        /export const (\w+) = sentencesOf\('([\w-]+)'(?:, '([\w-]+)')?\)/g,
      ))
        shared.set(name!, [topic!, table]);
    const unknown = [...sources].flatMap(([file, source]) => {
      const makers = new Map(shared);
      for (const [, name, topic, table = 'sentences'] of source.matchAll(MAKER))
        if (name !== undefined) makers.set(name, [topic!, table]);
      return [...makers].flatMap(([name, [topic, table]]) =>
        [...source.matchAll(new RegExp(`(?<![.\\w])${name}\\('([\\w-]+)'[,)]`, 'g'))]
          .map(([, code]) => code!)
          .filter((code) => wordTable(topic, table)[code] === undefined)
          .map((code) => `${file}: ${topic}.${table}.${code}`),
      );
    });
    expect(unknown).toEqual([]);
  });
});
