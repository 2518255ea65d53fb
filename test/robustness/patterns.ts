/**
 * The regular expressions of the program, and texts made to slow them down. V8 backtracks: a pattern whose time grows
 * with the square of its text is a hang in a file of 64 KiB.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createContext, Script } from 'node:vm';
import { type AST, RegExpParser } from '@eslint-community/regexpp';
import { parseAst } from 'rolldown/parseAst';
import { analyse } from 'scslre';

export interface Pattern {
  readonly source: string;
  readonly flags: string;
  readonly at: string;
}

const FOLDERS = ['parsers', 'src'];

/** Every literal of the sources. The page's program reads what the page holds. */
export function literalPatterns(root: string): Pattern[] {
  const patterns: Pattern[] = [];
  for (const folder of FOLDERS) {
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
      const file = join(folder, name);
      if (!file.endsWith('.ts') || file.endsWith('.d.ts') || file.startsWith('src/report/page/')) continue;
      const text = readFileSync(join(root, file), 'utf8');
      collect(parseAst(text, { lang: 'ts' }), (source, flags, start) => {
        patterns.push({ source, flags, at: `${file}:${text.slice(0, start).split('\n').length}` });
      });
    }
  }
  return patterns;
}

interface Node {
  readonly type?: unknown;
  readonly start?: unknown;
  readonly regex?: { readonly pattern: string; readonly flags: string };
}

function collect(value: unknown, take: (source: string, flags: string, start: number) => void): void {
  if (typeof value !== 'object' || value === null) return;
  const node = value as Node;
  if (node.type === 'Literal' && node.regex !== undefined) {
    take(node.regex.pattern, node.regex.flags, Number(node.start));
    return;
  }
  for (const child of Object.values(value)) collect(child, take);
}

/** What makes a pattern slower than linear, by its form; bounded repetitions do not count. */
export function superLinear({ source, flags }: Pattern): string[] {
  const { reports } = analyse({ source, flags }, { reportTypes: { Move: true } });
  return reports.map((report) =>
    report.type === 'Trade'
      ? `${report.startQuant.raw} and ${report.endQuant.raw} take the same text`
      : `${report.quant.raw} ${report.type === 'Move' ? 'is tried from every position' : 'repeats itself'}`,
  );
}

// ---- texts --------------------------------------------------------------------------------------------------------

const TRIED = [...'a1 A._-/"\',[(=:\nxe{|#\t\\~<é'];
/** Fewer repetitions cannot hurt. */
const LEAST_MOST = 8;
const MOST_OF_CLASS = 8;

const parser = new RegExpParser({ ecmaVersion: 2024 });
const known = new Map<string, readonly string[]>();

/** Characters that a class or set takes. */
function charactersOf(raw: string, flags: string): readonly string[] {
  const key = `${flags}/${raw}`;
  let characters = known.get(key);
  if (characters === undefined) {
    const pattern = new RegExp(`^(?:${raw})$`, flags.replace(/[gy]/g, ''));
    characters = TRIED.filter((character) => pattern.test(character));
    for (let code = 0; characters.length === 0 && code < 0x3000; code += 1)
      if (pattern.test(String.fromCharCode(code))) characters = [String.fromCharCode(code)];
    known.set(key, characters);
  }
  return characters;
}

/** A short text that a part of a pattern takes, lookarounds aside. */
function sample(node: AST.Node, flags: string, choice = 0): string {
  switch (node.type) {
    case 'Alternative':
      return node.elements.map((element) => sample(element, flags, choice)).join('');
    case 'Pattern':
    case 'Group':
    case 'CapturingGroup':
      return sample(node.alternatives[choice % node.alternatives.length]!, flags, choice);
    case 'Quantifier':
      return sample(node.element, flags, choice).repeat(node.min);
    case 'Character':
      return String.fromCodePoint(node.value);
    case 'CharacterSet':
    case 'CharacterClass': {
      const characters = charactersOf(node.raw, flags);
      return characters[choice % Math.max(1, characters.length)] ?? '';
    }
    default:
      return '';
  }
}

/** Every quantifier, with a text that reaches it. */
function quantifiersOf(root: AST.Pattern, flags: string): { quantifier: AST.Quantifier; before: string }[] {
  const list: { quantifier: AST.Quantifier; before: string }[] = [];
  const visit = (node: AST.Node, before: string): void => {
    if (node.type === 'Quantifier') {
      if (node.max >= LEAST_MOST) list.push({ quantifier: node, before });
      visit(node.element, before);
    } else if (node.type === 'Alternative') {
      let text = before;
      for (const element of node.elements) {
        visit(element, text);
        text += sample(element, flags);
      }
    } else if ('alternatives' in node) for (const alternative of node.alternatives) visit(alternative, before);
  };
  visit(root, '');
  return list;
}

/**
 * Units whose repetition makes a pattern try again and again: what each quantifier repeats, alone, after what leads to
 * it once, and after what leads to it each time; and the beginnings of matches.
 */
export function hostileUnits({ source, flags }: Pattern): { lead: string; unit: string }[] {
  const root = parser.parsePattern(source, 0, source.length, { unicode: flags.includes('u') });
  const units = new Map<string, { lead: string; unit: string }>();
  const add = (unit: string, lead = ''): void => {
    if (unit !== '') units.set(`${lead}\0${unit}`, { lead, unit });
  };
  for (const choice of [0, 1, 2]) {
    const match = sample(root, flags, choice);
    add(match);
    add(match.slice(0, -1));
  }
  for (const { quantifier, before } of quantifiersOf(root, flags)) {
    const { element, max } = quantifier;
    const repeated =
      element.type === 'CharacterClass' || element.type === 'CharacterSet'
        ? charactersOf(element.raw, flags).slice(0, MOST_OF_CLASS)
        : [0, 1, 2].map((choice) => sample(element, flags, choice));
    for (const text of new Set(repeated)) {
      if (text === '') continue;
      add(text, before);
      add(text);
      add(before + text);
      for (const times of [40, 400]) add(before + text.repeat(Math.min(max, times)));
    }
  }
  return [...units.values()];
}

const sandbox = createContext({ pattern: /x/, text: '' });
const SEARCH = new Script(`
  pattern.lastIndex = 0;
  if (pattern.global && !pattern.sticky) while (pattern.exec(text) !== null && pattern.lastIndex > 0) {
    if (pattern.lastIndex === last) pattern.lastIndex += 1;
    last = pattern.lastIndex;
  }
  else pattern.exec(text);
`);

/** CPU milliseconds of a search for all matches; given up after `timeout` milliseconds. */
export function searchMs(pattern: RegExp, text: string, timeout: number): number {
  Object.assign(sandbox, { pattern, text, last: -1 });
  const before = process.cpuUsage();
  try {
    SEARCH.runInContext(sandbox, { timeout });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    return Number.POSITIVE_INFINITY;
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
