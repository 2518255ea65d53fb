/** Why a commit is judged as it is, in words. */

import type * as results from '../../model/results/compare.js';
import { statusWords } from '../../model/status-words.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { plain } from '../text-pieces.js';
import { wordedCheck } from './check-reason.js';
import { detectableWords } from './detectable-words.js';

export function wordedJudgement(
  judged: results.CommitJudgement,
  golden: results.GoldenEvidence,
): Pick<results.TriageResult, 'judgement' | 'reason' | 'why' | 'evidence' | 'checks' | 'settings'> {
  const { judgement, why, evidence, checks, settings, problem, unreadable = [] } = judged;
  const files = unreadable.length === 0 ? '' : unreadableWords(unreadable);
  const weaker = settingWords(judged);
  const detects = detectableWords(checks, golden);
  const unknown = judged.has_common_settings ? null : 'no setting is known of this run and the golden one';
  return {
    judgement,
    reason: [
      ...(why.code === 'not_readable' ? [] : [judgementWords(why)]),
      ...(judgement === 'skip' && files !== '' ? [files] : []),
      ...(problem === undefined ? [] : [problemWords(problem)]),
    ].join('; '),
    why,
    evidence: [
      ...evidence.map(({ source, run, why: of }) => ({
        text: run === null ? judgementWords(of) : `run ${run}: ${judgementWords(of)}`,
        source,
      })),
      ...(detects === null ? [] : [{ text: detects, source: 'golden' }]),
      ...(files === '' ? [] : [{ text: files, source: 'files' }]),
      ...[weaker, unknown].flatMap((text) => (text === null ? [] : [{ text, source: 'settings' }])),
    ],
    checks: checks.map(wordedCheck),
    settings,
  };
}

function judgementWords(why: results.JudgementReason): string {
  switch (why.code) {
    case 'ending':
      return statusWords(why.status);
    case 'out_of_reach':
      return `${statusWords(why.status)}: another process held the memory${why.by_ending ? ', not this commit' : ''}`;
    case 'host_memory':
      return `${statusWords(why.status)}: the host's memory, not the device's`;
    case 'not_hunted':
      return `${statusWords(why.status)}, which is not what is hunted`;
    case 'stopped_early':
      return `${statusWords(why.status)}, before what is hunted could show`;
    case 'died_otherwise': {
      const { failure } = why.status;
      const kind = failure === null ? 'unknown failure' : plain(failure.kind);
      const flaky = why.is_flaky ? ', which comes and goes' : '';
      return `it failed for another reason: ${kind}${flaky}${failure === null ? '' : ` (${failure.text.slice(0, 120)})`}`;
    }
    case 'came_to_its_end':
      return 'it came to its end';
    case 'nothing_trained':
      return 'no iteration is in its output: nothing was trained, or nothing was logged';
    case 'not_comparable':
      return `not comparable with the golden run: ${why.differs.slice(0, 4).map(changeWords).join(', ')}${
        why.differs.length > 4 ? ` and ${why.differs.length - 4} more` : ''
      }`;
    case 'other_setting':
      return `${judgementWords(why.judged)}; ${changeWords(why.change)} may be why, which the run of --like does not have`;
    case 'not_readable':
      return 'its output cannot be read';
    case 'other_cause':
      return `${statusWords(why.status)}, not the hunted ${plain(why.hunted)}`;
    case 'different_oom':
      return `a different OOM: ${plain(why.own)} instead of ${plain(why.hunted)}`;
    case 'different_detail':
      return `a different OOM: ${why.own ?? 'unknown'} instead of ${why.hunted ?? 'unknown'}`;
    case 'runs_disagree':
      return `its runs disagree: ${formatCount(why.bad)} bad (${judgementWords(why.first)}), ${formatCount(why.good)} good`;
    case 'figure':
      return checkWords(why.check);
    case 'other_figure':
      return `${statusWords(why.status)}, though not by what is hunted: ${checkWords(why.check)}`;
    case 'within_noise': {
      const { reason } = wordedCheck(why.check);
      return `within the noise: ${checkWords(why.check)}${reason === null ? '' : ` (${reason})`}`;
    }
    case 'no_figures':
      return `its output has no figures for --on ${why.criterion}`;
    case 'no_run':
      return problemWords(why.problem);
  }
}

/** The first two: a commit that writes garbage does so for every rank. */
function unreadableWords(files: readonly string[]): string {
  const more = files.length > 2 ? `, and ${files.length - 2} more` : '';
  return `cannot be read: ${files.slice(0, 2).join(', ')}${more}`;
}

/** `seq_length 4096 → 8192`. */
export function changeWords({
  key,
  golden,
  current,
}: Pick<results.ContractEntry, 'key' | 'golden' | 'current'>): string {
  return `${key} ${golden ?? 'not set'} → ${current ?? 'not set'}`;
}

/** What a judgement under other settings is worth; null where there are none. */
function settingWords({ judgement, settings }: results.CommitJudgement): string | null {
  const way = judgement === 'good' ? 'up' : 'down';
  const doubtful = settings.filter((change) => change.way !== way);
  if (judgement === 'skip' || doubtful.length === 0) return null;
  const list = doubtful.slice(0, 4).map(changeWords).join(', ');
  return judgement === 'good'
    ? `weaker evidence: settings differ from the golden run and may hide what is hunted: ${list}`
    : `weaker evidence: settings differ from the golden run and may be why: ${list}`;
}

function problemWords(problem: results.LaunchProblem): string {
  switch (problem.code) {
    case 'timed_out':
      return `the launch did not end within ${problem.seconds} s`;
    case 'signal':
      return `the launch was ended by ${problem.signal}`;
    case 'exit':
      return `the launch ended with ${problem.exit}`;
    case 'unreadable':
      return `its output holds nothing that can be read${problem.cause === null ? '' : `; ${problemWords(problem.cause)}`}`;
  }
}

const percent = (value: number): string => `${value < 0 ? '−' : '+'}${(100 * Math.abs(value)).toFixed(1)} %`;

/** `peak allocated 58.1 GiB against 54.8 GiB: +6.1 %, tolerance 2.0 %`. */
function checkWords({ name, golden, current, unit, relative, tolerance, noise }: results.CompareCheck): string {
  const figure = (value: number | string | null): string => {
    if (typeof value !== 'number') return value ?? 'unknown';
    return unit === 'bytes' ? formatBytes(value) : `${value.toFixed(1)} ${unit}`;
  };
  const words = name.replaceAll('_', ' ');
  const change = relative === null ? '' : `: ${percent(relative)}`;
  const limit = tolerance === null ? '' : `, tolerance ${(100 * tolerance).toFixed(1)} %`;
  const band =
    noise === null || typeof golden !== 'number' || golden === 0 || noise / golden < 0.0005
      ? ''
      : `, noise ±${((100 * noise) / Math.abs(golden)).toFixed(1)} %`;
  return `${words} ${figure(current)} against ${figure(golden)}${change}${limit}${band}`;
}
