import { PARSERS } from '../../../../parsers/index.js';
import { classify } from '../../../findings/verdict/classify.js';
import { hidingSecrets } from '../../../ingest/derive/hide-secrets.js';
import { insertLines } from '../../../ingest/write/insert-lines.js';
import { MbfError } from '../../../model/errors.js';
import type { IncidentRow } from '../../../model/tables.js';
import { classifyDocument, wordClassification } from '../../../report/knowledge/classify-document.js';
import { openScratch } from '../../../store/open-store.js';
import { defineVerb } from '../../define-verb.js';
import { EXIT } from '../../exit-codes.js';
import { CAPACITY, flag, operand } from '../../options.js';
import { openTextInput, type TextInput } from '../../text-input.js';

/** Failure lines kept; a log that fails more often has nothing new. */
const MOST_INCIDENTS = 100_000;

export const verb = defineVerb({
  name: 'classify',
  operands: { file: operand('<file>', 'a text of any size, compressed or not, or - to read standard input') },
  options: { capacity: CAPACITY, exitCode: flag('--exit-code', 'exit 1 if memory ran out, 3 if that stays undecided') },
  async ask({ file, capacity }, session) {
    const input = session.keep(await openTextInput(file));
    const scratch = async (row: IncidentRow) => insertLines(session.keep(await openScratch()), [row], input.name);
    const options = { capacityBytes: capacity?.bytes };
    return wordClassification(await classify(await readIncidents(input), input.name, scratch, options));
  },
  document: classifyDocument,
  exitCode({ verdict: { cause } }, { exitCode }) {
    if (!exitCode || cause === 'not_oom') return EXIT.done;
    return cause === 'undecided' ? EXIT.undecided : EXIT.finding;
  },
});

/** The failure lines of a text, in their order, read as a stream. */
async function readIncidents({ source, name }: TextInput): Promise<IncidentRow[]> {
  const parser = PARSERS.find(({ id }) => id === 'log')!;
  const rows: IncidentRow[] = [];
  const taken = {
    incident: (row: IncidentRow) => {
      if (rows.length < MOST_INCIDENTS) rows.push(row);
    },
    note: () => undefined,
    logRow: () => undefined,
    attempt: () => undefined,
    profilerMemory: () => undefined,
    snapshot: () => Promise.reject(new Error('a text holds no snapshot')),
  };
  const { rank, rankOrigin } = await parser.parse(source, hidingSecrets(taken), { name }).catch((error: unknown) => {
    throw error instanceof MbfError ? error.inFile(name) : error;
  });
  // Lines without a rank of their own are of the rank that wrote the file.
  return rows
    .map((row) => (row.rank === null && rank !== null ? { ...row, rank, rankOrigin } : row))
    .sort((a, b) => a.offset - b.offset);
}
