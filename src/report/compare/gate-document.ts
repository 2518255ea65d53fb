/** A gate for the log of a job: the verdict, one line a metric, and what to do next. */
import type { CompareCheck } from '../../model/results/compare.js';
import type { GateResult, GateVerdict } from '../../model/results/gate.js';
import * as d from '../document/document.js';
import { counted } from '../text-pieces.js';
import { failsGate, isListed, relativeOf, runWords } from './check-words.js';
import { contractSection, headParts, verdictTitle } from './compare-document.js';
import * as difference from './difference.js';

const SIDES: difference.Sides = ['baseline', 'now'];
const SITES_SHOWN = 3;
const SUSPECTS_SHOWN = 3;

export function gateDocument(result: GateResult): d.Document {
  const { schema, verdict, checks, current, golden, baseline, warned } = result;
  const listed = checks.filter((check) => isListed(check, warned));
  const shown = listed.filter(({ name, status }) => !name.includes(':') || status !== 'pass');
  const hidden = listed.length - shown.length;
  const isWorse = verdict === 'regression';
  return d.document(
    schema,
    verdictTitle('gate', verdict),
    ...headParts(
      result,
      d.t`${runWords(current, false)} against baseline ${runWords(golden, false)} of ${d.code(baseline)}`,
    ),
    result.refused !== null && contractSection(result),
    difference.checksTable(shown, {
      ...{ sides: SIDES, hasNoise: true, status: (check) => resultOf(check, result) },
      notes: [hidden > 0 && d.t`${d.counted(hidden, 'component or stage', 'components and stages')} within tolerance`],
    }),
    ...(isWorse ? differenceParts(result) : []),
    difference.notesSection(result.notes),
    d.section('Next', {}, d.paragraph(nextStep(result), { key: 'next' })),
  );
}

const differenceParts = (result: GateResult): d.MaybePart[] => [
  difference.suspectsSection(result, SUSPECTS_SHOWN),
  difference.componentsSection(result.components, SIDES),
  difference.grownSites(result.sites, SIDES, SITES_SHOWN),
  difference.changedSection('Settings', 'config', result.config, SIDES),
  difference.changedSection('Environment', 'env', result.env, SIDES),
];

/** `FAIL` is what fails the job. */
function resultOf(check: CompareCheck, { verdict, refused }: GateResult): string {
  if (refused !== null || verdict === 'updated') return check.status;
  if (failsGate(check, 'default')) return 'FAIL';
  if (check.why?.code === 'ended_early') return 'not comparable';
  const isOpen = check.status === 'undecided' || check.status === 'regression';
  const isWarning = isOpen && verdict !== 'undecided' && !check.is_least && check.name !== 'status';
  return isWarning && (!check.gate || check.delta !== null) ? 'warning' : check.status;
}

function nextStep({ verdict, baseline, operands, checks, refused, update }: GateResult): d.Text {
  const runs = operands.map((operand) => ` ${word(operand)}`).join('');
  const first = operands[0] === undefined ? '' : ` ${word(operands[0])}`;
  const gate = `mbforensics gate${runs} --baseline ${word(baseline)}`;
  const compare = d.code(`mbforensics compare${first} --golden ${word(baseline)}`);
  if (update !== null) return d.code(`git add ${word(baseline)}`);
  const status = checks.find(({ name }) => name === 'status');
  if (refused === null && status?.status !== 'pass' && status?.status !== 'info')
    return d.code(`mbforensics diagnose${first}`);
  if (verdict === 'regression') return d.t`${compare}; if the change is wanted: ${d.code(`${gate} --update`)}`;
  if (verdict === 'warning')
    return d.t`judge several runs together, or record repeats: ${d.code(`${gate} --update --append`)}`;
  return verdict === 'undecided' ? compare : 'nothing to do';
}

/** As a shell reads it. */
const word = (text: string): string => (/^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** `summary`: that of the comparison, which regressions and undecided figures have. */
export function gateSummary(
  verdict: GateVerdict,
  summary: string,
  checks: readonly CompareCheck[],
  { warned, update }: Pick<GateResult, 'warned' | 'update'>,
): string {
  if (update !== null) {
    const dropped = update.dropped === 0 ? '' : `; ${counted(update.dropped, 'oldest run')} left out`;
    return `the baseline was ${update.created ? 'created' : 'written'} and has ${counted(update.runs, 'run')}${dropped}`;
  }
  const listed = checks.filter((check) => isListed(check, warned) && check.status !== 'skipped');
  if (verdict === 'pass')
    return `${counted(listed.filter(({ status }) => status !== 'info').length, 'metric')} within tolerance`;
  if (verdict !== 'warning') return summary;
  const words = listed
    .filter(({ status }) => status === 'undecided' || status === 'regression')
    .map((check) => {
      const isWarned = check.status === 'regression' && !check.gate;
      const why = isWarned ? 'only a warning' : 'not enough to distinguish it from noise';
      return `${check.name} ${relativeOf(check)} (${why})`;
    });
  return words.slice(0, 4).join('; ');
}
