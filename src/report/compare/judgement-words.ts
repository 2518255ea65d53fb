/** Why a commit is judged as it is, in words. */

import type * as results from '../../model/results/compare.js';
import { statusWords } from '../../model/status-words.js';
import { formatBytes } from '../../model/units.js';
import { plain } from '../text-pieces.js';
import { textsOf } from '../words/fill.js';
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

const textOf = textsOf('compare', 'judgements');

function judgementWords(why: results.JudgementReason): string {
  const figures = {
    ...why,
    ...('status' in why ? { status: statusWords(why.status) } : {}),
    ...('check' in why ? { check: checkWords(why.check), reason: wordedCheck(why.check).reason } : {}),
  };
  switch (why.code) {
    case 'ending':
      return statusWords(why.status);
    case 'died_otherwise': {
      const { failure } = why.status;
      return textOf(why.code, { ...figures, kind: failure?.kind, text: failure?.text.slice(0, 120) });
    }
    case 'not_comparable':
      return textOf(why.code, { differs: why.differs.slice(0, 4).map(changeWords), more: left(why.differs, 4) });
    case 'other_setting':
      return textOf(why.code, { judged: judgementWords(why.judged), change: changeWords(why.change) });
    case 'runs_disagree':
      return textOf(why.code, { ...why, first: judgementWords(why.first) });
    case 'no_run':
      return problemWords(why.problem);
    default:
      return textOf(why.code, figures);
  }
}

/** How many more than `most` there are; nothing where none. */
const left = (list: readonly unknown[], most: number): number | false => list.length > most && list.length - most;

const unreadableWords = (files: readonly string[]): string =>
  textOf('unreadable', { files: files.slice(0, 2), more: left(files, 2) });

/** `seq_length 4096 → 8192`. */
export function changeWords({
  key,
  golden,
  current,
}: Pick<results.ContractEntry, 'key' | 'golden' | 'current'>): string {
  return `${key} ${golden ?? 'not set'} → ${current ?? 'not set'}`;
}

function settingWords({ judgement, settings }: results.CommitJudgement): string | null {
  const way = judgement === 'good' ? 'up' : 'down';
  const doubtful = settings.filter((change) => change.way !== way);
  if (judgement === 'skip' || doubtful.length === 0) return null;
  return textOf('weaker', { good: judgement === 'good', list: doubtful.slice(0, 4).map(changeWords) });
}

const problemWords = (problem: results.LaunchProblem): string =>
  textOf(problem.code === 'unreadable' ? 'output_unreadable' : problem.code, {
    ...problem,
    cause: problem.code === 'unreadable' && problem.cause !== null && problemWords(problem.cause),
  });

function checkWords({ name, golden, current, unit, relative, tolerance, noise }: results.CompareCheck): string {
  const figure = (value: number | string | null): string => {
    if (typeof value !== 'number') return value ?? 'unknown';
    return unit === 'bytes' ? formatBytes(value) : `${value.toFixed(1)} ${unit}`;
  };
  const band = noise === null || typeof golden !== 'number' || golden === 0 ? 0 : noise / Math.abs(golden);
  return textOf('check', {
    ...{ name: plain(name), current: figure(current), golden: figure(golden), less: (relative ?? 0) < 0 },
    change: relative !== null && (100 * Math.abs(relative)).toFixed(1),
    tolerance: tolerance !== null && (100 * tolerance).toFixed(1),
    noise: band >= 0.0005 && (100 * band).toFixed(1),
  });
}
