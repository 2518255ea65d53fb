/** Query files → the TypeScript of `queries/queries.gen.ts`. Pure; `.ci/generate.mjs` writes the file. */
import type { QueryField, QueryFile } from './query-file.js';

/**
 * BIGINT is `number`: byte counts and times, which have to be added. Typed rows hold the nearest double beyond 2^53;
 * only a hostile file has such counts. UBIGINT and HUGEINT are identities (addresses), so they stay exact.
 */
const TYPES: ReadonlyMap<string, string> = new Map([
  ['BOOLEAN', 'boolean'],
  ['TINYINT', 'number'],
  ['SMALLINT', 'number'],
  ['INTEGER', 'number'],
  ['BIGINT', 'number'],
  ['UTINYINT', 'number'],
  ['USMALLINT', 'number'],
  ['UINTEGER', 'number'],
  ['UBIGINT', 'number | bigint'],
  ['HUGEINT', 'number | bigint'],
  ['FLOAT', 'number'],
  ['DOUBLE', 'number'],
  ['VARCHAR', 'string'],
  ['ENUM', 'string'],
  ['UUID', 'string'],
  ['DATE', 'string'],
  ['TIMESTAMP', 'string'],
  ['MAP', 'readonly { readonly key: string; readonly value: number | null }[]'],
]);

const PARAMETERS: ReadonlyMap<string, string> = new Map([
  ['BIGINT', 'number | bigint'],
  ['TIMESTAMP', 'Date'],
]);

function elementType(query: QueryFile, type: string): string {
  const text = TYPES.get(type.replace(/\(.*\)$/, '')) ?? (type.startsWith('DECIMAL') ? 'number' : undefined);
  if (text === undefined) throw new Error(`${query.name}: no TypeScript type for ${type}`);
  return text;
}

function columnType(query: QueryFile, column: QueryField): string {
  const list = column.type.endsWith('[]');
  const element = elementType(query, list ? column.type.slice(0, -2) : column.type);
  const type = list ? `readonly (${element})[]` : element;
  return column.nullable ? `${type} | null` : type;
}

function parameterLine(query: QueryFile, param: QueryField): string {
  const type = PARAMETERS.get(param.type) ?? elementType(query, param.type);
  return param.nullable ? `${param.name}?: ${type} | null | undefined` : `${param.name}: ${type}`;
}

function comment(text: string): string {
  return text === '' ? '' : `      /** ${text.replaceAll('*/', '* /')} */\n`;
}

/** `queries` in order of name. Private ones and the library get no type: only SQL uses them. */
export function generateQueryTypes(queries: readonly QueryFile[]): string {
  const entries = queries
    .filter((query) => !query.name.startsWith('_') && query.kind === undefined)
    .map((query) => {
      const params = query.params
        .map((param) => `${comment(param.text)}      ${parameterLine(query, param)};\n`)
        .join('');
      const row = query.columns
        .map((column) => `${comment(column.text)}      ${column.name}: ${columnType(query, column)};\n`)
        .join('');
      return [
        `  /** ${query.title} */\n`,
        `  '${query.name}': {\n`,
        params === '' ? '    params: Record<string, never>;\n' : `    params: {\n${params}    };\n`,
        `    row: {\n${row}    };\n`,
        '  };\n',
      ].join('');
    });
  return `// Generated from queries/**/*.sql by \`npm run generate\`. Do not edit.

export interface Queries {
${entries.join('')}}
`;
}
