import { configFinding } from '../../../../src/knowledge/config-keys.js';
import { type Literal, literalText, readLiteralAt } from '../../../../src/knowledge/literal.js';
import { flattenSettings } from '../../../../src/text/flatten-settings.js';
import type { BlockCode, Emit, LineCode } from '../contract.js';
import { bracketBlock } from './emit-settings.js';

/** Values that only source code has: a traceback shows the call, not the object. */
const CODE = /^(?:args|self|cfg|config|kwargs|opt|hparams|os)\b/;

function isCode(entries: Extract<Literal, { kind: 'call' }>['entries']): boolean {
  return entries.some((entry) => CODE.test(literalText(entry.value) ?? ''));
}

function readObjects(text: string, emit: Emit): void {
  const { value } = readLiteralAt(text, 0);
  if (value.kind !== 'call') return;
  const fields = value.entries.filter((entry) => /^[A-Za-z_]\w{0,120}$/.test(entry.key));
  if (fields.length < 3 || isCode(fields)) return;
  const name = value.name.slice(value.name.lastIndexOf('.') + 1);
  for (const field of fields) {
    flattenSettings(field.value, (path, text1) => emit(configFinding(path.join('.'), text1, 'log dump')), [
      name,
      field.key,
    ]);
  }
}

/** Objects of configuration as `repr` prints a dataclass: what the code was really given. */
export const configObject: LineCode = {
  id: 'python.config-object',
  read: ({ object }, emit) => readObjects(object!, emit),
};

/** The model's configuration file as it was read: overrides come later, so that it ranks last. */
export const modelConfig: BlockCode = {
  id: 'transformers.model-config',
  begin: (match, emit) =>
    bracketBlock('{', /^\s{0,80}(?:"|[\]}[{]|-?\d|null|true|false)/, [match[1]!], 'config file', emit),
};
