/** From the words of a command line to a verb: paths as first words, parts of verbs. */
import { existsSync } from 'node:fs';
import type { ColorWhen } from './context.js';
import { LISTED, PARTS, type VerbName } from './verbs/index.js';

export interface ReadCommand {
  /** Undefined for the help of all verbs, `--version`, and words that are neither a verb nor a path. */
  readonly verb?: VerbName;
  /** `log` of `log memory`. */
  readonly parent?: VerbName;
  /** Of `help TOPIC`; null for `help` alone. */
  readonly topic?: string | null;
  /** With the verb's parent and name first, as the help shows them. */
  readonly args: readonly string[];
  readonly color: ColorWhen;
  /** A remark for standard error. */
  readonly remark?: string | undefined;
}

/** Options before a verb whose value is no verb. */
const WITH_VALUE: ReadonlySet<string> = new Set(['--db', '--wait', '--memory-limit', '--capacity']);

export function readCommand(given: readonly string[]): ReadCommand {
  const { args, color } = takeColor(given);
  const at = firstWord(args);
  const word = args[at];
  if (word === undefined) return { args, color };
  const before = args.slice(0, at);
  const after = args.slice(at + 1);
  if (word === 'help') {
    const [topic, ...others] = after;
    if (topic?.startsWith('-') === true) return { args: ['--help', ...after], color };
    if (topic !== undefined && isVerb(topic)) return readCommand([topic, ...others, '--help', '--color', color]);
    return { args: after, color, topic: topic ?? null };
  }
  if (isVerb(word)) {
    const [part = ''] = after;
    const verb = PARTS.get(`${word} ${part}`);
    if (verb !== undefined) return { verb, parent: word, args: [word, part, ...before, ...after.slice(1)], color };
    const isAmbiguous = firstWord(after) === after.length && existsSync(word);
    const remark = isAmbiguous ? `${word} is a verb here; to diagnose the path: mbforensics ./${word}\n` : undefined;
    return { verb: word, args: [word, ...before, ...after], color, remark };
  }
  return isPath(word) ? { verb: 'diagnose', args: ['diagnose', ...args], color } : { args, color };
}

/** Parts of verbs are none by themselves. */
function isVerb(word: string): word is VerbName {
  return (LISTED as readonly string[]).includes(word);
}

/** What exists, or has the form of a path, a handle or a forced operand. A mistyped verb has no such form. */
function isPath(word: string): boolean {
  return word === '-' || /[/\\]|^(?:run|snapshot|commit|label|path):|\.\w{1,10}$/.test(word) || existsSync(word);
}

function firstWord(args: readonly string[]): number {
  for (let i = 0; i < args.length; i += 1) {
    const word = args[i]!;
    if (word === '--') return args.length;
    if (WITH_VALUE.has(word)) i += 1;
    else if (word === '-' || !word.startsWith('-')) return i;
  }
  return args.length;
}

/** `--color WHEN` holds for every verb, in any place before `--`. */
function takeColor(given: readonly string[]): { readonly args: readonly string[]; readonly color: ColorWhen } {
  const args: string[] = [];
  let color: ColorWhen = 'auto';
  for (let i = 0; i < given.length; i += 1) {
    const word = given[i]!;
    if (word === '--') return { args: [...args, ...given.slice(i)], color };
    const value = word === '--color' ? given[i + 1] : /^--color=(.*)$/s.exec(word)?.[1];
    if (value === 'auto' || value === 'always' || value === 'never') {
      color = value;
      if (word === '--color') i += 1;
    } else if (word === '--no-color') color = 'never';
    else args.push(word);
  }
  return { args, color };
}
