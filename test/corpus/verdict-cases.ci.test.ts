/**
 * Lines that somebody found the cause of elsewhere: what they say themselves must be read right, and what they do not
 * say must not be made up.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { incidentsInText } from '../../parsers/log/index.js';
import { insertLines } from '../../src/ingest/insert-lines.js';
import type { Cause } from '../../src/model/vocabulary.js';
import { openScratch } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import { classify } from '../findings/verdict/worded.js';
import { CORPUS, skipLoudly } from '../support/corpus.js';

const CASES = join(CORPUS, 'verdict_cases.jsonl');

interface Case {
  readonly id: string;
  readonly text_kind: string;
  readonly text: string;
  readonly expected: { readonly kind: string; readonly human_verdict: string };
}

/** Causes that agree with what was found out; `undecided` always does. */
const AGREES: Readonly<Record<string, readonly Cause[]>> = {
  capacity: ['capacity'],
  leak: ['leak', 'capacity'],
  fragmentation: ['fragmentation'],
  non_torch: ['external_pressure'],
  other_process: ['external_pressure'],
  cuda_graph_private_pool: ['graph_pools'],
  private_pool_allocator: ['graph_pools'],
  unknown: [],
};

describe('verdicts that were found out elsewhere', () => {
  if (!existsSync(CASES)) {
    skipLoudly('verdict cases', 'the corpus (set MBF_CORPUS)');
    return;
  }
  const cases = readFileSync(CASES, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Case);

  let scratch: Store;
  beforeAll(async () => {
    scratch = await openScratch();
  });
  afterAll(() => scratch.close());

  it('are agreed with, or left undecided', async () => {
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
