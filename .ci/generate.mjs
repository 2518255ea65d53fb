// Writes queries/queries.gen.ts, the types of the queries, and queries/layouts.gen.ts, the tables that are filled by
// columns and the rows of all, where they are missing or older than a file of SQL; src/wasm/module.gen.ts, the
// WebAssembly of src/wasm/assembly; and src/model/codes.gen.ts, the closed lists of words and the types of codes that
// have a sentence, of src/knowledge. Runs before every type-check, so it compiles its own few sources first: they do
// not import what it writes.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parse } from 'yaml';
import { compileModule } from './compile-module.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const targets = ['queries', 'layouts'].map((name) => join(root, 'queries', `${name}.gen.ts`));
const timeOf = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
const newest = Math.max(
  // Folders too: a query may have been removed.
  ...['', ...readdirSync(join(root, 'queries'), { recursive: true })].map((path) =>
    timeOf(join(root, 'queries', path)),
  ),
  ...['generate-query-types', 'generate-layouts', 'schema', 'load-queries', 'query-file', 'to-duckdb'].map((name) =>
    timeOf(join(root, 'src', 'store', `${name}.ts`)),
  ),
);
if (targets.some((target) => timeOf(target) < newest)) {
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  execFileSync(process.execPath, [tsc, '-p', join(root, '.ci', 'tsconfig.generate.json')], { stdio: 'inherit' });
  const compiled = (name) => import(pathToFileURL(join(root, 'dist', 'generate', 'src', 'store', `${name}.js`)).href);
  const { generateQueryTypes } = await compiled('generate-query-types');
  const { generateLayouts } = await compiled('generate-layouts');
  const { loadAllQueries } = await compiled('load-queries');
  const texts = [generateQueryTypes(loadAllQueries()), generateLayouts()];
  for (const [i, target] of targets.entries()) {
    // A file that stays the same keeps its content, so that an incremental build has nothing to do.
    if (timeOf(target) === 0 || readFileSync(target, 'utf8') !== texts[i]) writeFileSync(target, texts[i]);
    utimesSync(target, new Date(), new Date());
  }
}

const assembly = join(root, 'src', 'wasm', 'assembly');
const module = join(root, 'src', 'wasm', 'module.gen.ts');
if (timeOf(module) < Math.max(...['', ...readdirSync(assembly)].map((path) => timeOf(join(assembly, path))))) {
  const wasm = compileModule(root, join(root, 'dist', 'generate'));
  writeFileSync(module, `export const MODULE =\n  '${wasm.toString('base64')}';\n`);
}

/** Types of codes: what they are, and the files of src/knowledge, or tables in one, whose keys they are. */
const CODES = {
  ErrorCode: ['Codes of errors.', 'errors'],
  EvidenceCode: ['What a piece of evidence is.', 'words/evidence'],
  StepKind: ['What to do next.', 'words/steps'],
  CaptureId: ['What to record next time.', 'words/captures'],
  SummaryKind: ['The summary of a verdict that no test gives: by what was seen of the run.', 'words/causes summaries'],
  MissingKind: ['What is not known.', 'words/verdict missing'],
  AppliedRule: [
    'Rules of the view `verdict`, and what the kind of a line, a replay or another device decides.',
    'words/verdict rules',
    'words/verdict applied',
  ],
  TotalKind: ['What the parts of an account add up to.', 'words/verdict totals'],
  HintKind: ['What the evidence makes of the advice in the message of PyTorch.', 'words/verdict hints'],
};
const codes = join(root, 'src', 'model', 'codes.gen.ts');
const dataOf = (name) => parse(readFileSync(join(root, 'src', 'knowledge', `${name}.yaml`), 'utf8'));
const constants = Object.entries(dataOf('vocabulary')).map(
  ([name, words]) => `export const ${name.toUpperCase()} = ${JSON.stringify(words)} as const;\n`,
);
const types = Object.entries(CODES).map(([type, [text, ...tables]]) => {
  const keys = tables.flatMap((table) => {
    const [file, name] = table.split(' ');
    const content = dataOf(file);
    return Object.keys(name === undefined ? content : content[name]);
  });
  return `/** ${text} */ export type ${type} = ${keys.map((key) => `'${key}'`).join(' | ')};\n`;
});
const text = `// Generated from src/knowledge by \`npm run generate\`. Do not edit.\n${constants.join('')}${types.join('')}`;
if (timeOf(codes) === 0 || readFileSync(codes, 'utf8') !== text) writeFileSync(codes, text);
