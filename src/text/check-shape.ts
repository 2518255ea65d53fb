/**
 * Checks the shape of data: of a user's file, and in tests of our own. A shape is:
 * - a type name, or several: `'string'`, `'number|null'` (`string`, `number`, `integer`, `boolean`, `null`, `any`)
 * - a regular expression that a string must match as a whole
 * - `[shape]`: a list; `[shape, shape]`: a list of exactly these
 * - `{ key: shape, 'key?': shape }`: a record; other keys are problems, unless `'*': shape` gives their shape
 * - a function that returns the problem of a value, or undefined (see {@link oneOf}, {@link anyOf})
 */
export type Shape = string | RegExp | readonly Shape[] | { readonly [key: string]: Shape } | Check<unknown>;

/** A function as a shape; `admits` exists for types alone. */
export type Check<Value> = ((value: unknown) => string | undefined) & { readonly admits?: Value };

interface Types {
  readonly string: string;
  readonly number: number;
  readonly integer: number;
  readonly boolean: boolean;
  readonly null: null;
  readonly any: unknown;
}
type Named<Name> = Name extends `${infer First}|${infer Rest}`
  ? Named<First> | Named<Rest>
  : Name extends keyof Types
    ? Types[Name]
    : never;
type Field<Key> = Key extends '*' | `${string}?` ? never : Key;
type OptionalField<Key> = Key extends `${infer Name}?` ? Name : never;

/** The values that have a shape. */
export type ValueOf<Of> =
  Of extends Check<infer Value>
    ? Value
    : Of extends RegExp
      ? string
      : Of extends string
        ? Named<Of>
        : Of extends readonly [infer First, infer Second]
          ? readonly [ValueOf<First>, ValueOf<Second>]
          : Of extends readonly (infer Item)[]
            ? readonly ValueOf<Item>[]
            : Of extends { readonly '*': infer Each }
              ? Readonly<Record<string, ValueOf<Each>>>
              : { readonly [Key in keyof Of as Field<Key>]: ValueOf<Of[Key]> } & {
                  readonly [Key in keyof Of as OptionalField<Key>]?: ValueOf<Of[Key]>;
                };

const TYPES: Readonly<Record<keyof Types, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
  any: () => true,
};

const shown = (value: unknown): string => (JSON.stringify(value) ?? String(value)).slice(0, 60);

function typeNamed(name: string): (value: unknown) => boolean {
  if (!Object.hasOwn(TYPES, name)) throw new TypeError(`unknown type ${name} in a shape`);
  return TYPES[name as keyof Types];
}

function checkRecord(value: object, shape: { readonly [key: string]: Shape }, path: string): string[] {
  const optional = (key: string): string => `${key}?`;
  const required = Object.keys(shape).filter((key) => key !== '*' && !key.endsWith('?') && !Object.hasOwn(value, key));
  return [
    ...required.map((key) => `${path}.${key}: missing`),
    ...Object.entries(value).flatMap(([key, item]) => {
      const name = [key, optional(key), '*'].find((candidate) => Object.hasOwn(shape, candidate));
      return name === undefined ? [`${path}.${key}: unknown key`] : checkShape(item, shape[name]!, `${path}.${key}`);
    }),
  ];
}

/** The problems of a value, each with its path: `$[3].patterns: expected a list, got "x"`. None if it has the shape. */
export function checkShape(value: unknown, shape: Shape, path = '$'): string[] {
  const expected = (what: string): string[] => [`${path}: expected ${what}, got ${shown(value)}`];
  if (typeof shape === 'string') {
    return shape.split('|').some((name) => typeNamed(name)(value)) ? [] : expected(shape);
  }
  if (shape instanceof RegExp) {
    return typeof value === 'string' && new RegExp(`^(?:${shape.source})$`, shape.flags).test(value)
      ? []
      : expected(`a string like ${shape}`);
  }
  if (typeof shape === 'function') {
    const problem = shape(value);
    return problem === undefined ? [] : [`${path}: ${problem}`];
  }
  if (Array.isArray(shape)) {
    if (!Array.isArray(value)) return expected('a list');
    if (shape.length > 1 && value.length !== shape.length) return expected(`${shape.length} items`);
    return value.flatMap((item, index) => checkShape(item, shape[shape.length > 1 ? index : 0]!, `${path}[${index}]`));
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return expected('a record');
  return checkRecord(value, shape as { readonly [key: string]: Shape }, path);
}

/** One of these values. */
export const oneOf =
  <const Value>(...values: readonly Value[]): Check<Value> =>
  (value) =>
    values.includes(value as Value)
      ? undefined
      : `expected one of ${values.map(shown).join(', ')}, got ${shown(value)}`;

/** A value of one of these shapes. Reports the problems with the last one. */
export const anyOf =
  <const Shapes extends readonly Shape[]>(...shapes: Shapes): Check<ValueOf<Shapes[number]>> =>
  (value) => {
    const problems = shapes.map((shape) => checkShape(value, shape, ''));
    return problems.some((list) => list.length === 0) ? undefined : problems.at(-1)!.join('; ');
  };

/** A record whose shape follows from the first of these keys that it has. */
export const byKey =
  <Shapes extends Readonly<Record<string, Shape>>>(shapes: Shapes): Check<ValueOf<Shapes[keyof Shapes]>> =>
  (value) => {
    const key =
      typeof value !== 'object' || value === null
        ? undefined
        : Object.keys(shapes).find((name) => Object.hasOwn(value, name));
    if (key === undefined)
      return `expected a record with one of ${Object.keys(shapes).join(', ')}, got ${shown(value)}`;
    return checkShape(value, shapes[key]!, key)[0];
  };

/** The values that occur more than once. */
export const repeated = <Value>(values: readonly Value[]): Value[] =>
  values.filter((value, index) => values.indexOf(value) !== index);
