/** The YAML files of a user that hold one list: attribution rules, log formats. */
import { isMap, isScalar, LineCounter, type YAMLMap } from 'yaml';
import { type ErrorCode, MbfError } from '../model/errors.js';
import { MIB } from '../model/units.js';
import { yamlDocument, yamlValue } from './yaml.js';

/** The built-in rules, of all frameworks, have a tenth of one MiB. */
const MOST_BYTES = 4 * MIB;

/** `key`: where in the item. */
export type Wrong = (message: string, key?: string) => never;

interface UserList {
  /** The only key of the file. */
  readonly key: string;
  /** What an item is called. */
  readonly item: string;
  readonly code: ErrorCode;
}

/** The items of a list, as `check` gives them. Throws `code` with the line of the first thing that is wrong. */
export function readUserList<Item extends { readonly id: string }>(
  text: string,
  file: string,
  { key, item, code }: UserList,
  check: (value: unknown, wrong: Wrong) => Item,
): Item[] {
  const lines = new LineCounter();
  if (text.length > MOST_BYTES) throw new MbfError(code, `is larger than ${MOST_BYTES / MIB} MiB`, { file });
  const document = asOfFile(file, () => yamlDocument(text, code, lines));
  const fail = (message: string, offset?: number): never => {
    const line = offset === undefined ? '' : `line ${lines.linePos(offset).line}: `;
    throw new MbfError(code, `${line}${message}`, { file });
  };
  const [error] = document.errors;
  if (error !== undefined) return fail(error.message.split('\n', 1)[0]!.replace(/ at line \d.*$/, ''), error.pos[0]);
  const root = document.contents;
  const list = isMap(root) ? root.get(key, true) : undefined;
  if (!isMap(root) || root.items.length !== 1 || list === undefined) return fail(`the file must hold one key, ${key}`);
  const content = asOfFile(file, () => yamlValue(document, code, fail));
  const values = (content as Readonly<Record<string, unknown>>)[key];
  if (!Array.isArray(values) || values.length === 0) return fail(`${key} must be a list of at least one ${item}`);
  const ids = new Set<string>();
  return values.map((value: unknown, i) => {
    const node = document.getIn([key, i], true);
    const offset = (part?: string): number | undefined => {
      const place = isMap(node) && part !== undefined ? (node as YAMLMap).get(part, true) : node;
      const range =
        isScalar(place) || place === node
          ? (place as { range?: readonly number[] | null } | undefined)?.range
          : (place as { range?: readonly number[] } | undefined)?.range;
      return range?.[0];
    };
    const wrong: Wrong = (message, part) => fail(`${item} ${i + 1}: ${message}`, offset(part) ?? offset());
    const checked = check(value, wrong);
    if (ids.has(checked.id)) wrong(`a second ${item} ${checked.id}`, 'id');
    ids.add(checked.id);
    return checked;
  });
}

/** Errors of the reader know no file. */
function asOfFile<Result>(file: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw error instanceof MbfError && error.place.file === undefined ? error.inFile(file) : error;
  }
}
