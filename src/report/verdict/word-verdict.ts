/** A verdict with its sentences: what `--json` prints, and what screens are made of. */

import { type Place, placeText } from '../../model/place.js';
import type {
  AccountingPart,
  AccountingTotal,
  DiagnoseResult,
  Diagnosis,
  HintResult,
  PeakAccounting,
  VerdictResult,
} from '../../model/results/common.js';
import type { Statement } from '../../model/statement.js';
import { formatBytes } from '../../model/units.js';
import type {
  AppliedRule,
  Hint,
  HintKind,
  MissingKind,
  Part,
  PeakAccount,
  RuleId,
  Total,
  TotalKind,
  Verdict,
} from '../../model/verdict.js';
import { plain } from '../text-pieces.js';
import { actionTexts } from './action-words.js';
import { CAPTURES } from './capture-lines.js';
import { doubtTexts, summaryText, testText } from './cause-words.js';
import { evidenceText } from './evidence-words.js';
import { stepText } from './step-words.js';
import { type View, viewOf, type Words } from './words.js';

export function wordDiagnosis({ verdicts, ...diagnosis }: Diagnosis): DiagnoseResult {
  const { advice } = diagnosis;
  return {
    schema: 'mbforensics/diagnose@1',
    ...diagnosis,
    // Advice is on the first.
    verdicts: verdicts.map((verdict, i) =>
      i > 0 || advice === null
        ? wordVerdict(verdict)
        : { ...wordVerdict(verdict), next: actionTexts(advice.actions, advice.fixes) },
    ),
  };
}

export function wordVerdict(verdict: Verdict): VerdictResult {
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
      ...missing.map((kind) => MISSING[kind]),
    ],
    tests: tests.map((test) => {
      const { details: _, doubts: __, ...answer } = test;
      return { ...answer, text: testText(test) };
    }),
    captures: verdict.captures.map(({ id, settles }) => ({ id, settles, ...CAPTURES[id] })),
    combination: rules.map((rule) => ruleText(rule, verdict)),
    accounting_total: total === null ? null : wordTotal(total),
    accounting: verdict.accounting.map((part) => wordPart(part)),
    accounting_peak: peak === null ? null : wordPeak(peak),
    hint: hint === null ? null : wordHint(hint),
    next: verdict.steps.map(stepText),
  };
}

// ---- what is missing, and the rules

const MISSING: Readonly<Record<MissingKind, string>> = {
  exact_state: 'an exact state: the trace contradicts the walk back from the dump',
  snapshot:
    'what filled the device: no snapshot; record one with torch.cuda.memory._record_memory_history(stacks="python")',
  device_use: 'the memory use of the whole device at that moment (nvidia-smi), or a full OOM message of another rank',
  other_allocator: 'the figures of that allocator',
  pytorch_reserve: 'how much PyTorch had reserved then (a snapshot, or a memory line of that rank)',
  pool_contents: 'what the graph pools hold: a memory snapshot',
  grown_process: 'which process grew (dmesg, cgroup statistics, per-process RSS over time)',
  other_logs: 'the logs of all ranks: the one that failed first names its cause, the others only waited for it',
  device_total: 'headroom: device total unknown (needs --capacity)',
  run_end: 'how the run ended: the last lines of every rank, and of the launcher',
  first_exit_output: 'why that process ended: its own output, which has the error',
  no_trace: 'whether an OOM occurred: the file has no trace of this device, and an OOM would be an entry of it',
  overwritten_entries: 'whether an OOM occurred before the oldest entry: the ring of trace entries overflowed',
  earlier_entries: 'whether an OOM occurred before the recording, or after the dump',
  after_dump: 'whether an OOM occurred after the dump',
  failure_lines: 'the lines of the failure itself: the last hundred lines of every rank, not of rank 0 alone',
  refused_size: 'the size of the request, and what PyTorch held: calls carry no arguments',
};

/** The rules of the view `verdict`, in the order they are applied. */
const RULES: Readonly<Record<RuleId, string>> = {
  all_run: 'Every test runs, and each holds, fails or cannot be tested.',
  leaves_most:
    'The verdict is the part of the device that would have served the request alone and leaves most; where none would, or hardly anything would be left, the device is full. The projection of a whole step overrules sums.',
  leak_before_capacity: 'A leak comes before capacity, for it ends in a full device.',
  none_holds:
    'Where no test holds the verdict is undecided, with the capture that would settle each test that could not run.',
  rule_of_thumb:
    'Where the figures are missing, the guides decide: with expandable segments on probably a full device; without them, one rank failing among ranks alike, probably fragmentation. At low confidence.',
  untested_rival:
    'A verdict that rests on sums alone (capacity, fragmentation) is not sure while a cause that goes before it could not be tested: its confidence is one step lower.',
  contradiction: 'Evidence that contradicts the verdict, or leaves little between it and another, takes one more step.',
  counterfactual:
    'The run is replayed in the allocator model, as it was set and with the other kind of segments: the result supports the verdict or contradicts it.',
  proven:
    'Proven needs a sure verdict, and either an exact walk through the trace, the message with the device total and every byte accounted for, or an exact replay that repeats the OOM and in which the counterfactual agrees.',
};

export const COMBINATION_RULES = Object.entries(RULES).map(([id, text]) => ({ id, text }));

/** What belongs to one verdict only. */
const APPLIED: Readonly<Record<Exclude<AppliedRule, RuleId>, string | Words>> = {
  kind_decides: 'The kind of this line decides: it has no figures for a test.',
  oom_not_repeated:
    'The model does not repeat the OOM at a constant capacity: memory outside the allocator came and went, and no counterfactual is drawn from it.',
  served_in_replay: 'Replayed with expandable segments every request is served: the memory was there.',
  replay_depends:
    'Whether expandable segments would have served the request depends on the layout of memory that was live before the recording.',
  refuted_by_replay: 'Replayed with expandable segments the run still fails: that setting alone will not help.',
  served_against_it: 'Against it: replayed with expandable segments every request is served; one step less sure.',
  served_so_far:
    'Replayed with the other kind of segments the requests until here are served; the rest of the step would fail.',
  fails_in_replay_too: 'Replayed with the other kind of segments the run fails too: no layout would have made room.',
  other_device: (v) =>
    `The evidence of ${v.has('rank') ? `rank ${v.number('rank')}` : 'another device'} shows ${plain(v.name('cause'))}, which could not be tested here: one step less sure.`,
};

function ruleText({ kind, ...figures }: Statement<AppliedRule>, { tests }: Verdict): string {
  const view = viewOf(figures);
  const names = view.items.map(({ name }) => name!);
  if (kind === 'untested_rival' && names.length > 0)
    return `${RULES[kind]} Not tested: ${names.map(plain).join(', ')}.`;
  if (kind === 'contradiction') {
    const doubts = names.flatMap((cause) => doubtTexts(tests.find((test) => test.cause === cause)!));
    return `${RULES[kind]} Here: ${doubts.join('; ')}.`;
  }
  if (kind in RULES) return RULES[kind as RuleId];
  const words = APPLIED[kind as Exclude<AppliedRule, RuleId>];
  return typeof words === 'string' ? words : words(view);
}

// ---- the account

const TOTALS: Readonly<Record<TotalKind, string>> = {
  total_printed: 'device total, as printed in the message',
  total_given: 'device total, as given by --capacity',
  total: 'device total',
  total_at_peak_reserved: 'device total, from --capacity, at peak reserved',
  total_at_dump: 'device total, from --capacity, at the dump',
  reserved: 'reserved (device total not in the evidence)',
  reserved_and_free: 'reserved + device free (device total not in the evidence)',
};

const BY_SUBTRACTION = 'by subtraction';

const RESTS: Readonly<Record<NonNullable<Part['rest_of']>, (place: string) => string>> = {
  total: (place) => `${BY_SUBTRACTION} from the total (${place})`,
  process: (place) => `${BY_SUBTRACTION}: the process (${place}) − reserved`,
  reserved: (place) => `${BY_SUBTRACTION}: reserved (${place}) − allocated`,
  shares: () => BY_SUBTRACTION,
};

function wordTotal({ kind, bytes, place }: Total, text = placeText): AccountingTotal {
  return { kind, text: TOTALS[kind], bytes, source: text(place) };
}

function wordPart({ part, bytes, place, rest_of, of }: Part, text = placeText): AccountingPart {
  const source = place === null ? '' : rest_of === undefined ? text(place) : placeText(place);
  return {
    part,
    bytes,
    source: rest_of === undefined ? source : RESTS[rest_of](source),
    ...(of === undefined ? {} : { of: of.map((share) => wordPart(share, text)) }),
  };
}

function wordPeak({ moment, seq, total, parts, from }: PeakAccount): PeakAccounting {
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

// ---- PyTorch's own advice

const HINTS: Readonly<Record<HintKind, readonly [HintResult['verdict'], Words]>> = {
  already_on: ['already_on', () => "PyTorch's hint does not apply: expandable segments were on already"],
  pools: [
    'cannot_explain',
    () => "PyTorch's hint does not help: the free memory is in private pools, which the setting leaves as they are",
  ],
  too_little_idle: ['cannot_explain', tooLittleIdle],
  refuted: [
    'cannot_explain',
    () => "PyTorch's hint (expandable_segments:True) does not help: replayed with it, the run fails too",
  ],
  forbidden: [
    'forbidden',
    (v) =>
      `PyTorch's hint (expandable_segments:True) is right, but not with this configuration: ${v.name('constraint')}`,
  ],
  split_limit: [
    'applies',
    () =>
      "PyTorch's hint (max_split_size_mb) may help: large blocks stay whole; expandable segments, from torch 2.1 on, need no limit",
  ],
  unknown: [
    'unknown',
    () => "PyTorch's hint (expandable_segments:True) applies if they are off; their state is unknown",
  ],
  applies: ['applies', () => "PyTorch's hint (expandable_segments:True) is right here"],
};

function tooLittleIdle(v: View): string {
  const [idle, reserved] = [v.number('idle_bytes'), v.number('reserved_bytes')];
  const share = reserved === 0 ? 0 : (100 * idle) / reserved;
  return `PyTorch's hint does not help: ${formatBytes(idle)} reserved but unallocated (${share.toFixed(share < 10 ? 1 : 0)} %) cannot serve the request`;
}

export function wordHint({ kind, place, ...figures }: Hint): HintResult {
  const [verdict, words] = HINTS[kind];
  return { verdict, text: words(viewOf(figures)), source: typeof place === 'string' ? place : placeText(place) };
}
