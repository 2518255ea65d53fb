/**
 * Reads the data files of this folder. The sources are YAML (records) and TSV (flat tables). The build converts each to
 * JSON beside the compiled loader, because parsing YAML takes longer than the rest of a short command (20 to 30 ms for
 * the library alone). From the sources (tests, development) the JSON of the last build is read if it is not older than
 * its source (the attribution rules take 200 ms to parse), else the YAML or TSV file itself.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { parseTsv } from './parse-tsv.js';

const require = createRequire(import.meta.url);
const loaded = new Map<string, unknown>();

/**
 * The content of `src/knowledge/<name>.yaml` or `.tsv`.
 * `name` has no extension and may contain folders: `lint/offload`. A TSV file is a list of records by column name.
 * The shape is checked by a test against the file's schema, not here. Throws where the file does not exist.
 * Each file is read once; its content is shared and must not be changed.
 */
export function loadData(name: string): unknown {
  if (!loaded.has(name)) loaded.set(name, readData(name));
  return loaded.get(name);
}

/** The names of all data files, sorted. */
export function dataNames(): string[] {
  const folder = fileURLToPath(new URL('../knowledge/', import.meta.url));
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => file.replaceAll('\\', '/'));
  const names = files.flatMap((file) => /^(.+)\.(?:json|yaml|tsv)$/.exec(file)?.[1] ?? []);
  return [...new Set(names)].sort();
}

function readData(name: string): unknown {
  // The folder is named, because this code also runs from the bundle, in another one.
  const path = (extension: string): string =>
    fileURLToPath(new URL(`../knowledge/${name}.${extension}`, import.meta.url));
  if (existsSync(path('json'))) return JSON.parse(readFileSync(path('json'), 'utf8'));
  const source = existsSync(path('tsv')) ? path('tsv') : path('yaml');
  const built = fileURLToPath(new URL(`../../dist/src/knowledge/${name}.json`, import.meta.url));
  if ((statSync(built, { throwIfNoEntry: false })?.mtimeMs ?? 0) >= statSync(source).mtimeMs)
    return JSON.parse(readFileSync(built, 'utf8'));
  if (source.endsWith('.tsv')) return parseTsv(readFileSync(source, 'utf8'));
  const yaml = require('yaml') as typeof import('yaml');
  return yaml.parse(readFileSync(source, 'utf8'));
}
