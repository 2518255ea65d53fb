// Writes queries/queries.gen.ts, the types of the queries, and queries/layouts.gen.ts, the tables that are filled by
// columns and the rows of all, where they are missing or older than a file of SQL; and src/wasm/module.gen.ts, the
// WebAssembly of src/wasm/assembly. Runs before every type-check, so it compiles its own few sources first: they do not
// import what it writes.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
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
