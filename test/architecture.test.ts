/** The house of DESIGN: which room may import which. A new arrow is a decision, so it fails here first. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..');

/** Room → rooms it may import, besides itself. `parser` is one folder of parsers/, `parsers` their registry. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'src/model': [],
  // What several formats are written in: shell text, nested settings.
  'src/notation': ['src/model'],
  // Files that several exporters write: tables in a database.
  'src/sqlite': ['src/model'],
  'parsers/*': ['src/model', 'src/notation', 'src/sqlite'],
  parsers: ['src/model', 'parsers/*'],
  'src/allocator': ['src/model'],
  'src/estimate': ['src/model'],
  // The only room that starts another program.
  'src/git': ['src/model'],
  'src/store': ['src/model', 'queries'],
  'src/ingest': ['src/model', 'parsers', 'src/store', 'src/allocator'],
  queries: [],
  'src/forensics': ['src/model', 'src/store', 'queries', 'src/allocator', 'src/estimate'],
  'src/report': ['src/model'],
  'src/cli': [
    'src/model',
    'parsers',
    'src/store',
    'src/ingest',
    'src/git',
    'src/forensics',
    'src/report',
    'src/allocator',
    'queries',
  ],
  'samples/generate': ['src/model', 'src/allocator'],
};

function roomOf(file: string): string {
  const parts = file.split(sep);
  if (parts[0] === 'parsers') return parts.length > 2 ? 'parsers/*' : 'parsers';
  if (parts[0] === 'queries') return 'queries';
  return parts.slice(0, 2).join('/');
}

function sources(directory: string): string[] {
  return readdirSync(join(ROOT, directory), { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return sources(path);
    return /\.ts$/.test(entry.name) && !/\.test\.ts$/.test(entry.name) ? [path] : [];
  });
}

const IMPORT = /(?:from|import)\s*\(?\s*'([^']+)'/g;

describe('the house', () => {
  const files = ['src', 'parsers', 'queries', join('samples', 'generate')].flatMap(sources);

  it('has files in it', () => {
    expect(files.length).toBeGreaterThan(30);
  });

  it.each(files)('%s imports only what its room may', (file) => {
    const room = roomOf(file);
    const allowed = MAY_IMPORT[room];
    expect(allowed, `room ${room} is not in the table`).toBeDefined();
    for (const [, target] of readFileSync(join(ROOT, file), 'utf8').matchAll(IMPORT)) {
      if (!target?.startsWith('.')) continue;
      const imported = relative(ROOT, resolve(ROOT, dirname(file), target));
      const other = roomOf(imported);
      const sameParser = room === 'parsers/*' && imported.split(sep)[1] === file.split(sep)[1];
      if (other === room && (room !== 'parsers/*' || sameParser)) continue;
      expect(allowed, `${file} imports ${imported}`).toContain(other);
    }
  });

  it('reads the environment and exits only in src/cli', () => {
    const elsewhere = files.filter((file) => !file.startsWith(join('src', 'cli')) && !file.startsWith('samples'));
    const guilty = elsewhere.filter((file) =>
      /process\.(env|exit\b|argv)/.test(readFileSync(join(ROOT, file), 'utf8')),
    );
    expect(guilty).toEqual([]);
  });
});
