// What tsc does not do: data files become JSON beside their compiled loader, and the file named by `bin` is executable.
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const sources = join(root, 'src', 'knowledge');
const built = join(root, 'dist', 'src', 'knowledge');
const { parseTsv } = await import('../dist/src/knowledge/parse-tsv.js');

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
for (const stale of filesIn(built, /\.json$/)) if (!wanted.has(stale)) rmSync(stale);
chmodSync(join(root, 'dist', 'src', 'cli', 'main.js'), 0o755);
