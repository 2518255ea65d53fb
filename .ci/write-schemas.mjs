// JSON Schema files of what `--json=full` prints: one for each `schema` that a type of src/model declares, from the
// type, its comments and those of the queries whose rows it has. Written again when one of these sources has changed.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** The next type that is declared, or the schema of the last one. */
const DECLARED = /^export (?:interface|type) (\w+)|\breadonly schema: '(mbforensics\/([\w-]+)@\d+)'/gm;

/** `target`: the folder of the schemas; `cache`: a file for the hash of what they were made from. */
export async function writeSchemas(root, target, cache) {
  const model = join(root, 'src', 'model');
  const files = readdirSync(model, { recursive: true })
    .filter((name) => name.endsWith('.ts'))
    .sort()
    .map((name) => join(model, name));
  const values = join(root, 'src', 'report', 'document', 'values.ts');
  const sources = [...files, values, join(root, 'queries', 'queries.gen.ts'), join(root, 'queries', 'layouts.gen.ts')];
  const hash = createHash('sha256');
  for (const path of [...sources, join(root, 'package-lock.json'), fileURLToPath(import.meta.url)])
    hash.update(readFileSync(path)).update('\0');
  const key = hash.digest('hex');
  try {
    if (readFileSync(cache, 'utf8') === key) return;
  } catch {
    // Not made yet.
  }
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const generator = await generatorOf(root);
  for (const file of files) {
    let type;
    for (const [, declared, id, name] of readFileSync(file, 'utf8').matchAll(DECLARED)) {
      type = declared ?? type;
      if (id === undefined) continue;
      const { $schema, $ref, definitions } = generator.createSchema(type);
      const text = JSON.stringify(
        { $schema, $id: id, $ref, definitions },
        ESTIMATES.includes(name) ? null : withIntegers,
        1,
      );
      // Names such as RowOf<"log.rates"> cannot be in a URI.
      writeFileSync(join(target, `${name}.json`), `${text.replaceAll(/RowOf<\\"([\w.]+)\\">/g, '$1')}\n`);
    }
  }
  writeFileSync(join(target, 'short.json'), `${JSON.stringify(await shortSchema(root), null, 1)}\n`);
  writeFileSync(cache, key);
}

/** Any short document: its fields have the types of their units, by the table that the renderers use. */
async function shortSchema(root) {
  const values = await import(pathToFileURL(join(root, 'dist', 'src', 'report', 'document', 'values.js')).href);
  // Estimates have fractions of bytes, clocks of microseconds.
  const patterns = values.UNIT_OF_NAME.map(([pattern]) => [pattern.source, { type: ['number', 'null'] }]);
  const any = {
    anyOf: [
      { type: ['string', 'number', 'boolean', 'null'] },
      { type: 'array', items: { $ref: '#/definitions/any' } },
      { $ref: '#/definitions/fields' },
    ],
  };
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    $id: 'mbforensics/short@1',
    description: 'What --json prints of a verb: the fields of its screen.',
    allOf: [{ $ref: '#/definitions/fields' }],
    properties: { schema: { type: 'string', pattern: '^mbforensics/[a-z-]+-short@\\d+$' } },
    required: ['schema'],
    definitions: {
      any,
      fields: {
        type: 'object',
        patternProperties: Object.fromEntries(patterns),
        additionalProperties: { $ref: '#/definitions/any' },
      },
    },
  };
}

async function generatorOf(root) {
  const library = await import('ts-json-schema-generator');
  // The library's own TypeScript: ours is without an interface for programs.
  const { SyntaxKind } = createRequire(dirname(fileURLToPath(import.meta.resolve('ts-json-schema-generator'))))(
    'typescript',
  );
  const config = {
    ...library.DEFAULT_CONFIG,
    tsconfig: join(root, 'tsconfig.json'),
    // The library takes the whole program where this is not set.
    path: join(root, 'src', 'model', '**', '*.ts'),
    skipTypeCheck: true,
    encodeRefs: false,
    sortProps: false,
    strictTuples: true,
  };
  const program = library.createProgram(config);
  // Integers beyond 2^53 are printed as text.
  const text = new library.UnionType([new library.NumberType(), new library.StringType()]);
  const big = { supportsNode: (node) => node.kind === SyntaxKind.BigIntKeyword, createType: () => text };
  const parser = library.createParser(program, config, (chain) => chain.addNodeParser(big));
  return new library.SchemaGenerator(program, parser, library.createFormatter(config), config);
}

/** Where bytes may have a fraction: upstream's estimates do. */
const ESTIMATES = ['estimate', 'residual'];

/** Bytes are integers, also in lists and records of bytes. */
function withIntegers(key, value) {
  if (key !== 'properties') return value;
  const isBytes = (name) => /(?:^|_)bytes$/.test(name);
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, isBytes(name) ? JSON.parse(integersIn(part)) : part]),
  );
}

function integersIn(part) {
  return JSON.stringify(part).replaceAll(/(?<="type":(?:\[(?:"\w+",)*)?)"number"/g, '"integer"');
}
