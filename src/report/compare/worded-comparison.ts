/** The sentences of a comparison: why nothing was judged, what decides, and what the figures of each check are of. */
import type { CompareCheck, CompareResult, ContractEntry, JudgedComparison } from '../../model/results/compare.js';
import { worded } from '../words/worded.js';
import { wordedCheck } from './check-reason.js';
import { detectableWords } from './detectable-words.js';

export function wordedComparison({ is_refused, ...found }: JudgedComparison): CompareResult {
  const judged = { ...found, suspects: worded(found.suspects), notes: worded(found.notes) };
  const { verdict, preset, contract, suspects } = judged;
  const checks = judged.checks.map(wordedCheck);
  const refused = is_refused ? refusalOf(contract) : null;
  const summary = refused ?? summaryOf({ verdict, preset, checks });
  const detects = refused === null ? detectableWords(checks, judged.golden) : null;
  const notes = detects === null ? judged.notes : [detects, ...judged.notes];
  return { ...judged, verdict, summary, preset, refused, checks, suspects, notes };
}

function refusalOf(contract: readonly ContractEntry[]): string {
  const blocking = contract.filter((entry) => entry.blocking);
  if (blocking.length === 0)
    return 'not comparable: no setting is known of both runs; --force compares them nevertheless';
  const list = blocking.slice(0, 4).map(({ key, golden, current }) => `${key} ${golden} → ${current}`);
  const more = blocking.length > list.length ? ` and ${blocking.length - list.length} more` : '';
  return `not comparable: ${list.join(', ')}${more}`;
}

/** With the sign that the text of a comparison has. */
const percent = (value: number): string =>
  `${value > 0 ? '+' : value < 0 ? '−' : ''}${(100 * Math.abs(value)).toFixed(1)} %`;

function summaryOf({ verdict, preset, checks }: Pick<CompareResult, 'verdict' | 'preset' | 'checks'>): string {
  const gates = checks.filter(({ gate }) => gate);
  if (verdict === 'pass') {
    const judged = gates.filter(({ status }) => status !== 'skipped');
    return `${judged.map(({ name }) => name.replaceAll('_', ' ')).join(', ')} within tolerance`;
  }
  // Upstream's checks have two sides.
  const decides = ({ status }: CompareCheck): boolean =>
    status === verdict || (verdict === 'regression' && preset !== 'default' && status === 'improvement');
  const decisive = gates.filter(decides);
  if (decisive.length === 0) return 'nothing that both sides have could be judged';
  return decisive.slice(0, 3).map(decisionWords).join('; ');
}

function decisionWords({ name, relative, current, reason, status }: CompareCheck): string {
  const words = name.replaceAll('_', ' ');
  if (relative !== null)
    return `${words} ${percent(relative)}${status === 'undecided' && reason !== null ? ` (${reason})` : ''}`;
  return current === null ? `${words}: ${reason ?? ''}` : `${words}: ${current}`;
}
