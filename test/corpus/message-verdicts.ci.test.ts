/**
 * Verdicts from failure messages alone, against what the people who had them found out; and from lines whose cause was
 * found elsewhere: what they state themselves must be read right, and what they do not must not be made up.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { incidentsInText } from '../../parsers/log/index.js';
import { readFirstFailure } from '../../src/derive/run/first-failure-result.js';
import { incidentOfRow } from '../../src/derive/run/incidents.js';
import { judgeMessage } from '../../src/derive/verdict/judge-message.js';
import { judgeTexts } from '../../src/findings/verdict/judge-texts.js';
import { insertLines } from '../../src/ingest/write/insert-lines.js';
import { reservedOf } from '../../src/knowledge/oom-figures.js';
import type { IncidentRow } from '../../src/model/tables.js';
import { CAUSES, type Cause } from '../../src/model/vocabulary.js';
import { wordVerdict } from '../../src/report/verdict/word-verdict.js';
import { openScratch } from '../../src/store/open-store.js';
import { classify, diagnose } from '../findings/verdict/worded.js';
import { scratchDirectory } from '../store/scratch.js';
import { CORPUS } from '../support/corpus.js';
import { sampled } from '../support/level.js';
import { ingested } from '../support/new-store.js';
import { corpusSuite, sum } from './corpus-suite.js';

const MESSAGES = join(CORPUS, 'oom_messages.jsonl');

interface Case {
  readonly id: string;
  readonly text: string;
  /** Of a verdict that was found out elsewhere. */
  readonly text_kind?: string;
  readonly expected: { readonly kind: string; readonly human_verdict: string; readonly verdict_basis?: string | null };
}

interface Outcome {
  readonly basis: string;
  readonly cause: Cause;
  readonly result: 'agrees' | 'undecided' | 'disagrees';
  /** For the list of those that do not agree. */
  readonly line: string;
}

/** Causes that agree with a label (DESIGN, "Corpus labels map so"). */
function causesOf(label: string, kind: string, row: IncidentRow | undefined): Cause[] {
  if (label === 'unknown') return [];
  // Lines that carry no figures decide nothing, whatever was found out later.
  if (kind === 'cuda_oom_driver' || kind === 'cublas' || kind === 'cudnn') return ['undecided'];
  if (/^(?:host|shm|dataloader)_/.test(kind)) return ['host_oom'];
  if (kind === 'nccl_oom') return ['external_pressure', 'capacity'];
  const fits = row !== undefined && fitsOnPaper(row);
  switch (label) {
    case 'leak':
    case 'capacity':
      return fits ? [label, 'capacity', 'fragmentation'] : [label, 'capacity'];
    case 'fragmentation':
      return fits ? ['fragmentation', 'capacity', 'leak'] : ['fragmentation'];
    case 'other_process':
    case 'non_torch':
      return ['external_pressure'];
    case 'private_pool_allocator':
    case 'cuda_graph_private_pool':
      return ['graph_pools'];
    default:
      return [];
  }
}

/** The printed numbers show allocated + request ≤ reserved + free. */
function fitsOnPaper(row: IncidentRow): boolean {
  const { requested, allocated, free } = row.bytes;
  const reserved = reservedOf(row);
  if (requested === undefined || allocated === undefined || free === undefined || reserved === null) return false;
  return allocated.bytes + requested.bytes <= reserved.bytes + free.bytes;
}

interface Judged {
  readonly cause: Cause;
  readonly why: string;
  readonly row: IncidentRow | undefined;
}

/** In the order of the texts, from the message alone: nothing of its traceback. */
async function judgeAll(texts: readonly string[]): Promise<Judged[]> {
  const rows = texts.map((text) => {
    const found = incidentsInText(text);
    return found[readFirstFailure(found.map((row) => incidentOfRow(row, 'text')))?.incident ?? 0];
  });
  const lines = rows.flatMap((row) => (row === undefined ? [] : [{ ...row, frame: null }]));
  const scratch = await openScratch();
  const judged = await insertLines(scratch, lines, 'text')
    .then(() => judgeTexts(scratch, lines, 'text'))
    .finally(() => scratch.close());
  let next = 0;
  return rows.map((row): Judged => {
    if (row === undefined) return { cause: 'not_oom', why: 'no message found', row };
    const { failure, judged: answer } = judged[next]!;
    next += 1;
    const { cause, summary, missing, accounting, accounting_total: total } = wordVerdict(judgeMessage(failure, answer));
    if (total !== null) expect(sum(accounting.map(({ bytes }) => bytes))).toBe(total.bytes);
    return { cause, why: answer.basis === 'none' ? missing.join('; ') : summary, row };
  });
}

const readCases = (path: string): Case[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Case);

async function outcomes(): Promise<Outcome[]> {
  const cases = readCases(MESSAGES);
  const judged = await judgeAll(cases.map(({ text }) => text));
  return cases.flatMap(({ id, expected }, i): Outcome[] => {
    const { cause, why, row } = judged[i]!;
    const { human_verdict: label, kind, verdict_basis } = expected;
    const agreed = causesOf(label, kind, row);
    if (agreed.length === 0) return [];
    const basis = verdict_basis ?? 'none';
    const result = agreed.includes(cause) ? 'agrees' : cause === 'undecided' ? 'undecided' : 'disagrees';
    return [{ basis, cause, result, line: `  ${result}: ${id} (${basis}) ${label}, not ${cause}: ${why}` }];
  });
}

const count = (of: readonly Outcome[], result: Outcome['result']): number =>
  of.filter((outcome) => outcome.result === result).length;

corpusSuite('verdicts from messages of the corpus', existsSync(MESSAGES), () => {
  it('agree with the established cause, or are undecided', async () => {
    const all = await outcomes();
    const list = all.flatMap(({ result, line }) => (result === 'agrees' ? [] : [line])).join('\n');
    expect(all.every(({ cause }) => CAUSES.includes(cause))).toBe(true);

    // Numbers leave no room: every verdict that follows from the printed figures must be the one they give.
    const arithmetic = all.filter(({ basis }) => basis === 'arithmetic');
    expect(count(arithmetic, 'agrees'), list).toBe(arithmetic.length);
    // A thread's end may know what its message does not say, so not all of these can be decided; measured 31 of 38, 0
    // against.
    const established = all.filter(({ basis }) => basis === 'source_established');
    expect(count(established, 'agrees') / established.length, list).toBeGreaterThan(0.75);
    expect(count(established, 'disagrees') / established.length, list).toBeLessThan(0.03);
    // Whatever the basis: wrong is worse than undecided.
    expect(count(all, 'disagrees') / all.length, list).toBeLessThan(0.02);
  });

  it('are the same when the message is in a log of a run', async () => {
    const directory = scratchDirectory();
    const cases = sampled(readCases(MESSAGES), 6);
    cases.forEach(({ text }, i) => {
      mkdirSync(join(directory, 'runs', `run-${i}`), { recursive: true });
      writeFileSync(join(directory, 'runs', `run-${i}`, 'train.log'), `${text}\n`);
    });
    const { store, result } = await ingested(join(directory, 'store.duckdb'), [join(directory, 'runs')], {
      each: true,
    });
    try {
      expect(result.sources.filter(({ status }) => status !== 'ingested')).toEqual([]);
      const runs = await store.all('store.runs', { run_id: null });
      expect(runs.length).toBe(cases.length);
      const alone = await judgeAll(cases.map(({ text }) => text));
      for (const [i, { id }] of cases.entries()) {
        const run = runs.find(({ name }) => name === `run-${i}`)!;
        const { verdicts } = await diagnose(store, run.run_id, run.name);
        for (const { accounting, accounting_total: total } of verdicts)
          expect(sum(accounting.map(({ bytes }) => bytes)), id).toBe(total?.bytes ?? 0);
        const { cause } = alone[i]!;
        const causes = verdicts.map((verdict) => verdict.cause);
        const others = causes.filter((other) => other !== 'not_oom');
        if (cause === 'not_oom') expect(others, id).toEqual([]);
        // A run does not fail by a text that only mentions an OOM.
        else if (cause === 'undecided')
          expect(
            causes.filter((other) => other !== cause),
            id,
          ).toEqual([]);
        else expect(causes, id).toContain(cause);
      }
    } finally {
      await store.close();
    }
  });
});

const FOUND_ELSEWHERE = join(CORPUS, 'verdict_cases.jsonl');

/** Causes that agree with what was found out; `undecided` always does. */
const AGREES: Readonly<Record<string, readonly Cause[]>> = {
  ...{ capacity: ['capacity'], leak: ['leak', 'capacity'], fragmentation: ['fragmentation'], unknown: [] },
  ...{ non_torch: ['external_pressure'], other_process: ['external_pressure'] },
  ...{ cuda_graph_private_pool: ['graph_pools'], private_pool_allocator: ['graph_pools'] },
};

corpusSuite('verdicts that were found out elsewhere', existsSync(FOUND_ELSEWHERE), () => {
  it('are agreed with, or left undecided', async () => {
    const scratch = await openScratch();
    onTestFinished(() => scratch.close());
    const cases = readCases(FOUND_ELSEWHERE);
    expect(cases.length).toBeGreaterThan(0);
    for (const { id, text, text_kind, expected } of cases) {
      const { incidents, verdict } = await classify(incidentsInText(text), 'text', (row) =>
        insertLines(scratch, [row], 'text'),
      );
      const host = expected.kind === 'host_oom' ? (['host_oom'] as const) : [];
      expect(['undecided', ...host, ...(AGREES[expected.human_verdict] ?? [])], id).toContain(verdict.cause);
      expect(['low', 'medium'], id).toContain(verdict.confidence);
      // Placeholders have lost what made them their kind; what is verbatim is known.
      if (text_kind === 'verbatim') expect(incidents[0]?.kind, id).toBe(expected.kind);
      // An answer that is none says what would be one.
      if (verdict.cause === 'undecided')
        expect(verdict.missing.length + verdict.captures.length, id).toBeGreaterThan(0);
    }
  });
});
