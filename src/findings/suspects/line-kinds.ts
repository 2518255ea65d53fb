/** The kind of a changed line, as far as it can be determined without the file around it: a hunk lacks context. */

/** The language of a file; `prose` is never executed. */
export type Language = 'python' | 'hash' | 'slash' | 'json' | 'prose';

export type LineKind = 'blank' | 'comment' | 'prose' | 'import' | 'log' | 'check' | 'code';

/** A line without strings and comments, reduced to its meaning. */
export interface ReadLine {
  readonly kind: LineKind;
  /** Without comments, white space evened out, quotes alike; empty for blanks, comments and prose. */
  readonly normal: string;
  /** The same without the contents of strings: nothing in a message looks like code. Configurations keep theirs. */
  readonly code: string;
  /** As the file has it. */
  readonly text: string;
}

const LANGUAGES: readonly (readonly [RegExp, Language])[] = [
  // A list of requirements is not prose, though its name ends like it.
  [/(?:^|\/)requirements[^/]*\.txt$/i, 'hash'],
  [/\.(?:py|pyi|pyx)$/i, 'python'],
  [/\.(?:md|rst|adoc|tex|txt|ipynb|html?|svg|css)$/i, 'prose'],
  [/(?:^|\/)(?:LICENSE|NOTICE|AUTHORS|CHANGELOG|README|CODEOWNERS|\.gitignore|\.gitmodules)[^/]*$/i, 'prose'],
  [/\.(?:json|jsonc|json5)$/i, 'json'],
  [/\.(?:c|cc|cpp|cxx|cu|cuh|h|hpp|js|mjs|ts|rs|go|java)$/i, 'slash'],
];

export function languageOf(path: string): Language {
  return LANGUAGES.find(([pattern]) => pattern.test(path))?.[1] ?? 'hash';
}

/** Lines of one side of a hunk, in their order. */
export function readLines(lines: readonly string[], language: Language): ReadLine[] {
  if (language === 'prose') return lines.map((text) => ({ kind: 'prose', normal: '', code: '', text }));
  const read = lines.map((text) => readLine(text, language));
  return language === 'python' ? markDocstrings(read) : read;
}

function readLine(text: string, language: Language): ReadLine {
  const { code, uncommented } = withoutComment(text, language);
  const normal = evenOut(uncommented);
  const plain = evenOut(language === 'python' || language === 'slash' ? code : uncommented);
  const of = (kind: LineKind): ReadLine =>
    kind === 'blank' || kind === 'comment' || kind === 'prose'
      ? { kind, normal: '', code: '', text }
      : { kind, normal, code: plain, text };
  if (text.trim() === '') return of('blank');
  if (normal === '') return of('comment');
  if (language !== 'python') return of(language === 'slash' && /^\s*(?:\/?\*|\/\/)/.test(text) ? 'comment' : 'code');
  if (isProse(plain, normal)) return of('prose');
  if (/^(?:from\s+[\w.]+\s+import\b|import\s+\w)/.test(plain)) return of('import');
  if (LOGS.test(plain)) return of('log');
  return of(CHECKS.test(plain) ? 'check' : 'code');
}

const LOGS =
  /^(?:print\w*|log(?:ger|ging)?(?:\.\w+)*|warnings\.warn|log_single_rank|warn_rank_0|rank_zero_(?:info|warn|debug)|self\.log(?:ger\.\w+)?|\w*log_rank_0|nvtx_range_(?:push|pop)|torch\.cuda\.nvtx\.\w+)\s*\(/;
const CHECKS = /^(?:assert\b|raise\b|@(?:override|typing\.|staticmethod|property)|pass$|\.\.\.$|__all__\b)/;

/** Two successive words, neither of them Python's own: no program has that. */
const PYTHON_WORDS =
  'False|None|True|and|as|assert|async|await|break|case|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|match|nonlocal|not|or|pass|print|raise|return|try|type|while|with|yield';
const TWO_WORDS = new RegExp(
  `(?:^|[^\\w.])(?!(?:${PYTHON_WORDS})\\b)[A-Za-z_]\\w* +(?!(?:${PYTHON_WORDS})\\b)[A-Za-z_]\\w*`,
);
/** `Args:`, `Returns:`: neither a statement nor an annotation. */
const HEADING = /^(?!(?:else|try|finally)\b)[A-Za-z_]+:$/;
/** `x (Tensor): the input`, as arguments are described. */
const ARGUMENT =
  /^(?!(?:if|elif|while|for|with|return|print|not|assert|in|and|or|except|case|match)\b)\**\w+ \([^)]*\)(?::|$)/;

/** Characters that no program has outside of its strings, and sessions that documentation shows. */
const NO_CODE = /[`$?\u2010-\u2bff]|!(?!=)|^>>>|^\.\.\. |^> |^<\/|^- [A-Za-z]/;

function isProse(plain: string, normal: string): boolean {
  if (NO_CODE.test(plain)) return true;
  // A text over several lines: its words are for people.
  if (/^[rbfu]*""[,)]*$/i.test(plain)) return /\w \w/.test(normal) || /^[rbfu]*"{2,3}$/i.test(normal);
  return TWO_WORDS.test(plain) || HEADING.test(plain) || ARGUMENT.test(plain);
}

const TRIPLE = /"""|'''/g;

/**
 * Lines between triple quotes. Whether the first mark of a hunk opens a text or closes one that began outside depends
 * on the text on both sides: the reading with more prose inside and more code outside is taken.
 */
function markDocstrings(lines: readonly ReadLine[]): ReadLine[] {
  const marks = lines.flatMap(({ text }, i) => ((text.match(TRIPLE)?.length ?? 0) % 2 === 1 ? [i] : []));
  const read = (opens: boolean): Reading => {
    const ranges = insides(marks, lines.length, opens);
    return { ranges, likelihood: likelihood(lines, ranges) + fitOfMarks(lines, marks, opens) };
  };
  const [opening, closing] = [read(true), read(false)];
  const better = (marks.length > 0 && closing.likelihood > opening.likelihood ? closing : opening).ranges;
  const inside = new Set<number>();
  for (const [from, to] of better) {
    // A text whose other end is not in the hunk ends where a line of it is code.
    const isWhole = marks.includes(from) && marks.includes(to) && from !== to;
    for (let i = from; i <= to; i += 1) if (isWhole || !isProgram(lines[i]!)) inside.add(i);
  }
  return markDoubtful(
    lines.map((line, i) => (inside.has(i) && !isValue(line.text) ? asProse(line) : markOneLine(line))),
  );
}

interface Reading {
  readonly ranges: readonly Range[];
  readonly likelihood: number;
}

type Range = readonly [from: number, to: number];

function insides(marks: readonly number[], length: number, opens: boolean): Range[] {
  const ranges: Range[] = [];
  let from = opens ? undefined : 0;
  for (const mark of marks) {
    if (from === undefined) from = mark;
    else {
      ranges.push([from, mark]);
      from = undefined;
    }
  }
  if (from !== undefined && marks.length > 0) ranges.push([from, length - 1]);
  return ranges;
}

/** How well a reading fits: prose inside, code outside. */
function likelihood(lines: readonly ReadLine[], ranges: readonly Range[]): number {
  const inside = new Set(ranges.flatMap(([from, to]) => lines.slice(from, to + 1).map((_, k) => from + k)));
  return lines.reduce((total, line, i) => {
    const value = line.kind === 'prose' ? 1 : isProgram(line) ? -1 : 0;
    return total + (inside.has(i) ? value : -value);
  }, 0);
}

/** Marks with their text on the right side: behind the one that opens, before the one that closes. */
function fitOfMarks(lines: readonly ReadLine[], marks: readonly number[], opens: boolean): number {
  return marks.reduce((sum, mark, k) => {
    const { text } = lines[mark]!;
    const direction = isOpener(text) ? 1 : isCloser(text) ? -1 : 0;
    return sum + MARK_WEIGHT * direction * ((k % 2 === 0) === opens ? 1 : -1);
  }, 0);
}

const MARK_WEIGHT = 3;
const isOpener = (text: string): boolean => /^\s*[rbfu]*(?:"""|''')\s*\S/i.test(text);
const isCloser = (text: string): boolean => /[\w.!)]\s*(?:"""|''')\s*$/.test(text);

const isProgram = ({ kind, code }: ReadLine): boolean =>
  kind !== 'blank' && kind !== 'comment' && kind !== 'prose' && !DOUBTFUL.test(code) && !/"""|'''|^"+$/.test(code);

function asProse({ kind, text }: ReadLine): ReadLine {
  return { kind: kind === 'blank' ? 'blank' : 'prose', normal: '', code: '', text };
}

/** `x = """…`: an assigned value is not a comment. */
function isValue(text: string): boolean {
  const at = text.search(TRIPLE);
  return at >= 0 && /[=(,]\s*[rbfu]*$/i.test(text.slice(0, at));
}

/** A docstring of one line. */
function markOneLine(line: ReadLine): ReadLine {
  return /^\s*[rbfu]*("""|''')(?:(?!\1).)*\1\s*$/i.test(line.text) ? asProse(line) : line;
}

/** Single words among prose, with no code next to them. */
function markDoubtful(lines: readonly ReadLine[]): ReadLine[] {
  const isDoubtful = ({ kind, code }: ReadLine): boolean => kind === 'code' && DOUBTFUL.test(code);
  if (!lines.some(({ kind }) => kind === 'prose') || lines.some((line) => isProgram(line))) return [...lines];
  return lines.map((line) => (isDoubtful(line) ? asProse(line) : line));
}

/** A word alone, which in a program is a name on a line of its own. */
const DOUBTFUL = new RegExp(`^(?!(?:${PYTHON_WORDS})\\b)[\\w*-]+[.,:]?$`);

function evenOut(text: string): string {
  return text.trim().replace(/\s+/g, ' ').replaceAll("'", '"');
}

/** @returns `uncommented`: without the comment; `code`: also without the contents of strings */
function withoutComment(text: string, language: Language): { readonly uncommented: string; readonly code: string } {
  let uncommented = '';
  let code = '';
  let quote = '';
  for (let i = 0; i < text.length; i += 1) {
    const char = text[i]!;
    if (quote !== '') {
      if (char === '\\') {
        uncommented += text.slice(i, i + 2);
        i += 1;
        continue;
      }
      if (text.startsWith(quote, i)) {
        uncommented += quote;
        code += '"';
        i += quote.length - 1;
        quote = '';
      } else uncommented += char;
      continue;
    }
    const isComment =
      language === 'slash'
        ? text.startsWith('//', i) || text.startsWith('/*', i)
        : language === 'json'
          ? text.startsWith('//', i)
          : char === '#' && (language === 'python' || i === 0 || /\s/.test(text[i - 1]!));
    if (isComment) break;
    if (char === '"' || char === "'") {
      quote = text.startsWith(char.repeat(3), i) ? char.repeat(3) : char;
      uncommented += quote;
      code += '"';
      i += quote.length - 1;
      continue;
    }
    uncommented += char;
    code += char;
  }
  return { uncommented, code: quote === '' ? code : `${code}"` };
}
