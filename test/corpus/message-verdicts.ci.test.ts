/** Verdicts from failure messages alone, against what the people who had them found out. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { incidentsInText } from '../../parsers/log/index.js';
import { readFirstFailure } from '../../src/findings/run/first-failure-result.js';
import { incidentOfRow } from '../../src/findings/run/incidents.js';
import { judgeMessage } from '../../src/findings/verdict/judge-message.js';
import { judgeTexts } from '../../src/findings/verdict/judge-texts.js';
import { ingest } from '../../src/ingest/ingest.js';
import { insertLines } from '../../src/ingest/insert-lines.js';
import { reservedOf } from '../../src/knowledge/oom-figures.js';
import type { IncidentRow } from '../../src/model/tables.js';
import { CAUSES, type Cause } from '../../src/model/vocabulary.js';
import { wordVerdict } from '../../src/report/verdict/word-verdict.js';
import { openScratch, openStore } from '../../src/store/open-store.js';
import { diagnose } from '../findings/verdict/worded.js';
import { CORPUS, skipLoudly } from '../support/corpus.js';
import { sampled } from '../support/level.js';
import { newStore } from '../support/new-store.js';

const MESSAGES = join(CORPUS, 'oom_messages.jsonl');

interface Case {
  readonly id: string;
  readonly text: string;
  readonly expected: {
    readonly kind: string;
    readonly is_oom: boolean;
    readonly human_verdict: string;
    readonly verdict_basis?: string | null;
  };
}

interface Outcome {
  readonly id: string;
  readonly basis: string;
  readonly label: string;
  readonly cause: Cause;
  readonly agreed: readonly Cause[];
  readonly result: 'agrees' | 'undecided' | 'disagrees';
  readonly why: string;
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
    if (total !== null) expect(accounting.reduce((sum, part) => sum + part.bytes, 0)).toBe(total.bytes);
    return { cause, why: answer.basis === 'none' ? missing.join('; ') : summary, row };
  });
}

function readCases(): Case[] {
  return readFileSync(MESSAGES, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Case);
}

async function outcomes(): Promise<Outcome[]> {
  const found: Outcome[] = [];
  const cases = readCases();
  const judged = await judgeAll(cases.map(({ text }) => text));
  for (const [i, { id, expected }] of cases.entries()) {
    const { cause, why, row } = judged[i]!;
    const agreed = causesOf(expected.human_verdict, expected.kind, row);
    if (agreed.length === 0) continue;
    const result = agreed.includes(cause) ? 'agrees' : cause === 'undecided' ? 'undecided' : 'disagrees';
    found.push({
      id,
      basis: expected.verdict_basis ?? 'none',
      label: expected.human_verdict,
      cause,
      agreed,
      result,
      why,
    });
  }
  return found;
}

const count = (of: readonly Outcome[], result: Outcome['result']): number =>
  of.filter((outcome) => outcome.result === result).length;

describe('verdicts from messages of the corpus', () => {
  if (!existsSync(MESSAGES)) {
    skipLoudly('message verdicts', 'the corpus (set MBF_CORPUS)');
    return;
  }

  it('agree with the established cause, or are undecided', async () => {
    const all = await outcomes();
    const table = [...new Set(all.map(({ basis }) => basis))].sort().map((basis) => {
      const of = all.filter((outcome) => outcome.basis === basis);
      return `${basis}: ${count(of, 'agrees')} agree, ${count(of, 'undecided')} undecided, ${count(of, 'disagrees')} disagree, of ${of.length}`;
    });
    const others = all
      .filter(({ result }) => result !== 'agrees')
      .map(
        ({ id, basis, label, cause, why, result }) => `  ${result}: ${id} (${basis}) ${label}, not ${cause}: ${why}`,
      );
    console.info([...table, ...others].join('\n'));
    expect(all.every(({ cause }) => CAUSES.includes(cause))).toBe(true);

    // Numbers leave no room: every verdict that follows from the printed figures must be the one they give.
    const arithmetic = all.filter(({ basis }) => basis === 'arithmetic');
    expect(count(arithmetic, 'agrees')).toBe(arithmetic.length);
    // A thread's end may know what its message does not say, so not all of these can be decided; measured 25 of 38, 1
    // against.
    const established = all.filter(({ basis }) => basis === 'source_established');
    expect(count(established, 'agrees') / established.length).toBeGreaterThan(0.6);
    expect(count(established, 'disagrees') / established.length).toBeLessThan(0.06);
    // Whatever the basis: wrong is worse than undecided.
    expect(count(all, 'disagrees') / all.length).toBeLessThan(0.05);
  });

  it('are the same when the message is in a log of a run', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'mbf-messages-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const cases = sampled(readCases(), 3);
    cases.forEach(({ text }, i) => {
      mkdirSync(join(directory, 'runs', `run-${i}`), { recursive: true });
      writeFileSync(join(directory, 'runs', `run-${i}`, 'train.log'), `${text}\n`);
    });
    const file = join(directory, 'messages.duckdb');
    const written = await newStore(file);
    try {
      const paths = [join(directory, 'runs')];
      const result = await ingest({ store: written, parsers: PARSERS, paths, each: true, now: new Date() });
      expect(result.sources.filter(({ status }) => status !== 'ingested')).toEqual([]);
    } finally {
      await written.close();
    }
    const store = await openStore(file, { mode: 'read' });
    try {
      const runs = await store.all('store.runs', { run_id: null });
      expect(runs.length).toBe(cases.length);
      const alone = await judgeAll(cases.map(({ text }) => text));
      for (const [i, { id }] of cases.entries()) {
        const run = runs.find(({ name }) => name === `run-${i}`)!;
        const { verdicts } = await diagnose(store, run.run_id, run.name);
        for (const verdict of verdicts) {
          const sum = verdict.accounting.reduce((total, part) => total + part.bytes, 0);
          expect(sum, id).toBe(verdict.accounting_total?.bytes ?? 0);
        }
        const { cause } = alone[i]!;
        const causes = verdicts.map((verdict) => verdict.cause);
        if (cause === 'not_oom')
          expect(
            causes.filter((other) => other !== 'not_oom'),
            id,
          ).toEqual([]);
        else expect(causes, id).toContain(cause);
      }
    } finally {
      await store.close();
    }
    // A hundred runs, each with a diagnosis of its own.
  });
});
