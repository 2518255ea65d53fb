/** Tables and ENUMs of `queries/schema/*.sql` → `queries/layouts.gen.ts`. `.ci/generate.mjs` writes the file. */
import { schemaEnums, schemaTables } from './schema.js';

/** A column of another type is an ENUM. */
const KINDS: Readonly<Record<string, string>> = {
  ...{ BIGINT: 'i64', UBIGINT: 'u64', DOUBLE: 'f64', INTEGER: 'i32', UTINYINT: 'u8' },
};

/**
 * The layouts of the tables that are filled by columns. None of their columns is NOT NULL, which an appender would check
 * in every row; those that may be NULL say so.
 */
export function generateLayouts(): string {
  const enums = schemaEnums().map(
    ([name, values]) => `  ${name}: [${values.map((value) => `'${value}'`).join(', ')}],\n`,
  );
  const layouts = schemaTables()
    .filter(({ columns }) => columns.every(({ nullable }) => nullable))
    .map(({ name, columns }) => {
      const lines = columns.map(({ name, type, isNull, text }) => {
        const kind = KINDS[type];
        const refersTo = name === 'stack_id' ? 'stack' : text.includes('a text_value') ? 'text' : undefined;
        return [
          `      { name: '${name}', kind: '${kind ?? 'u8'}'`,
          kind === undefined ? `, values: ENUMS.${type}` : '',
          refersTo === undefined ? '' : `, refersTo: '${refersTo}'`,
          isNull ? ', nullable: true },\n' : ' },\n',
        ].join('');
      });
      return `  ${name}: {\n    table: '${name}',\n    columns: [\n${lines.join('')}    ],\n  },\n`;
    });
  return `// Generated from queries/schema/*.sql by \`npm run generate\`. Do not edit.

export const ENUMS = {
${enums.join('')}} as const;

export const LAYOUTS = {
${layouts.join('')}} as const;
`;
}
