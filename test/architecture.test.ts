/** Which folder may import which. A new arrow is a decision, so it fails here first. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..');

/** What every topic of src/findings may import, beside the folders below it in FINDINGS. */
const BELOW_FINDINGS = ['src/model', 'src/store', 'queries', 'src/allocator', 'src/estimate', 'src/knowledge'];

/**
 * Topics of src/findings. The first group reads the facts of a run; each of these may import those before it.
 * The other topics import facts only: they meet in `flows`.
 */
const FACTS = ['run', 'stacks', 'trace', 'nsys', 'settings', 'state', 'attribution'];

/** Arrows that are still to be cut. A test fails where an arrow is listed and gone. */
const STILL: Readonly<Record<string, readonly string[]>> = {
  stacks: ['verdict'],
  outside: ['verdict'],
  verdict: ['replay', 'advice', 'estimate', 'outside'],
  compare: ['verdict'],
  advice: ['lint', 'estimate'],
  explain: ['lint', 'advice', 'symptoms'],
  symptoms: ['compare', 'estimate', 'advice', 'verdict'],
  suspects: ['compare'],
  verify: ['advice', 'compare', 'verdict'],
};

/** Folder → folders it may import, besides itself. `parsers/*` is one format, `parsers` their registry. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'src/model': [],
  'src/knowledge': ['src/model'],
  'src/text': ['src/model', 'src/knowledge'],
  'src/sqlite': ['src/model'],
  'parsers/*': ['src/model', 'src/text', 'src/sqlite', 'src/knowledge'],
  parsers: ['src/model', 'parsers/*'],
  'src/allocator': ['src/model'],
  'src/estimate': ['src/model', 'src/knowledge'],
  // The only folder that starts another program.
  'src/git': ['src/model'],
  'src/store': ['src/model', 'queries'],
  'src/ingest': ['src/model', 'parsers', 'src/store', 'src/allocator', 'src/knowledge'],
  queries: [],
  'src/report': ['src/model', 'src/knowledge'],
  'src/cli': [
    'src/model',
    'parsers',
    'src/store',
    'src/ingest',
    'src/git',
    'src/findings/*',
    'src/report',
    'src/allocator',
    'src/knowledge',
    'queries',
  ],
  'samples/generate': ['src/model', 'src/allocator', 'src/knowledge'],
};

function folderOf(file: string): string {
  const parts = file.split(sep);
  if (parts[0] === 'parsers') return parts.length > 2 ? 'parsers/*' : 'parsers';
  if (parts[0] === 'queries') return 'queries';
  if (parts[1] === 'findings') return parts.slice(0, 3).join('/');
  return parts.slice(0, 2).join('/');
}

function allowedFor(folder: string): readonly string[] | undefined {
  const topic = /^src\/findings\/(.+)$/.exec(folder)?.[1];
  if (topic === undefined) return MAY_IMPORT[folder];
  if (topic === 'flows') return [...BELOW_FINDINGS, 'src/findings/*'];
  const place = FACTS.indexOf(topic);
  const topics = [...(place < 0 ? FACTS : FACTS.slice(0, place)), ...(STILL[topic] ?? [])];
  return [...BELOW_FINDINGS, ...topics.map((name) => `src/findings/${name}`)];
}

function sources(directory: string): string[] {
  return readdirSync(join(ROOT, directory), { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return sources(path);
    return /\.ts$/.test(entry.name) && !/\.test\.ts$/.test(entry.name) ? [path] : [];
  });
}

const IMPORT = /(?:from|import)\s*\(?\s*'([^']+)'/g;

/** Files that a file imports, types included. */
function importsOf(file: string): string[] {
  return [...readFileSync(join(ROOT, file), 'utf8').matchAll(IMPORT)]
    .map(([, target]) => target!)
    .filter((target) => target.startsWith('.'))
    .map((target) => relative(ROOT, resolve(ROOT, dirname(file), target)).replace(/\.js$/, '.ts'));
}

describe('imports between folders', () => {
  const files = ['src', 'parsers', 'queries', join('samples', 'generate')].flatMap(sources);

  it('finds the files', () => {
    expect(files.length).toBeGreaterThan(30);
  });

  it.each(files)('%s imports only what its folder may', (file) => {
    const folder = folderOf(file);
    const allowed = allowedFor(folder);
    expect(allowed, `folder ${folder} is not in the table`).toBeDefined();
    for (const imported of importsOf(file)) {
      const other = folderOf(imported);
      const sameParser = folder === 'parsers/*' && imported.split(sep)[1] === file.split(sep)[1];
      if (other === folder && (folder !== 'parsers/*' || sameParser)) continue;
      const names = other.startsWith('src/findings/') ? [other, 'src/findings/*'] : [other];
      expect(
        names.some((name) => allowed!.includes(name)),
        `${file} imports ${imported}`,
      ).toBe(true);
    }
  });

  it('lists no arrow that is already cut', () => {
    const drawn = new Set(
      files.flatMap((file) => importsOf(file).map((imported) => `${folderOf(file)} ${folderOf(imported)}`)),
    );
    const gone = Object.entries(STILL).flatMap(([topic, others]) =>
      others.filter((other) => !drawn.has(`src/findings/${topic} src/findings/${other}`)).map((o) => `${topic} ${o}`),
    );
    expect(gone).toEqual([]);
  });

  it('reads the environment and exits only in src/cli', () => {
    const elsewhere = files.filter((file) => !file.startsWith(join('src', 'cli')) && !file.startsWith('samples'));
    const guilty = elsewhere.filter((file) =>
      /process\.(env|exit\b|argv)/.test(readFileSync(join(ROOT, file), 'utf8')),
    );
    expect(guilty).toEqual([]);
  });
});
