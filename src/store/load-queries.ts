/**
 * Finding query files under the package root, whether the code runs from `src/`, from `dist/src/`, or from an installed
 * package.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { blankText, parseQueryFile, pathOfQueryName, type QueryFile } from './query-file.js';

/** The nearest directory above this file that is our package: compiled code is one level deeper than sources. */
export function packageRoot(): string {
  for (let directory = dirname(fileURLToPath(import.meta.url)); ; directory = dirname(directory)) {
    try {
      const manifest: unknown = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
      if ((manifest as { name?: unknown } | null)?.name === 'mbforensics') return directory;
    } catch {
      // No package.json here, or a stranger's.
    }
    if (dirname(directory) === directory) throw new Error('the package root of mbforensics was not found');
  }
}

let queriesRoot: string | undefined;
const cache = new Map<string, QueryFile>();

/** One query by name; only its own file is read, since a verb needs few of them and start-up time is felt. */
export function loadQuery(name: string): QueryFile {
  const known = cache.get(name);
  if (known !== undefined) return known;
  queriesRoot ??= join(packageRoot(), 'queries');
  const path = pathOfQueryName(name);
  const query = parseQueryFile(path, readFileSync(join(queriesRoot, path), 'utf8'));
  cache.set(name, query);
  return query;
}

/** Every query, private ones too, in order of name. */
export function loadAllQueries(root: string = join(packageRoot(), 'queries')): readonly QueryFile[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.sql'))
    .map((path) => parseQueryFile(path.replaceAll('\\', '/'), readFileSync(join(root, path), 'utf8')))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * The text to run: the statement with the queries it uses put before it as common table expressions. A used query must
 * come after those it uses itself; its parameters must be declared by the user too, because they are bound once.
 */
export function composeSql(query: QueryFile, lookup: (name: string) => QueryFile = loadQuery): string {
  const ordered: QueryFile[] = [];
  const visit = (name: string, trail: readonly string[]): void => {
    if (trail.includes(name)) throw new Error(`${query.name}: @uses goes in a circle at ${name}`);
    const used = lookup(name);
    for (const inner of used.uses) visit(inner, [...trail, name]);
    if (ordered.some((done) => done.name === name)) return;
    for (const param of used.params) {
      if (!query.params.some((ownParam) => ownParam.name === param.name && ownParam.type === param.type)) {
        throw new Error(`${query.name} uses ${name} and must declare its @param ${param.name} ${param.type}`);
      }
    }
    ordered.push(used);
  };
  for (const name of query.uses) visit(name, []);
  if (ordered.length === 0) return query.statement;
  const tables = ordered.map((used) => `${used.name.split('.')[1]} AS (\n${used.statement}\n)`).join(',\n');
  // DuckDB 1.5 does not take a parenthesised WITH inside a WITH, so an own WITH is merged into ours.
  const withClause = /^\s*WITH\s+(RECURSIVE\s+)?/i.exec(blankText(query.statement));
  if (withClause === null) return `WITH ${tables}\n${query.statement}`;
  return `WITH ${withClause[1] ?? ''}${tables},\n${query.statement.slice(withClause[0].length)}`;
}
