/** The JSON Schema files that the build ships, as judges of what verbs print. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import { expect } from 'vitest';
import { sharedBuild } from '../store/scratch.js';

const known = new Map<string, ValidateFunction>();

function judgeOf(name: string): ValidateFunction {
  const judge =
    known.get(name) ??
    new Ajv({ allErrors: true, allowUnionTypes: true }).compile(
      JSON.parse(readFileSync(join(sharedBuild(), 'schemas', `${name}.json`), 'utf8')) as object,
    );
  known.set(name, judge);
  return judge;
}

/** A document is as the schema of its name, field by field: none is missing, and none is undeclared. */
export function expectValid(document: unknown, what: string): void {
  const { schema = '' } = document as { readonly schema?: string };
  const name = /^mbforensics\/([\w-]+)@\d+$/.exec(schema)?.[1];
  if (name === undefined) throw new Error(`${what}: its schema is ${JSON.stringify(schema)}`);
  const judge = judgeOf(name);
  judge(document);
  const faults = (judge.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath}: ${message} ${JSON.stringify(params)}`,
  );
  expect(faults.slice(0, 20), `${what} (${schema})`).toEqual([]);
}
