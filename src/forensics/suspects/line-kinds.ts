/** What sort of line a changed line is, as far as one can tell without the file around it: a hunk has no context. */

/** How a file is written; `prose` is what nothing runs. */
export type Language = 'python' | 'hash' | 'slash' | 'json' | 'prose';

export type LineKind = 'blank' | 'comment' | 'prose' | 'import' | 'log' | 'check' | 'code';

/** A line without strings and comments, and what is left of its meaning. */
export interface ReadLine {
  readonly kind: LineKind;
  /** Without comments, white space evened out, quotes alike; empty for blanks, comments and prose. */
  readonly normal: string;
  /** The same without what stands in strings: nothing in a message looks like code. Configurations keep theirs. */
  readonly code: string;
  /** As the file has it. */
  readonly text: string;
}

const LANGUAGES: readonly (readonly [RegExp, Language])[] = [
  [/\.(?:py|pyi|pyx)$/i, 'python'],
  [/\.(?:md|rst|adoc|tex|txt|ipynb|html?|svg|css)$/i, 'prose'],
  [/(?:^|\/)requirements[^/]*\.txt$/i, 'hash'],
  [/(?:^|\/)(?:LICENSE|NOTICE|AUTHORS|CHANGELOG|README|CODEOWNERS|\.gitignore|\.gitmodules)[^/]*$/i, 'prose'],
  [/\.(?:json|jsonc|json5)$/i, 'json'],
  [/\.(?:c|cc|cpp|cxx|cu|cuh|h|hpp|js|mjs|ts|rs|go|java)$/i, 'slash'],
];

export function languageOf(path: string): Language {
  // A list of requirements is no prose, though its name ends like one.
  if (/(?:^|\/)requirements[^/]*\.txt$/i.test(path)) return 'hash';
  return LANGUAGES.find(([pattern]) => pattern.test(path))?.[1] ?? 'hash';
}

/** Lines of one side of a hunk, in their order. */
export function readLines(lines: readonly string[], language: Language): ReadLine[] {
  if (language === 'prose') return lines.map((text) => ({ kind: 'prose', normal: '', code: '', text }));
  const read = lines.map((text) => readLine(text, language));
  return language === 'python' ? markDocstrings(read) : read;
}

function readLine(text: string, language: Language): ReadLine {
  const { code, whole } = withoutComment(text, language);
  const normal = evenOut(whole);
  const plain = evenOut(language === 'python' || language === 'slash' ? code : whole);
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

/** Two words side by side, neither of them Python's own: no program has that. */
const PYTHON_WORDS =
  'False|None|True|and|as|assert|async|await|break|case|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|match|nonlocal|not|or|pass|print|raise|return|try|type|while|with|yield';
const TWO_WORDS = new RegExp(
  `(?:^|[^\\w.])(?!(?:${PYTHON_WORDS})\\b)[A-Za-z_]\\w* +(?!(?:${PYTHON_WORDS})\\b)[A-Za-z_]\\w*`,
);
/** `Args:`, `Returns:`: neither a statement nor an annotation. */
const HEADING = /^(?!(?:else|try|finally)\b)[A-Za-z_]+:$/;
/** `x (Tensor): the input`, as arguments are described. */
const ARGUMENT = /^(?!(?:if|elif|while|for|with|return|print|not)\b)\w+ \([^)]*\): ?\w/;

function isProse(plain: string, normal: string): boolean {
  // A text that goes on over lines: its words are for people.
  if (/^[rbfu]*""[,)]*$/i.test(plain)) return /\w+ \w+/.test(normal) || /^[rbfu]*""$/i.test(normal);
  return TWO_WORDS.test(plain) || HEADING.test(plain) || ARGUMENT.test(plain);
}

const TRIPLE = /"""|'''/g;

/** Lines between triple quotes, as far as the hunk shows both; and lines of doubtful sense among prose. */
function markDocstrings(lines: readonly ReadLine[]): ReadLine[] {
  const result = [...lines];
  const asProse = (i: number): void => {
    if (result[i]!.kind !== 'blank') result[i] = { kind: 'prose', normal: '', code: '', text: result[i]!.text };
  };
  let open = -1;
  lines.forEach(({ text }, i) => {
    const marks = text.match(TRIPLE)?.length ?? 0;
    if (marks === 0) return;
    const before = text.slice(0, text.search(TRIPLE)).trim();
    // `x = """…`: a value, whose text we leave as it is.
    const isDocstring = /^[rbfu]*$/i.test(before);
    if (marks >= 2) {
      if (open < 0 && isDocstring) asProse(i);
      return;
    }
    if (open >= 0) {
      for (let k = open; k <= i; k += 1) asProse(k);
      open = -1;
    } else if (isDocstring && /"""\s*\S|'''\s*\S/.test(text)) open = i;
    else if (isDocstring || isProseBefore(lines, i)) {
      // The end of a docstring that began outside, or a bare beginning: by what stands before.
      if (isProseBefore(lines, i)) asProse(i);
      else open = i;
    }
  });
  if (open >= 0) {
    // Its end is not among them: only what reads as prose is taken for it.
    asProse(open);
  }
  const prose = result.filter(({ kind }) => kind === 'prose').length;
  const doubtful = result.flatMap(({ kind, code }, i) => (kind === 'code' && DOUBTFUL.test(code) ? [i] : []));
  const certain = result.filter(({ kind, code }) => kind === 'code' && !DOUBTFUL.test(code)).length;
  if (prose > 0 && certain === 0 && prose * 2 >= doubtful.length) for (const i of doubtful) asProse(i);
  return result;
}

const isProseBefore = (lines: readonly ReadLine[], i: number): boolean =>
  lines.slice(0, i).some(({ kind }) => kind === 'prose') || /\w+ \w+.*(?:"""|''')\s*$/.test(lines[i]!.text);

/** Programs and descriptions of arguments share these: `x (Tensor): input`, one word, `- item`. */
const DOUBTFUL = /^[\w.*`-]+(?: ?\([\w., ]*\))?:? ?[\w.`]*[.,]?$/;

function evenOut(text: string): string {
  return text.trim().replace(/\s+/g, ' ').replaceAll("'", '"');
}

/** @returns `whole`: without the comment; `code`: also without what stands in strings */
function withoutComment(text: string, language: Language): { readonly whole: string; readonly code: string } {
  let whole = '';
  let code = '';
  let quote = '';
  for (let i = 0; i < text.length; i += 1) {
    const char = text[i]!;
    if (quote !== '') {
      if (char === '\\') {
        whole += text.slice(i, i + 2);
        i += 1;
        continue;
      }
      if (text.startsWith(quote, i)) {
        whole += quote;
        code += '"';
        i += quote.length - 1;
        quote = '';
      } else whole += char;
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
      whole += quote;
      code += '"';
      i += quote.length - 1;
      continue;
    }
    whole += char;
    code += char;
  }
  return { whole, code: quote === '' ? code : `${code}"` };
}
