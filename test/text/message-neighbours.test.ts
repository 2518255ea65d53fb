/** Messages near the known ones: other versions, words, orders, units, prefixes and surroundings. */
import { expect, it } from 'vitest';
import { incidentsInText } from '../../parsers/log/index.js';
import { readFirstFailure } from '../../src/derive/run/first-failure-result.js';
import { incidentOfRow } from '../../src/derive/run/incidents.js';
import { isFirstExit } from '../../src/derive/verdict/first-exit.js';
import { judgeMessage, UNDECIDED } from '../../src/derive/verdict/judge-message.js';
import { judgeTexts } from '../../src/findings/verdict/judge-texts.js';
import { insertLines } from '../../src/ingest/write/insert-lines.js';
import { unallocatedOf } from '../../src/knowledge/oom-figures.js';
import { INCIDENT_BYTE_FIELDS, type IncidentRow } from '../../src/model/tables.js';
import type { Verdict } from '../../src/model/verdict.js';
import { judging } from '../findings/verdict/judging.js';
import { runs, SEED } from '../support/level.js';
import { type Neighbour, neighbour } from './message-neighbours.js';

const { scratch } = judging();

/** Of all; 4 of 4,000 were measured. */
const MOST_OF_WRAPPED = 0.005;

interface Judged {
  readonly row: IncidentRow | undefined;
  readonly verdict: Pick<Verdict, 'cause' | 'confidence'>;
}

interface Outcome {
  readonly kind: boolean;
  readonly fields: boolean;
  readonly overclaim: boolean;
  /** Its lines are cut as a terminal cuts them. */
  readonly isWrapped: boolean;
  readonly report: string;
}

/** What was read and differs from what the text states. */
function differences({ message, rank, count }: Neighbour, row: IncidentRow, rows: readonly IncidentRow[]): string[] {
  const wrong: string[] = [];
  for (const field of INCIDENT_BYTE_FIELDS) {
    const expected = message.bytes[field];
    const read = field === 'reservedUnallocated' ? unallocatedOf(row) : (row.bytes[field] ?? null);
    if (field === 'reservedUnallocated' && expected === undefined) continue;
    const agrees =
      expected === undefined
        ? read === null
        : read !== null && Math.abs(read.bytes - expected.bytes) <= Math.max(2, expected.error);
    if (!agrees) wrong.push(`${field} ${read?.bytes ?? null}, not ${expected?.bytes ?? null}`);
  }
  if (row.device !== message.device) wrong.push(`device ${row.device}, not ${message.device}`);
  if (rank !== undefined && row.rank !== rank) wrong.push(`rank ${row.rank}, not ${rank}`);
  const alike = rows.filter(({ kind }) => message.kinds.includes(kind)).length;
  if (count !== undefined && alike !== count) wrong.push(`${alike} failures, not ${count}`);
  return wrong;
}

/** All at once: to plan the statements takes longer than to run them. */
async function judged(texts: readonly (readonly IncidentRow[])[]): Promise<Judged[]> {
  const firsts = texts.map((rows) => readFirstFailure(rows.map((row) => incidentOfRow(row, 'text'))));
  const rows = texts.flatMap((of, i) => of[firsts[i]?.incident ?? 0] ?? []);
  await insertLines(scratch(), rows, 'text');
  const verdicts = (await judgeTexts(scratch(), rows, 'text')).map(({ failure, judged: answer }) =>
    judgeMessage(failure, answer),
  );
  return texts.map((of, i): Judged => {
    const row = of[firsts[i]?.incident ?? 0];
    const verdict = row === undefined ? UNDECIDED : verdicts.shift()!;
    const first = firsts[i] ?? null;
    const isExit = first !== null && isFirstExit(first, incidentOfRow(row!, 'text'));
    return { row, verdict: isExit ? UNDECIDED : verdict };
  });
}

function outcome(seed: number, composed: Neighbour, rows: readonly IncidentRow[], { row, verdict }: Judged): Outcome {
  const { text, message, surroundings } = composed;
  const kind = row !== undefined && message.kinds.includes(row.kind);
  const wrong = row === undefined ? ['nothing found'] : differences(composed, row, rows);
  const overclaim =
    verdict.confidence !== 'low' && verdict.cause !== 'undecided' && !message.causes.includes(verdict.cause);
  const report = [
    `seed ${seed} ${message.name} (${surroundings.join(', ')}): ${row?.kind ?? null}; ${wrong.join('; ')}`,
    ...(kind
      ? []
      : [
          `kind ${row?.kind ?? null} (${row?.grammar ?? ''}), not ${message.kinds.join(' or ')}; all ${rows.map((one) => one.kind).join()}`,
        ]),
    ...(overclaim ? [`overclaim ${verdict.cause} ${verdict.confidence}, not ${message.causes.join(' or ')}`] : []),
    text,
  ].join('\n  ');
  return { kind, fields: wrong.length === 0, overclaim, isWrapped: surroundings.includes('wrapped'), report };
}

it('are read by their clauses, and no cause is stated that they do not establish', { timeout: 600_000 }, async () => {
  const amount = runs(400, 4000);
  const seeds = Array.from({ length: amount }, (_, i) => SEED * 100_003 + i);
  const composed = seeds.map(neighbour);
  const rows = composed.map(({ text }) => incidentsInText(text));
  const answers = await judged(rows);
  const outcomes = seeds.map((seed, i) => outcome(seed, composed[i]!, rows[i]!, answers[i]!));
  const failed = outcomes.filter(({ kind, fields, overclaim }) => !kind || !fields || overclaim);
  const list = failed.map(({ report }) => report).join('\n\n');
  const share = (of: (outcome: Outcome) => boolean): number => outcomes.filter(of).length / amount;
  console.info(
    `kind ${share(({ kind }) => kind)}, fields ${share(({ fields }) => fields)}, overclaims ${outcomes.filter(({ overclaim }) => overclaim).length} of ${amount}`,
  );
  expect(outcomes.filter(({ overclaim, isWrapped }) => overclaim && !isWrapped).length, list).toBe(0);
  // A terminal that cuts lines at its edge may cut the words that anchors are, and with them a cause.
  expect(outcomes.filter(({ overclaim }) => overclaim).length, list).toBeLessThanOrEqual(MOST_OF_WRAPPED * amount);
  expect(
    share(({ kind }) => kind),
    list,
  ).toBeGreaterThanOrEqual(0.97);
  expect(
    share(({ fields }) => fields),
    list,
  ).toBeGreaterThanOrEqual(0.97);
});
