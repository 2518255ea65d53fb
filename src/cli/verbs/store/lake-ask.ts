import { lakeTables } from '../../../lake/lake-tables.js';
import { openLake } from '../../../lake/open-lake.js';
import { loadQuestion, ownQuestion, type Question, questionNames, statementOf } from '../../../lake/questions.js';
import { MbfError } from '../../../model/errors.js';
import type { LakeAskResult, LakeQuestion, LakeQuestionsResult } from '../../../model/results/lake.js';
import { lakeAskDocument, lakeQuestionsDocument } from '../../../report/store/lake-document.js';
import { csvLine, jsonLine } from '../../../report/store/sql-text.js';
import { defineVerb } from '../../define-verb.js';
import { didYouMean } from '../../nearest.js';
import { CSV_RAW, choice, MARKDOWN, misuse, operand, option, pair, ROW_LIMIT, repeated } from '../../options.js';
import { readTextFile } from '../../text-input.js';

export const ask = defineVerb({
  name: 'lake ask',
  storeless: true,
  operands: { question: operand('[question]', 'name of a question, or a file of SQL; default: list the questions') },
  options: {
    lake: option('--lake <dir>', 'the directory of the lake; without it, the question is described'),
    set: repeated('--set <name=value>', 'a parameter of the question; may be repeated', pair('NAME=VALUE')),
    format: choice('--format <format>', 'how rows are printed', ['table', 'jsonl', 'csv'], 'table'),
    limit: ROW_LIMIT,
    csvRaw: CSV_RAW,
    markdown: MARKDOWN,
  },
  async ask({ question: name, lake, set, format, limit, csvRaw, json }, session) {
    const question = name === undefined ? undefined : await questionOf(name);
    if (question === undefined || lake === undefined) {
      if (lake !== undefined) throw misuse('no question was given; `mbforensics lake ask` lists them');
      if (set.length > 0 || format !== 'table') throw misuse('--set and --format need --lake');
      const questions = (question === undefined ? questionNames().map(loadQuestion) : [question]).map(described);
      const listed: LakeQuestionsResult = { schema: 'mbforensics/lake-questions@1', questions };
      return listed;
    }
    if (csvRaw && format !== 'csv') throw misuse('--csv-raw is an option of --format csv');
    const { statement, tables } = statementOf(question, new Map(set));
    const store = session.keep(await openLake(lake, tables, { threads: threadsFor(tables) }));
    const { runReadOnly, streamReadOnly } = await import('../../../store/read-only-sql.js');
    if (format !== 'table' && json === undefined) {
      const { columns, rows } = await streamReadOnly(store, statement);
      const { out, bytes } = session.context;
      const print = csvRaw ? (line: string) => bytes(Buffer.from(line)) : out;
      const line = (row: readonly unknown[]) => (format === 'csv' ? csvLine(row, csvRaw) : jsonLine(columns, row));
      if (format === 'csv') print(line(columns.map((column) => column.name)));
      for await (const row of rows) print(line(row));
      return undefined;
    }
    const parameters = [...new Map(set)].map(([key, value]) => ({ name: key, value }));
    const answer: LakeAskResult = {
      ...{ schema: 'mbforensics/lake-ask@1', lake, question: question.name, title: question.title, parameters },
      ...(await runReadOnly(store, statement, limit === undefined ? {} : { maxRows: limit })),
    };
    return answer;
  },
  document: (answer) =>
    'rows' in answer ? lakeAskDocument(answer) : lakeQuestionsDocument(answer, answer.questions.length === 1),
});

/** Answers are many small files: of 10,240 ranks in 160 blocks, four threads took 40 % more CPU than one. */
const threadsFor = (tables: readonly string[]): number =>
  lakeTables().some(({ name, level }) => level !== 'answers' && tables.includes(name)) ? 4 : 1;

async function questionOf(name: string): Promise<Question> {
  const names = questionNames();
  if (names.includes(name)) return loadQuestion(name);
  if (name.endsWith('.sql') || name === '-') return ownQuestion(name, await readTextFile(name));
  throw new MbfError(
    'MBF1002',
    `no question is named ${JSON.stringify(name)}${didYouMean(name, names)}; there are: ${names.join(', ')}`,
  );
}

const described = ({ name, title, why, params, columns }: Question): LakeQuestion => ({
  ...{ name, title, why },
  parameters: params.map(({ name: key, type, text, initial }) => ({ name: key, type, text, initial: initial ?? null })),
  columns: columns.map(({ name: key, type, nullable, text }) => ({ name: key, type, nullable, text })),
});
