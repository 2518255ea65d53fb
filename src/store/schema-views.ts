/**
 * The views that the schema itself makes, as queries use them: by their definitions, like those of the library. What a
 * store has under these names is for other clients, and is not read.
 */
import { MIGRATIONS } from './migrations.js';
import type { QueryFile } from './query-file.js';

let views: ReadonlyMap<string, QueryFile> | undefined;

export function schemaViews(): ReadonlyMap<string, QueryFile> {
  views ??= read();
  return views;
}

function read(): ReadonlyMap<string, QueryFile> {
  const made = new Map<string, QueryFile>();
  for (const { sql, title } of MIGRATIONS) {
    for (const [, dropped, name, statement] of sql.matchAll(
      /^(?:DROP VIEW (\w+)|CREATE (?:OR REPLACE )?VIEW (\w+) AS\n([^;]*));$/gm,
    )) {
      if (dropped !== undefined) made.delete(dropped);
      else if (name !== undefined && statement !== undefined)
        made.set(name, { ...NO_FIELDS, name: `schema.${name}`, title, statement });
    }
  }
  return made;
}

const NO_FIELDS = { kind: 'view', why: '', params: [], columns: [], uses: [] } as const;

/** Views of the schema that a statement reads. Their names are also those of columns, so the word before counts. */
export function schemaViewsIn(statement: string): QueryFile[] {
  const names = new Set([...statement.matchAll(/\b(?:FROM|JOIN)\s+(\w+)/gi)].map(([, name]) => name!));
  return [...names].flatMap((name) => schemaViews().get(name) ?? []);
}
