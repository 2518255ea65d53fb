/** Why a commit is judged as it is, in words. */
import type {
  CommitJudgement,
  CompareCheck,
  JudgementReason,
  LaunchProblem,
  TriageResult,
} from '../../model/results/compare.js';
import { statusWords } from '../../model/status-words.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { wordedCheck } from './check-reason.js';

export function wordedJudgement({
  judgement,
  why,
  evidence,
  checks,
  problem,
}: CommitJudgement): Pick<TriageResult, 'judgement' | 'reason' | 'why' | 'evidence' | 'checks'> {
  return {
    judgement,
    reason: `${judgementWords(why)}${problem === undefined ? '' : `; ${problemWords(problem)}`}`,
    why,
    evidence: evidence.map(({ source, run, why: of }) => ({
      text: run === null ? judgementWords(of) : `run ${run}: ${judgementWords(of)}`,
      source,
    })),
    checks: checks.map(wordedCheck),
  };
}

const spaced = (word: string): string => word.replaceAll('_', ' ');

function judgementWords(why: JudgementReason): string {
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
      const kind = failure === null ? 'unknown failure' : spaced(failure.kind);
      const flaky = why.is_flaky ? ', which comes and goes' : '';
      return `it died of something else: ${kind}${flaky}${failure === null ? '' : ` (${failure.text.slice(0, 120)})`}`;
    }
    case 'came_to_its_end':
      return 'it came to its end';
    case 'nothing_trained':
      return 'no iteration is in its output: nothing was trained, or nothing was logged';
    case 'other_device':
      return `it ran on other devices: ${why.key} ${why.golden} → ${why.current}`;
    case 'other_cause':
      return `${statusWords(why.status)}, not the hunted ${spaced(why.hunted)}`;
    case 'different_oom':
      return `a different OOM: ${spaced(why.own)} instead of ${spaced(why.hunted)}`;
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

function problemWords(problem: LaunchProblem): string {
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
function checkWords({ name, golden, current, unit, relative, tolerance, noise }: CompareCheck): string {
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
