/** Tables and ENUMs of `queries/schema/*.sql` → `queries/layouts.gen.ts`. `.ci/generate.mjs` writes the file. */
import { schemaEnums, schemaTables } from './load-queries.js';
import { camelCase } from './schema.js';

/** A column of another type is an ENUM. */
const KINDS: Readonly<Record<string, string>> = {
  ...{ BIGINT: 'i64', UBIGINT: 'u64', DOUBLE: 'f64', INTEGER: 'i32', UTINYINT: 'u8' },
};
const TYPES: Readonly<Record<string, string>> = {
  ...{ BIGINT: 'number', UBIGINT: 'number | bigint', DOUBLE: 'number', INTEGER: 'number', UTINYINT: 'number' },
  ...{ BOOLEAN: 'boolean', VARCHAR: 'string', TIMESTAMP: 'Date' },
};

/**
 * The layouts of the tables that are filled by columns: none of their columns is NOT NULL, which an appender would
 * check in every row, and those that may be NULL are marked. And the rows of every table, as code has them before they
 * are written: names in camelCase, and texts instead of their numbers.
 */
export function generateLayouts(): string {
  const tables = schemaTables().map(({ name, columns }) => ({
    name,
    columns: columns.filter(({ isGenerated }) => !isGenerated),
  }));
  const enums = schemaEnums().map(
    ([name, values]) => `  ${name}: [${values.map((value) => `'${value}'`).join(', ')}],\n`,
  );
  const layouts = tables
    .filter(({ columns }) => columns.every(({ nullable }) => nullable))
    .map(({ name, columns }) => {
      const lines = columns.map(({ name, type, isNull, isText }) => {
        const kind = KINDS[type];
        const refersTo = name.endsWith('stack_id') ? 'stack' : isText ? 'text' : undefined;
        return [
          `      { name: '${name}', kind: '${kind ?? 'u8'}'`,
          kind === undefined ? `, values: ENUMS.${type}` : '',
          refersTo === undefined ? '' : `, refersTo: '${refersTo}'`,
          isNull ? ', nullable: true },\n' : ' },\n',
        ].join('');
      });
      return `  ${name}: {\n    table: '${name}',\n    columns: [\n${lines.join('')}    ],\n  },\n`;
    });
  const rows = tables.map(({ name: table, columns }) => {
    const byColumns = columns.every(({ nullable }) => nullable);
    const fields = columns.map(({ name, type, nullable, isNull, isText, text }) => {
      const field = camelCase(isText ? name.replace(/_id$/, '') : name);
      // Nanoseconds since 1970 are beyond 2^53.
      const number = name.endsWith('_ns') ? 'number | bigint' : TYPES[type];
      const known = isText ? 'string' : (number ?? (/\W/.test(type) ? 'unknown' : `(typeof ENUMS.${type})[number]`));
      return `    /** ${text} */\n    readonly ${field}: ${known}${(byColumns ? isNull : nullable) ? ' | null' : ''};\n`;
    });
    return `  ${table}: {\n${fields.join('')}  };\n`;
  });
  return `// Generated from queries/schema/*.sql by \`npm run generate\`. Do not edit.

export const ENUMS = {
${enums.join('')}} as const;

export const LAYOUTS = {
${layouts.join('')}} as const;

export interface TableRows {
${rows.join('')}}
`;
}
