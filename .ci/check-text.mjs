// Checks the text of the code base (part of `npm run lint`):
// 1. Width. Comments and code have at most 120 columns, SQL 140. The length of string literals does not count.
// 2. Plain words. Counts the wordings of plain-words.tsv in comments, test names, SQL, identifiers, and in the strings
//    of the product that users read (kind `output`), per folder. No
//    count may exceed the one committed in plain-words-left.tsv; after a rewording `--write` lowers the counts.
//    Strings that users read may have none, in sources and in the data of src/knowledge.
// `--list FOLDER` prints each place.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import jsTokens from 'js-tokens';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const LEFT = join(ROOT, '.ci', 'plain-words-left.tsv');
const WIDTH = { ts: 120, mjs: 120, py: 120, sql: 140, yaml: Number.POSITIVE_INFINITY };
/** Upstream messages, verbatim. */
const VERBATIM = 'src/knowledge/log-examples.yaml';

const rules = { comment: [], name: [], declared: [], output: [] };
for (const line of readFileSync(join(ROOT, '.ci', 'plain-words.tsv'), 'utf8')
  .trim()
  .split('\n')
  .slice(1)) {
  const [kind, pattern] = line.split('\t');
  rules[kind].push(new RegExp(pattern, kind === 'comment' || kind === 'output' ? 'gi' : 'i'));
}

/** Comments, names and declared names of a source, each with its line; string literals with their length by line. */
function read(text, extension) {
  const parts = { comment: [], name: [], declared: [], output: [], literals: new Map() };
  let line = 1;
  if (extension === 'yaml') {
    // Functions of a condition, such as asked(…), are not words.
    for (const [i, content] of text.split('\n').entries())
      if (!/^\s*#/.test(content)) parts.output.push([content.replaceAll(/\b\w+\(/g, '('), i + 1]);
    return parts;
  }
  if (extension === 'sql' || extension === 'py') {
    const comment = extension === 'sql' ? /--(.*)/ : /#(.*)/;
    for (const content of text.split('\n')) {
      const match = comment.exec(content);
      if (match) parts.comment.push([match[1], line]);
      line += 1;
    }
    return parts;
  }
  let before = '';
  let name = '';
  let depth = 0;
  // The formatter breaks neither a literal nor an expression inside a template: their lengths do not count.
  const unbreakable = (value) => {
    for (const [i, content] of value.split('\n').entries())
      parts.literals.set(line + i, (parts.literals.get(line + i) ?? 0) + content.length);
  };
  for (const { type, value } of jsTokens(text)) {
    if (type.endsWith('Comment')) {
      for (const [i, content] of value.split('\n').entries()) parts.comment.push([content, line + i]);
    } else if (type === 'IdentifierName') {
      for (const word of value.split(/(?<=[a-z\d])(?=[A-Z])|_/)) parts.name.push([word, line, value]);
      if (/^(const|let|var|function)$/.test(before)) parts.declared.push([value, line]);
      name = value;
    } else if (type === 'StringLiteral' || type.includes('Template') || type.includes('Regular')) {
      // The title of a test is read like a comment.
      if (/^(it|test|describe|each)$/.test(name) && before === '(') parts.comment.push([value, line]);
      unbreakable(value);
      // A key, a query or a pattern has no blank between words.
      if (!type.includes('Regular') && /\w \w/.test(value)) parts.output.push([value, line]);
    } else if (type === 'Punctuator' && value === '=>' && before !== ')') {
      parts.declared.push([name, line]);
    }
    if (type === 'TemplateHead') depth += 1;
    else if (type === 'TemplateTail') depth -= 1;
    else if (depth > 0 && !type.includes('Template') && type !== 'StringLiteral') unbreakable(value);
    if (!/^(WhiteSpace|LineTerminatorSequence)$/.test(type)) before = value;
    line += value.split('\n').length - 1;
  }
  return parts;
}

const [option, folderToList] = process.argv.slice(2);
const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: ROOT, encoding: 'utf8' }).split(
  '\n',
);
const counts = new Map();
let failed = false;
for (const file of files) {
  const extension = file.split('.').at(-1);
  if (!(extension in WIDTH) || file.endsWith('.gen.ts') || !existsSync(join(ROOT, file))) continue;
  const text = readFileSync(join(ROOT, file), 'utf8');
  const parts = read(text, extension);
  for (const [i, content] of text.split('\n').entries()) {
    if (content.length - (parts.literals.get(i + 1) ?? 0) <= WIDTH[extension]) continue;
    console.error(`${file}:${i + 1}: ${content.length} columns, at most ${WIDTH[extension]}`);
    failed = true;
  }
  const segments = file.split('/');
  const folder = segments.slice(0, /^src\/(?:findings|derive)\//.test(file) ? 3 : 2).join('/');
  const key = segments.length < 3 ? segments[0] : folder;
  const add = (_pattern, word, line) => {
    counts.set(key, (counts.get(key) ?? 0) + 1);
    if (option === '--list' && file.startsWith(folderToList ?? '')) console.log(`${file}:${line}: ${word}`);
  };
  if (/^(?:src|parsers)\//.test(file) && file !== VERBATIM)
    for (const [content, line] of parts.output)
      for (const pattern of rules.output)
        for (const [word] of content.matchAll(pattern)) {
          console.error(
            `${file}:${line}: "${word}" on a screen, see .ci/plain-words.tsv: ${content.trim().slice(0, 90)}`,
          );
          failed = true;
        }
  for (const [content, line] of parts.comment)
    for (const pattern of rules.comment) for (const [word] of content.matchAll(pattern)) add(pattern, word, line);
  for (const [word, line, whole] of parts.name)
    for (const pattern of rules.name) if (pattern.test(word)) add(pattern, whole, line);
  for (const [word, line] of parts.declared)
    for (const pattern of rules.declared) if (pattern.test(word)) add(pattern, word, line);
}
const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
const table = [...counts].filter(([, count]) => count > 0).sort(([a], [b]) => (a < b ? -1 : 1));
if (option === '--write') {
  writeFileSync(LEFT, `${table.map(([folder, count]) => `${folder}\t${count}`).join('\n')}\n`);
  console.log(`${total} wordings left in ${table.length} folders`);
} else if (option !== '--list') {
  const allowed = new Map(
    readFileSync(LEFT, 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split('\t')),
  );
  for (const [folder, count] of table) {
    const most = Number(allowed.get(folder) ?? 0);
    if (count <= most) continue;
    console.error(
      `${folder}: ${count} wordings of .ci/plain-words.tsv, at most ${most}; see them with --list ${folder}`,
    );
    failed = true;
  }
}
process.exitCode = failed ? 1 : 0;
