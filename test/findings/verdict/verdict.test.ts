/** Each cause on facts made for it, the order between causes, and the answers that are no verdict: `cases.yaml`. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { EvidenceLog } from '../../../src/derive/verdict/facts.js';
import { conclude } from '../../../src/derive/verdict/judge-message.js';
import type { Cause } from '../../../src/model/vocabulary.js';
import { wordVerdict } from '../../../src/report/verdict/word-verdict.js';
import { SEED } from '../../support/level.js';
import { anyFacts } from './any-facts.js';
import { factsFrom, withBytes } from './facts.js';
import type { OomFacts } from './hand-facts.js';
import { readOf } from './hand-rows.js';
import { judging, type Outcome, testOf } from './judging.js';

const { judge } = judging();

const TEXTS = ['summary', 'next', 'evidence', 'combination', 'missing', 'captures'] as const;
type Texts = Readonly<Partial<Record<(typeof TEXTS)[number], string>>>;
type Written = Readonly<Record<string, unknown>>;

interface Case extends Texts {
  readonly case: string;
  readonly traced?: Written;
  readonly message?: Written;
  readonly bare?: Written;
  readonly is?: Written & { readonly missing?: readonly string[]; readonly tests?: Readonly<Record<string, Written>> };
  readonly ruledOut?: Cause;
  readonly notRuledOut?: Cause;
}

const { shared: _, ...GROUPS } = parse(readFileSync(new URL('cases.yaml', import.meta.url), 'utf8'), {
  merge: true,
}) as Record<string, readonly Case[]>;

/** A message without figures. */
const BARE = ['reserved', 'allocated', 'deviceFree', 'total', 'process', 'privatePoolFree', 'allocator', 'growth'];

function factsOf({ traced, message, bare }: Case): OomFacts {
  if (traced !== undefined) return factsFrom('traced', traced);
  const none = Object.fromEntries(BARE.map((name) => [name, null]));
  return bare === undefined ? factsFrom('message', message!) : { ...factsFrom('message', bare), ...blank(none, bare) };
}
const blank = (none: Written, bare: Written): Written =>
  Object.fromEntries(Object.entries(none).filter(([name]) => !(name in bare)));

const lines = (list: readonly { readonly text?: string; readonly id?: string }[]): string =>
  list.map(({ text, id }) => text ?? id).join('\n');

/** What a case can ask about: of a verdict that no test gives, the rules of thumb have the last word. */
function answerOf(facts: OomFacts, outcome: Outcome, isBare: boolean) {
  const { judged, holds, cause, detail, ruledOutCauses: ruledOut, missing, evidence, combination, captures } = outcome;
  if (isBare) {
    const { captures, ...verdict } = wordVerdict(conclude(readOf(facts), judged, new EvidenceLog()));
    return {
      ...verdict,
      ruledOut,
      texts: { ...verdict, next: '', evidence: '', captures: lines(captures), missing: '' },
    };
  }
  const { confidence } = judged;
  return {
    ...{ cause, detail, confidence, judged, ruledOut, missing, numbers: holds?.numbers },
    texts: {
      ...{ summary: holds?.summary, next: holds?.next.join('\n'), evidence: lines(evidence) },
      ...{ combination, captures: lines(captures.map(({ id }) => ({ id }))), missing: missing.join('\n') },
    },
  };
}

function expectText(text: string, expected: string): void {
  const [, pattern, flags] = /^\/(.*)\/(m?)$/.exec(expected) ?? [];
  if (pattern !== undefined) expect(text).toMatch(new RegExp(pattern, flags));
  else if (expected.startsWith('!')) expect(text).not.toContain(expected.slice(1));
  else expect(text).toContain(expected);
}

describe.concurrent.each(Object.entries(GROUPS))('%s', (_, cases) => {
  it.each(cases)('$case', async (one) => {
    const facts = factsOf(one);
    const [outcome] = await judge(facts);
    const answer = answerOf(facts, outcome, one.bare !== undefined);
    const { missing, tests = {}, ...is } = one.is ?? {};
    expect(answer).toMatchObject(withBytes(is) as object);
    if (missing !== undefined) expect(outcome.missing).toHaveLength(missing.length);
    for (const [i, text] of (missing ?? []).entries()) expectText(outcome.missing[i]!, text);
    for (const [cause, { text, ...row }] of Object.entries(tests)) {
      const test = testOf(outcome, cause as Cause);
      expect(test).toMatchObject(withBytes(row) as object);
      if (text !== undefined) expectText(test.text, text as string);
    }
    if (one.ruledOut !== undefined) expect(answer.ruledOut).toContain(one.ruledOut);
    if (one.notRuledOut !== undefined) expect(answer.ruledOut).not.toContain(one.notRuledOut);
    for (const name of TEXTS) if (one[name] !== undefined) expectText(String(answer.texts[name]), one[name]);
  });
});

it('no text has numbers that are not numbers', async () => {
  // One question for all of them: DuckDB takes longer to plan it than to run it.
  const batch = fc.array(anyFacts, { minLength: 500, maxLength: 500, size: 'max' });
  await fc.assert(
    fc.asyncProperty(batch, async (all) => {
      for (const [i, { holds, missing, ruled_out, evidence }] of (await judge(...all)).entries()) {
        const more = [...ruled_out.map(({ why }) => why), ...evidence.map(({ text }) => text)];
        for (const text of [holds?.summary ?? '', ...missing, ...more])
          expect(text, JSON.stringify(all[i])).not.toMatch(/NaN|undefined|null|Infinity/);
      }
    }),
    // A counterexample is one of many facts, and is printed with its text.
    { numRuns: 1, endOnFailure: true, seed: SEED },
  );
});
