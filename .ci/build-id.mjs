// The identity of a build: a hash of all that an answer can depend on. Answers that are kept in the cache directory are
// of one build; see `src/cli/stored-answer.ts`.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** `dist`: what was built; `queries`: its SQL, which it reads. */
export function buildId(manifest, dist, queries) {
  return hashOf('', manifest, [
    [join(dist, 'src'), /\.(?:cjs|js|json)$/],
    [join(dist, 'parsers'), /\.(?:js|json)$/],
    [queries, /\.sql$/],
  ]);
}

/** The identity of all that a build of the checkout at `root` reads. */
export function sourcesId(root) {
  const folders = [
    '.ci',
    'bench',
    'docs',
    'parsers',
    'queries',
    'samples/generate',
    'samples/record',
    'src',
    'test/support',
  ];
  return hashOf(process.version, join(root, 'package-lock.json'), [
    [root, /^(?:package\.json|tsconfig.*\.json)$/, false],
    ...folders.map((folder) => [join(root, folder), /(?<!\.gen)\.(?:ts|mjs|json|sql|tsv|yaml|css|md)$/]),
  ]);
}

function hashOf(seed, first, folders) {
  const hash = createHash('sha256').update(seed).update(readFileSync(first));
  for (const [folder, endings, recursive = true] of folders) {
    const files = readdirSync(folder, { recursive, withFileTypes: true })
      .filter((entry) => entry.isFile() && endings.test(entry.name))
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
    for (const file of files.sort()) hash.update(`\0${relative(folder, file)}\0`).update(readFileSync(file));
  }
  return hash.digest('hex');
}
