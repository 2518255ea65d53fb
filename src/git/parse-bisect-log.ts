/**
 * The log of a bisection, `BISECT_LOG` in the git directory: commands that would repeat it, and comments. Only comments
 * name the commits given at the start. Upstream: git `builtin/bisect.c` (`bisect_write`, `bisect_start`), `bisect.c`.
 */
import type { BisectLog, BisectMark } from '../model/git.js';

const START = /^git bisect start\b(.*)$/;
const COMMAND = /^git bisect ([^\s']+)((?: '?[0-9a-f]{7,64}'?)+)\s*$/;
const COMMENT = /^# ([^\s:]+): \[([0-9a-f]{7,64})\]/;
const FIRST = /^# first (\S+) commit: \[([0-9a-f]{7,64})\]/;
const POSSIBLE = /^# possible first \S+ commit: \[([0-9a-f]{7,64})\]/;
/** Words that git itself offers; any other has to be announced when the session starts. */
const OWN_WORDS = { good: ['good', 'old'], bad: ['bad', 'new'] } as const;

/** Accepts any text and skips lines of other kinds. `terms` are those of `BISECT_TERMS`, if that file exists. */
export function parseBisectLog(text: string, terms: Partial<BisectLog['terms']> = {}): BisectLog {
  const lines = text.split('\n').map((line) => line.replace(/\r$/, ''));
  const words = termsOf(lines, terms);
  const markOf = (word: string): BisectMark['mark'] | undefined => {
    if (word === 'skip') return 'skip';
    if (word === words.bad) return 'bad';
    return word === words.good ? 'good' : undefined;
  };
  const marks: BisectMark[] = [];
  const add = (word: string, sha: string): void => {
    const mark = markOf(word);
    const last = marks.at(-1);
    // A judgement is a comment and a command: one of them is the other's echo.
    if (mark === undefined || (last?.mark === mark && last.sha === sha)) return;
    marks.push({ mark, sha });
  };
  let first: string | null = null;
  const possible = new Set<string>();
  for (const line of lines) {
    const firstMatch = FIRST.exec(line);
    const left = POSSIBLE.exec(line);
    const comment = COMMENT.exec(line);
    const command = COMMAND.exec(line);
    if (firstMatch !== null) first = firstMatch[2]!;
    else if (left !== null) {
      possible.add(left[1]!);
    } else if (comment !== null) add(comment[1]!, comment[2]!);
    else if (command !== null) {
      for (const sha of command[2]!.match(/[0-9a-f]{7,64}/g) ?? []) add(command[1]!, sha);
      // A later judgement: the reported end was not the end.
      if (markOf(command[1]!) !== undefined) {
        first = null;
        possible.clear();
      }
    }
  }
  return { terms: words, marks, first_bad: first, possible: first === null ? [...possible] : [] };
}

function termsOf(lines: readonly string[], known: Partial<BisectLog['terms']>): BisectLog['terms'] {
  const words: { good?: string | undefined; bad?: string | undefined } = {};
  for (const line of lines) {
    const args = shellWords(START.exec(line)?.[1] ?? '');
    args.forEach((arg, at) => {
      const option = /^--term-(old|good|new|bad)(?:=(.*))?$/.exec(arg);
      if (option === null) return;
      words[option[1] === 'old' || option[1] === 'good' ? 'good' : 'bad'] = option[2] ?? args[at + 1];
    });
    const firstBad = FIRST.exec(line)?.[1];
    if (firstBad !== undefined && words.bad === undefined) words.bad = firstBad;
  }
  const used = new Set(lines.flatMap((line) => [COMMENT.exec(line)?.[1] ?? '', COMMAND.exec(line)?.[1] ?? '']));
  return {
    good: words.good ?? known.good ?? OWN_WORDS.good.find((word) => used.has(word)) ?? wordFor(words.bad, 'good'),
    bad: words.bad ?? known.bad ?? OWN_WORDS.bad.find((word) => used.has(word)) ?? 'bad',
  };
}

const wordFor = (bad: string | undefined, fallback: string): string => (bad === 'new' ? 'old' : fallback);

/** Git quotes each argument: `'--term-old' 'fast'`; a quote within is `'\''`. */
function shellWords(text: string): string[] {
  return [...text.matchAll(/(?:'([^']*)'|\\(.)|[^\s'\\]+)+/g)].map(([word]) =>
    word.replace(
      /'([^']*)'|\\(.)/g,
      (_, quoted: string | undefined, escaped: string | undefined) => quoted ?? escaped!,
    ),
  );
}
