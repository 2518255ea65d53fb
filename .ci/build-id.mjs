// The identity of a build: a hash of all that an answer can depend on. Answers that are kept in the cache directory are
// of one build; see `src/cli/stored-answer.ts`.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** `dist`: what was built; `queries`: its SQL, which it reads. */
export function buildId(manifest, dist, queries) {
  const hash = createHash('sha256').update(readFileSync(manifest));
  for (const [folder, endings] of [
    [join(dist, 'src'), /\.(?:cjs|js|json)$/],
    [join(dist, 'parsers'), /\.(?:js|json)$/],
    [queries, /\.sql$/],
  ]) {
    const files = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && endings.test(entry.name))
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
    for (const file of files.sort()) hash.update(`\0${relative(folder, file)}\0`).update(readFileSync(file));
  }
  return hash.digest('hex');
}
