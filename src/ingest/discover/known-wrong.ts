/** Files that no parser of this version reads, by their first bytes: `src/knowledge/inputs/known-wrong.yaml`. */
import { loadData } from '../../knowledge/load-data.js';
import { type ErrorCode, MbfError } from '../../model/errors.js';
import type { Head } from '../../model/parser.js';

export interface KnownWrong {
  /** Id of the rule. */
  readonly rule: string;
  readonly status: 'failed' | 'skipped';
  readonly error: MbfError;
}

interface WrongRule {
  readonly id: string;
  readonly code: ErrorCode;
  readonly status: 'failed' | 'skipped' | 'by-name';
  readonly named?: readonly string[];
  readonly notNamed?: readonly string[];
  readonly name?: string;
  readonly text?: readonly string[];
  readonly not?: readonly string[];
  readonly yields?: true;
  readonly fact: string;
}

const { names, rules } = loadData('inputs/known-wrong') as {
  readonly names: Readonly<Record<string, string>>;
  readonly rules: readonly WrongRule[];
};

/** Rules that a line of a log in the text overrules: a page may show one. */
export const YIELDING: ReadonlySet<string> = new Set(rules.flatMap(({ id, yields }) => (yields === true ? [id] : [])));

const patterns = new Map<string, RegExp>();

function match(pattern: string, text: string): RegExpExecArray | null {
  let compiled = patterns.get(pattern);
  if (compiled === undefined) {
    const [, body = pattern, flags] = /^\/(.*)\/(i)$/s.exec(pattern) ?? [];
    compiled = new RegExp(body, flags);
    patterns.set(pattern, compiled);
  }
  return compiled.exec(text);
}

/** How to get a form that is read. */
export function exportCommand(form: 'sqlite' | 'parquetdir', report: string): string {
  return `nsys export --type ${form} ${/^[\w.,:/@+-]+$/.test(report) ? report : `'${report.replaceAll("'", "'\\''")}'`}`;
}

/** The first rule that knows these bytes, or undefined: a parser may. Looks at the head alone. */
export function recogniseWrong({ bytes, name }: Head): KnownWrong | undefined {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  const isNamed = (kind: string): boolean => match(names[kind]!, name) !== null;
  for (const rule of rules) {
    if (rule.named?.some(isNamed) === false || rule.notNamed?.some(isNamed) === true) continue;
    if (rule.name !== undefined && match(rule.name, name) === null) continue;
    const matches = rule.text?.map((pattern) => match(pattern, text)) ?? [];
    if (matches.includes(null) || rule.not?.some((pattern) => match(pattern, text) !== null) === true) continue;
    const figures: Record<string, string> = {
      length: String(bytes.length),
      export: exportCommand('sqlite', `${name.replace(/\.[^.]*$/, '')}.nsys-rep`),
      own_export: exportCommand('sqlite', name),
      ...matches.find((one) => one?.groups !== undefined)?.groups,
    };
    const fact = rule.fact.replace(/\{(\w+)\}/g, (_, figure: string) => figures[figure] ?? '');
    const status = rule.status === 'by-name' ? (Object.keys(names).some(isNamed) ? 'failed' : 'skipped') : rule.status;
    return { rule: rule.id, status, error: new MbfError(rule.code, fact) };
  }
  return undefined;
}
