import { configFinding, normaliseConfigValue } from '../../../../src/knowledge/config-keys.js';
import { type Literal, readLiteralAt } from '../../../../src/knowledge/literal.js';
import type { ConfigOrigin } from '../../../../src/model/log-rows.js';
import { flattenSettings, settingFinding } from '../../../../src/text/flatten-settings.js';
import type { BlockReader, Emit } from '../contract.js';

/** Every setting of a tree as a row. */
export function emitTree(tree: Literal, path: readonly string[], origin: ConfigOrigin, emit: Emit): void {
  flattenSettings(
    tree,
    (where, value) => {
      const finding = settingFinding(where, value, origin);
      if (finding !== null) emit(finding);
    },
    path,
  );
}

/** `  name ....... value`: names are padded with dots; long ones have two spaces before the value instead. */
const DOTTED = /^ {1,4}([A-Za-z_][\w.-]{0,120}) (?:\.{1,64}(?: |$)| )([\s\S]{0,8000})$/;

export function dottedSetting(text: string): { readonly name: string; readonly value: string } | null {
  const match = DOTTED.exec(text);
  return match === null ? null : { name: match[1]!, value: match[2]!.trim() };
}

export function emitDotted(name: string, value: string, origin: ConfigOrigin, emit: Emit): void {
  // Python prints an empty text as nothing, None as None.
  emit(configFinding(name, value === '' ? '' : normaliseConfigValue(value), origin));
}

/** Brackets of a value that goes over lines; quotes are respected. Positive while some are open. */
export function openBrackets(text: string): number {
  let open = 0;
  let quote = '';
  for (let index = 0; index < text.length; index += 1) {
    const char = text[index]!;
    if (quote !== '') {
      if (char === '\\') index += 1;
      else if (char === quote) quote = '';
    } else if (char === '"') quote = char;
    else if (char === '[' || char === '{' || char === '(') open += 1;
    else if (char === ']' || char === '}' || char === ')') open -= 1;
  }
  return open;
}

/** Collects a value whose brackets close some lines later. */
export class BracketCollector {
  private readonly parts: string[] = [];
  private open = 0;
  private chars = 0;

  /** True once it is complete (or longer than any configuration). */
  add(text: string): boolean {
    this.parts.push(text);
    this.chars += text.length;
    this.open += openBrackets(text);
    return this.open <= 0 || this.chars > 1_000_000;
  }

  tree(): Literal {
    const text = this.parts.join('\n');
    const start = text.search(/[[{(]/);
    return readLiteralAt(text, Math.max(0, start)).value;
  }
}

/** A block that is one value; lines that do not fit are of another writer. */
export function bracketBlock(
  first: string,
  fits: RegExp,
  path: readonly string[],
  origin: ConfigOrigin,
  emit: Emit,
): BlockReader {
  const value = new BracketCollector();
  let isDone = false;
  const finish = (): void => {
    if (!isDone) emitTree(value.tree(), path, origin, emit);
    isDone = true;
  };
  if (value.add(first)) finish();
  return {
    line(text) {
      if (isDone) return 'over';
      if (!fits.test(text)) return 'foreign';
      if (!value.add(text)) return 'taken';
      finish();
      return 'last';
    },
    end: finish,
  };
}
