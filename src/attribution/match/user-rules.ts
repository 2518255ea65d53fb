/** The attribution rules of a user: a YAML file whose rules have the same format as the built-in ones. */
import { isMap, isScalar, LineCounter, type YAMLMap } from 'yaml';
import { MbfError } from '../../model/errors.js';
import { MIB } from '../../model/units.js';
import { yamlDocument, yamlValue } from '../../text/yaml.js';
import { checkRule, checkSamples, RULE_KEYS } from './check-rule.js';
import type { UserRule } from './rule.js';

/** The built-in rules, of all frameworks, have a tenth of one MiB. */
const MOST_BYTES = 4 * MIB;

/** Throws MBF2601 with the line of the first thing that is wrong. */
export function parseRules(text: string, file: string): UserRule[] {
  const lines = new LineCounter();
  if (text.length > MOST_BYTES) throw new MbfError('MBF2601', `is larger than ${MOST_BYTES / MIB} MiB`, { file });
  const document = asOfFile(file, () => yamlDocument(text, 'MBF2601', lines));
  const fail = (message: string, offset?: number): never => {
    const line = offset === undefined ? '' : `line ${lines.linePos(offset).line}: `;
    throw new MbfError('MBF2601', `${line}${message}`, { file });
  };
  const [error] = document.errors;
  if (error !== undefined) return fail(error.message.split('\n', 1)[0]!.replace(/ at line \d.*$/, ''), error.pos[0]);
  const root = document.contents;
  const list = isMap(root) ? root.get('rules', true) : undefined;
  if (!isMap(root) || root.items.length !== 1 || list === undefined) return fail('the file must hold one key, rules');
  const content = asOfFile(file, () => yamlValue(document, 'MBF2601', fail));
  const found = (content as { readonly rules: unknown }).rules;
  if (!Array.isArray(found) || found.length === 0) return fail('rules must be a list of at least one rule');
  const ids = new Set<string>();
  return found.map((rule: unknown, i) => {
    const node = document.getIn(['rules', i], true);
    const offset = (key?: string): number | undefined => {
      const own = isMap(node) && key !== undefined ? (node as YAMLMap).get(key, true) : node;
      const range =
        isScalar(own) || own === node
          ? (own as { range?: readonly number[] | null } | undefined)?.range
          : (own as { range?: readonly number[] } | undefined)?.range;
      return range?.[0];
    };
    const wrong = (message: string, key?: string): never => fail(`rule ${i + 1}: ${message}`, offset(key) ?? offset());
    const checked = { ...checkRule(rule, RULE_KEYS, wrong), samples: checkSamples(rule, wrong) };
    if (ids.has(checked.id)) wrong(`a second rule ${checked.id}`, 'id');
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
