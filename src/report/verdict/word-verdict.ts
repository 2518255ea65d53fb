/** A verdict with its sentences: what `--json` prints, and what screens are made of. */

import { loadData } from '../../knowledge/load-data.js';
import { type Place, placeText } from '../../model/place.js';
import type * as results from '../../model/results/common.js';
import type { Figures, Statement } from '../../model/statement.js';
import type { AppliedRule, Hint, Part, PeakAccount, Total, Verdict } from '../../model/verdict.js';
import { plain } from '../text-pieces.js';
import { fill, wordsOf, wordTable } from '../words/fill.js';
import { worded } from '../words/worded.js';
import { actionTexts } from './action-words.js';
import { doubtTexts, summaryText, testText } from './cause-words.js';
import { evidenceText } from './evidence-words.js';
import { stepText } from './step-words.js';

export function wordDiagnosis({ verdicts, ...diagnosis }: results.Diagnosis): results.DiagnoseResult {
  const advice = worded(diagnosis.advice);
  return {
    schema: 'mbforensics/diagnose@1',
    ...diagnosis,
    advice,
    // Advice is on the first.
    verdicts: verdicts.map((verdict, i) =>
      i > 0 || advice === null
        ? wordVerdict(verdict)
        : { ...wordVerdict(verdict), next: actionTexts(advice.actions, advice.fixes) },
    ),
  };
}

export function wordVerdict(verdict: Verdict): results.VerdictResult {
  const { rules, tests, missing, accounting_total: total, accounting_peak: peak, hint, ...fields } = verdict;
  const untested = tests.filter(({ outcome }) => outcome === 'not_testable');
  return {
    ...fields,
    summary: summaryText(verdict),
    evidence: verdict.evidence.map((entry) => ({
      ...entry,
      text: evidenceText(entry),
      source: placeText(entry.place),
    })),
    ruled_out: tests.flatMap((test) => (test.outcome === 'fails' ? [{ cause: test.cause, why: testText(test) }] : [])),
    missing: [
      ...untested.map((test) => `${plain(test.cause)}: needs ${testText(test)}`),
      ...missing.map((kind) => wordsOf(wordTable('verdict', 'missing'), kind)),
    ],
    tests: tests.map((test) => {
      const { details: _, doubts: __, ...answer } = test;
      return { ...answer, text: testText(test) };
    }),
    captures: verdict.captures.map(({ id, settles }) => ({ id, settles, ...wordsOf(captureWords(), id) })),
    combination: rules.map((rule) => ruleText(rule, verdict)),
    accounting_total: total === null ? null : wordTotal(total),
    accounting: verdict.accounting.map((part) => wordPart(part)),
    accounting_peak: peak === null ? null : wordPeak(peak),
    hint: hint === null ? null : wordHint(hint),
    next: verdict.steps.map(stepText),
  };
}

/** The rules of the view `verdict`, in the order they are applied. */
export const combinationRules = (): { readonly id: string; readonly text: string }[] =>
  Object.entries(wordTable('verdict', 'rules')).map(([id, text]) => ({ id, text }));

function ruleText({ kind, ...figures }: Statement<AppliedRule>, { tests }: Verdict): string {
  const text = fill(wordsOf({ ...wordTable('verdict', 'rules'), ...wordTable('verdict', 'applied') }, kind), figures);
  const names = (figures.items ?? []).map(({ name }) => name!);
  if (kind === 'untested_rival' && names.length > 0) return `${text} Not tested: ${names.map(plain).join(', ')}.`;
  if (kind !== 'contradiction') return text;
  const doubts = names.flatMap((cause) => doubtTexts(tests.find((test) => test.cause === cause)!));
  return `${text} Here: ${doubts.join('; ')}.`;
}

/** What to record next time, as lines to paste. */
export const captureWords = () =>
  loadData('words/captures') as Readonly<Record<string, Pick<results.VerdictCapture, 'title' | 'lines'>>>;

// ---- the account

const BY_SUBTRACTION = 'by subtraction';

const RESTS: Readonly<Record<NonNullable<Part['rest_of']>, (place: string) => string>> = {
  total: (place) => `${BY_SUBTRACTION} from the total (${place})`,
  process: (place) => `${BY_SUBTRACTION}: the process (${place}) − reserved`,
  reserved: (place) => `${BY_SUBTRACTION}: reserved (${place}) − allocated`,
  shares: () => BY_SUBTRACTION,
};

function wordTotal({ kind, bytes, place }: Total, text = placeText): results.AccountingTotal {
  return { kind, text: wordsOf(wordTable('verdict', 'totals'), kind), bytes, source: text(place) };
}

function wordPart({ part, bytes, place, rest_of, of }: Part, text = placeText): results.AccountingPart {
  const source = place === null ? '' : rest_of === undefined ? text(place) : placeText(place);
  return {
    part,
    bytes,
    source: rest_of === undefined ? source : RESTS[rest_of](source),
    ...(of === undefined ? {} : { of: of.map((share) => wordPart(share, text)) }),
  };
}

function wordPeak({ moment, seq, total, parts, from }: PeakAccount): results.PeakAccounting {
  // A dump, and the state that a trace begins with, do not have an entry.
  const suffix = moment === 'dump' ? ' as dumped' : moment === 'peak' && seq === null ? ' before its first entry' : '';
  const atMoment = (place: Place): string => `${placeText(place)}${suffix}`;
  return {
    moment,
    seq,
    total: wordTotal(total, total.kind === 'reserved' ? atMoment : placeText),
    parts: parts.map((part) => wordPart(part, atMoment)),
    from,
  };
}

/** PyTorch's own advice. */
export function wordHint({ kind, place, ...figures }: Hint): results.HintResult {
  const [verdict, words] = wordsOf(
    wordTable<readonly [results.HintResult['verdict'], string]>('verdict', 'hints'),
    kind,
  );
  const text = fill(words, kind === 'too_little_idle' ? withShare(figures) : figures);
  return { verdict, text, source: typeof place === 'string' ? place : placeText(place) };
}

function withShare({ numbers, names }: Figures): Figures {
  const { idle_bytes: idle, reserved_bytes: reserved } = numbers;
  const share = reserved === 0 ? 0 : (100 * idle!) / reserved!;
  return { numbers, names: { ...names, idle_share: share.toFixed(share < 10 ? 1 : 0) } };
}
