// What tsc does not do: data files become JSON beside their compiled loader, modules become a bundle, the template of a
// store is made, pages and JSON Schema files are written, and the file named by `bin` is executable. The argument is
// the folder that tsc wrote to, if not dist.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import { parse } from 'yaml';
import { buildId } from './build-id.mjs';
import { writeSchemas } from './write-schemas.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const sources = join(root, 'src', 'knowledge');
const dist = resolve(process.argv[2] ?? join(root, 'dist'));
const built = join(dist, 'src', 'knowledge');
const { parseTsv } = await import(pathToFileURL(join(built, 'parse-tsv.js')).href);

const filesIn = (folder, ending) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && ending.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));

const wanted = new Set();
for (const source of filesIn(sources, /\.(yaml|tsv)$/)) {
  const target = join(built, relative(sources, source).replace(/\.(yaml|tsv)$/, '.json'));
  wanted.add(target);
  const known = statSync(target, { throwIfNoEntry: false });
  if (known !== undefined && known.mtimeMs >= statSync(source).mtimeMs) continue;
  const text = readFileSync(source, 'utf8');
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, JSON.stringify(source.endsWith('.tsv') ? parseTsv(text) : parse(text)));
}
// The generator of samples, and that of exports for tests, read their tables as they are.
const tables = [join(root, 'samples', 'generate'), join(root, 'test', 'support')];
for (const source of tables.flatMap((folder) => filesIn(folder, /\.(sql|tsv)$/))) {
  const target = join(dist, relative(root, source));
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(source, target);
}
for (const stale of filesIn(built, /\.json$/)) if (!wanted.has(stale)) rmSync(stale);

const { PAGES } = await import(
  pathToFileURL(join(dist, 'src', 'findings', 'flows', 'explain', 'pages', 'index.js')).href
);
const docs = join(dist, 'docs');
mkdirSync(docs, { recursive: true });
for (const [name, page] of Object.entries(PAGES)) writeFileSync(join(docs, name), page());

await writeSchemas(root, join(dist, 'schemas'), join(dist, 'schemas.hash'));

// The 700 modules and packages of a question in 60 files: finding, reading and compiling them one by one takes longer
// (0.4 s) than most answers. The database itself is native, so it stays a package.
const bundled = join(dist, 'src', 'bundle');
rmSync(bundled, { recursive: true, force: true });
const entries = {
  program: join(dist, 'src', 'cli', 'program.js'),
  'decode-thread': join(dist, 'src', 'ingest', 'read', 'decode-thread.js'),
};
const bundle = await rolldown({
  cwd: root,
  input: entries,
  platform: 'node',
  external: ['@duckdb/node-bindings'],
  checks: { ineffectiveDynamicImport: false },
});
await bundle.write({ dir: bundled, format: 'cjs', entryFileNames: '[name].cjs', chunkFileNames: '[name]-[hash].cjs' });
for (const name of Object.keys(entries)) {
  const load = "import { loadBundled } from '../cli/load-bundle.js';\n\n";
  const runs = name === 'program' ? 'export const { runProgram } = ' : '';
  writeFileSync(join(bundled, `${name}.js`), `${load}${runs}loadBundled('./${name}.cjs');\n`);
}

// The program and the style of the page that `report` writes. They are put into each page.
const pageStyle = join('src', 'report', 'page', 'page.css');
mkdirSync(dirname(join(dist, pageStyle)), { recursive: true });
copyFileSync(join(root, pageStyle), join(dist, pageStyle));
const page = await rolldown({
  cwd: root,
  input: join(root, 'src', 'report', 'page', 'main.ts'),
  platform: 'browser',
  tsconfig: join(root, 'src', 'report', 'page', 'tsconfig.json'),
});
await page.write({ file: join(dist, 'src', 'report', 'page', 'page.js'), format: 'iife', minify: true });

// The template of new stores; see `src/store/open-store.ts`. Without the last one, it is made from all its statements.
const template = join(built, '..', 'store', 'new.duckdb');
rmSync(template, { force: true });
// Its tables, to compare stores with; see `src/store/check-tables.ts`.
const { describeTables } = await import(pathToFileURL(join(dist, 'src', 'store', 'check-tables.js')).href);
writeFileSync(join(built, '..', 'store', 'new-tables.json'), JSON.stringify(await describeTables()));
const { openStore } = await import(pathToFileURL(join(dist, 'src', 'store', 'open-store.js')).href);
const made = join(dist, 'new.duckdb');
rmSync(made, { force: true });
await (await openStore(made, { mode: 'write' })).close();
renameSync(made, template);

writeFileSync(join(built, '..', 'build-id'), buildId(join(root, 'package.json'), dist, join(root, 'queries')));

chmodSync(join(dist, 'src', 'cli', 'main.js'), 0o755);

// V8's code of what questions run; see `src/cli/load-bundle.ts`.
execFileSync(process.execPath, [join(root, '.ci', 'keep-code.mjs'), dist], { stdio: ['ignore', 'ignore', 'inherit'] });
